"""Scripts about metrics, run with MXNet as ``mx`` once and with executorkit ever after.

``VALUES`` take mx (and a folder, unused) and return something that JSON can hold; ``ERRORS`` must
raise by the time that the metric is read, and the class is compared.
"""

from __future__ import annotations

import numpy as np

VALUES = {}
ERRORS = {}

_RNG = np.random.RandomState(11)


def _probabilities(*shape):
    return _RNG.dirichlet(np.ones(shape[-1]), shape[:-1]).astype("float32")


def _read(metric):
    return {
        "get": metric.get(),
        "global": metric.get_global(),
        "pairs": metric.get_name_value(),
        "global_pairs": metric.get_global_name_value(),
        "text": str(metric),
    }


def _plain(value):
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _history(mx, metric, batches):
    """Values of a metric before, between and after updates, and after both kinds of reset."""

    def array(x):
        return mx.nd.array(x, dtype=x.dtype if x.dtype != np.int64 else "int32")

    history = [_read(metric)]
    for i, (labels, preds) in enumerate(batches):
        metric.update([array(x) for x in labels], [array(x) for x in preds])
        history.append(_read(metric))
        if i == 1:
            metric.reset_local()
            history.append(_read(metric))
    sums = []
    if not isinstance(metric, mx.metric.CompositeEvalMetric):
        sums = [metric.sum_metric, metric.num_inst, metric.global_sum_metric]
        sums.append(metric.global_num_inst)
    metric.reset()
    history.append(_read(metric))
    return _plain([*history, sums])


def metric(name, make, batches):
    batches = [
        ([np.asarray(x) for x in labels], [np.asarray(x) for x in preds])
        for labels, preds in batches
    ]
    VALUES[name] = lambda mx, folder: _history(mx, make(mx), batches)


def _batches(classes, labels_below=None, dtype="float32", sizes=(6, 6, 4)):
    below = classes if labels_below is None else labels_below
    return [
        ([_RNG.randint(0, below, n).astype(dtype)], [_probabilities(n, classes)]) for n in sizes
    ]


def _several(classes):
    """Two pairs in each update, as a group of two devices gives them."""
    return [
        (
            [_RNG.randint(0, classes, n).astype("float32") for n in (4, 3)],
            [_probabilities(n, classes) for n in (4, 3)],
        )
        for _ in range(3)
    ]


def _numbers(*shape, dtype="float32"):
    return _RNG.uniform(-2, 3, shape).astype(dtype)


def _regressions(label_shape, pred_shape):
    return [([_numbers(*label_shape)], [_numbers(*pred_shape)]) for _ in range(3)]


def _plainly(name, pick, classes):
    """A metric of classes, in the ways in which all of them are used."""
    metric(name, pick, _batches(classes))
    metric(f"{name}_several", pick, _several(classes))
    metric(f"{name}_int_labels", pick, _batches(classes, dtype="int32"))
    half = [([y], [p[0].astype("float16")]) for (y,), p in _batches(classes)]
    metric(f"{name}_half", pick, half)
    column = [([y.reshape(-1, 1)], p) for (y,), p in _batches(classes)]
    if name not in ("perplexity", "f1", "mcc"):
        metric(f"{name}_column", pick, column)


_plainly("accuracy", lambda mx: mx.metric.Accuracy(), 5)
_plainly("top_3", lambda mx: mx.metric.TopKAccuracy(3), 5)
_plainly("top_all", lambda mx: mx.metric.create("top_k_acc", top_k=5), 5)
_plainly("cross_entropy", lambda mx: mx.metric.CrossEntropy(), 5)
_plainly("cross_entropy_eps", lambda mx: mx.metric.create("ce", eps=0.1), 5)
_plainly("likelihood", lambda mx: mx.metric.NegativeLogLikelihood(name="nll"), 5)
_plainly("perplexity", lambda mx: mx.metric.Perplexity(None), 5)
_plainly("perplexity_ignoring", lambda mx: mx.metric.Perplexity(ignore_label=1), 5)
_plainly("f1", lambda mx: mx.metric.F1(), 2)
_plainly("f1_micro", lambda mx: mx.metric.F1(average="micro"), 2)
_plainly("mcc", lambda mx: mx.metric.MCC(), 2)
_plainly("mcc_micro", lambda mx: mx.metric.MCC(average="micro"), 2)
_plainly("pcc", lambda mx: mx.metric.PCC(), 4)
_plainly("pcc_of_two", lambda mx: mx.metric.create("pcc", name="r"), 2)

