"""Properties of metrics beyond golden values: devices, host copies, programs, errors, additions."""

from __future__ import annotations

import copy
import pickle
import warnings

import jax
import numpy as np
import pytest
from jax._src.array import ArrayImpl

import executorkit as mx
from executorkit.metric import _device_metric
from executorkit.metric._device_metric import MAX_COMPILED_SHAPES, tally_step

CLASSES = {
    "acc": {}, "top_k_accuracy": {"top_k": 2}, "f1": {}, "mcc": {"average": "micro"},
    "perplexity": {"ignore_label": 0}, "ce": {}, "nll_loss": {}, "pcc": {}, "loss": {},
}  # fmt: skip
NUMBERS = {"mae": {}, "mse": {}, "rmse": {}, "pearsonr": {"average": "micro"}}
EVERY = {**CLASSES, **NUMBERS}


def _pair(name, n=8, seed=0):
    rng = np.random.RandomState(seed)
    if name in NUMBERS:
        return rng.randn(n).astype("float32"), rng.randn(n).astype("float32")
    return rng.randint(0, 2, n).astype("float32"), rng.dirichlet([1, 1], n).astype("float32")


@pytest.fixture
def fetched(monkeypatch):
    """Shapes of everything that is copied to the host."""
    shapes = []
    read, asnumpy = ArrayImpl._value.fget, mx.nd.NDArray.asnumpy
    monkeypatch.setattr(
        ArrayImpl, "_value", property(lambda self: shapes.append(self.shape) or read(self))
    )
    monkeypatch.setattr(
        mx.nd.NDArray, "asnumpy", lambda self: shapes.append(self.shape) or asnumpy(self)
    )
    return shapes


def test_fetches_are_counted(fetched):
    array = mx.nd.ones((2,)) + 1
    jax.device_get(array.jax)
    assert fetched == [(2,)]
    array.asnumpy()
    assert fetched == [(2,), (2,)]
    mx.metric.np(lambda y, p: 0).update([array], [array])
    assert len(fetched) == 4


@pytest.mark.usefixtures("on_devices")
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_fetched_before_the_value_is_read(name, fetched):
    metric = mx.metric.create(name, **EVERY[name])
    pairs = [[mx.nd.array(x) for x in _pair(name, seed=s)] for s in range(3)]
    metric.update([pairs[0][0]], [pairs[0][1]])
    fetched.clear()
    for label, pred in pairs:
        metric.update([label], [pred])
    assert fetched == []
    metric.get()
    assert len(fetched) == 1
    metric.get()
    metric.get_global()
    assert len(fetched) == 1


@pytest.mark.usefixtures("compiled", "on_devices")
@pytest.mark.parametrize("name", EVERY)
def test_predictions_on_several_devices_count_like_those_on_one(name, fetched):
    pairs = [_pair(name, n=3 + s, seed=s) for s in range(4)]
    one, four = (mx.metric.create(name, **EVERY[name]) for _ in range(2))
    for _ in range(2):
        one.update([mx.nd.array(y) for y, _ in pairs], [mx.nd.array(p) for _, p in pairs])
        preds = [mx.nd.array(p, ctx=mx.cpu(i)) for i, (_, p) in enumerate(pairs)]
        labels = [mx.nd.array(y) for y, _ in pairs]
        fetched.clear()
        four.update(labels, preds)
        assert fetched == []
    assert four.get()[1] == pytest.approx(one.get()[1], rel=1e-12)
    assert four.get_global() == four.get()
    assert isinstance(four.get()[1], float)


@pytest.mark.usefixtures("on_devices")
def test_tallies_stay_on_the_devices_of_the_predictions():
    metric = mx.metric.Accuracy()
    for i in (0, 3):
        label, pred = (mx.nd.array(x) for x in _pair("acc"))
        metric.update([label], [pred.as_in_context(mx.cpu(i))])
    places = {next(iter(t.devices())) for t in metric._device_tallies.values()}
    assert places == {mx.cpu(0).device, mx.cpu(3).device}


