"""Recurrent layers and cells: forms of one network agree, programs do not grow with the steps."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd
from executorkit.gluon import HybridBlock, Trainer, contrib, rnn
from tests._tools.golden import GOLDEN
from tests.autograd.test_recorded_programs import programs_of
from tests.golden.gluon_scripts._facts import fill
from tests.golden.make_recurrent import reader

DTYPES = {"float16": 4e-3, "bfloat16": 4e-2, "float64": 1e-10}


def _filled(block: Any) -> Any:
    block.initialize()
    return fill(block)


def _sequence(steps: int = 4, rows: int = 3, features: int = 2, dtype: str = "float32") -> Any:
    values = np.random.RandomState(2).normal(size=(steps, rows, features))
    return nd.array(values, dtype=dtype)


def _step(call: Callable[[Any], Any], block: Any, x: Any) -> list[np.ndarray]:
    """Output and gradients of a recorded call."""
    x.attach_grad()
    with autograd.record():
        y = call(x)
        loss = (y * y).sum()
    loss.backward()
    grads = [p.grad() for p in block.collect_params().values()]
    return [a.asnumpy() for a in (y, x.grad, *grads)]


@pytest.mark.parametrize(
    ("layer", "dtype"), [(rnn.LSTM, "bfloat16"), (rnn.GRU, "float16"), (rnn.RNN, "float64")]
)
def test_a_plain_layer_is_a_hybridized_one_in_all_dtypes(layer, dtype):
    net = layer(3, input_size=2, bidirectional=True)
    _filled(net).cast(dtype)
    x = _sequence(dtype=dtype)
    plain = _step(net, net, x)
    net.hybridize()
    for before, after in zip(plain, _step(net, net, x), strict=True):
        assert before.dtype == after.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(before, after)
    net.cast("float32")
    expected, tolerance = net(x.astype("float32")).asnumpy(), DTYPES[dtype]
    np.testing.assert_allclose(np.float64(plain[0]), expected, tolerance + 1e-5, tolerance + 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cells_begin_with_states_in_the_dtype_of_the_input(dtype):
    cell = _filled(rnn.LSTMCell(3, input_size=2))
    cell.cast(dtype)
    outputs, states = cell.unroll(4, _sequence(dtype=dtype), layout="TNC", merge_outputs=True)
    assert {np.dtype(a.dtype) for a in (outputs, *states)} == {np.dtype(dtype)}


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_a_layer_is_its_stack_of_cells(layout, bidirectional):
    layer = _filled(rnn.LSTM(3, 2, layout, bidirectional=bidirectional, input_size=2))
    cells, x = layer._unfuse(), _sequence()
    length = x.shape[layout.index("T")]

    def unrolled(x: Any) -> Any:
        return cells.unroll(length, x, layout=layout, merge_outputs=True)[0]

    for ours, expected in zip(_step(unrolled, cells, x), _step(layer, layer, x), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-4, 1e-5)


def test_a_projected_layer_is_a_projected_cell():
    layer = _filled(rnn.LSTM(3, projection_size=2, input_size=2))
    cell = contrib.rnn.LSTMPCell(3, 2, input_size=2)
    cell.initialize()
    for name in cell._reg_params:
        getattr(cell, name).set_data(getattr(layer, f"l0_{name}").data())
    x = _sequence()
    x.attach_grad()
    results = []
    for call in (layer, lambda x: cell.unroll(4, x, layout="TNC", merge_outputs=True)[0]):
        with autograd.record():
            y = call(x)
        y.backward()
        results.append((y.asnumpy(), x.grad.asnumpy()))
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("layer", [rnn.LSTM, rnn.GRU])
def test_sequence_lengths_are_heeded_plain_hybridized_and_by_cells(layer):
    net = _filled(layer(3, bidirectional=True, input_size=2, use_sequence_length=True))
    x, lengths = _sequence(), nd.array([2, 4, 1])
    begin = net.begin_state(3)
    outputs, states = net(x, begin, lengths)
    net.hybridize()
    for a, b in zip(
        (outputs, *states), (lambda r: (r[0], *r[1]))(net(x, begin, lengths)), strict=True
    ):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    by_cells, _ = net._unfuse().unroll(4, x, layout="TNC", valid_length=lengths)
    np.testing.assert_allclose(by_cells.asnumpy(), outputs.asnumpy(), 1e-5, 1e-6)
    net.hybridize(False)
    for row, length in enumerate((2, 4, 1)):
        alone = net(x[:length, row : row + 1], sequence_length=nd.array([length])).asnumpy()
        np.testing.assert_allclose(outputs.asnumpy()[:length, row : row + 1], alone, 1e-5, 1e-6)
        assert not outputs.asnumpy()[length:, row].any()


def test_a_hybridized_layer_is_called_with_states_and_without():
    layer, x = _filled(rnn.GRU(3, input_size=2)), _sequence()
    expected = layer(x).asnumpy()
    layer.hybridize()
    for _ in range(2):
        np.testing.assert_array_equal(layer(x).asnumpy(), expected)
        output, states = layer(x, layer.begin_state(3))
        np.testing.assert_array_equal(output.asnumpy(), expected)
        assert [s.shape for s in states] == [(1, 3, 3)]


def test_layers_and_cells_are_copied():
    for block in (rnn.LSTM(3, input_size=2), rnn.ZoneoutCell(rnn.LSTMCell(3, input_size=2), 0.5)):
        _filled(block)
        for copied in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            assert repr(copied) == repr(block)
            for mine, theirs in zip(
                copied.collect_params().values(), block.collect_params().values(), strict=True
            ):
                np.testing.assert_array_equal(mine.data().asnumpy(), theirs.data().asnumpy())


def test_parameters_that_mxnet_wrote_are_loaded():
    net, expected = reader(mx), fill(reader(mx))
    net.load_parameters(GOLDEN / "data" / "recurrent.params")
    x = _sequence()
    np.testing.assert_array_equal(net(x).asnumpy(), expected(x).asnumpy())


# Random masks


def test_variational_dropout_drops_the_same_at_all_steps():
    cell = contrib.rnn.VariationalDropoutCell(rnn.RNNCell(50, "relu", input_size=50), 0.5, 0.5, 0.5)
    cell.initialize(mx.init.One())
    ones = nd.ones((2, 4, 50))
    with autograd.record():
        outputs, _ = cell.unroll(4, ones, merge_outputs=True)
    dropped = outputs.asnumpy() == 0
    assert (dropped == dropped[:, :1]).all()
    assert 0.2 < dropped.mean() < 0.8
    assert (cell.unroll(4, ones, merge_outputs=True)[0].asnumpy() > 0).all()


def test_zoneout_keeps_outputs_of_the_step_before():
    cell = rnn.ZoneoutCell(rnn.RNNCell(50, input_size=3), zoneout_outputs=0.5)
    cell.initialize(mx.init.One())
    x = nd.arange(1, 5).reshape((1, 4, 1)).broadcast_to((1, 4, 3)) / 20
    with autograd.record():
        zoned = cell.unroll(4, x, merge_outputs=True)[0].asnumpy()
    plain = cell.unroll(4, x, merge_outputs=True)[0].asnumpy()
    before = np.concatenate([np.zeros_like(zoned[:, :1]), zoned[:, :-1]], 1)
    kept = zoned == before
    assert 0.2 < kept.mean() < 0.8
    np.testing.assert_array_equal(zoned, np.where(kept, before, plain))


# Programs


class _Unrolled(HybridBlock):
    """A cell over a number of steps."""

    def __init__(self, cell: Any, steps: int) -> None:
        super().__init__()
        self.cell, self._steps = cell, steps

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.cell.unroll(self._steps, x, merge_outputs=True)[0]


def _stack() -> Any:
    stack = rnn.HybridSequentialRNNCell()
    for cell in (rnn.LSTMCell(2, input_size=2), rnn.ResidualCell(rnn.GRUCell(2, input_size=2))):
        stack.add(cell)
    return stack


def _both_ways() -> Any:
    return rnn.BidirectionalCell(rnn.GRUCell(2, input_size=2), rnn.RNNCell(2, input_size=2))


@pytest.mark.parametrize("make", [_stack, _both_ways], ids=["stack", "both ways"])
def test_the_program_of_an_unrolled_cell_does_not_grow_with_the_steps(make):
    sizes = []
    for steps in (5, 15):
        net = _Unrolled(make(), steps)
        net.initialize()
        function, parameters = net.to_jax()
        text = jax.jit(jax.grad(lambda p, x, f=function: f(p, x)[0].sum())).lower(
            parameters, np.ones((3, steps, 2), "float32")
        )
        sizes.append(len(text.as_text().splitlines()))
    assert sizes[0] == sizes[1]


@pytest.mark.usefixtures("fresh_programs")
def test_a_step_of_unrolled_cells_is_one_program_plain_and_hybridized():
    net = _Unrolled(_stack(), 6)
    _filled(net)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = nd.ones((3, 6, 2))
    x.attach_grad()  # else it is split when it is recorded

    def step() -> None:
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        nd.waitall()

    traces = set()
    for hybridized in (False, True):
        net.hybridize(hybridized)
        for _ in range(2):
            step()
        assert programs_of(step) == (1, 0)
        traces.add(mx.program.cache_info().traces)
    assert len(traces) == 1


def test_shapes_of_cells_and_layers_by_hand() -> None:
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2)))
    stack.add(rnn.ResidualCell(rnn.RNNCell(4)))
    stack.initialize()
    assert stack.unroll(3, nd.ones((2, 3, 5)), merge_outputs=True)[0].shape == (2, 3, 4)
    cell = rnn.LSTMCell(3)
    cell.initialize()
    outputs, states = cell.unroll(4, nd.ones((2, 4, 5)), merge_outputs=True)
    assert (outputs.shape, [s.shape for s in states]) == ((2, 4, 3), [(2, 3), (2, 3)])
    assert repr(cell) == "LSTMCell(5 -> 12)"
    layer = rnn.LSTM(3, num_layers=2)
    layer.initialize()
    assert layer(nd.ones((4, 2, 5))).shape == (4, 2, 3)
    _, states = layer(nd.ones((4, 2, 5)), layer.begin_state(2))
    assert [s.shape for s in states] == [(2, 2, 3), (2, 2, 3)]
    assert repr(layer) == "LSTM(5 -> 3, TNC, num_layers=2)"
