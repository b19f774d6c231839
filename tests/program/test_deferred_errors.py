"""Errors of values: raised once, where a result is read, also through other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import MXNetError, ValueRangeError
from executorkit.program import deferred_errors

MESSAGE = "operator take: index 9 is out of bounds for axis 0 with size 3"


def _bad() -> mx.nd.NDArray:
    return mx.nd.take(mx.nd.ones((3,)), mx.nd.array([0, 9]), mode="raise")


def _executor(mode: Any = "raise") -> mx.Executor:
    net = mx.sym.take(mx.sym.var("a") * 2, mx.sym.var("i"), mode=mode)
    executor = net.simple_bind(mx.cpu(), a=(3,), i=(2,), grad_req="write")
    executor.arg_dict["a"][:] = 1
    return executor


def test_an_error_is_raised_once_with_its_message():
    array = _bad()
    with pytest.raises(MXNetError) as error:
        array.asnumpy()
    assert str(error.value) == MESSAGE
    assert array.asnumpy().tolist() == [1, 1]
    assert not deferred_errors.open


def test_an_error_follows_values_into_another_program():
    executor = mx.sym.sqrt(mx.sym.var("a")).simple_bind(mx.cpu(), a=(2,), grad_req="null")
    (output,) = executor.forward(a=_bad())
    with pytest.raises(MXNetError, match="operator take: index 9"):
        output.asnumpy()


@pytest.mark.parametrize("on_device", [False, True])
def test_metrics_raise_it(on_device):
    metric = mx.metric.MAE()
    predictions = mx.nd.reshape(_bad(), shape=(-1, 1))
    if on_device:
        predictions = mx.nd.tile(predictions, reps=(4096, 1))

    def update_and_get() -> None:
        metric.update([mx.nd.zeros(predictions.shape)], [predictions])
        metric.get()

    with pytest.raises(MXNetError, match="operator take: index 9"):
        update_and_get()
    mx.nd.waitall()


def test_an_executor_goes_on_after_an_error():
    executor = _executor()
    executor.forward(is_train=True, i=mx.nd.array([0, 9]))
    executor.backward(mx.nd.ones((2,)))
    with pytest.raises(MXNetError) as error:
        executor.grad_dict["a"].asnumpy()
    assert str(error.value) == MESSAGE
    executor.forward(is_train=True, i=mx.nd.array([0, 2]))
    executor.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(executor.grad_dict["a"].asnumpy(), [2, 0, 2])
    assert executor.outputs[0].asnumpy().tolist() == [2, 2]


def test_programs_without_checks_note_nothing():
    executor = _executor("clip")
    assert not executor.graph.checks_values
    executor.forward(i=mx.nd.array([0, 9]))[0].asnumpy()
    assert not deferred_errors.open


def test_an_index_error_is_one():
    array = mx.nd.gather_nd(mx.nd.ones((3,)), mx.nd.array([[-4]]))
    with pytest.raises(IndexError) as error:
        array.asnumpy()
    assert isinstance(error.value, ValueRangeError)
    assert str(error.value) == (
        "operator gather_nd: index -4 is out of bounds for axis 0 with size 3"
    )


class TestCustomOperators:
    def _executor(self, name: str, broken: str) -> mx.Executor:
        class Broken(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                if broken == "forward":
                    raise KeyError("mine")
                self.assign(out_data[0], req[0], in_data[0] * 2)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                raise ZeroDivisionError("mine too")

        @mx.operator.register(name)
        class BrokenProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Broken()

        net = mx.sym.Custom(mx.sym.var("a"), op_type=name)
        return net.simple_bind(mx.cpu(), a=(2,), grad_req="write")

    def test_an_exception_of_forward_is_the_cause(self):
        executor = self._executor("broken_forward", "forward")
        (output,) = executor.forward(is_train=True)
        with pytest.raises(MXNetError) as error:
            output.asnumpy()
        assert isinstance(error.value.__cause__, KeyError)
        assert str(error.value) == (
            "operator Custom ('broken_forward'): forward raised an exception\n"
            "  because KeyError: 'mine'"
        )

    def test_an_exception_of_backward_is_the_cause(self):
        executor = self._executor("broken_backward", "backward")
        (output,) = executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2,)))
        with pytest.raises(MXNetError) as error:
            executor.grad_dict["a"].asnumpy()
        assert isinstance(error.value.__cause__, ZeroDivisionError)
        assert output.asnumpy().tolist() == [0, 0]
