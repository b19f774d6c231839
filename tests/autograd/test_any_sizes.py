"""Sizes that change are symbols: one trace serves all of them, with the results of others."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import executorkit as mx
from benchmarks._new_shapes import memory_works
from executorkit import autograd, gluon
from executorkit.program import small_jit

from .conftest import fresh_caches, tree

pytestmark = pytest.mark.usefixtures("automatic")

nn = gluon.nn
#: Layers of (batch, length, 6) arrays by name.
LAYERS: dict[str, Callable[[], Any]] = {
    "dense": lambda: nn.Dense(6, flatten=False, in_units=6),
    "relu": lambda: nn.Activation("relu"),
    "tanh": lambda: nn.Activation("tanh"),
    "layer norm": lambda: nn.LayerNorm(in_channels=6),
    "batch norm": lambda: nn.BatchNorm(axis=2, in_channels=6),
    "softmax": lambda: nn.HybridLambda("softmax"),
    "transpose twice": lambda: nn.HybridLambda(
        lambda f, x: f.transpose(f.transpose(x, axes=(1, 0, 2)) * 2, axes=(1, 0, 2))
    ),
    "split": lambda: nn.HybridLambda(
        lambda f, x: (
            f.concat(f.slice_axis(x, axis=2, begin=2, end=None), x, dim=2)[:, :, :6]
            if f is mx.nd
            else f.slice_axis(
                f.concat(f.slice_axis(x, axis=2, begin=2, end=None), x, dim=2), 2, 0, 6
            )
        )
    ),
    "reshape": lambda: nn.HybridLambda(
        lambda f, x: f.reshape(f.reshape(x, shape=(-3, 0)) + 1, shape=(-4, -1, 1, 6)).reshape_like(
            x
        )
    ),
    "attention": lambda: nn.HybridLambda(
        lambda f, x: f.batch_dot(f.softmax(f.batch_dot(x, x, transpose_b=True)), x)
    ),
    "partial windows": lambda: nn.HybridLambda(
        lambda f, x: f.transpose(
            f.Pooling(
                f.transpose(x, axes=(0, 2, 1)),
                kernel=(3,),
                pad=(1,),
                pool_type="avg",
                count_include_pad=False,
            ),
            axes=(0, 2, 1),
        )
    ),
    "every other row, twice": lambda: nn.HybridLambda(
        lambda f, x: f.slice_like(
            f.repeat(f.slice(x, begin=(None, None), end=(None, None), step=(1, 2)), 2, axis=1), x
        )
    ),
    "less the mean": lambda: nn.HybridLambda(
        lambda f, x: f.broadcast_sub(x, f.mean(x, axis=1, keepdims=True))
    ),
}


def _network(names: tuple[str, ...], hybrid: bool) -> Any:
    net = nn.HybridSequential()
    net.add(nn.Dense(6, flatten=False, in_units=6), *[LAYERS[name]() for name in names])
    mx.random.seed(3)
    net.initialize(mx.init.Uniform(0.5))
    if hybrid:
        net.hybridize()
    return net


def _step(net: Any, shape: tuple[int, int], read: bool) -> list[bytes]:
    x = mx.nd.array(np.random.default_rng(5).uniform(-1, 1, (*shape, 6)))
    x.attach_grad()
    net.collect_params().zero_grad()  # a gradient that a step does not reach stays
    try:
        with autograd.record():
            out = net(x)
            loss = (out * out).sum()
            if read:
                out.asnumpy()
        loss.backward()
    except mx.MXNetError as error:  # a size 0 is unknown to a graph
        return [type(error).__name__.encode()]
    grads = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
    return [a.asnumpy().tobytes() for a in (out, x.grad, *grads)]


@settings(max_examples=12, deadline=None)
@example(("split", "dense"), [(0, 0), (1, 1), (0, 1)], False, False)
@example(("partial windows",), [(0, 0), (0, 1), (0, 2)], False, False)
@given(
    st.lists(st.sampled_from(sorted(LAYERS)), max_size=3).map(tuple),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=3, max_size=5, unique=True),
    st.booleans(),
    st.booleans(),
)
def test_sizes_that_change_have_the_results_of_fresh_programs(names, shapes, hybrid, read):
    with fresh_caches():
        net = _network(names, hybrid)
        ours = [_step(net, shape, read) for shape in shapes]
    for shape, results in zip(shapes, ours, strict=True):
        with fresh_caches():
            assert _step(_network(names, hybrid), shape, read) == results, shape


@pytest.mark.usefixtures("fresh_traces")
@pytest.mark.parametrize("hybrid", [False, True])
def test_training_with_ever_new_batches_is_traced_once_for_all(hybrid):
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu", in_units=5), nn.Dense(3, in_units=8))
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    autograd.explain()
    before = mx.program.cache_info().traces
    for rows in range(2, 32):
        x, y = mx.nd.ones((rows, 5)), mx.nd.zeros((rows,))
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(rows)
        assert loss.shape == (rows,)
        assert np.isfinite(loss.asnumpy()).all()
    # Perhaps the gradients of the first step; the whole step of one size, and of any.
    assert mx.program.cache_info().traces - before <= 3
    assert {run.kind for run in autograd.explain()} == {"forward and backward"}


@pytest.mark.usefixtures("fresh_traces")
def test_a_loss_that_is_read_before_backward_is_traced_once_for_all_sizes():
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu", in_units=5), nn.Dropout(0.5), nn.Dense(3, in_units=8))
    net.initialize()

    def step(rows: int) -> list[bytes]:
        mx.random.seed(rows)
        x = mx.nd.array(np.random.default_rng(rows).uniform(-1, 1, (rows, 5)))
        x.attach_grad()
        with autograd.record():
            loss = (net(x) ** 2).mean()
            value = loss.asnumpy()
        loss.backward()
        grads = [p.grad().asnumpy() for p in net.collect_params().values()]
        return [a.tobytes() for a in (value, x.grad.asnumpy(), *grads)]

    ours = {}
    for rows in range(2, 20):
        before = mx.program.cache_info().traces
        ours[rows] = step(rows)
        # Forward and backward of the first, forward and both of the second, and for symbols.
        assert mx.program.cache_info().traces - before == (2 if rows < 5 else 0)
    for rows in (3, 4, 19):
        with fresh_caches():
            assert step(rows) == ours[rows], rows


@pytest.mark.usefixtures("fresh_traces")
def test_ever_new_sizes_of_an_executor_trace_two_times():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3)
    executor = mx.sym.softmax(net).simple_bind(mx.cpu(), grad_req="null", data=(2, 4))
    before = executor.program.traces
    for rows in range(2, 22):
        executor = executor.reshape(data=(rows, 4), allow_up_sizing=True)
        (out,) = executor.forward()
        assert out.asnumpy().shape == (rows, 3)
    assert executor.program.traces - before == 2


_OPERATORS: dict[str, Callable[[int], Any]] = {
    "softmax": lambda n: mx.nd.softmax(_values(n, 10)),
    "dot": lambda n: mx.nd.dot(_values(n, 2, 8), _values(8, n)),
    "pick": lambda n: mx.nd.pick(_values(n, 10), _values(n)),
    "Convolution": lambda n: mx.nd.Convolution(
        _values(1, 3, n + 6, n + 6), _values(8, 3, 3, 3), _values(8), kernel=(3, 3), num_filter=8
    ),
}


def _values(*shape: int) -> Any:
    return mx.nd.array(np.random.default_rng(len(shape)).random(shape))


@pytest.mark.usefixtures("fresh_traces")
@pytest.mark.parametrize("name", _OPERATORS)
def test_ever_new_sizes_of_an_operator_trace_two_times(name):
    call = _OPERATORS[name]
    before = mx.nd.eager_cache_info().traces
    ours = {n: call(n) for n in range(3, 20)}
    assert mx.nd.eager_cache_info().traces - before == 2
    # The first call of a size leaves its result on the host, small or not.
    assert all(ours[n].storage.current is None for n in range(5, 20))
    for n in (5, 19):
        with fresh_caches():
            np.testing.assert_array_equal(call(n).asnumpy(), ours[n].asnumpy())


def test_axes_that_were_equal_share_a_symbol_until_they_differ():
    function = small_jit(lambda x, y: x[:, None] * y)
    for n, m in ((3, 3), (4, 4), (5, 5), (5, 6), (7, 8), (8, 7), (1, 9), (0, 4), (1, 3)):
        x, y = np.arange(float(n)), np.arange(float(m))
        np.testing.assert_array_equal(function(x, y), np.outer(x, y))
    # (3, 3); (s, s); (s, t); (1, 9); (0, 4); (1, t)
    assert function.traces == 6


def test_a_function_that_decides_by_a_size_is_traced_for_each_range():
    def decide(x: Any) -> Any:
        size = x.shape[0]
        return x + (10 * (size > 4) + (1 if size % 2 else 2))

    function = small_jit(decide)
    for n in range(2, 12):
        assert function(np.zeros(n)).tolist() == [10 * (n > 4) + (1 if n % 2 else 2)] * n
    # The first size; odd and even ones up to 4 and above.
    assert function.traces == 5
    assert function.size_note == "sizes are symbols where not - s0 + 4 >= 0 and mod(s0, 2) == 0"
    assert function.serves_any_sizes


def test_a_function_that_needs_a_number_is_traced_for_each_size():
    def count(x: Any) -> Any:
        return x + len(range(x.shape[0]))

    function = small_jit(count)
    for n in range(2, 8):
        assert function(np.zeros(n)).tolist() == [n] * n
    assert function.traces == 7, "one of them, with a symbol, failed"


@pytest.mark.usefixtures("fresh_traces")
def test_arrays_that_do_not_fit_are_refused_as_always():
    weight = mx.nd.ones((2, 4))
    for n in (9, 8, 7):
        mx.nd.FullyConnected(mx.nd.ones((n, 2, 2)), weight, num_hidden=2, no_bias=True).asnumpy()
    with pytest.raises(mx.MXNetError):
        mx.nd.FullyConnected(mx.nd.ones((6, 2, 3)), weight, num_hidden=2, no_bias=True)
    for _ in range(2):
        with pytest.raises(mx.MXNetError):
            mx.nd.FullyConnected(mx.nd.ones((6, 5)), weight, num_hidden=2, no_bias=True)
    for n in (4, 5, 6):
        mx.nd.dot(mx.nd.ones((n, 3)), mx.nd.ones((3, n)))
    with pytest.raises(mx.MXNetError):
        mx.nd.dot(mx.nd.ones((4, 3)), mx.nd.ones((2, 4)))


def _conv(channels: int, inputs: int, stride: int = 1, kernel: int = 3) -> Any:
    return nn.Conv2D(channels, kernel, stride, kernel // 2, in_channels=inputs)


class _Residual(gluon.HybridBlock):
    """A residual block that halves the picture, behind partial windows."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.HybridSequential()
        self.stem.add(_conv(4, 2, 2, 7), nn.MaxPool2D(3, 2, 1), nn.BatchNorm(in_channels=4))
        self.body = nn.HybridSequential()
        self.body.add(_conv(4, 4, 2), nn.Activation("relu"), _conv(4, 4))
        self.shortcut = _conv(4, 4, 2, 1)
        self.pool = nn.AvgPool2D(3, 2, 1, ceil_mode=True, count_include_pad=False)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        x = self.stem(x)
        return F.mean(self.pool(F.relu(self.body(x) + self.shortcut(x))), axis=(2, 3))