@pytest.mark.usefixtures("on_devices")
@pytest.mark.parametrize("name", EVERY)
def test_one_trace_for_each_shape_whatever_the_number_of_metrics(name):
    tally_step.cache_clear()
    traces = mx.program.cache_info().traces
    for _ in range(3):
        metric = mx.metric.create(name, **EVERY[name])
        for n in (8, 5, 8):
            label, pred = (mx.nd.array(x) for x in _pair(name, n))
            metric.update([label], [pred])
            metric.get()
    steps = 1 if name == "f1" else 0  # the score of the counts, of one shape
    assert mx.program.cache_info().traces - traces == 2 + steps


@pytest.mark.usefixtures("on_devices")
@pytest.mark.parametrize("name", EVERY)
def test_the_length_of_a_list_compiles_nothing(name):
    tally_step.cache_clear()
    traces = mx.program.cache_info().traces
    for count in (1, 2, 150):
        pairs = [[mx.nd.array(x) for x in _pair(name, seed=s)] for s in range(count)]
        metric = mx.metric.create(name, **EVERY[name])
        metric.update(*map(list, zip(*pairs, strict=True)))
        metric.get()
    assert mx.program.cache_info().traces - traces == (2 if name == "f1" else 1)


@pytest.mark.usefixtures("on_devices")
@pytest.mark.parametrize("name", EVERY)
def test_many_shapes_compile_a_few_programs_and_are_measured_alike(name):
    sizes = range(3, 43)
    pairs = [_pair(name, n, seed=n) for n in sizes]
    one_by_one = mx.metric.create(name, **EVERY[name])
    for label, pred in pairs:
        one_by_one.update([label], [pred])
    tally_step.cache_clear()
    traces = mx.program.cache_info().traces
    metric = mx.metric.create(name, **EVERY[name])
    for label, pred in pairs:
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    assert metric.get()[1] == pytest.approx(one_by_one.get()[1], rel=1e-6)
    assert mx.program.cache_info().traces - traces <= MAX_COMPILED_SHAPES + 1
    assert mx.program.cache_info().kinds["metrics"].size <= 2


@pytest.mark.parametrize("name", EVERY)
def test_small_pairs_are_measured_without_a_program(name, monkeypatch):
    tally_step.cache_clear()
    traces = mx.program.cache_info().traces
    metric, other = (mx.metric.create(name, **EVERY[name]) for _ in range(2))
    pairs = [[mx.nd.array(x) for x in _pair(name, n, seed=n)] for n in (8, 5, 8, 30)]
    for label, pred in pairs:
        metric.update([label], [pred])
    assert mx.program.cache_info().traces == traces
    assert vars(metric)["_device_tallies"] == {}
    monkeypatch.setattr(_device_metric, "_SMALL_SIZE", -1)
    for label, pred in pairs:
        other.update([label], [pred])
    assert mx.program.cache_info().traces > traces
    assert metric.get()[1] == pytest.approx(other.get()[1], rel=1e-6)
    assert metric.get_global()[1] == pytest.approx(other.get_global()[1], rel=1e-6)


def test_the_latest_small_pair_waits_for_the_next_update():
    metric = mx.metric.Accuracy()
    pairs = [[mx.nd.array(x) for x in _pair("acc", seed=s)] for s in range(3)]
    for label, pred in pairs:
        metric.update([label], [pred])
    right = [(y.asnumpy() == p.asnumpy().argmax(1)).sum() for y, p in pairs]
    # Measuring it would wait for the predictions. A write that comes before does not change it.
    assert metric._local_tally[0] == sum(right[:2])
    pairs[2][1][:] = 0
    assert metric.get()[1] == sum(right) / 24
    metric.update([pairs[0][0]], [pairs[0][1]])
    metric.reset()
    assert np.isnan(metric.get()[1])


def test_arrays_of_numpy_are_measured_at_once():
    metric = mx.metric.MAE()
    label, pred = np.zeros(4), np.ones(4)
    metric.update([mx.nd.array(label)], [pred])
    metric.update([label], [mx.nd.array(pred)])
    label[:] = pred[:] = 7
    assert metric.get()[1] == 1


