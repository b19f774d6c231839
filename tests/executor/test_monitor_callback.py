"""Monitor callbacks: values, and the graph that they walk (names and order: the scripts)."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx


def _observed(executor, monitor_all: bool = False) -> dict[str, np.ndarray]:
    seen = {}
    executor.set_monitor_callback(lambda name, a: seen.__setitem__(name, a.asnumpy()), monitor_all)
    return seen


def _chain(prefix: str = ""):
    x = mx.sym.identity(mx.sym.Variable("x"), name=f"{prefix}copy")
    return mx.sym.sin(mx.sym.square(x, name=f"{prefix}square"), name=f"{prefix}sin")


def _run(executor):
    executor.forward(is_train=True, x=mx.nd.array([1, 2]))
    executor.backward(mx.nd.array([1, 1], ctx=executor.outputs[0].context))


@pytest.mark.parametrize("far", [None, {"far": mx.cpu(2)}])
def test_values_are_those_of_the_graph_that_was_bound(far):
    """Passes drop the copy and a partitioned program has several parts; neither shows."""
    with mx.AttrScope(ctx_group="far"):
        net = _chain()
    executor = net.simple_bind(mx.cpu(), group2ctx=far, x=(2,))
    seen = _observed(executor)
    _run(executor)
    x = np.array([1.0, 2.0])
    inner = np.cos(x**2)
    expected = {
        "copy_output": x,
        "square_output": x**2,
        "sin_output": np.sin(x**2),
        "sin_backward_output": inner,
        "square_backward_output": inner * 2 * x,
        "copy_backward_output": inner * 2 * x,
    }
    assert list(seen) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(seen[name], value, 1e-5, err_msg=name)
    np.testing.assert_allclose(executor.grad_arrays[0].asnumpy(), inner * 2 * x, 1e-5)
    assert executor.outputs[0].jax.devices() == {executor.outputs[0].context.device}


def test_names_are_the_executors_own_though_programs_are_shared():
    first, second = (_chain(p).simple_bind(mx.cpu(), x=(2,)) for p in ("a_", "b_"))
    for executor, prefix in ((first, "a_"), (second, "b_")):
        seen = _observed(executor)
        _run(executor)
        assert {name[:2] for name in seen} == {prefix}


def test_inputs_and_variables_are_seen_with_monitor_all():
    executor = _chain().simple_bind(mx.cpu(), x=(2,))
    seen = _observed(executor, monitor_all=True)
    executor.forward(x=mx.nd.array([3, 4]))
    assert list(seen) == [
        "x", "copy_input0", "copy_output", "square_input0", "square_output", "sin_input0",
        "sin_output",
    ]  # fmt: skip
    assert seen["x"].tolist() == [3, 4]
    assert seen["sin_input0"].tolist() == [9, 16]


def test_random_numbers_are_those_of_the_step():
    net = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5, name="drop")
    executor = net.simple_bind(mx.cpu(), x=(20, 20))
    executor.arg_dict["x"][:] = 1
    seen = _observed(executor)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((20, 20)))
    np.testing.assert_array_equal(seen["drop_output"], executor.outputs[0].asnumpy())
    np.testing.assert_array_equal(seen["drop_backward_output"], seen["drop_output"])
    np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), seen["drop_output"])


def test_none_removes_the_callback():
    executor = _chain().simple_bind(mx.cpu(), x=(2,))
    seen = _observed(executor)
    executor.set_monitor_callback(None)
    _run(executor)
    assert seen == {}


def test_a_reshaped_executor_has_the_callback():
    """As in MXNet, whether the callback was set before or is set afterwards."""
    executor = _chain().simple_bind(mx.cpu(), x=(2,))
    seen = _observed(executor)
    smaller = executor.reshape(x=(1,))
    smaller.forward(x=mx.nd.array([3]))
    assert seen.pop("square_output").tolist() == [9]
    executor.set_monitor_callback(None)
    seen.clear()
    smaller.forward()
    assert seen == {}