class _UNet(gluon.HybridBlock):
    """Two resolutions, joined by a transposed convolution and by repeated pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down, self.last = _conv(3, 2), _conv(4, 3, 2), _conv(2, 10)
        self.up = nn.Conv2DTranspose(3, 4, 2, 1, in_channels=4)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        x = F.relu(self.first(x))
        deep = F.relu(self.down(x))
        repeated = F.UpSampling(deep, scale=2, sample_type="nearest")
        parts = [F.slice_like(y, x, axes=(2, 3)) for y in (self.up(deep), repeated)]
        return self.last(F.concat(x, *parts, dim=1))


class _Detector(gluon.HybridBlock):
    """Heads at two scales, joined as boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = _conv(4, 2, 2), _conv(4, 4, 2)
        self.head = _conv(8, 4)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        fine = self.first(x)
        coarse = self.second(fine)
        heads = [self.head(y).transpose((0, 2, 3, 1)) for y in (fine, coarse)]
        return F.concat(*[F.flatten(y).reshape((0, -1, 4)) for y in heads], dim=1)


class _Transformer(gluon.HybridBlock):
    """Attention of two heads and a layer behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Dense(12, flatten=False, in_units=4)
        self.norm, self.outer = nn.LayerNorm(in_channels=4), nn.Dense(4, flatten=False, in_units=4)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        heads = F.split(self.inner(x), num_outputs=3, axis=2)
        heads = [y.reshape((0, 0, 2, -1)).transpose((0, 2, 1, 3)) for y in heads]
        q, k, v = [F.reshape(y, shape=(-3, 0, 0)) for y in heads]
        mixed = F.batch_dot(F.softmax(F.batch_dot(q, k, transpose_b=True)), v)
        mixed = F.reshape(mixed, shape=(-4, -1, 2, 0, 0)).transpose((0, 2, 1, 3))
        return self.outer(self.norm(x + mixed.reshape((0, 0, -1))))


class _Cell(gluon.HybridBlock):
    """Three steps of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = gluon.rnn.LSTMCell(4, input_size=3)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return self.cell.unroll(3, x, merge_outputs=True)[0]