@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_scores_of_unread_updates_are_added_one_by_one(name):
    unread, read = mx.metric.create(name), mx.metric.create(name)
    for i in range(600):
        labels, preds = zip(*[_pair(name, seed=2 * i + k) for k in range(2)], strict=True)
        preds = [mx.nd.array(p, ctx=mx.cpu(k)) for k, p in enumerate(preds)]
        for metric in (unread, read):
            metric.update([mx.nd.array(x) for x in labels], preds)
            if i == 300:
                metric.reset_local()
        read.get()
    assert unread.get() == read.get()
    assert unread.get_global() == read.get_global()
    assert (unread.num_inst, unread.global_num_inst) == (299, 600)


def test_an_update_without_pairs_is_a_score_of_zero():
    metric = mx.metric.F1()
    metric.update([mx.nd.array([0, 1])], [mx.nd.array(np.eye(2))])
    metric.update([], [])
    assert metric.get() == ("f1", 0.5)


@pytest.mark.parametrize("kind", [np.asarray, jax.numpy.asarray, mx.nd.array])
def test_arrays_of_any_kind_are_taken(kind):
    label, pred = _pair("acc")
    metric = mx.metric.create(["acc", "pcc", "mcc"])
    metric.update([kind(label)], [kind(pred)])
    reference = mx.metric.create(["acc", "pcc", "mcc"])
    reference.update([mx.nd.array(label)], [mx.nd.array(pred)])
    assert metric.get() == reference.get()


def test_unread_outputs_are_measured():
    net = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
    executor = net.simple_bind(mx.cpu(), data=(8, 2))
    label, pred = _pair("acc")
    executor.forward(is_train=True, data=mx.nd.array(pred), softmax_label=mx.nd.array(label))
    metric = mx.metric.create("acc")
    metric.update([executor.arg_dict["softmax_label"]], executor.outputs)
    assert metric.get()[1] == np.mean(pred.argmax(1) == label)


def test_sums_are_exact_where_float32_ends():
    metric = mx.metric.Loss()
    for value in (2.0**24, 1.0, 1.0):
        metric.update(None, [mx.nd.array([value])])
    assert metric.sum_metric == 2.0**24 + 2


def test_float64_predictions_keep_their_precision():
    metric = mx.metric.MAE()
    metric.update(
        [mx.nd.array([1.0], dtype="float64")], [mx.nd.array([1 + 1e-12], dtype="float64")]
    )
    assert metric.get()[1] == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize("reset", ["reset", "reset_local", "reset_micro"])
def test_micro_correlation_is_that_of_all_elements(reset):
    pairs = [_pair("pearsonr", n, seed=n) for n in (5, 9, 1, 7)]

    def correlation(chosen):
        labels, preds = (np.concatenate(x).astype("float64") for x in zip(*chosen, strict=True))
        return pytest.approx(np.corrcoef(labels, preds)[0, 1], rel=1e-10)

    metric = mx.metric.PearsonCorrelation(average="micro")
    for i, (label, pred) in enumerate(pairs):
        if i == 2:
            getattr(metric, reset)()
        metric.update([mx.nd.array(label)], [mx.nd.array(pred, ctx=mx.cpu(i))])
    assert metric.get() == ("pearsonr", correlation(pairs[2:]))
    others = pairs if reset == "reset_local" else pairs[2:]
    assert metric.get_global() == ("pearsonr", correlation(others))


def test_lower_class_wins_among_equal_scores():
    metric = mx.metric.TopKAccuracy(2)
    metric.update([mx.nd.array([0, 1, 2])], [mx.nd.array(np.ones((3, 3)))])
    assert metric.get()[1] == 2 / 3


def test_infinite_perplexity():
    metric = mx.metric.Perplexity(None)
    metric.update([mx.nd.array([0])], [mx.nd.array([[0.5, 0.5]])])
    metric.sum_metric = 1e4
    assert metric.get() == ("perplexity", float("inf"))


@pytest.mark.parametrize("metric", [mx.metric.F1(average="micro"), mx.metric.PCC()])
def test_sums_derived_from_counts_cannot_be_set(metric):
    with pytest.raises(AttributeError, match=r"follow from its counts"):
        metric.sum_metric = 1


