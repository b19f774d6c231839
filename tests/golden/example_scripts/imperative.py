"""Loops that people write with arrays and ``autograd.record()``, updates by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import classes, numbers, numpy_of, script


def _parameters(mx: Any, scale: float = 0.3, **shapes: Any) -> dict[str, Any]:
    """Arrays with gradients, whose first values depend on their names alone."""
    arrays = {n: mx.nd.array(scale * numbers(n, s)) for n, s in shapes.items()}
    for array in arrays.values():
        array.attach_grad()
    return arrays


def _perceptron(mx: Any, x: Any, p: dict[str, Any], prefix: str, layers: int = 2) -> Any:
    """Dense layers with ReLU between them."""
    for k in range(1, layers + 1):
        w, b = p[f"{prefix}w{k}"], p[f"{prefix}b{k}"]
        x = mx.nd.dot(x, w) + b
        if k < layers:
            x = mx.nd.relu(x)
    return x


def _descend(params: dict[str, Any], rate: float) -> None:
    for p in params.values():
        p[:] = p - rate * p.grad


@script
def linear_regression_from_scratch(mx):
    """Batches from a generator, squared loss, an update in place."""
    autograd, nd = mx.autograd, mx.nd
    features = nd.array(numbers("features", (60, 3)))
    weights, offset = nd.array([2.0, -3.4, 1.1]), 4.2
    labels = nd.dot(features, weights.reshape((3, 1))) + offset
    labels += 0.01 * nd.array(numbers("noise", (60, 1)))

    def batches(size):
        order = np.random.RandomState(3).permutation(60)
        for i in range(0, 60, size):
            chosen = nd.array(order[i : i + size])
            yield features.take(chosen), labels.take(chosen)

    w, b = nd.zeros((3, 1)), nd.zeros((1,))
    for param in (w, b):
        param.attach_grad()
    losses = []
    for _ in range(3):
        for x, y in batches(10):
            with autograd.record():
                loss = (nd.dot(x, w) + b - y.reshape((-1, 1))) ** 2 / 2
            loss.backward()
            for param in (w, b):
                param[:] = param - 0.1 * param.grad / 10
        losses.append(((nd.dot(features, w) + b - labels) ** 2).mean().asscalar().item())
    return {
        "losses": losses,
        "w": w.asnumpy(),
        "b": b.asnumpy(),
        "left": (w - weights.reshape(w.shape)).asnumpy(),
    }


@script
def softmax_regression_with_an_optimizer(mx):
    """An updater of ``mx.optimizer``, accuracy by a metric, evaluation outside of ``record``."""
    autograd, nd = mx.autograd, mx.nd
    x, y = nd.array(numbers("x", (40, 6))), nd.array(classes("y", (40,), 4))
    p = _parameters(mx, w1=(6, 8), b1=(8,), w2=(8, 4), b2=(4,))
    optimizer = mx.optimizer.create("adam", learning_rate=0.02, rescale_grad=1 / 40)
    updater = mx.optimizer.get_updater(optimizer)
    metric, losses = mx.metric.Accuracy(), []
    for _ in range(8):
        with autograd.record():
            out = _perceptron(mx, x, p, "")
            loss = -nd.pick(nd.log_softmax(out), y)
        loss.backward()
        for i, array in enumerate(p.values()):
            updater(i, array.grad, array)
        metric.update([y], [out])
        losses.append(loss.mean().asscalar().item())
    return {"losses": losses, "accuracy": metric.get(), "out": _perceptron(mx, x, p, "").asnumpy()}


@script
def generator_and_discriminator(mx):
    """Two updates in an iteration; the discriminator sees the generator's rows detached."""
    autograd, nd = mx.autograd, mx.nd
    g = _parameters(mx, 0.5, gw1=(2, 6), gb1=(6,), gw2=(6, 3), gb2=(3,))
    d = _parameters(mx, 0.5, dw1=(3, 5), db1=(5,), dw2=(5, 1), db2=(1,))
    optimizers = [
        mx.optimizer.SGD(learning_rate=0.1, momentum=0.5, rescale_grad=1 / 8) for _ in "gd"
    ]
    update_g, update_d = map(mx.optimizer.get_updater, optimizers)

    def cross_entropy(score, label):
        return nd.relu(score) - score * label + nd.Activation(-nd.abs(score), act_type="softrelu")

    history = []
    for step in range(6):
        real = nd.array(numbers(f"real{step}", (8, 3)) * 0.5 + 1)
        noise = nd.array(numbers(f"noise{step}", (8, 2)))
        with autograd.record():
            fake = nd.tanh(_perceptron(mx, noise, g, "g"))
            on_real = cross_entropy(_perceptron(mx, real, d, "d"), 1)
            on_fake = cross_entropy(_perceptron(mx, fake.detach(), d, "d"), 0)
            loss_d = on_real + on_fake
        loss_d.backward()
        for i, array in enumerate(d.values()):
            update_d(i, array.grad, array)
        with autograd.record():
            loss_g = cross_entropy(_perceptron(mx, fake, d, "d"), 1)
        loss_g.backward()
        for i, array in enumerate(g.values()):
            update_g(i, array.grad, array)
        history.append([loss_d.mean().asscalar().item(), loss_g.mean().asscalar().item()])
    return {"losses": history, "g": numpy_of(g), "d": numpy_of(d)}