@pytest.mark.usefixtures("fresh_traces")
@pytest.mark.parametrize("hybrid", [True, False])
@pytest.mark.parametrize(
    ("layer", "shape_of"),
    [
        (_Residual, lambda n: (2, 2, 24 + 3 * n, 20 + 5 * n)),
        (_UNet, lambda n: (1, 2, 6 + n, 3 * n)),
        (_Detector, lambda n: (2, 2, 7 + n, 2 * n)),
        (_Transformer, lambda n: (n, n + 1, 4)),
        (_Cell, lambda n: (n, 3, 3)),
        (lambda: gluon.rnn.LSTM(4, input_size=3), lambda n: (n, 2, 3)),
        (lambda: gluon.rnn.GRU(4, bidirectional=True, input_size=3), lambda n: (n, n + 1, 3)),
        (lambda: nn.MaxPool2D(3, 2, 1), lambda n: (1, 2, n + 4, 2 * n)),
        (lambda: nn.AvgPool2D(2), lambda n: (n, 2, n + 4, 2 * n)),
        (lambda: nn.GlobalAvgPool2D(), lambda n: (2, 2, n, 3 * n)),
        (lambda: nn.Conv2D(2, 3, padding=1, in_channels=2), lambda n: (n, 2, 6, 5)),
        (lambda: nn.Embedding(4, 3), lambda n: (2, n)),
    ],
)
def test_layers_are_traced_once_for_all_sizes(layer, shape_of, hybrid):
    """Their gradients, too; a convolution chooses its algorithms by sizes, and rounds otherwise."""
    net = layer()
    net.initialize(mx.init.Uniform(0.3))
    if hybrid:
        net.hybridize()

    def step(n: int) -> list[np.ndarray]:
        x = mx.nd.array(np.random.default_rng(n).uniform(0, 1, shape_of(n)))
        x.attach_grad()
        with autograd.record():
            out = net(x)
            loss = (out * out).sum()
        loss.backward()
        grads = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
        return [a.asnumpy() for a in (out, x.grad, *grads)]

    step(2)
    before = mx.program.cache_info().traces
    sizes = range(3, 9)
    ours = [step(n) for n in sizes]
    # Other values may be alive in some steps, which are programs of their own.
    assert mx.program.cache_info().traces - before <= 3
    for n, results in zip(sizes, ours, strict=True):
        with fresh_caches():
            for a, b in zip(results, step(n), strict=True):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * max(np.abs(b).max(), 0.1))