metric(
    "accuracy_of_classes",
    lambda mx: mx.metric.create("acc", name="hits"),
    [([_RNG.randint(0, 3, 6)], [_RNG.randint(0, 3, 6)]) for _ in range(3)],
)
metric(
    "accuracy_last_axis",
    lambda mx: mx.metric.Accuracy(axis=-1),
    [([_RNG.randint(0, 3, (4, 2))], [_probabilities(4, 2, 3)]) for _ in range(3)],
)
metric(
    "accuracy_of_maps",
    lambda mx: mx.metric.Accuracy(axis=1),
    [([_RNG.randint(0, 3, (4, 2))], [_probabilities(4, 2, 3).swapaxes(1, 2)]) for _ in range(3)],
)
metric(
    "accuracy_of_flat_labels",
    lambda mx: mx.metric.Accuracy(axis=2),
    [([_RNG.randint(0, 3, 8)], [_probabilities(4, 2, 3)]) for _ in range(3)],
)
metric(
    "perplexity_all_ignored",
    lambda mx: mx.metric.Perplexity(0),
    [([np.zeros(3)], [_probabilities(3, 4)]) for _ in range(3)],
)
metric(
    "perplexity_of_steps",
    lambda mx: mx.metric.Perplexity(0, name="words"),
    [([_RNG.randint(0, 4, (3, 2))], [_probabilities(6, 4)]) for _ in range(3)],
)
metric(
    "perplexity_first_axis",
    lambda mx: mx.metric.Perplexity(None, axis=0),
    [([_RNG.randint(0, 4, 4)], [_probabilities(4, 4)]) for _ in range(3)],
)
metric(
    "perplexity_of_zeros",
    lambda mx: mx.metric.Perplexity(-1),
    [([np.array([-1.0, 1.0, -2.0, 9.0])], [np.eye(4, dtype="float32")]) for _ in range(3)],
)
metric(
    "cross_entropy_negative_labels",
    lambda mx: mx.metric.CrossEntropy(),
    [([np.array([-1.0, -4.0, 2.0])], [_probabilities(3, 4)]) for _ in range(3)],
)
metric(
    "cross_entropy_of_maps",
    lambda mx: mx.metric.CrossEntropy(),
    [([_RNG.randint(0, 4, 3)], [_probabilities(3, 2, 4).swapaxes(1, 2)]) for _ in range(3)],
)
metric(
    "f1_without_positives",
    lambda mx: mx.metric.F1(),
    [([np.zeros(3)], [np.eye(2)[[0, 0, 0]]]) for _ in range(3)],
)
metric(
    "f1_column",
    lambda mx: mx.metric.F1(),
    [([_RNG.randint(0, 2, (3, 1))], [_probabilities(3, 2)]) for _ in range(3)],
)
metric(
    "mcc_one_class",
    lambda mx: mx.metric.MCC(),
    [([np.ones(3)], [np.eye(2)[[1, 1, 1]]]) for _ in range(3)],
)
metric(
    "pcc_growing",
    lambda mx: mx.metric.PCC(),
    [([_RNG.randint(0, n, 9)], [_probabilities(9, n)]) for n in (3, 2, 6, 5)],
)
metric(
    "pcc_of_classes",
    lambda mx: mx.metric.PCC(),
    [([_RNG.randint(0, n, 9)], [_RNG.randint(0, n, 9)]) for n in (3, 2, 6)],
)
metric(
    "pcc_of_one_class",
    lambda mx: mx.metric.PCC(),
    [([np.zeros(3)], [np.eye(2)[[0, 0, 0]]]) for _ in range(2)],
)

