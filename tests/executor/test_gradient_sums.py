"""``grad_req='add'``: gradients are added to those before, by the program of every request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.module.executor_group import DataParallelExecutorGroup

SHAPES = {"x": (2, 4)}


def _net() -> Any:
    return mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="fc")


def _bound(grad_req: Any, net: Any = None, **shapes: Any) -> Any:
    executor = (net or _net()).simple_bind(mx.cpu(), grad_req=grad_req, **(shapes or SHAPES))
    for i, array in enumerate(executor.arg_arrays):
        array[:] = np.arange(array.size).reshape(array.shape) + i
    return executor


def _train(executor: Any, times: int = 1, read: bool = False) -> list[Any]:
    for _ in range(times):
        (out,) = executor.forward(is_train=True)
        if read:
            out.asnumpy()
        executor.backward(mx.nd.ones(out.shape, dtype=out.dtype))
    return [None if g is None else g.asnumpy() for g in executor.grad_arrays]


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("read", [False, True])
def test_every_request_shares_one_program(compiled, read):
    writing = _bound("write")
    once = _train(writing, read=read)
    traces = writing.program.traces
    assert traces == 1 + read  # forward and backward are two functions then
    for request in ("add", {"x": "add", "fc_weight": "write", "fc_bias": "add"}):
        executor = _bound(request)
        assert executor.program is writing.program
        for k in (1, 2, 3):
            grads = _train(executor, read=read)
            factors = [1 if request != "add" and i == 1 else k for i in range(3)]
            for grad, expected, factor in zip(grads, once, factors, strict=True):
                np.testing.assert_array_equal(grad, factor * expected)
        traces += 1  # of the function with backward
        assert executor.program.traces == traces
    for request in ("write", "add"):
        _train(_bound(request), read=read)
    assert writing.program.traces == traces


def test_a_request_of_null_among_those_that_add():
    executor = _bound({"x": "null", "fc_weight": "add", "fc_bias": "write"})
    none, weight, bias = _train(executor, 3)
    assert none is None
    np.testing.assert_array_equal(weight[0], 3 * executor.arg_dict["x"].asnumpy().sum(0))
    np.testing.assert_array_equal(bias, [2, 2, 2])


@pytest.mark.parametrize("interpret", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3)])
def test_dtypes_and_shapes(dtype, shape, interpret):
    x = mx.sym.Variable("x")
    with mx.program.options(interpret=interpret):
        array, grad = (mx.nd.ones(shape, dtype=dtype) for _ in range(2))
        grad[:] = 2
        executor = (x * x).bind(mx.cpu(), {"x": array}, {"x": grad}, "add")
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones(shape, dtype=dtype))
        assert grad.dtype == array.dtype
        np.testing.assert_array_equal(grad.asnumpy().astype("float64"), np.full(shape, 6.0))


def test_an_array_for_the_gradients_of_two_arguments():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    arrays = {n: mx.nd.array([v, v]) for n, v in (("a", 3), ("b", 5))}
    for request, sums in (("add", [9, 17]), ("write", [3, 3])):
        grad = mx.nd.ones((2,))
        executor = (a * b).bind(mx.cpu(), arrays, {"a": grad, "b": grad}, request)
        for expected in sums:
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((2,)))
            assert grad.asnumpy().tolist() == [expected] * 2


def test_parts_of_a_graph_on_two_devices():
    with mx.AttrScope(ctx_group="one"):
        h = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="fc")
    with mx.AttrScope(ctx_group="two"):
        net = mx.sym.FullyConnected(h, num_hidden=2, name="out")
    groups = {"one": mx.cpu(1), "two": mx.cpu(2)}
    executor = net.simple_bind(mx.cpu(), grad_req="add", group2ctx=groups, **SHAPES)
    for array in executor.arg_arrays:
        array[:] = 1
    once, twice = _train(executor), _train(executor)
    for first, second in zip(once, twice, strict=True):
        np.testing.assert_array_equal(second, 2 * first)


@pytest.mark.usefixtures("fresh_programs")
def test_gradients_of_a_group_are_added_on_each_device():
    def group(request: str) -> Any:
        contexts = [mx.cpu(0), mx.cpu(1)]
        names = ["fc_weight", "fc_bias"]
        made = DataParallelExecutorGroup(
            _net(), contexts, None, [("x", (4, 4))], None, names, True, False, grad_req=request
        )
        made.set_params({n: mx.nd.ones((3, 4)[: 2 - i]) for i, n in enumerate(names)}, {})
        return made

    data = np.arange(16, dtype=np.float32).reshape(4, 4)
    batch = mx.io.DataBatch([mx.nd.array(data)], None)
    writing, adding = group("write"), group("add")
    assert adding.core.is_pmapped
    for times in (1, 2):
        for each in (writing, adding):
            each.forward(batch, is_train=True)
            each.backward([mx.nd.ones((4, 3))])
            each.grad_arrays[0][0].asnumpy()
        for k in range(2):
            weight = adding.grad_arrays[0][k].asnumpy()
            np.testing.assert_array_equal(weight[0], times * data[2 * k : 2 * k + 2].sum(0))
    assert writing.core.traces == adding.core.traces == 2


def test_an_update_takes_the_sums():
    executor = _bound("add")
    expected = _train(_bound("write"))[1]
    weight = executor.arg_dict["fc_weight"]
    before = weight.asnumpy()
    optimizer = mx.optimizer.SGD(learning_rate=0.5)
    updater = mx.optimizer.get_updater(optimizer)
    _train(executor)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))
    updater(0, executor.grad_dict["fc_weight"], weight)
    np.testing.assert_allclose(weight.asnumpy(), before - expected, rtol=1e-6)
    np.testing.assert_array_equal(executor.grad_dict["fc_weight"].asnumpy(), 2 * expected)


@pytest.mark.usefixtures("fresh_programs")
def test_other_requests_compile_nothing_again_with_an_update(compiled):
    for _ in range(2):
        for request in ("write", "add"):
            module = mx.mod.Module(
                mx.sym.SoftmaxOutput(_net(), name="softmax"), data_names=["x"], context=mx.cpu()
            )
            labels = [("softmax_label", (2,))]
            module.bind([("x", (2, 4))], labels, grad_req=request)
            module.init_params(mx.init.One())
            module.init_optimizer()
            batch = mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros((2,))])
            for _ in range(3):
                module.forward(batch, is_train=True)
                module.backward()
                module.update()
            module.get_params()
    (program,) = {id(p): p for p in [module._exec_group.execs[0].program]}.values()
    assert program.traces == 2
