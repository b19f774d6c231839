"""Loops and branches against MXNet: the text of the graph, outputs and gradients; and nesting."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import AttributeValueError, InputTypeError
from executorkit.lowering import graph_of, lower
from executorkit.program import program_for
from tests._tools import golden as _golden
from tests.golden.cases._loops import ARRAYS, LOOPS, head


def built(name):
    mx.AttrScope._subgraph_names.clear()
    with mx.name.NameManager():
        return LOOPS[name](mx)


def results(name, symbol, look_first=False):
    args = {n: mx.nd.array(a) for n, a in ARRAYS[name].items()}
    grads = {n: mx.nd.zeros(a.shape) for n, a in args.items()}
    executor = symbol.bind(mx.cpu(), args, args_grad=grads)
    outs = executor.forward(is_train=True)
    if look_first:  # then backward is a program of its own
        mx.nd.waitall()
        outs[0].asnumpy()
    executor.backward([mx.nd.array(head(name, i, o.shape)) for i, o in enumerate(outs)])
    arrays = {f"out{i}": o.asnumpy() for i, o in enumerate(outs)}
    return arrays | {f"grad:{n}": g.asnumpy() for n, g in grads.items()}


@pytest.mark.parametrize("name", LOOPS)
def test_graph_is_that_of_mxnet(name):
    facts, symbol = _golden.answers("loops").facts[name], built(name)
    assert symbol.tojson() == facts["json"]
    assert symbol.list_arguments() == facts["arguments"]
    assert symbol.list_outputs() == facts["outputs"]
    assert symbol.attr_dict() == facts["attributes"]


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.filterwarnings("ignore:shapes do not follow")
def test_inference_agrees_with_mxnet(name):
    facts, symbol = _golden.answers("loops").facts[name], built(name)
    shapes = {n: a.shape for n, a in ARRAYS[name].items()}
    inferred = symbol.infer_shape(**shapes)
    assert (inferred[1] is not None) == facts["known"]
    if facts["known"]:
        assert [list(map(list, part)) for part in inferred] == facts["shapes"]


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("through_json", [False, True], ids=["built", "loaded"])
def test_values_and_gradients(name, through_json):
    """The one built lets backward run with forward, the one loaded in a program of its own."""
    stored, symbol = _golden.answers("loops"), built(name)
    if through_json:
        symbol = mx.sym.load_json(symbol.tojson())
    arrays = results(name, symbol, look_first=through_json)
    wrong = {
        key: _golden.difference(arrays[key], stored[f"{name}|{key}"], 1e-5, 1e-6)
        for key in stored.facts[name]["arrays"]
    }
    assert {key: problem for key, problem in wrong.items() if problem} == {}


def test_inputs_without_a_gradient_in_mxnet_have_one():
    arrays = results("otherwise", built("otherwise"))
    c = ARRAYS["otherwise"]["c"]
    np.testing.assert_allclose(arrays["grad:c"], 2 * c * head("otherwise", 1, (2, 2)), rtol=1e-6)
    np.testing.assert_allclose(arrays["grad:a"], 2 * head("otherwise", 0, (1,)), rtol=1e-6)


def _power(limit):
    i, x = mx.sym.Variable("i"), mx.sym.Variable("x")
    outs, final = mx.sym.contrib.while_loop(
        lambda i, x: i < mx.sym.Variable("n"),
        lambda i, x: (x * 2, [i + 1, x * x]),
        [i, x],
        max_iterations=limit,
    )
    return mx.sym.Group([outs, *final])


@pytest.mark.parametrize("iterations", [0, 2, 9])
def test_while_loop_stops_at_the_condition_or_the_limit(iterations):
    x = mx.nd.array([1.5])
    args = {"i": mx.nd.zeros(1), "x": x, "n": mx.nd.array([iterations])}
    slope = mx.nd.zeros(1)
    executor = _power(4).bind(mx.cpu(), args, {"x": slope}, {"x": "write"})
    outs, count, final = (o.asnumpy() for o in executor.forward(is_train=False))
    taken = min(iterations, 4)
    rows = [2 * 1.5**2**k for k in range(taken)] + [0] * (4 - taken)
    np.testing.assert_allclose(outs[:, 0], rows, rtol=1e-6)
    np.testing.assert_allclose([count[0], final[0]], [taken, 1.5**2**taken], rtol=1e-6)

    executor.forward(is_train=True)
    executor.backward([mx.nd.zeros((4, 1)), mx.nd.zeros(1), mx.nd.ones(1)])
    power = 2**taken
    expected = power * 1.5 ** (power - 1)
    np.testing.assert_allclose(slope.asnumpy(), [expected], rtol=1e-5)


def test_a_branch_in_a_loop():
    """MXNet cannot infer its shape; here it runs."""

    def step(x, s):
        new = mx.sym.contrib.cond(x > 0, lambda: s + x, lambda: s - 2 * x)
        return new, new

    outs, _ = mx.sym.contrib.foreach(step, mx.sym.Variable("data"), mx.sym.Variable("s"))
    data = mx.nd.array([[1], [-2], [3], [-4]])
    args, grads = {"data": data, "s": mx.nd.zeros(1)}, {"data": mx.nd.zeros((4, 1))}
    executor = outs.bind(mx.cpu(), args, grads, {"data": "write"})
    output = executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_array_equal(output[:, 0], [1, 5, 8, 16])
    executor.backward(mx.nd.array([[0], [0], [0], [1]]))
    np.testing.assert_array_equal(executor.grad_dict["data"].asnumpy()[:, 0], [1, -2, 1, -2])


def test_bodies_draw_new_numbers_in_every_iteration():
    def step(x, state):
        noisy = mx.sym.Dropout(x, p=0.5)
        return noisy, state + 0 * x

    outs, _ = mx.sym.contrib.foreach(step, mx.sym.Variable("data"), mx.sym.Variable("s"))
    executor = outs.simple_bind(mx.cpu(), data=(6, 50), s=(50,))
    executor.arg_dict["data"][:] = 1
    rows = executor.forward(is_train=True)[0].asnumpy()
    assert len({tuple(row) for row in rows}) == 6
    np.testing.assert_array_equal(executor.forward(is_train=False)[0].asnumpy(), np.ones((6, 50)))


def test_bodies_distinguish_programs():
    def loop(factor):
        data, s = mx.sym.Variable("data"), mx.sym.Variable("s")
        outs, _ = mx.sym.contrib.foreach(lambda x, s: (x * factor, s + x), data, s)
        return program_for(graph_of(outs.heads))

    assert loop(2) is loop(2)
    assert loop(2) is not loop(3)


def test_program_does_not_grow_with_the_iterations():
    symbol = built("recurrent")

    def lines(steps):
        executor = symbol.simple_bind(mx.cpu(), data=(steps, 2, 3), state=(2, 5))
        arrays = [a.jax for a in executor.arg_arrays]
        run = lower(graph_of(symbol.heads))
        with jax.enable_x64(True):
            text = jax.jit(lambda *a: run(a, ())).lower(*arrays).as_text()
        return len(text.splitlines())

    assert lines(3) == lines(300)


def test_simple_bind_refuses_what_mxnet_cannot_infer():
    with pytest.raises(mx.MXNetError, match="cannot be inferred"):
        built("chosen").simple_bind(mx.cpu(), a=(1,), b=(1,))


class TestRefusals:
    data, state = mx.sym.Variable("data"), mx.sym.Variable("s")

    def test_unread_state(self):
        with pytest.raises(InputTypeError, match="does not read 's'"):
            mx.sym.contrib.foreach(lambda x, s: (x, x), self.data, self.state)

    def test_other_states(self):
        with pytest.raises(InputTypeError, match="not nested like init_states"):
            mx.sym.contrib.foreach(lambda x, s: (x, [s]), self.data, self.state)

    def test_no_symbol(self):
        with pytest.raises(InputTypeError, match="expected Symbols"):
            mx.sym.contrib.foreach(lambda x, s: (x, s), 3, self.state)

    def test_no_limit(self):
        with pytest.raises(AttributeValueError, match="max_iterations is not given"):
            mx.sym.contrib.while_loop(lambda s: s < 3, lambda s: (s, s), self.state)

    def test_other_number_of_variables(self):
        with pytest.raises(AttributeValueError, match="func gives 2 loop_vars, expected 1"):
            mx.sym.contrib.while_loop(
                lambda s: s < 3, lambda s: (s, [s, s]), [self.state], max_iterations=2
            )

    def test_uneven_branches(self):
        with pytest.raises(AttributeValueError, match="1 and 2 outputs"):
            mx.sym.contrib.cond(self.state, lambda: self.data, lambda: [self.data, self.data + 1])