@script
def siamese_network(mx):
    """One set of weights for both inputs, and a contrastive loss."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, w1=(4, 6), b1=(6,), w2=(6, 2), b2=(2,))
    left, right = (nd.array(numbers(n, (10, 4))) for n in ("left", "right"))
    same = nd.array(classes("same", (10,), 2))
    losses = []
    for _ in range(5):
        with autograd.record():
            a, b = (_perceptron(mx, x, p, "") for x in (left, right))
            distance = nd.sqrt(nd.sum((a - b) ** 2, axis=1) + 1e-6)
            apart = nd.maximum(2 - distance, 0) ** 2
            loss = (same * distance**2 + (1 - same) * apart).mean()
        loss.backward()
        _descend(p, 0.2)
        losses.append(loss.asscalar().item())
    return {
        "losses": losses,
        "params": numpy_of(p),
        "grads": [a.grad.asnumpy() for a in p.values()],
    }


@script
def gradients_of_several_batches_are_added(mx):
    """``grad_req='add'``: the sum over four batches is that of one large batch."""
    autograd, nd = mx.autograd, mx.nd
    x, y = nd.array(numbers("x", (16, 5))), nd.array(numbers("y", (16, 1)))
    w = nd.array(0.3 * numbers("w", (5, 1)))
    w.attach_grad(grad_req="add")
    facts = []
    for _ in range(3):
        for i in range(0, 16, 4):
            with autograd.record():
                loss = ((nd.dot(x[i : i + 4], w) - y[i : i + 4]) ** 2).sum()
            loss.backward()
            facts.append(w.grad.asnumpy())
        w -= 0.02 * w.grad
        w.grad[:] = 0
    whole = nd.array(w.asnumpy())
    whole.attach_grad()
    with autograd.record():
        ((nd.dot(x, whole) - y) ** 2).sum().backward()
    return {"sums": facts, "w": w.asnumpy(), "whole": whole.grad.asnumpy()}


@script
def gradients_are_clipped_by_their_common_norm(mx):
    """A recurrent cell over a sequence; the norm of all gradients is limited."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, 0.8, wx=(3, 5), wh=(5, 5), bh=(5,), wo=(5, 2), bo=(2,))
    sequence = nd.array(numbers("sequence", (7, 4, 3)))
    labels = nd.array(classes("labels", (7, 4), 2))
    norms, losses = [], []
    state = nd.zeros((4, 5))
    for _ in range(4):
        state = state.detach()
        with autograd.record():
            loss = 0
            for t in range(7):
                state = nd.tanh(nd.dot(sequence[t], p["wx"]) + nd.dot(state, p["wh"]) + p["bh"])
                out = nd.dot(state, p["wo"]) + p["bo"]
                loss = loss + nd.softmax_cross_entropy(out, labels[t])
        loss.backward()
        norm = nd.add_n(*[(a.grad**2).sum() for a in p.values()]).sqrt().asscalar()
        norms.append(norm.item())
        if norm > 1:
            for array in p.values():
                array.grad[:] *= 1 / norm
        _descend(p, 0.1)
        losses.append(loss.asscalar().item())
    return {"norms": norms, "losses": losses, "params": numpy_of(p), "state": state.asnumpy()}


