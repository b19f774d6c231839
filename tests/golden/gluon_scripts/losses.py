"""Losses: values, gradients, names, graphs and refusals."""

from __future__ import annotations

import numpy as np

from ._facts import attempts, graph, leaf, numbers, recorded, script

_SIGNS = np.array([[1, -1, 1], [-1, 1, -1]], "float32")
_BITS = np.array([[1, 0, 1], [0, 0.25, 1]], "float32")
_ROWS = np.array([[0.2, 0.3, 0.5], [0.1, 0.9, 0.0]], "float32")
_CLASSES = np.array([2, 0], "float32")
_COUNTS = np.array([[1, 2, 5], [3, 1, 7]], "float32")
_WEIGHTS = np.array([[0.5], [2.0]], "float32")


def _pred(name="pred", shape=(2, 3)):
    return numbers(name, shape)


def _probabilities():
    return 1 / (1 + np.exp(-_pred()))


def losses(mx):
    """Losses with attributes, and the inputs of a call: predictions first, then constants."""
    yield from _regressions(mx)
    yield from _classifications(mx)
    yield from _others(mx)


def _regressions(mx):
    loss, pred = mx.gluon.loss, _pred()
    yield "l2", loss.L2Loss(), [pred, _BITS]
    yield "l2 weights", loss.L2Loss(weight=3, batch_axis=1), [pred, _BITS, _WEIGHTS]
    yield "l2 of a vector", loss.L2Loss(), [_pred("v", (4, 1)), _pred("l", (4,))]
    yield "l1", loss.L1Loss(), [pred, _BITS]
    yield "l1 weights", loss.L1Loss(0.5, -1), [pred, _BITS.reshape(3, 2), _WEIGHTS]
    yield "huber", loss.HuberLoss(), [pred, _BITS]
    yield "huber wide", loss.HuberLoss(rho=0.25, weight=2.0), [pred, _BITS, _WEIGHTS]
    yield "poisson", loss.PoissonNLLLoss(), [pred, _COUNTS]
    yield "poisson rates", loss.PoissonNLLLoss(0.5, False), [_probabilities(), _COUNTS, _WEIGHTS]


def _classifications(mx):
    loss, pred = mx.gluon.loss, _pred()
    yield "hinge", loss.HingeLoss(), [pred, _SIGNS]
    yield "hinge wide", loss.HingeLoss(2, 0.5, 1), [pred, _SIGNS, _WEIGHTS]
    yield "squared hinge", loss.SquaredHingeLoss(), [pred, _SIGNS]
    yield "squared hinge wide", loss.SquaredHingeLoss(margin=0.5), [pred, _SIGNS, _WEIGHTS]
    yield "logistic", loss.LogisticLoss(), [pred, _SIGNS]
    yield "logistic binary", loss.LogisticLoss(label_format="binary"), [pred, _BITS, _WEIGHTS]
    yield "sigmoid", loss.SigmoidBCELoss(), [pred * 30, _BITS]
    yield "sigmoid weights", loss.SigmoidBCELoss(weight=0.5), [pred, _BITS, _WEIGHTS]
    yield "probabilities", loss.SigmoidBCELoss(from_sigmoid=True), [_probabilities(), _BITS]
    positive = np.array([[1.5, 1.0, 3.0]], "float32")
    yield "positive", loss.SigmoidBCELoss(), [pred, _BITS, _WEIGHTS, positive]
    inputs = [_probabilities(), _BITS, _WEIGHTS, positive]
    yield "positive probabilities", loss.SigmoidBCELoss(from_sigmoid=True), inputs
    yield "softmax", loss.SoftmaxCELoss(), [pred, _CLASSES]
    yield "softmax column", loss.SoftmaxCELoss(weight=2), [pred, _CLASSES[:, None], _WEIGHTS]
    image, classes = _pred("image", (2, 3, 2)), np.array([[0, 2], [1, 5]], "float32")
    yield "softmax of pixels", loss.SoftmaxCELoss(axis=1), [image, classes]
    mask = np.array([[[1, 0]], [[1, 1]]], "float32")
    yield "softmax of some pixels", loss.SoftmaxCELoss(axis=1), [image, classes, mask]
    yield "softmax of rows", loss.SoftmaxCELoss(sparse_label=False), [pred, _ROWS, _WEIGHTS]
    yield "softmax of logits", loss.SoftmaxCELoss(from_logits=True), [pred, _CLASSES]
    attributes = {"from_logits": True, "sparse_label": False, "axis": 0}
    yield "softmax of logits and rows", loss.SoftmaxCELoss(**attributes), [pred, _ROWS]
    yield "softmax batch axis", loss.SoftmaxCELoss(axis=0, batch_axis=1), [pred, np.arange(3.0) % 2]
    yield "divergence", loss.KLDivLoss(), [np.log(_probabilities()), _ROWS]
    yield "divergence of pred", loss.KLDivLoss(from_logits=False), [pred, _ROWS, _WEIGHTS]
    yield "divergence axis", loss.KLDivLoss(False, 0, 2.0, 1), [pred, _ROWS]