@pytest.mark.usefixtures("fresh_traces")
def test_ever_new_sizes_clear_the_tree_and_keep_the_plans(monkeypatch):
    monkeypatch.setattr("executorkit.autograd._trace._MAX_STATES", 20)
    x = mx.nd.ones((2, 3))
    before = mx.program.cache_info().traces
    for n in range(2, 40):
        x = mx.nd.ones((n, 3))
        x.attach_grad()
        with autograd.record():
            loss = (x * x).sum()
        loss.backward()
        assert x.grad.shape == (n, 3)
        assert tree.n_traces <= 20
    assert mx.program.cache_info().traces - before <= 3


@pytest.mark.usefixtures("fresh_traces")
def test_a_program_that_is_traced_for_each_size_says_why():
    net = mx.sym.linalg.extracttrian(mx.sym.var("x"))
    executor = net.simple_bind(mx.cpu(), grad_req="null", x=(5, 5))
    for n in (5, 6, 7):
        executor = executor.reshape(x=(n, n), allow_up_sizing=True)
        executor.forward()[0].asnumpy()
    first, *others = executor.program.explain()
    assert "symbols" not in first.why
    assert others
    assert all("sizes cannot be symbols: " in trace.why for trace in others)


def _held() -> dict[str, int]:
    gc.collect()
    kinds = [type(x) for x in gc.get_objects()]
    return Counter(k.__qualname__ for k in kinds if str(k.__module__).startswith("executorkit"))


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_traces")
def test_ever_new_sizes_leave_no_objects(monkeypatch):
    monkeypatch.setattr("executorkit.autograd._trace._MAX_STATES", 200)
    monkeypatch.setattr("executorkit.program._first_calls.MAX_LISTED_SHAPES", 32)
    works = memory_works(mx)
    held = []
    for n in range(2, 1202):
        for work in works:
            work(n).asnumpy()
        if n in {301, 1201}:
            held.append(_held())
    # Objects of each size would be four times as many. Leaf kinds are, of which thousands are kept.
    before, after = held
    assert {k for k in after if after[k] > 2 * before[k] + 100} == {"LeafKind"}