for _name in ("MAE", "MSE", "RMSE"):

    def _make(mx, name=_name):
        return getattr(mx.metric, name)()

    metric(_name, _make, _regressions((6, 3), (6, 3)))
    metric(f"{_name}_flat", _make, _regressions((6,), (6,)))
    metric(f"{_name}_column", _make, _regressions((6,), (6, 1)))
    metric(f"{_name}_broadcast", _make, _regressions((6,), (6, 4)))
    metric(f"{_name}_maps", _make, _regressions((2, 3, 4), (2, 3, 4)))
    metric(
        f"{_name}_several",
        _make,
        [([_numbers(4), _numbers(3)], [_numbers(4, 1), _numbers(3, 1)]) for _ in range(3)],
    )
    metric(
        f"{_name}_int_labels",
        _make,
        [([_RNG.randint(0, 9, 6)], [_numbers(6, 1)]) for _ in range(3)],
    )
    metric(
        f"{_name}_half", _make, [([_numbers(6)], [_numbers(6, dtype="float16")]) for _ in range(3)]
    )
    metric(
        f"{_name}_bytes",
        _make,
        [([np.array([1, 2, 250], "uint8")], [np.array([2, 250, 1], "uint8")]) for _ in range(3)],
    )


def _related(*shape):
    y = _numbers(*shape)
    return y, (y + _numbers(*shape) + 50).astype("float32")


metric(
    "pearson",
    lambda mx: mx.metric.PearsonCorrelation(),
    [([y], [p]) for y, p in (_related(7), _related(5), _related(3, 2))],
)
metric(
    "pearson_several",
    lambda mx: mx.metric.create("pearsonr"),
    [([a[0], b[0]], [a[1], b[1]]) for a, b in [(_related(4), _related(6)) for _ in range(3)]],
)
metric(
    "pearson_constant", lambda mx: mx.metric.PearsonCorrelation(), [([np.ones(3)], [_numbers(3)])]
)


def _pearson_micro(batches):
    """MXNet's micro average forgets nothing in ``reset_local`` and has no global value: only what
    ``get`` shows without resets is compared."""

    def script(mx, folder):
        metric, history = mx.metric.PearsonCorrelation(average="micro"), []
        for y, p in batches:
            metric.update([mx.nd.array(y)], [mx.nd.array(p)])
            history.append(metric.get())
        metric.reset()
        return _plain([*history, metric.get()])

    return script


VALUES["pearson_micro"] = _pearson_micro([_related(7), _related(5), _related(3, 2)])
VALUES["pearson_micro_large"] = _pearson_micro([_related(70), _related(50)])

for _name in ("Loss", "Torch", "Caffe"):
    metric(
        _name,
        lambda mx, name=_name: getattr(mx.metric, name)(),
        [([], [_numbers(4), _numbers(2, 3)]) for _ in range(3)],
    )

metric(
    "custom",
    lambda mx: mx.metric.CustomMetric(lambda y, p: float(abs(y - p).sum()), name="distance"),
    _regressions((4,), (4,)),
)
metric(
    "custom_pair",
    lambda mx: mx.metric.create(lambda y, p: (float((y * p).sum()), y.size)),
    _regressions((4,), (4,)),
)
metric(
    "custom_extra_outputs",
    lambda mx: mx.metric.np(lambda y, p: float((y - p).max()), "gap", allow_extra_outputs=True),
    [([_numbers(4)], [_numbers(4), _numbers(2)]) for _ in range(3)],
)
metric("composite", lambda mx: mx.metric.create(["acc", "ce", mx.metric.F1()]), _batches(2))
metric(
    "composite_nested",
    lambda mx: mx.metric.CompositeEvalMetric(["acc", mx.metric.create(["mcc", "nll_loss"])]),
    _batches(2),
)


def value(function):
    VALUES[function.__name__] = function
    return function


LABELS = np.array([0.0, 1.0, 1.0, 0.0])
GUESSES = np.array([[0.3, 0.7], [0.4, 0.6], [0.9, 0.1], [0.8, 0.2]])


def _pair(mx):
    return mx.nd.array(LABELS), mx.nd.array(GUESSES)


@value
def lone_arrays(mx, folder):
    label, pred = _pair(mx)
    values = []
    for name in ("acc", "ce", "f1", "mcc", "pcc", "loss"):
        metric = mx.metric.create(name)
        metric.update(label, pred)
        values.append(metric.get())
    for name in ("mae", "mse", "rmse", "pearsonr"):
        metric = mx.metric.create(name)
        metric.update(label, pred[:, 0])
        values.append(metric.get())
    metric = mx.metric.create("loss")
    metric.update(None, pred)
    return _plain([*values, metric.get()])


