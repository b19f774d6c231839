"""Unusual but legal Python values: NumPy scalars, arrays, texts and lists in place of numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import nd, ops, sym
from executorkit.calls.resolved_calls import DYNAMIC, split_numbers
from executorkit.gluon import contrib, loss, nn, rnn
from executorkit.ndarray import eager_cache_info
from executorkit.optimizer import apply_cache_info
from executorkit.symbol.nesting import flatten
from tests._tools import golden
from tests.optimizer._runs import ANSWERS


def scalars(value: Any) -> list[Any]:
    """NumPy's scalars that mean a number; float32 where its text is the same."""
    if isinstance(value, bool):
        return [np.bool_(value), int(value)]
    if isinstance(value, int):
        return [np.int32(value), np.int64(value)]
    if isinstance(value, float):
        is_short = float(str(np.float32(value))) == value
        return [np.float64(value), *([np.float32(value)] if is_short else [])]
    return []


def sequences(value: Any) -> list[Any]:
    if not isinstance(value, tuple | list) or not value or None in value:
        return []
    return [list(value), tuple(value), np.array(value), [np.array(v)[()] for v in value]]


def forms(value: Any) -> Iterator[Any]:
    """The value as objects of other types that mean the same in operators."""
    yield from scalars(value)
    yield from map(np.array, scalars(value))
    yield from sequences(value)
    if isinstance(value, tuple | list | int | float):
        yield str(value)