def _text_of(error, metric, label, pred):
    metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    with pytest.raises(error) as caught:
        metric.get()
    return str(caught.value)


def test_invalid_labels_are_reported_when_the_metric_is_read():
    metric = mx.metric.F1()
    text = _text_of(mx.metric.MetricValueError, metric, [0, 1, 2, 2], np.ones((4, 2)))
    assert text == (
        "metric 'f1': 1 labels are invalid\n"
        "  because labels are of two classes, 0 and 1\n"
        "  try: reset() before going on"
    )
    with pytest.raises(ValueError, match="two classes"):
        metric.get_global()
    metric.reset()
    metric.update([mx.nd.array([0, 1])], [mx.nd.array(np.eye(2))])
    assert metric.get() == ("f1", 1.0)


def test_labels_beyond_the_classes():
    text = _text_of(IndexError, mx.metric.CrossEntropy(), [0, 4, -5], np.full((3, 4), 0.25))
    assert text == (
        "metric 'cross-entropy': 2 labels are invalid\n"
        "  because a label is a class from -C to C - 1, negative ones counted from the end\n"
        "  try: reset() before going on"
    )
    text = _text_of(ValueError, mx.metric.PCC(), [0, 4, -1], np.full((3, 4), 0.25))
    assert "because a label is a class from 0 to C - 1" in text


@pytest.mark.parametrize(
    ("metric", "label", "pred", "text"),
    [
        (
            mx.metric.Accuracy(), (5,), (6, 4),
            "metric 'accuracy': labels (5,) for predictions (6, 4), expected 6 labels",
        ),
        (
            mx.metric.Accuracy(axis=2), (6,), (6, 4),
            "metric 'accuracy': predictions (6, 4) have no axis 2\n"
            "  try: axis=..., the axis of the classes",
        ),
        (
            mx.metric.TopKAccuracy(3), (6,), (6, 2),
            "metric 'top_k_accuracy_3': predictions (6, 2), expected scores of at least 3 classes "
            "for each example, (N, C)",
        ),
        (
            mx.metric.TopKAccuracy(2), (6,), (6,),
            "metric 'top_k_accuracy_2': predictions (6,), expected scores of at least 2 classes "
            "for each example, (N, C)",
        ),
        (
            mx.metric.TopKAccuracy(2), (6, 2), (6, 2),
            "metric 'top_k_accuracy_2': labels (6, 2), expected (6,)",
        ),
        (
            mx.metric.F1(), (6,), (6,),
            "metric 'f1': predictions (6,), expected scores of two classes, (N, 2)",
        ),
        (mx.metric.MCC(), (5,), (6, 2), "metric: labels have length 5, predictions 6"),
        (
            mx.metric.CrossEntropy(), (5,), (6, 2),
            "metric 'cross-entropy': 5 labels for 6 predictions\n"
            "  because labels are (5,), predictions (6, 2)",
        ),
        (
            mx.metric.Perplexity(None), (3, 2), (3, 2, 4),
            "metric 'perplexity': labels (3, 2) for predictions (3, 2, 4), expected N labels for "
            "predictions of two axes with the classes along axis -1\n"
            "  try: reshape predictions to (N, C)",
        ),
        (
            mx.metric.MSE(), (3, 2), (4, 3),
            "metric 'mse': labels (3, 2) and predictions (4, 3) do not broadcast",
        ),
        (
            mx.metric.PearsonCorrelation(), (3, 2), (6,),
            "metric: labels have shape (3, 2), predictions (6,)",
        ),
        (
            mx.metric.PCC(), (5,), (6, 2),
            "metric 'pcc': labels (5,) for predictions (6, 2), expected a score for each class, "
            "(N, C), or class numbers",
        ),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(metric, label, pred, text):
    labels, preds = mx.nd.ones(label), mx.nd.ones(pred)
    with pytest.raises(mx.metric.MetricShapeError) as caught:
        metric.update([labels], [preds])
    assert str(caught.value) == text
    assert metric.num_inst == 0


def test_a_rejected_batch_is_not_counted():
    label, pred = (mx.nd.array(x) for x in _pair("acc"))
    metric = mx.metric.Accuracy()
    with pytest.raises(ValueError, match="labels"):
        metric.update([label, label[:5]], [pred, pred])
    assert metric.num_inst == 0


def test_number_of_labels_and_of_predictions():
    with pytest.raises(ValueError, match="labels have length 1, predictions 2") as caught:
        mx.metric.Accuracy().update([1], [1, 2])
    assert isinstance(caught.value, mx.MXNetError)


@pytest.mark.parametrize("name", EVERY)
def test_a_configuration_recreates_the_metric(name):
    metric = mx.metric.create(name, **EVERY[name])
    again = mx.metric.create(**metric.get_config())
    label, pred = (mx.nd.array(x) for x in _pair(name))
    for m in (metric, again):
        m.update([label], [pred])
        m.update([pred[:, 0] > 0.5 if pred.ndim > 1 else pred], [pred])
    assert again.get() == metric.get()
    assert again.get_config() == metric.get_config()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_is_independent(copied):
    metric = mx.metric.create(["acc", "f1"])
    label, pred = (mx.nd.array(x) for x in _pair("acc"))
    metric.update([label], [pred])
    before = metric.get()
    other = copied(metric)
    other.update([label], [1 - pred])
    assert metric.get() == before
    assert other.get() != before


def test_unknown_names_get_suggestions():
    with pytest.raises(mx.registry.RegistryError) as caught:
        mx.metric.create("acuracy")
    assert str(caught.value) == (
        "metric: create: 'acuracy' is not registered\n"
        "  try: 'accuracy' or 'topkaccuracy' or 'top_k_accuracy'"
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: mx.metric.create(3), "metric: create: 3, expected the name of a metric"),
        (lambda: mx.metric.create(mx.metric.MAE(), name="x"), "metric: create: arguments are"),
        (lambda: mx.metric.create("[3"), "metric: create: '[3' is neither [name, options]"),
        (lambda: mx.metric.create({"name": "x"}), "metric: create: no name is given"),
        (
            lambda: mx.metric.register(int),
            "metric: register: <class 'int'> is not a subclass of EvalMetric",
        ),
        (
            lambda: mx.metric.CompositeEvalMetric(["acc"]).get_metric(3),
            "metric 'composite': 1 members, no number 3",
        ),
        (
            lambda: mx.metric.TopKAccuracy(1),
            "metric 'top_k_accuracy': top_k is 1, expected at least 2\n  try: Accuracy()",
        ),
    ],
)
def test_metrics_that_cannot_be_created(make, text):
    with pytest.raises(mx.MXNetError) as caught:
        make()
    assert str(caught.value).startswith(text)
    assert isinstance(caught.value, AssertionError)