@value
def named_arrays(mx, folder):
    label, pred = _pair(mx)
    named = mx.metric.Accuracy(output_names=["out"], label_names=["y"])
    named.update_dict({"x": pred, "y": label}, {"other": label, "out": pred})
    every = mx.metric.Accuracy()
    every.update_dict({"y": label}, {"out": pred})
    both = mx.metric.CompositeEvalMetric(["acc", "ce"], output_names=["out"], label_names=["y"])
    both.update_dict({"x": pred, "y": label}, {"other": label, "out": pred})
    return _plain([named.get(), every.get(), both.get()])


@value
def configurations(mx, folder):
    create = mx.metric.create
    metrics = [
        *map(create, ["acc", "accuracy", "f1", "mcc", "pcc", "mae", "mse", "rmse", "ce"]),
        *map(create, ["nll_loss", "pearsonr", "loss", "torch"]),
        create("caffe"),
        create("topkaccuracy", top_k=3),
        create("Perplexity", ignore_label=2),
        create("crossentropy", eps=0.5, name="c", output_names=["o"], label_names=["l"]),
        create(["acc", "f1"]),
        create('["acc", {"axis": 2}]'),
        create('{"metric": "acc", "axis": 2}'),
        create({"metric": "mae", "name": "m"}),
        create(mx.metric.Accuracy(axis=0)),
    ]
    again = [create(**m.get_config()).get_config() for m in metrics if m.name != "top_k_accuracy_3"]
    return [[m.get_config() for m in metrics], again]


@value
def members(mx, folder):
    both = mx.metric.CompositeEvalMetric()
    both.add("acc")
    both.add(mx.metric.MAE())
    named = mx.metric.CustomMetric(len).name, mx.metric.np(lambda y, p: 0).name
    return [both.get_metric(1).get_config(), str(both), [m.name for m in both.metrics], named]


@value
def registered(mx, folder):
    @mx.metric.register
    @mx.metric.alias("sum_of_all", "sum_of_everything")
    class SumOfAll(mx.metric.EvalMetric):
        def __init__(self, factor=1, name="sum", **kwargs):
            super().__init__(name, factor=factor, **kwargs)
            self.factor = factor

        def update(self, labels, preds):
            for pred in preds:
                self.sum_metric += self.factor * float(pred.asnumpy().sum())
                self.num_inst += 1

    values = []
    for name in ("sumofall", "sum_of_all", "sum_of_everything"):
        metric = mx.metric.create(name, factor=2)
        values.append(metric.get())
        metric.update([], [mx.nd.ones((2, 3))])
        values += [metric.get(), metric.get_global(), metric.get_config(), metric.num_inst]
        metric.reset_local()
        values.append(metric.get())
    return values


@value
def counted_by_hand(mx, folder):
    class Half(mx.metric.Accuracy):
        def update(self, labels, preds):
            super().update(labels, preds)
            self.num_inst += labels[0].size
            self.sum_metric += 0.5

    metric = Half()
    label, pred = _pair(mx)
    metric.update([label], [pred])
    metric.update([label], [pred])
    return _plain([metric.get(), metric.get_global(), metric.num_inst, metric.sum_metric])


@value
def shapes_checked(mx, folder):
    check = mx.metric.check_label_shapes
    label, pred = _pair(mx)
    labels, preds = check(label, pred, wrap=True)
    same = check([label], [pred])
    return [len(labels), len(preds), len(same[0]), check(label, label, shape=True)[0].shape]


def _refused(name, make, label, pred):
    def script(mx, folder):
        metric = make(mx)
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
        metric.get()

    ERRORS[name] = script


def _many_pairs(make, numbers, one_shape):
    """Updates by lists of 1, 2, 7 and 100 pairs, local and global values after each."""

    def script(mx, folder):
        rng, metric, history = np.random.RandomState(5), make(mx), []
        for count in (1, 2, 7, 100):
            labels, preds = [], []
            for i in range(count):
                n = 6 if one_shape else 5 + i * 7 % 11
                label, pred = rng.randint(0, 2, n), rng.dirichlet([1, 1], n)
                if numbers:
                    label, pred = rng.randn(2, n)
                labels.append(mx.nd.array(label))
                preds.append(mx.nd.array(pred))
            metric.update(labels, preds)
            history += [metric.get()[1], metric.get_global()[1]]
            if count == 2:
                metric.reset_local()
        return _plain(history)

    return script