def typed(value: Any) -> Any:
    """The value with the types of its parts: 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {name: typed(v) for name, v in value.items()}
    if isinstance(value, tuple):
        return [typed(v) for v in value]
    return type(value), value


@pytest.mark.golden
@pytest.mark.parametrize("family", golden.families())
def test_attributes_of_operators_are_read_alike(family: str) -> None:
    for case in golden.cases(family):
        op = ops.lookup(case.op)
        assert op is not None
        given = {op.count: len(case.inputs), **case.attrs} if op.count else case.attrs
        expected = typed(op.parse(given))
        calls = typed(split_numbers(op, given, []))
        for name, value in given.items():
            for form in forms(value):
                attrs = {**given, name: form}
                assert typed(op.parse(attrs)) == expected, (case.name, name, form)
                if name in DYNAMIC:
                    assert typed(split_numbers(op, attrs, [])) == calls, (case.name, name, form)


@pytest.mark.parametrize(
    "update",
    [
        lambda w, g, rates: nd.sgd_update(w, g, lr=rates[0]),
        lambda w, g, rates: nd.multi_sgd_update(w, g, w, g, lrs=rates, wds=rates, num_weights=2)[1],
        lambda w, g, rates: nd.preloaded_multi_sgd_update(
            w, g, w, g, nd.array(rates), nd.array(rates), num_weights=2
        )[1],
        lambda w, g, rates: nd.multi_mp_sgd_update(
            w, g, w.astype("float32"), w, g, w.astype("float32"),
            lrs=rates, wds=rates, num_weights=2,
        )[1],
        lambda w, g, rates: nd.contrib.multi_adamw_update(
            [w, w], [g, g], [w * 0, w * 0], [w * 0, w * 0], 1, rates, rates, rates,
        )[1],
        lambda w, g, rates: nd.contrib.multi_lamb_update(
            [w, w], [g, g], [w * 0, w * 0], [w * 0, w * 0], np.array([1, 1]), rates, rates
        )[1],
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rates_of_updates_are_numbers_of_any_kind(update: Callable[..., Any], dtype: str) -> None:
    weight, grad = nd.array([1, 2], dtype=dtype), nd.array([1, -1], dtype=dtype)
    expected = update(weight, grad, [0.1, 0.2])
    assert expected.dtype is np.dtype(dtype).type
    traces = eager_cache_info().traces
    short = [np.float32(0.1), np.float32(0.2)]
    for rates in ((0.1, 0.2), np.array([0.1, 0.2]), short):
        result = update(weight, grad, rates)
        assert result.dtype is expected.dtype
        assert result.asnumpy().tolist() == expected.asnumpy().tolist()
    for rates in (np.array([0.3, 0.4], np.float32), list(np.array([0.5, 0.6]))):
        update(weight, grad, rates)
    assert eager_cache_info().traces == traces


#: Arguments of every optimizer with a value that float32 holds exactly.
NUMBERS = {
    "learning_rate": 0.125, "wd": 0.0625, "rescale_grad": 0.5, "clip_gradient": 0.75,
    "momentum": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 2.0**-10, "eps": 2.0**-10, "eta": 0.25,
    "gamma1": 0.5, "gamma2": 0.75, "rho": 0.5, "lamda1": 0.25, "beta": 0.5, "lamda": 0.5,
    "wd_lh": 0.25, "clip_weights": 1.5, "lower_bound": 0.5, "upper_bound": 4.0,
    "schedule_decay": 0.25, "begin_num_update": 3,
}  # fmt: skip


def trained(name: str, options: dict[str, Any], dtype: str) -> list[Any]:
    optimizer = mx.optimizer.create(name, **options)
    updater = mx.optimizer.get_updater(optimizer)
    mx.random.seed(5)
    weights = [nd.array([[0.5, -1.0], [2.0, 1.5]], dtype=dtype), nd.array([[1.0]], dtype=dtype)]
    for _ in range(3):
        for i, weight in enumerate(weights):
            updater(i, nd.ones(weight.shape, dtype=dtype) * 0.5, weight)
    state = [s for s in updater.states.values() if isinstance(s, nd.NDArray)]
    return [(x.dtype, x.asnumpy().tolist()) for x in (*weights, *state)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ANSWERS.facts["classes"])
def test_arguments_of_optimizers_are_read_alike(name: str, dtype: str) -> None:
    klass = mx.optimizer.Optimizer.opt_registry[name]
    names = {
        *inspect.signature(klass).parameters,
        *inspect.signature(mx.optimizer.Optimizer).parameters,
    }
    options = {n: value for n, value in NUMBERS.items() if n in names}
    if name == "groupadagrad":
        del options["wd"]
    expected = trained(name, options, dtype)
    traces = apply_cache_info().traces
    for kind in (np.float32, np.float64, lambda v: np.array(v), lambda v: np.array(v, np.float32)):
        typed_options = {n: kind(v) for n, v in options.items() if isinstance(v, float)}
        assert trained(name, {**options, **typed_options}, dtype) == expected
    assert apply_cache_info().traces == traces


#: Layers with arguments, and the shapes of their inputs.
LAYERS: dict[str, tuple[Callable[..., Any], dict[str, Any], list[Any]]] = {
    "Dense": (nn.Dense, {"units": 3, "flatten": False, "in_units": 4, "use_bias": True}, [(2, 4)]),
    "Dropout": (nn.Dropout, {"rate": 0.5, "axes": (0,)}, [(2, 4)]),
    "Embedding": (nn.Embedding, {"input_dim": 5, "output_dim": 3}, [(2,)]),
    "LeakyReLU": (nn.LeakyReLU, {"alpha": 0.25}, [(2, 4)]),
    "ELU": (nn.ELU, {"alpha": 0.5}, [(2, 4)]),
    "Swish": (nn.Swish, {"beta": 0.5}, [(2, 4)]),
    "BatchNorm": (
        nn.BatchNorm,
        {"axis": 1, "momentum": 0.5, "epsilon": 0.25, "center": True, "scale": False,
         "use_global_stats": False, "in_channels": 4},
        [(2, 4)],
    ),
    "LayerNorm": (nn.LayerNorm, {"axis": 1, "epsilon": 0.25, "in_channels": 4}, [(2, 4)]),
    "GroupNorm": (nn.GroupNorm, {"num_groups": 2, "epsilon": 0.25}, [(2, 4, 3)]),
    "InstanceNorm": (nn.InstanceNorm, {"axis": 1, "epsilon": 0.25}, [(2, 4, 3)]),
    "Conv2D": (
        nn.Conv2D,
        {"channels": 4, "kernel_size": (2, 3), "strides": (2, 1), "padding": (1, 0),
         "dilation": (1, 2), "groups": 2, "in_channels": 2, "use_bias": False},
        [(1, 2, 6, 7)],
    ),
    "Conv1D": (nn.Conv1D, {"channels": 4, "kernel_size": 3, "strides": 2}, [(1, 2, 9)]),
    "Conv2DTranspose": (
        nn.Conv2DTranspose,
        {"channels": 2, "kernel_size": 3, "strides": (2, 2), "output_padding": (1, 1)},
        [(1, 2, 4, 4)],
    ),
    "MaxPool2D": (
        nn.MaxPool2D,
        {"pool_size": (2, 3), "strides": 2, "padding": (0, 1), "ceil_mode": True},
        [(1, 2, 5, 6)],
    ),
    "AvgPool1D": (nn.AvgPool1D, {"pool_size": 2, "count_include_pad": False}, [(1, 2, 5)]),
    "ReflectionPad2D": (nn.ReflectionPad2D, {"padding": 1}, [(1, 1, 3, 3)]),
    "PixelShuffle2D": (contrib.nn.PixelShuffle2D, {"factor": (1, 2)}, [(1, 4, 2, 2)]),
    "LSTM": (
        rnn.LSTM,
        {"hidden_size": 3, "num_layers": 2, "dropout": 0.0, "bidirectional": True, "input_size": 2},
        [(4, 1, 2)],
    ),
    "DropoutCell": (rnn.DropoutCell, {"rate": 0.5}, [(2, 3), []]),
    "GRUCell": (rnn.GRUCell, {"hidden_size": 3, "input_size": 2}, [(2, 2), [(2, 3)]]),
    "L2Loss": (loss.L2Loss, {"weight": 0.5, "batch_axis": 0}, [(2, 3), (2, 3)]),
    "HuberLoss": (loss.HuberLoss, {"rho": 0.5}, [(2, 3), (2, 3)]),
    "TripletLoss": (loss.TripletLoss, {"margin": 0.5}, [(2, 3), (2, 3), (2, 3)]),
    "SoftmaxCELoss": (
        loss.SoftmaxCELoss,
        {"axis": 1, "sparse_label": True, "from_logits": False},
        [(2, 3), (2,)],
    ),
}  # fmt: skip


def arrays(shape: Any) -> Any:
    if isinstance(shape, list):
        return [arrays(part) for part in shape]
    return nd.arange(1, 1 + np.prod(shape)).reshape(shape) / 8


def outputs(make: Callable[..., Any], options: dict[str, Any], shapes: Any, hybrid: bool) -> Any:
    names = {} if make is contrib.nn.PixelShuffle2D else {"prefix": "layer_"}
    block = make(**options, **names)
    block.initialize(mx.init.One())
    if hybrid:
        block.hybridize()
    inputs = [arrays(shape) for shape in shapes]
    mx.random.seed(7)
    with mx.autograd.train_mode():
        results = block(*inputs)
    return [(x.dtype, x.asnumpy().tolist()) for x in flatten(results)]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_arguments_of_layers_are_read_alike(name: str, hybrid: bool) -> None:
    make, options, shapes = LAYERS[name]
    expected = outputs(make, options, shapes, hybrid)
    traces = eager_cache_info().traces, mx.program.cache_info().traces
    for argument, value in options.items():
        for form in (*scalars(value), *sequences(value)):
            changed = {**options, argument: form}
            assert outputs(make, changed, shapes, hybrid) == expected, (argument, form)
    assert (eager_cache_info().traces, mx.program.cache_info().traces) == traces


class Typed:
    dtype = np.dtype("float16")


@pytest.mark.parametrize(
    "dtype",
    [
        nd.ones(1, dtype="float16"), nd.ones(1, dtype="float16").dtype, np.float16(1),
        np.ones(1, np.float16), np.dtype("float16"), Typed(), "float16", "f2", "<f2", "half",
        np.str_("float16"),
    ],
    ids=lambda dtype: type(dtype).__name__,
)  # fmt: skip
def test_element_types_are_taken_from_whatever_has_one(dtype: Any) -> None:
    x = nd.ones(2)
    for result in (
        x.astype(dtype), nd.zeros(2, dtype=dtype), nd.full(2, 1, dtype=dtype),
        nd.arange(2, dtype=dtype), nd.array([1], dtype=dtype), nd.cast(x, dtype=dtype),
        nd.random.uniform(shape=2, dtype=dtype),
    ):  # fmt: skip
        assert result.dtype is np.float16
    assert sym.cast(sym.var("x"), dtype=dtype).list_attr()["dtype"] == "float16"
    assert sym.var("x").astype(dtype).list_attr()["dtype"] == "float16"
    dense = nn.Dense(2, in_units=2, dtype=dtype)
    dense.initialize()
    assert dense.weight.data().dtype is np.float16
    dense.cast("float32")
    dense.cast(dtype)
    assert dense.weight.data().dtype is np.float16


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (lambda v: mx.lr_scheduler.FactorScheduler(2, v, base_lr=v), 0.5),
        (lambda v: mx.lr_scheduler.PolyScheduler(5, base_lr=v, final_lr=v), 0.25),
        (lambda v: mx.lr_scheduler.MultiFactorScheduler([2, 4], v, base_lr=v), 0.5),
    ],
)
def test_schedulers_compute_in_pythons_numbers(made: Callable[..., Any], value: float) -> None:
    expected = [made(value)(n) for n in range(1, 6)]
    for form in (*scalars(value), *map(np.array, scalars(value))):
        scheduler = made(form)
        assert [scheduler(n) for n in range(1, 6)] == expected
        assert isinstance(scheduler.base_lr, float)


@pytest.mark.parametrize("value", [2, np.int64(2), np.array(2)])
def test_counts_of_metrics_and_iterators(value: Any) -> None:
    metric = mx.metric.TopKAccuracy(value)
    metric.update([nd.array([0.0, 1.0])], [nd.array([[0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])])
    assert metric.get() == ("top_k_accuracy_2", 0.5)
    batches = list(mx.io.NDArrayIter(np.ones((5, 3)), batch_size=value))
    assert [(batch.data[0].shape, batch.pad) for batch in batches] == [
        ((2, 3), p) for p in (0, 0, 1)
    ]
    x = nd.arange(24).reshape((2, 3, 4))
    assert nd.moveaxis(x, np.array([0, 1]), [value, 0]).shape == (3, 4, 2)


def test_no_request_of_gradients() -> None:
    executor = (sym.var("x") * 2).simple_bind(mx.cpu(), grad_req=None, x=(2,))
    assert executor.grad_arrays == [None]
    with pytest.raises(mx.MXNetError, match="grad_req"):
        (sym.var("x") * 2).bind(mx.cpu(), {"x": nd.ones(2)}, grad_req=None)