@script
def policy_gradient_of_an_episode(mx):
    """Actions are drawn from read probabilities; the whole episode is differentiated at its end."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, 0.4, w1=(5, 6), b1=(6,), w2=(6, 2), b2=(2,))
    random, results = np.random.RandomState(5), []
    for _ in range(4):
        place, log_chosen, rewards = 2, [], []
        with autograd.record():
            while 0 < place < 4 and len(rewards) < 12:
                seen = nd.one_hot(nd.array([place]), 5)
                probabilities = nd.softmax(_perceptron(mx, seen, p, ""))
                right = random.rand() < probabilities[0, 1].asscalar()
                log_chosen.append(nd.log(probabilities[0, int(right)]))
                place += 1 if right else -1
                rewards.append(float(place == 4) - float(place == 0))
            returns = np.cumsum(rewards[::-1])[::-1]
            loss = -nd.add_n(*[g * x for g, x in zip(returns.tolist(), log_chosen, strict=True)])
        loss.backward()
        _descend(p, 0.5)
        results.append([len(rewards), sum(rewards), loss.asscalar().item()])
    return {"episodes": results, "params": numpy_of(p)}


_TREES = (
    ((("a", "b"), "c"), ("d", "e")),
    ("a", ("b", ("c", "d"))),
    ("c", "a"),
    ((("a", "b"), ("c", "d")), (("e", "a"), ("b", "c"))),
)


@script
def network_in_the_shape_of_a_tree(mx):
    """Each sentence has a tree of its own, and so a graph of its own."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, 0.6, words=(5, 4), left=(4, 4), right=(4, 4), bias=(4,), out=(4, 2))

    def encode(tree):
        if isinstance(tree, str):
            return p["words"]["abcde".index(tree)].reshape((1, 4))
        a, b = map(encode, tree)
        return nd.tanh(nd.dot(a, p["left"]) + nd.dot(b, p["right"]) + p["bias"])

    losses = []
    for _ in range(2):
        for k, tree in enumerate(_TREES):
            with autograd.record():
                score = nd.dot(encode(tree), p["out"])
                loss = nd.softmax_cross_entropy(score, nd.array([k % 2]))
            loss.backward()
            _descend(p, 0.3)
            losses.append(loss.asscalar().item())
    return {"losses": losses, "params": numpy_of(p), "words": p["words"].grad.asnumpy()}


@script
def target_network_that_is_copied_now_and_then(mx):
    """A Q-network learns towards a copy of itself, which is renewed every third step."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, 0.5, w1=(4, 8), b1=(8,), w2=(8, 3), b2=(3,))
    target = {n: a.copy() for n, a in p.items()}
    losses = []
    for step in range(7):
        states, following = (nd.array(numbers(f"{n}{step}", (6, 4))) for n in ("now", "next"))
        actions = nd.array(classes(f"actions{step}", (6,), 3))
        rewards = nd.array(numbers(f"rewards{step}", (6,)))
        best = _perceptron(mx, following, target, "").max(axis=1)
        with autograd.record():
            value = nd.pick(_perceptron(mx, states, p, ""), actions)
            loss = nd.smooth_l1(value - (rewards + 0.9 * best), scalar=1.0).mean()
        loss.backward()
        _descend(p, 0.2)
        if step % 3 == 2:
            for name, array in p.items():
                array.copyto(target[name])
        losses.append(loss.asscalar().item())
    return {"losses": losses, "params": numpy_of(p), "target": numpy_of(target)}


@script
def gradient_by_the_input(mx):
    """Adversarial rows, a saliency map, and a penalty on the gradient by hand."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, w1=(4, 6), b1=(6,), w2=(6, 3), b2=(3,))
    x, y = nd.array(numbers("x", (5, 4))), nd.array(classes("y", (5,), 3))
    x.attach_grad()
    with autograd.record():
        loss = nd.softmax_cross_entropy(_perceptron(mx, x, p, ""), y)
    loss.backward()
    adversarial = x + 0.1 * x.grad.sign()
    saliency = x.grad.abs().max(axis=1)
    with autograd.record():
        out = nd.tanh(nd.dot(x, p["w1"]))
        out_sum = nd.log(out * out + 1)
    (by_x,) = autograd.grad(out_sum, [x], head_grads=nd.ones(out.shape))
    return {
        "adversarial": adversarial.asnumpy(), "saliency": saliency.asnumpy(),
        "by_x": by_x.asnumpy(), "kept": x.grad.asnumpy(),
        "after": _perceptron(mx, adversarial, p, "").asnumpy(),
    }  # fmt: skip


