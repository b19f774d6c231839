"""Re-rolled graphs equal the unrolled ones, and cost one step's compilation."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx

CELLS = {
    "rnn": lambda: mx.rnn.RNNCell(4, prefix="c_"),
    "lstm": lambda: mx.rnn.LSTMCell(4, prefix="c_"),
    "gru": lambda: mx.rnn.GRUCell(4, prefix="c_"),
    "layers": lambda: _stack(mx.rnn.LSTMCell(4, prefix="a_"), mx.rnn.GRUCell(3, prefix="b_")),
    "residual": lambda: mx.rnn.ResidualCell(mx.rnn.LSTMCell(5, prefix="c_")),
    "both ways": lambda: mx.rnn.BidirectionalCell(
        mx.rnn.LSTMCell(4, prefix="l_"), mx.rnn.LSTMCell(4, prefix="r_")
    ),
    "dropout": lambda: _stack(
        mx.rnn.LSTMCell(4, prefix="a_"), mx.rnn.DropoutCell(0.5), mx.rnn.LSTMCell(4, prefix="b_")
    ),
}


def _stack(*cells: Any) -> Any:
    stack = mx.rnn.SequentialRNNCell()
    for cell in cells:
        stack.add(cell)
    return stack


def _unrolled(cell: Any, steps: int, merge: bool = True) -> Any:
    outputs, states = cell.unroll(steps, mx.sym.Variable("data"), layout="NTC", merge_outputs=merge)
    return mx.sym.Group([outputs, *jax.tree.leaves(states)]) if merge else outputs


def _step(symbol: Any, seed: int = 0, **shapes: Any) -> tuple[list[np.ndarray], Any]:
    """Outputs, gradients and auxiliary states of one training step."""
    mx.random.seed(0)
    executor = symbol.simple_bind(mx.cpu(), **shapes)
    rng = np.random.default_rng(seed)
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape)
    executor.forward(is_train=True)
    executor.backward([mx.nd.array(rng.standard_normal(o.shape)) for o in executor.outputs])
    arrays = [*executor.outputs, *executor.grad_arrays, *executor.aux_arrays]
    return [a.asnumpy() for a in arrays], executor


def _assert_same(symbol: Any, atol: float = 1e-5, **shapes: Any) -> None:
    rolled, _ = _step(symbol, **shapes)
    with mx.lowering.disabled("reroll"):
        plain, _ = _step(symbol, **shapes)
    for ours, expected in zip(rolled, plain, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-4, atol)


def _equations(symbol: Any, **shapes: Any) -> int:
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    args, aux = (
        {n: jax.ShapeDtypeStruct(s, np.float32) for n, s in zip(names, sizes, strict=True)}
        for names, sizes in (
            (symbol.list_arguments(), arg_shapes),
            (symbol.list_auxiliary_states(), aux_shapes),
        )
    )
    function = symbol.to_jax()
    jaxpr = jax.make_jaxpr(lambda args, aux: function(args, aux, jax.random.key(0), True))(
        args, aux
    )
    return len(str(jaxpr).splitlines())


@pytest.mark.parametrize("name", CELLS)
def test_recurrences_equal_their_unrolled_form(name):
    _assert_same(_unrolled(CELLS[name](), 7), data=(3, 7, 5))


@pytest.mark.parametrize("name", CELLS)
def test_the_program_does_not_grow_with_the_steps(name):
    few = _equations(_unrolled(CELLS[name](), 8), data=(3, 8, 5))
    many = _equations(_unrolled(CELLS[name](), 40), data=(3, 40, 5))
    assert many < 1.5 * few
    with mx.lowering.disabled("reroll"):
        assert _equations(_unrolled(CELLS[name](), 40), data=(3, 40, 5)) > 2.5 * many


@pytest.mark.parametrize("name", ["layers", "residual", "both ways", "dropout"])
def test_inference_equals_its_unrolled_form(name):
    symbol = _unrolled(CELLS[name](), 7)
    executor = symbol.simple_bind(mx.cpu(), data=(3, 7, 5))
    rng = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape)
    rolled = [a.asnumpy() for a in executor.forward()]
    with mx.lowering.disabled("reroll"):
        plain = symbol.bind(mx.cpu(), executor.arg_dict)
    for ours, expected in zip(rolled, plain.forward(), strict=True):
        np.testing.assert_allclose(ours, expected.asnumpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("train", [False, True])
def test_layers_share_a_loop_except_for_one_row(train):
    symbol = _unrolled(CELLS["layers"](), 7)
    loops = []
    for rows in (1, 4):
        shapes, *_ = symbol.infer_shape(data=(rows, 7, 5))
        args = dict(zip(symbol.list_arguments(), map(np.zeros, shapes), strict=True))
        function = symbol.to_jax()
        jaxpr = jax.make_jaxpr(lambda args, run=function: run(args, is_train=train))(args)
        loops.append(str(jaxpr).count(" scan["))
    assert loops == [2, 1]


def _loops(jaxpr: Any) -> list[Any]:
    """The loops of a jaxpr and of those inside it."""
    loops = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            loops.append(equation)
        else:
            inner = (p for p in equation.params.values() if hasattr(p, "jaxpr"))
            loops += [loop for p in inner for loop in _loops(p.jaxpr)]
    return loops


@pytest.mark.parametrize(("name", "products", "residuals"), [("lstm", 1, 8), ("gru", 1, 7)])
def test_iterations_hold_no_gradient_of_weights(name, products, residuals):
    symbol = _unrolled(CELLS[name](), 20)
    arg_shapes, *_ = symbol.infer_shape(data=(3, 20, 5))
    args = dict(zip(symbol.list_arguments(), map(np.ones, arg_shapes), strict=True))
    function = symbol.to_jax()
    jaxpr = jax.make_jaxpr(jax.grad(lambda args: function(args, is_train=True)[0][0].sum()))(args)
    forward, backward = _loops(jaxpr.jaxpr)
    for loop in (forward, backward):
        assert str(loop.params["jaxpr"]).count(" dot_general[") <= 2 * products
    # Residuals are the activations and their inputs, not every factor of every product.
    assert sum(v.aval.shape[:2] == (20, 3) for v in forward.outvars) <= residuals
    weights = [v.aval.shape for v in backward.outvars if v.aval.shape[-1:] == (4,)]
    assert not any(shape[-2:] in {(16, 4), (12, 4)} for shape in weights)


def test_a_step_that_is_read_outside_is_shown():
    cell = mx.rnn.LSTMCell(4, prefix="c_")
    outputs = _unrolled(cell, 8, merge=False)
    symbol = mx.sym.Group([outputs[2], outputs[7], mx.sym.broadcast_mul(outputs[3], outputs[5])])
    _assert_same(symbol, data=(3, 8, 5))


def test_steps_with_different_weights_or_attributes_stay_correct():
    net = mx.sym.Variable("data")
    for i in range(8):
        net = mx.sym.FullyConnected(net, num_hidden=5, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="tanh" if i % 2 else "relu")
    _assert_same(net, data=(3, 5))
    net = mx.sym.Variable("data")
    for i in range(8):
        net = net * (i + 1) + mx.sym.sin(net)
    _assert_same(net, data=(3, 5))


def test_blocks_that_share_their_weights_are_one():
    def net(depth: int) -> Any:
        x, weights = mx.sym.Variable("data"), [mx.sym.Variable(n) for n in ("w", "b")]
        for i in range(depth):
            y = mx.sym.FullyConnected(x, *weights, num_hidden=6, name=f"fc{i}")
            x = x + mx.sym.Activation(y, act_type="relu")
        return x

    assert _equations(net(24), data=(4, 6)) == _equations(net(40), data=(4, 6))
    _assert_same(net(8), data=(4, 6))


def test_clipped_recurrences_are_one():
    h, weight = mx.sym.Variable("data"), mx.sym.Variable("weight")
    for _ in range(6):
        h = mx.sym.FullyConnected(h, weight, no_bias=True, num_hidden=4)
        h = mx.sym.clip(h, -0.5, 0.5)
    _assert_same(h, data=(2, 4))


def test_convolutional_recurrences_are_one():
    def net(steps: int) -> tuple[Any, dict[str, tuple[int, ...]]]:
        shapes = {f"t{i}": (2, 2, 5, 5) for i in range(steps)}
        cell = mx.rnn.ConvLSTMCell((1, 2, 5, 5), 3, prefix="c_")
        outputs, _ = cell.unroll(steps, [mx.sym.Variable(n) for n in shapes], merge_outputs=False)
        return outputs[-1], shapes

    (few, few_shapes), (many, many_shapes) = net(6), net(18)
    assert _equations(many, **many_shapes) < 1.5 * _equations(few, **few_shapes)
    _assert_same(few, atol=1e-3, **few_shapes)  # of gradients near 100


def test_batch_statistics_in_a_chain_stay_right():
    net = mx.sym.Variable("data")
    for i in range(6):
        net = mx.sym.BatchNorm(net, name=f"bn{i}", fix_gamma=False)
        net = mx.sym.FullyConnected(net, num_hidden=5, name=f"fc{i}")
    _assert_same(net, data=(6, 5))


def test_two_chains_that_read_each_other_stay_right():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    weight = mx.sym.Variable("w")
    for i in range(8):
        a, b = mx.sym.tanh(mx.sym.dot(b, weight)), mx.sym.sin(a + b)
        if i == 4:
            b = b + 1
    _assert_same(mx.sym.Group([a, b]), a=(3, 4), b=(3, 4), w=(4, 4))


def test_internals_and_monitors_show_every_step():
    symbol = _unrolled(mx.rnn.RNNCell(4, prefix="c_"), 6)
    _, executor = _step(symbol, data=(3, 6, 5))
    with mx.lowering.disabled("reroll"):
        _, plain = _step(symbol, data=(3, 6, 5))
    ours, expected = (e.internals("c_t3_out_output").asnumpy() for e in (executor, plain))
    np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward(is_train=True)
    assert [n for n in seen if n.endswith("_out_output")] == [
        f"c_t{t}_out_output" for t in range(6)
    ]


def test_reading_outputs_first_also_differentiates_the_loop():
    symbol = _unrolled(mx.rnn.LSTMCell(4, prefix="c_"), 7)
    gradients = []
    for look in (True, False):
        executor = symbol.simple_bind(mx.cpu(), data=(3, 7, 5))
        rng = np.random.default_rng(0)
        for array in executor.arg_arrays:
            array[:] = rng.standard_normal(array.shape)
        executor.forward(is_train=True)
        if look:
            executor.outputs[0].wait_to_read()
        executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
        gradients.append([g.asnumpy() for g in executor.grad_arrays])
    for ours, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)
