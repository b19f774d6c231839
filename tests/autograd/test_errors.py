"""Errors come where MXNet raises them, and leave nothing half-done."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd


def _marked(numbers, request: str = "write") -> mx.nd.NDArray:
    array = mx.nd.array(numbers)
    array.attach_grad(request)
    return array


def test_wrong_shapes_are_refused_at_the_call_each_time():
    x, wrong = _marked([[1, 2], [3, 4]]), mx.nd.ones((3, 2))
    with autograd.record():
        y = x * 2
        for _ in range(3):
            with pytest.raises(mx.MXNetError):
                mx.nd.dot(y, wrong)
            with pytest.raises(mx.MXNetError):
                _ = y + wrong
        z = (y * x).sum()
    z.backward()
    assert x.grad.asnumpy().tolist() == [[4, 8], [12, 16]]


@pytest.mark.parametrize(
    ("grad", "error"),
    [(mx.nd.zeros((3,)), "ShapeError"), (mx.nd.zeros((2,), dtype="float64"), "DTypeError")],
)
def test_a_gradient_array_has_its_variables_shape_and_dtype(grad, error):
    x = mx.nd.array([1, 2])
    with pytest.raises(mx.MXNetError, match="the gradient array is") as raised:
        autograd.mark_variables([x], [grad])
    assert type(raised.value).__name__ == error
    assert x.grad is None
    autograd.mark_variables([x], [grad], "null")


def test_gradients_by_no_variables_leave_the_graph():
    x = _marked([1, 2])
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError, match="empty list"):
        autograd.grad(y, [])
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]


@pytest.mark.parametrize("read_first", [False, True])
def test_an_index_out_of_range_is_an_error_where_a_result_is_read(read_first):
    x, y = _marked([1, 2, 3]), _marked([4, 5])
    for _ in range(2):
        with autograd.record():
            loss = (mx.nd.take(x, mx.nd.array([1, 7]), mode="raise") * y).sum()
        if not read_first:
            loss.backward()
        with pytest.raises(mx.MXNetError, match="out of bounds"):
            (loss if read_first else x.grad).asnumpy()
        with autograd.record():
            loss = (mx.nd.take(x, mx.nd.array([1, 2]), mode="raise") * y).sum()
        loss.backward()
        assert x.grad.asnumpy().tolist() == [0, 4, 5]
        assert y.grad.asnumpy().tolist() == [2, 3]
    mx.nd.waitall()


class _Failing(autograd.Function):
    def __init__(self, results: list) -> None:
        super().__init__()
        self.results = results

    def forward(self, x):
        return x * 2

    def backward(self, head):
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return (head * 2,) * result


def test_an_error_in_a_functions_backward_leaves_gradients_and_graph():
    x, y = _marked([1, 2], "add"), _marked([3, 4])
    with autograd.record():
        loss = (_Failing([ValueError("mine"), 2, 1])(x * 3) * y).sum()
    with pytest.raises(ValueError, match="mine"):
        loss.backward()
    with pytest.raises(mx.MXNetError, match="2 gradients, expected 1"):
        loss.backward()
    assert (x.grad.asnumpy().tolist(), y.grad.asnumpy().tolist()) == ([0, 0], [0, 0])
    assert not autograd.is_recording()
    loss.backward()
    assert (x.grad.asnumpy().tolist(), y.grad.asnumpy().tolist()) == ([18, 24], [6, 12])
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        loss.backward()


def test_an_error_in_a_functions_forward_leaves_the_modes():
    class Failing(autograd.Function):
        def forward(self, x):
            raise ValueError("mine")

    x = _marked([1, 2])
    with autograd.record():
        with pytest.raises(ValueError, match="mine"):
            Failing()(x)
        assert autograd.is_recording()
        assert autograd.is_training()
        y = x * x
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]


@mx.operator.register("autograd_failing")
class _FailingProp(mx.operator.CustomOpProp):
    failures: list[Exception] = []  # noqa: RUF012

    def create_operator(self, ctx, shapes, dtypes):
        class Op(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * 2)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                if _FailingProp.failures:
                    raise _FailingProp.failures.pop()
                self.assign(in_grad[0], req[0], out_grad[0] * 2)

        return Op()


def test_an_error_in_a_custom_operators_backward_leaves_gradients_and_graph():
    x, y = _marked([1, 2], "add"), _marked([3, 4])
    with autograd.record():
        loss = (mx.nd.Custom(x * 3, op_type="autograd_failing") * y).sum()
    _FailingProp.failures.append(ValueError("mine"))
    with pytest.raises(Exception, match="mine"):
        loss.backward()
    assert (x.grad.asnumpy().tolist(), y.grad.asnumpy().tolist()) == ([0, 0], [0, 0])
    loss.backward()
    assert (x.grad.asnumpy().tolist(), y.grad.asnumpy().tolist()) == ([18, 24], [6, 12])


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_programs_are_compiled_or_interpreted(interpret, monkeypatch):
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", interpret)
    for request, expected in (("write", [2, 4]), ("add", [6, 12])):
        x = _marked([1, 2], request)
        for _ in range(3):
            with autograd.record():
                loss = (x * x).sum()
            loss.backward()
        mx.nd.waitall()
        assert x.grad.asnumpy().tolist() == expected


@pytest.mark.first
def test_bulks_and_profiles_change_nothing(tmp_path):
    x = _marked([1, 2])
    mx.profiler.set_config(filename=str(tmp_path / "profile.json"), profile_all=True)
    mx.profiler.set_state("run")
    try:
        with mx.engine.bulk(10), autograd.record():
            loss = (x * x).sum()
            loss.asnumpy()
            (loss * 2).backward()
        mx.nd.waitall()
    finally:
        mx.profiler.set_state("stop")
    assert x.grad.asnumpy().tolist() == [4, 8]
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        loss.backward()
    assert np.isfinite(loss.asscalar())
