"""Values that forward saves for backward: nothing that is at hand is a result of its program."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx

#: A network whose derivative needs weights, inputs, states, labels, outputs and constants.
SHAPES = {"data": (4, 3, 6, 6), "softmax_label": (4,)}


def _network() -> mx.sym.Symbol:
    net = mx.sym.Variable("data")
    with mx.AttrScope(ctx_group="first"):
        net = mx.sym.Convolution(net, num_filter=4, kernel=(3, 3), name="conv")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
        net = mx.sym.relu(net)
    with mx.AttrScope(ctx_group="second"):
        net = mx.sym.Dropout(net, p=0.5)
        net = mx.sym.FullyConnected(net, num_hidden=5, name="dense")
        net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=3, name="last")
        return mx.sym.SoftmaxOutput(net, name="softmax")


def _executor(grad_req: str = "write", **options):
    executor = _network().simple_bind(mx.cpu(), grad_req, **options, **SHAPES)
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        values = rng.standard_normal(array.shape)
        array[:] = np.abs(values) if name == "softmax_label" else values
    return executor


def _gradients(executor, reads_outputs: bool) -> dict[str, np.ndarray]:
    """Gradients of two steps, whose outputs are read before backward or not."""
    mx.random.seed(3)
    for _ in range(2):
        executor.forward(is_train=True)
        if reads_outputs:
            executor.outputs[0].wait_to_read()
            assert executor.last_step.state.residuals is not None
        executor.backward()
    results = {**executor.grad_dict, **executor.aux_dict}
    return {n: x.asnumpy() for n, x in results.items() if x is not None}


def _assert_same_gradients(make, rtol: float = 1e-5) -> None:
    ours, expected = _gradients(make(), True), _gradients(make(), False)
    assert ours.keys() == expected.keys()
    for name, array in ours.items():
        np.testing.assert_allclose(array, expected[name], rtol, 1e-5, err_msg=name)


def test_arguments_outputs_and_constants_are_no_results():
    executor = _executor()
    executor.forward(is_train=True)
    executor.outputs[0].wait_to_read()
    function: Any = executor.program.forward[True]
    jaxpr = function.trace(*function.avals).jaxpr.jaxpr
    results = jaxpr.outvars
    assert len(set(results)) == len(results)
    assert not set(results) & set(jaxpr.invars)
    free = {e.outvars[0] for e in jaxpr.eqns if e.primitive.name == "broadcast_in_dim"}
    assert not set(results) & free
    # What was left out is put back without a copy.
    step: Any = executor.last_step
    arrays = jax.tree.leaves(step.state.residuals)
    weights = [executor.arg_dict[n].jax for n in ("dense_weight", "last_weight", "softmax_label")]
    assert all(any(x is a for a in arrays) for x in (*weights, executor.outputs[0].jax))


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_gradients_are_those_of_one_program(grad_req):
    _assert_same_gradients(lambda: _executor(grad_req))


@pytest.mark.parametrize(
    ("options", "rtol"),
    [({"remat": "full"}, 1e-5), ({"remat": "mirror"}, 1e-5), ({"compute_dtype": "bfloat16"}, 0.1)],
    ids=["full", "mirror", "bfloat16"],
)
def test_options_save_what_they_should(options, rtol):
    with mx.program.options(**options):
        _assert_same_gradients(_executor, rtol)


def test_segments_complete_their_own_residuals():
    contexts = {"first": mx.cpu(0), "second": mx.cpu(1)}
    _assert_same_gradients(lambda: _executor(group2ctx=contexts))


def test_a_step_continues_from_the_arrays_that_it_has_read():
    executor = _executor()
    mx.random.seed(3)
    executor.forward(is_train=True)
    executor.backward()
    expected = executor.grad_dict["conv_weight"].asnumpy()
    mx.random.seed(3)
    executor.forward(is_train=True)
    executor.outputs[0].wait_to_read()
    for array in (*executor.arg_dict.values(), executor.outputs[0]):
        array[:] = 7
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["conv_weight"].asnumpy(), expected, 1e-5, 1e-5)


def test_devices_complete_their_residuals_together():
    def gradients(reads_outputs: bool) -> list[np.ndarray]:
        mx.random.seed(3)
        module = mx.mod.Module(_network(), context=[mx.cpu(0), mx.cpu(1)])
        module.bind([("data", SHAPES["data"])], [("softmax_label", SHAPES["softmax_label"])])
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer_params={"learning_rate": 0.1})
        batch = mx.io.DataBatch(
            [mx.nd.array(np.arange(432).reshape(SHAPES["data"]) % 7)], [mx.nd.array([0, 1, 2, 0])]
        )
        for _ in range(2):
            module.forward(batch, is_train=True)
            if reads_outputs:
                module.get_outputs()[0].wait_to_read()
            module.backward()
            module.update()
        return [x.asnumpy() for _, x in sorted(module.get_params()[0].items())]

    for ours, expected in zip(gradients(True), gradients(False), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)