def _others(mx):
    loss, pred = mx.gluon.loss, _pred()
    near, far = _pred("near"), _pred("far")
    yield "triplet", loss.TripletLoss(), [pred, near, far]
    yield "triplet wide", loss.TripletLoss(margin=3, weight=0.5, batch_axis=1), [pred, near, far]
    signs = np.array([1, -1], "float32")
    yield "cosine", loss.CosineEmbeddingLoss(), [pred, near, signs]
    yield "cosine wide", loss.CosineEmbeddingLoss(2.0, margin=0.1), [pred, near, signs, _WEIGHTS]
    logits, labels = _pred("ctc", (2, 6, 4)), np.array([[1, 0, 2], [2, 2, -1]], "float32")
    yield "ctc", loss.CTCLoss(), [logits, labels]
    turned = [logits.transpose(1, 0, 2), labels.T]
    yield "ctc turned", loss.CTCLoss("TNC", "TN", 0.5), turned
    lengths = [np.array([6, 5], "float32"), np.array([2, 1], "float32")]
    yield "ctc frames", loss.CTCLoss(), [logits, labels, lengths[0]]
    yield "ctc lengths", loss.CTCLoss(), [logits, labels, *lengths]
    yield "ctc weights", loss.CTCLoss(weight=2), [logits, labels, *lengths, _WEIGHTS[:, 0]]


def sdml_losses(mx):
    """SDML losses, which cannot be hybridized in MXNet, and their inputs."""
    inputs = [_pred("x1", (3, 4)) * 2, _pred("x2", (3, 4)) * 2]
    yield "sdml", mx.gluon.loss.SDMLLoss(), inputs
    yield "sdml smooth", mx.gluon.loss.SDMLLoss(smoothing_parameter=0.1, weight=2.0), inputs


def _values_and_gradients(mx, loss, inputs):
    pred, *constants = inputs
    x = leaf(mx, pred)
    y = recorded(mx, loss, x, *map(mx.nd.array, constants))
    y.backward()
    return [y, x.grad]


@script
def losses_and_gradients(mx):
    """Plain, then hybridized."""
    seen = {}
    for name, loss, inputs in losses(mx):
        plain = _values_and_gradients(mx, loss, inputs)
        loss.hybridize()
        seen[name] = [*plain, *_values_and_gradients(mx, loss, inputs)]
    for name, loss, inputs in sdml_losses(mx):
        value, gradient = _values_and_gradients(mx, loss, inputs)
        # MXNet's log_softmax on CPUs is off by 3e-6.
        seen[name] = [value, gradient.asnumpy().round(3)]
    return seen


@script
def graphs_of_losses(mx):
    """Operators, names and attributes of the nodes, and the inputs of each."""
    seen = {}
    for name, loss, inputs in losses(mx):
        symbols = [mx.sym.var(f"in{i}") for i in range(len(inputs))]
        nodes = [n for n in graph(loss(*symbols)) if n[0] != "null"]
        seen[name] = [
            repr(loss),
            [[f"{op} {n} {sorted(attrs.items())}", ins] for op, n, ins, attrs in nodes],
        ]
    return seen


@script
def gradients_of_labels(mx):
    """Both sides of a regression have gradients, in their own shapes."""
    x, y = leaf(mx, [[1.0], [2.0], [4.0]]), leaf(mx, [0.5, 3.0, 1.0])
    seen = []
    for loss in (mx.gluon.loss.L2Loss(), mx.gluon.loss.HuberLoss()):
        recorded(mx, loss, x, y).backward()
        seen.append([x.grad.copy(), y.grad.copy()])
    return seen