#: Metrics whose values are equal to MXNet's to the last bit, whatever the order of the pairs.
EXACT = []
for _name, _options in (
    ("Accuracy", {}), ("TopKAccuracy", {"top_k": 2}), ("F1", {}), ("F1", {"average": "micro"}),
    ("MCC", {}), ("MCC", {"average": "micro"}), ("PCC", {}),
    ("Perplexity", {"ignore_label": 0}), ("CrossEntropy", {}), ("NegativeLogLikelihood", {}),
    ("Loss", {}), ("MAE", {}), ("MSE", {}), ("RMSE", {}), ("PearsonCorrelation", {}),
):  # fmt: skip
    for _one_shape in (True, False):
        _key = "_".join([_name, *map(str, _options.values()), "of_many_pairs"])
        _key += "" if _one_shape else "_and_shapes"
        VALUES[_key] = _many_pairs(
            lambda mx, name=_name, options=_options: getattr(mx.metric, name)(**options),
            _name in ("MAE", "MSE", "RMSE", "PearsonCorrelation"),
            _one_shape,
        )
        if _name in ("Accuracy", "TopKAccuracy", "F1", "MCC", "PCC"):
            EXACT.append(_key)

_SIX, _FIVE = np.zeros(6), np.zeros(5)
_TWO, _FOUR = _probabilities(6, 2), _probabilities(6, 4)
_refused("accuracy_length", lambda mx: mx.metric.Accuracy(), _FIVE, _FOUR)
_refused("accuracy_axis", lambda mx: mx.metric.Accuracy(axis=3), _SIX, _FOUR)
_refused("top_k_beyond_classes", lambda mx: mx.metric.TopKAccuracy(5), _SIX, _FOUR)
_refused("top_k_of_maps", lambda mx: mx.metric.TopKAccuracy(2), _SIX, np.zeros((6, 4, 2)))
_refused("top_k_length", lambda mx: mx.metric.TopKAccuracy(2), _FIVE, _FOUR)
_refused("perplexity_length", lambda mx: mx.metric.Perplexity(None), _FIVE, _FOUR)
_refused("perplexity_of_maps", lambda mx: mx.metric.Perplexity(None), np.zeros(12), [_FOUR, _FOUR])
_refused("cross_entropy_length", lambda mx: mx.metric.CrossEntropy(), _FIVE, _FOUR)
_refused("cross_entropy_label", lambda mx: mx.metric.CrossEntropy(), [7.0] * 6, _FOUR)
_refused("cross_entropy_flat", lambda mx: mx.metric.CrossEntropy(), _SIX, _SIX)
_refused("likelihood_length", lambda mx: mx.metric.NegativeLogLikelihood(), _FIVE, _FOUR)
_refused("f1_classes", lambda mx: mx.metric.F1(), [0, 1, 2, 0, 1, 2], _TWO)
_refused("mcc_classes", lambda mx: mx.metric.MCC(), [0, 1, 2, 0, 1, 2], _TWO)
_refused("f1_length", lambda mx: mx.metric.F1(), _FIVE, _TWO)
_refused("f1_flat", lambda mx: mx.metric.F1(), _SIX, _SIX)
_refused("mae_shapes", lambda mx: mx.metric.MAE(), np.zeros((3, 2)), np.zeros((4, 3)))
_refused("pearson_shapes", lambda mx: mx.metric.PearsonCorrelation(), np.zeros((3, 2)), _SIX)


def _error(name, script):
    ERRORS[name] = lambda mx, folder: script(mx)


_error("top_1", lambda mx: mx.metric.TopKAccuracy())
_error("unknown_metric", lambda mx: mx.metric.create("nope"))
_error("number_as_metric", lambda mx: mx.metric.create(3))
_error("metric_with_options", lambda mx: mx.metric.create(mx.metric.Accuracy(), axis=1))
_error("custom_config", lambda mx: mx.metric.CustomMetric(len).get_config())
_error("base_update", lambda mx: mx.metric.EvalMetric("x").update([], []))
_error("lists_of_other_length", lambda mx: mx.metric.Accuracy().update([], [mx.nd.ones(2)]))
_error("absent_output", lambda mx: mx.metric.Accuracy(output_names=["o"]).update_dict({}, {"p": 1}))
_error("shapes_differ", lambda mx: mx.metric.check_label_shapes(*_pair(mx), shape=True))
_error("no_subclass", lambda mx: mx.metric.register(int))