def test_classes_of_metrics_make_metrics():
    metric = mx.metric.create(mx.metric.Accuracy, axis=2)
    assert isinstance(metric, mx.metric.Accuracy)
    assert metric.axis == 2


def test_replacing_a_registered_name_warns():
    class Thing:
        pass

    register = mx.registry.get_register_func(Thing, "thing")
    create = mx.registry.get_create_func(Thing, "thing")
    first, second = (type(n, (Thing,), {}) for n in ("First", "Second"))
    register(first, "it")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register(first, "it")
    with pytest.warns(UserWarning, match="thing 'it' was"):
        register(second, "it")
    assert isinstance(create("IT"), second)
    assert mx.registry.get_registry(Thing) == {"it": second}


@pytest.mark.parametrize(
    ("metric", "label", "pred", "expected"),
    [
        (mx.metric.PearsonCorrelation(), [1, 2, 3], [6, 4, 2], ("pearsonr", -1.0)),
        (mx.metric.MSE(), [1, 2], [1, 5], ("mse", 4.5)),
        (mx.metric.RMSE(), [2, 2], [5, -1], ("rmse", 3.0)),
        (
            mx.metric.Perplexity(ignore_label=None), [0, 1, 1],
            [[0.3, 0.7], [0, 1], [0.4, 0.6]], ("perplexity", 1.7711),
        ),
    ],
)  # fmt: skip
def test_values_by_hand(metric, label, pred, expected):
    metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    name, value = metric.get()
    assert (name.lower(), round(value, 4)) == expected