@script
def dtypes_of_losses(mx):
    loss = mx.gluon.loss
    seen = {}
    for dtype in ("float16", "float64"):
        pred, label = (mx.nd.array(v, dtype=dtype) for v in (_pred(), _BITS))
        both = [loss.L2Loss(), loss.HuberLoss(), loss.SigmoidBCELoss(), loss.PoissonNLLLoss()]
        both += [loss.HingeLoss(), loss.LogisticLoss(), loss.KLDivLoss(from_logits=False)]
        seen[dtype] = [one(pred, label) for one in both]
        classes = [mx.nd.array(_CLASSES, dtype=d) for d in ("int32", dtype)]
        seen[dtype] += [loss.SoftmaxCELoss()(pred, c) for c in classes]
        seen[dtype].append(loss.TripletLoss()(pred, label, pred))
    return seen


@script
def full_poisson_loss(mx):
    loss = mx.gluon.loss.PoissonNLLLoss(compute_full=True)
    rates = mx.gluon.loss.PoissonNLLLoss(from_logits=False, compute_full=True)
    pred, probabilities = mx.nd.array(_pred()), mx.nd.array(_probabilities())
    counts, weights = mx.nd.array(_COUNTS), mx.nd.array(_WEIGHTS)
    return loss(pred, counts), rates(probabilities, counts, weights), loss(pred, counts - 1)


@script
def names_of_losses(mx):
    """Counters, prefixes and scopes; aliases are the classes themselves."""
    loss = mx.gluon.loss
    seen = [
        [one.name, one.prefix] for one in (loss.L2Loss(), loss.L2Loss(), loss.L1Loss(prefix="a_"))
    ]
    seen += [loss.SDMLLoss().kl_loss.name, loss.KLDivLoss().name, loss.SDMLLoss().name]
    seen += [loss.SoftmaxCELoss is loss.SoftmaxCrossEntropyLoss]
    seen += [loss.SigmoidBCELoss is loss.SigmoidBinaryCrossEntropyLoss]
    one = loss.SoftmaxCELoss(weight=0.5, batch_axis=1)
    seen += [
        one,
        list(one.collect_params()),
        list(one._children),
        isinstance(one, mx.gluon.HybridBlock),
    ]

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.loss = loss.HuberLoss()

        def hybrid_forward(self, F, x, y):
            return self.loss(x * 2, y) + 1

    net = Net()
    output = net(mx.sym.var("x"), mx.sym.var("y"))
    return [*seen, net.loss.name, repr(net), output.name, graph(output)]


@script
def losses_of_users(mx):
    """Subclasses of Loss and of served losses, with the helpers that libraries import."""
    from_mxnet = mx.gluon.loss

    class Focal(from_mxnet.Loss):
        def __init__(self, gamma=2.0, weight=None, batch_axis=0, **kwargs):
            super().__init__(weight, batch_axis, **kwargs)
            self._gamma = gamma

        def hybrid_forward(self, F, pred, label, sample_weight=None):
            p = F.sigmoid(pred)
            label = from_mxnet._reshape_like(F, label, pred)
            p = F.where(label > 0, p, 1 - p)
            values = -((1 - p) ** self._gamma) * F.log(p + 1e-7)
            values = from_mxnet._apply_weighting(F, values, self._weight, sample_weight)
            return F.mean(values, axis=self._batch_axis, exclude=True)

    class Masked(from_mxnet.SoftmaxCELoss):
        def hybrid_forward(self, F, pred, label, valid):
            weights = F.expand_dims(F.ones_like(label), axis=-1)
            weights = F.SequenceMask(weights, valid, True, axis=1)
            return super().hybrid_forward(F, pred, label, weights)

    focal, masked = Focal(weight=2.0), Masked()
    words, labels = _pred("words", (2, 3, 4)), np.array([[1, 2, 3], [0, 1, 2]], "float32")
    valid = np.array([3, 1], "float32")
    seen = [focal, focal.name, masked, masked.name]
    for _ in range(2):
        seen.append(_values_and_gradients(mx, focal, [_pred(), np.round(_BITS), _WEIGHTS]))
        seen.append(_values_and_gradients(mx, masked, [words, labels, valid]))
        focal.hybridize()
        masked.hybridize()
    return seen