@script
def dropout_and_normalisation_by_modes(mx):
    """BatchNorm's statistics follow in training; evaluation and ``pause`` leave them."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, w1=(4, 6), b1=(6,), w2=(6, 1), b2=(1,), gamma=(6,), beta=(6,))
    mean, var = nd.zeros((6,)), nd.ones((6,))
    x, y = nd.array(numbers("x", (12, 4))), nd.array(numbers("y", (12, 1)))

    def network(rows):
        h = nd.dot(rows, p["w1"]) + p["b1"]
        h = nd.BatchNorm(h, p["gamma"], p["beta"], mean, var, fix_gamma=False, momentum=0.7)
        return nd.dot(nd.Dropout(nd.relu(h), p=0), p["w2"]) + p["b2"]

    facts = []
    for _ in range(4):
        with autograd.record():
            loss = ((network(x) - y) ** 2).mean()
            with autograd.pause():
                inside = network(x).mean().asscalar()
        loss.backward()
        _descend(p, 0.1)
        facts.append([loss.asscalar().item(), inside.item(), mean.asnumpy(), var.asnumpy()])
    return {"steps": facts, "evaluated": network(x).asnumpy(), "grad": p["gamma"].grad.asnumpy()}


@script
def straight_through_function(mx):
    """A ``Function`` that rounds forward and passes gradients on, between recorded calls."""
    autograd, nd = mx.autograd, mx.nd

    class Rounded(autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x.round()

        def backward(self, dy):
            (x,) = self.saved_tensors
            return dy * (x.abs() <= 2)

    p = _parameters(mx, 1.0, w=(4, 3))
    x, y = nd.array(numbers("x", (6, 4))), nd.array(numbers("y", (6, 3)))
    losses = []
    for _ in range(5):
        with autograd.record():
            code = Rounded()(nd.dot(x, p["w"]))
            loss = ((code - y) ** 2).mean()
        loss.backward()
        _descend(p, 0.3)
        losses.append(loss.asscalar().item())
    return {"losses": losses, "w": p["w"].asnumpy(), "grad": p["w"].grad.asnumpy()}


@script
def learned_picture(mx):
    """A picture is optimised, not the weights: features of two convolutions are to be matched."""
    autograd, nd = mx.autograd, mx.nd
    k1, k2 = (
        nd.array(0.3 * numbers(n, s)) for n, s in (("k1", (4, 1, 3, 3)), ("k2", (3, 4, 3, 3)))
    )

    def features(picture):
        h = nd.Convolution(picture, k1, no_bias=True, kernel=(3, 3), num_filter=4, pad=(1, 1))
        h = nd.Pooling(nd.relu(h), kernel=(2, 2), stride=(2, 2), pool_type="avg")
        return nd.Convolution(h, k2, no_bias=True, kernel=(3, 3), num_filter=3)

    def gram(x):
        rows = x.reshape((x.shape[1], -1))
        return nd.dot(rows, rows, transpose_b=True) / rows.size

    wanted = gram(features(nd.array(numbers("style", (1, 1, 8, 8)))))
    picture = nd.array(numbers("picture", (1, 1, 8, 8)))
    picture.attach_grad()
    losses = []
    for _ in range(5):
        with autograd.record():
            loss = ((gram(features(picture)) - wanted) ** 2).sum()
        loss.backward()
        picture[:] = (picture - 0.5 * picture.grad).clip(-2, 2)
        losses.append(loss.asscalar().item())
    return {"losses": losses, "picture": picture.asnumpy()}


@script
def rows_chosen_by_a_mask_of_what_was_computed(mx):
    """Rows are kept by their own first score; the mask itself has no gradient."""
    autograd, nd = mx.autograd, mx.nd
    p, x = _parameters(mx, w=(4, 2)), nd.array(numbers("x", (7, 4)))
    facts = []
    for _ in range(3):
        with autograd.record():
            scores = nd.dot(x, p["w"])
            kept = nd.contrib.boolean_mask(scores, scores[:, 0] > 0)
            loss = nd.sum(kept * kept)
        loss.backward()
        _descend(p, 0.05)
        facts.append([loss.asscalar().item(), list(kept.shape), p["w"].grad.asnumpy()])
    return facts


@script
def parameters_on_two_devices(mx):
    """Halves of a batch on two contexts, and a sum of gradients by hand."""
    autograd, nd = mx.autograd, mx.nd
    contexts = [mx.cpu(0), mx.cpu(1)]
    first = {n: 0.3 * numbers(n, s) for n, s in (("w1", (4, 3)), ("w2", (4, 3)))}
    copies = [[nd.array(a, ctx=c) for a in first.values()] for c in contexts]
    for params in copies:
        for array in params:
            array.attach_grad()
    x, y = nd.array(numbers("x", (8, 4))), nd.array(numbers("y", (8, 3)))
    losses = []
    for _ in range(4):
        parts = []
        with autograd.record():
            for k, (c, (w1, w2)) in enumerate(zip(contexts, copies, strict=True)):
                rows = slice(4 * k, 4 * k + 4)
                a, b = (v[rows].as_in_context(c) for v in (x, y))
                parts.append(((nd.dot(a, w1) + nd.tanh(nd.dot(a, w2)) - b) ** 2).sum())
        for part in parts:
            part.backward()
        for one, other in zip(*copies, strict=True):
            one.grad[:] += other.grad.copyto(one.context)
            one.grad.copyto(other.grad)
        for params in copies:
            for array in params:
                array[:] = array - 0.02 * array.grad
        losses.append(sum(part.asscalar().item() for part in parts))
    return {"losses": losses, "params": [numpy_of(params) for params in copies]}


@script
def attention_over_sentences_of_several_lengths(mx):
    """Scaled products with a mask, and a loss over parts of the result."""
    autograd, nd = mx.autograd, mx.nd
    p = _parameters(mx, q=(5, 5), k=(5, 5), v=(5, 5))
    x, lengths = nd.array(numbers("x", (3, 6, 5))), nd.array([6, 3, 1])
    losses = []
    for _ in range(4):
        with autograd.record():
            q, k, v = (nd.dot(x.reshape((-1, 5)), w).reshape((3, 6, 5)) for w in p.values())
            scores = nd.batch_dot(q, k, transpose_b=True) / 5**0.5
            scores = nd.SequenceMask(
                scores.transpose((2, 0, 1)), lengths, use_sequence_length=True, value=-1e6
            )
            out = nd.batch_dot(nd.softmax(scores.transpose((1, 2, 0))), v)
            loss = (out[:, 0] ** 2).sum() + nd.concat(out[:, 1], out[:, 2], dim=1).abs().sum()
        loss.backward()
        _descend(p, 0.05)
        losses.append(loss.asscalar().item())
    return {"losses": losses, "params": numpy_of(p)}


@script
def python_decides_how_often(mx):
    """A loop until a norm is large, and a branch on a sum: each gradient has its own graph."""
    autograd, nd = mx.autograd, mx.nd
    gradients = []
    for k in range(5):
        a = nd.array(numbers(f"a{k}", (3,)))
        a.attach_grad()
        with autograd.record():
            b = a * 2
            while b.norm().asscalar() < 100:
                b = b * 2
            c = b if b.sum().asscalar() > 0 else 100 * b
        c.backward()
        gradients.append(a.grad.asnumpy())
    return gradients


@script
def batches_of_any_size_and_a_falling_rate(mx):
    """A hundred steps: every number of rows is another graph, every factor another number."""
    autograd, nd = mx.autograd, mx.nd
    p, random = _parameters(mx, w1=(3, 8), b1=(8,), w2=(8, 1), b2=(1,)), np.random.RandomState(6)
    losses = []
    for step in range(100):
        rows = random.randint(1, 20)
        x, y = nd.array(random.randn(rows, 3)), nd.array(random.randn(rows, 1))
        with autograd.record():
            loss = ((_perceptron(mx, x, p, "") - y) ** 2).mean() / (1 + 0.1 * step)
        loss.backward()
        _descend(p, 0.05)
        losses.append(loss.asscalar().item())
    return {"losses": losses[::9], "params": numpy_of(p)}