@script
def absent_weights(mx):
    """None for a weight that is left out before one that is there, plain and hybridized."""
    pred, labels = mx.nd.array(_pred()), mx.nd.array(_BITS)
    logits, frames = mx.nd.array(_pred("ctc", (2, 6, 4))), mx.nd.array([[1, 0, 2], [2, 2, 1]])
    lengths, seen = mx.nd.array([3, 2]), []
    for hybridized in (False, True):
        sigmoid, ctc, l2 = (
            kind()
            for kind in (mx.gluon.loss.SigmoidBCELoss, mx.gluon.loss.CTCLoss, mx.gluon.loss.L2Loss)
        )
        for loss in (sigmoid, ctc, l2):
            if hybridized:
                loss.hybridize()
        seen += [sigmoid(pred, labels, None, mx.nd.array([[1.5, 1.0, 3.0]]))]
        seen += [ctc(logits, frames, None, lengths), l2(pred, labels, None)]
    return seen


@script
def signatures_of_losses(mx):
    import inspect

    classes = {n: c for n, c in vars(mx.gluon.loss).items() if isinstance(c, type)}
    losses = {n: c for n, c in sorted(classes.items()) if issubclass(c, mx.gluon.loss.Loss)}
    seen = {}
    for name, kind in losses.items():
        if not name.startswith("_"):
            both = kind, kind.hybrid_forward
            parameters = [inspect.signature(one).parameters.values() for one in both]
            seen[name] = [[[p.name, str(p.default)] for p in each] for each in parameters]
    return seen


@script
def losses_in_training(mx):
    """Two losses of one network, weighted by samples; gradients of all that is used."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="net_")
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(4, 3))
                self.classes = mx.gluon.loss.SoftmaxCELoss()
                self.sizes = mx.gluon.loss.HuberLoss(rho=0.5)

        def hybrid_forward(self, F, x, label, size, mask, weight):
            y = F.dot(x, weight)
            return self.classes(y, label, mask) + 0.1 * self.sizes(F.sum(y, axis=1), size)

    net, seen = Net(), []
    net.initialize()
    net.weight.set_data(mx.nd.array(_pred("weight", (4, 3))))
    inputs = [_pred("x", (3, 4)), np.arange(3.0), _pred("size", (3,)), [[1], [0], [1]]]
    arrays = [mx.nd.array(values) for values in inputs]
    for _ in range(2):
        loss = recorded(mx, net, *arrays)
        loss.backward()
        seen += [loss, net.weight.grad(), loss.mean()]
        net.hybridize()
    return seen


@script
def losses_refused(mx):
    loss, nd = mx.gluon.loss, mx.nd
    x, y = nd.ones((2, 3)), nd.zeros((2, 3))
    return attempts(
        mx,
        label_format=lambda: loss.LogisticLoss(label_format="x"),
        layout=lambda: loss.CTCLoss(layout="CTN"),
        label_layout=lambda: loss.CTCLoss(label_layout="N"),
        base=lambda: loss.Loss(None, 0)(x),
        array_as_weight=lambda: loss.L1Loss(weight=nd.ones((2,)))(x, y),
        text_as_weight=lambda: loss.L1Loss(weight="1")(x, y),
        no_weight=lambda: loss.L2Loss(weight=None)(x, y),
        no_label=lambda: loss.L2Loss()(x),
        other_size=lambda: loss.L1Loss()(x, nd.zeros((2, 4))),
        other_dtype=lambda: loss.L1Loss()(x, nd.zeros((2, 3), dtype="float64")),
        weights_of_samples=lambda: loss.L2Loss()(x, y, nd.ones((2,))),
        weights_of_triplets=lambda: loss.TripletLoss()(x, y, x, nd.ones((2,))),
        keywords=lambda: loss.SigmoidBCELoss()(x, y, pos_weight=nd.ones((1, 3))),
        symbols_of_sdml=lambda: loss.SDMLLoss()(mx.sym.var("x"), mx.sym.var("y")),
        images_of_sdml=lambda: loss.SDMLLoss()(nd.ones((2, 3, 4)), nd.ones((2, 3, 4))),
    )
