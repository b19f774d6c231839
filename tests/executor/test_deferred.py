"""Deferred execution: snapshots, pending results, and the state after a failure."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import numpy as np
import pytest

import executorkit as mx

pytestmark = pytest.mark.smoke


def _product(grad_req: Any = "write") -> Any:
    net = mx.sym.sin(mx.sym.Variable("a")) * mx.sym.Variable("b")
    executor = net.simple_bind(mx.cpu(), grad_req, a=(2,), b=(2,))
    executor.arg_dict["a"][:] = [1, 2]
    executor.arg_dict["b"][:] = [3, 4]
    return executor


def _values(*arrays) -> list[list[float]]:
    return [a.asnumpy().tolist() for a in arrays]


def _is_pending(array) -> bool:
    return array.storage.producer is not None


# -- snapshots -------------------------------------------------------------------------------------


def test_gradients_are_those_of_the_arguments_that_forward_saw():
    executor = _product()
    executor.forward(is_train=True)
    executor.arg_dict["a"][:] = 100
    executor.arg_dict["b"][0:1] = 100
    executor.backward(mx.nd.ones(2))
    grad_a, grad_b = executor.grad_arrays
    np.testing.assert_allclose(grad_a.asnumpy(), np.cos([1, 2]) * [3, 4], 1e-6)
    np.testing.assert_allclose(grad_b.asnumpy(), np.sin([1, 2]), 1e-6)


def test_outputs_are_those_of_the_arguments_that_forward_saw():
    executor = _product()
    (out,) = executor.forward()
    executor.arg_dict["b"][:] = 0
    np.testing.assert_allclose(out.asnumpy(), np.sin([1, 2]) * [3, 4], 1e-6)


def test_statistics_start_from_their_value_at_backward():
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", momentum=0.5)
    executor = net.simple_bind(mx.cpu(), x=(4, 1))
    executor.arg_dict["x"][:] = [[0], [2], [4], [6]]
    executor.forward(is_train=True)
    executor.aux_dict["bn_moving_mean"][:] = 10
    executor.backward(mx.nd.ones((4, 1)))
    assert _values(executor.aux_dict["bn_moving_mean"]) == [[6.5]]


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("look", [False, True])
def test_statistics_move_with_every_backward_and_nothing_more_is_compiled(look):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", momentum=0.5)
    executor = net.simple_bind(mx.cpu(), x=(4, 1))
    executor.arg_dict["x"][:] = [[0], [2], [4], [6]]
    executor.forward(is_train=True)
    means = []
    for _ in range(3):
        if look:
            executor.outputs[0].wait_to_read()
        executor.backward(mx.nd.ones((4, 1)))
        means.append(executor.aux_dict["bn_moving_mean"].asnumpy().item())
    assert means == [1.5, 2.25, 2.625]
    ran = {f.name: f.traces for f in executor.program.functions if f.traces}
    assert ran == ({"forward_train": 1, "backward": 1} if look else {"forward_backward_train": 1})


# -- pending results ----------------------------------------------------------------------------


def test_outputs_are_pending_until_they_are_read():
    executor = _product()
    (out,) = executor.forward(is_train=True)
    assert _is_pending(out)
    out.asnumpy()
    assert not _is_pending(out)


def test_shape_dtype_and_context_are_known_without_computing():
    executor = _product()
    (out,) = executor.forward(is_train=True)
    assert (out.shape, out.dtype, out.context) == ((2,), np.float32, mx.cpu())
    assert _is_pending(out)


def test_a_second_forward_drops_unread_outputs():
    executor = _product()
    executor.forward()
    executor.forward(a=mx.nd.zeros(2))
    assert _values(*executor.outputs) == [[0, 0]]
    assert executor.program.infer[0].traces == 1


def test_an_overwritten_output_keeps_its_new_contents():
    executor = _product()
    (out,) = executor.forward(is_train=True)
    out[:] = 7
    executor.backward(mx.nd.ones(2))
    assert _values(out) == [[7, 7]]
    np.testing.assert_allclose(executor.grad_arrays[1].asnumpy(), np.sin([1, 2]), 1e-6)


def test_part_of_an_output_can_be_overwritten():
    executor = _product()
    (out,) = executor.forward()
    out[0:1] = 7
    np.testing.assert_allclose(out.asnumpy(), [7, np.sin(2) * 4], 1e-6)


def test_waitall_computes_everything_pending():
    first, second = _product(), _product()
    outputs = [*first.forward(is_train=True), *second.forward()]
    mx.nd.waitall()
    assert not any(map(_is_pending, outputs))


def test_a_dropped_executor_leaves_its_outputs_computable():
    executor = _product()
    (out,) = executor.forward()
    del executor
    np.testing.assert_allclose(out.asnumpy(), np.sin([1, 2]) * [3, 4], 1e-6)


def test_outputs_and_gradients_keep_their_identity():
    executor = _product()
    outputs, grads = list(executor.outputs), list(executor.grad_arrays)
    for _ in range(2):
        again = executor.forward(is_train=True)
        executor.backward(mx.nd.ones(2))
        assert all(a is b for a, b in zip(again, outputs, strict=True))
        assert all(a is b for a, b in zip(executor.outputs, outputs, strict=True))
        assert all(a is b for a, b in zip(executor.grad_arrays, grads, strict=True))


def test_an_output_may_feed_the_executor_it_comes_from():
    net = mx.sym.Variable("x") * 2
    executor = net.simple_bind(mx.cpu(), x=(1,))
    executor.arg_dict["x"][:] = 1
    for _ in range(5):
        (out,) = executor.forward()
        executor.arg_dict["x"][:] = out
    assert _values(*executor.arg_arrays) == [[32]]


def test_an_output_may_be_the_head_gradient():
    executor = _product()
    (out,) = executor.forward(is_train=True)
    executor.backward(out)
    np.testing.assert_allclose(
        executor.grad_arrays[1].asnumpy(), np.sin([1, 2]) ** 2 * [3, 4], 1e-5
    )


def test_two_executors_alternate_on_shared_arrays():
    net = mx.sym.Variable("w") * mx.sym.Variable("x")
    w, grad = mx.nd.array([2.0]), mx.nd.zeros(1)
    one, two = (
        net.bind(mx.cpu(), {"w": w, "x": mx.nd.array([v])}, {"w": grad}, {"w": "add"})
        for v in (3.0, 5.0)
    )
    one.forward(is_train=True)
    two.forward(is_train=True)
    two.backward(mx.nd.ones(1))
    w[:] = 10
    one.backward(mx.nd.ones(1))
    assert _values(grad, *one.outputs, *two.outputs) == [[8], [6], [10]]
    assert _values(*one.forward(), *two.forward()) == [[30], [50]]


def test_executors_work_in_threads():
    executors = [_product() for _ in range(4)]
    failures: list[BaseException] = []

    def work(executor, scale: float) -> None:
        try:
            for _ in range(20):
                executor.forward(is_train=True, a=mx.nd.array([scale, 2 * scale]))
                executor.backward(mx.nd.ones(2))
                np.testing.assert_allclose(
                    executor.grad_arrays[1].asnumpy(), np.sin([scale, 2 * scale]), 1e-5
                )
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(e, float(i))) for i, e in enumerate(executors, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# -- operators with effects ------------------------------------------------------------------------


@mx.operator.register("test_deferred_counting")
class _CountingProp(mx.operator.CustomOpProp):
    """Doubles its input and counts its calls."""

    calls: ClassVar[list[str]] = []

    def create_operator(self, ctx, shapes, dtypes):
        return _Counting()


class _Counting(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        _CountingProp.calls.append("forward")
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        _CountingProp.calls.append("backward")
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


def test_graphs_that_call_python_run_when_they_are_asked_to():
    net = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_deferred_counting")
    executor = net.simple_bind(mx.cpu(), x=(2,))
    _CountingProp.calls.clear()
    (out,) = executor.forward(is_train=True, x=mx.nd.array([1, 2]))
    assert not _is_pending(out)
    out.wait_to_read()
    assert _CountingProp.calls == ["forward"]
    executor.backward(mx.nd.ones(2))
    mx.nd.waitall()
    assert _CountingProp.calls == ["forward", "backward"]
    assert _values(out, *executor.grad_arrays) == [[2, 4], [2, 2]]


# -- random numbers --------------------------------------------------------------------------------


def _dropout(grad_req="write"):
    net = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5, name="drop")
    executor = net.simple_bind(mx.cpu(), grad_req, x=(30, 30))
    executor.arg_dict["x"][:] = 1
    return executor


@pytest.mark.parametrize("look", [False, True])
def test_backward_uses_forwards_random_numbers(look):
    executor = _dropout()
    executor.forward(is_train=True)
    if look:
        executor.outputs[0].asnumpy()
    executor.backward(mx.nd.ones((30, 30)))
    assert _values(*executor.grad_arrays) == _values(*executor.outputs)


def test_a_second_backward_uses_the_same_random_numbers():
    executor = _dropout("add")
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((30, 30)))
    executor.backward(mx.nd.ones((30, 30)))
    np.testing.assert_array_equal(
        executor.grad_arrays[0].asnumpy(), 2 * executor.outputs[0].asnumpy()
    )


def test_every_forward_draws_anew_and_a_seed_repeats_them():
    executor = _dropout()

    def draw():
        return executor.forward(is_train=True)[0].asnumpy()

    mx.random.seed(5)
    first, second = draw(), draw()
    mx.random.seed(5)
    np.testing.assert_array_equal(draw(), first)
    assert (second != first).any()


def test_internals_see_the_random_numbers_of_the_last_forward():
    net = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5, name="drop") * 3
    executor = net.simple_bind(mx.cpu(), x=(30, 30))
    executor.arg_dict["x"][:] = 1
    (out,) = executor.forward(is_train=True)
    np.testing.assert_array_equal(executor.internals("drop_output").asnumpy() * 3, out.asnumpy())


# -- internals, zero_grad --------------------------------------------------------------------------


def test_internals_by_name():
    net = mx.sym.sin(mx.sym.exp(mx.sym.Variable("x"), name="e"), name="s")
    executor = net.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([0, 1]))
    e, x = executor.internals(["e_output", "x"])
    np.testing.assert_allclose(e.asnumpy(), np.exp([0, 1]), 1e-6)
    assert _values(x) == [[0, 1]]
    assert _is_pending(executor.outputs[0])


def test_internals_before_any_forward_are_those_of_the_bound_arrays():
    executor = (mx.sym.Variable("x") + 1).simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 4
    assert _values(executor.internals("x")) == [[4, 4]]


def test_zero_grad_clears_what_add_accumulates():
    executor = _product("add")
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(2))
    executor.zero_grad()
    assert _values(*executor.grad_arrays) == [[0, 0], [0, 0]]
    executor.backward(mx.nd.ones(2))
    np.testing.assert_allclose(executor.grad_arrays[1].asnumpy(), np.sin([1, 2]), 1e-6)


# -- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", [False, True])
def test_a_failing_backward_changes_nothing_and_can_be_tried_again(monkeypatch, look):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False)
    executor = net.simple_bind(mx.cpu(), x=(4, 3))
    changed = [*executor.grad_arrays, *executor.aux_arrays]
    for i, array in enumerate([*executor.arg_arrays, *changed]):
        array[:] = i
    before = _values(*executor.arg_arrays, *executor.aux_arrays)
    executor.forward(is_train=True)
    if look:
        executor.outputs[0].asnumpy()

    class Failing:
        def __call__(self, *args):
            raise RuntimeError("out of memory")

    program = executor.program
    monkeypatch.setattr(program, "forward_backward", (Failing(), Failing()))
    monkeypatch.setattr(program, "backward", Failing())
    executor.backward(mx.nd.ones((4, 3)))
    for array in executor.grad_arrays:
        with pytest.raises(RuntimeError, match="out of memory"):
            array.asnumpy()
    assert _values(*executor.arg_arrays, *executor.aux_arrays) == before
    monkeypatch.undo()
    np.testing.assert_allclose(executor.grad_arrays[2].asnumpy(), [4, 4, 4])
    np.testing.assert_allclose(executor.aux_arrays[0].asnumpy(), [0.9 * 6] * 3, 1e-6)
    assert executor.outputs[0].asnumpy().shape == (4, 3)


def test_a_failing_forward_can_be_tried_again(monkeypatch):
    executor = _product()
    (out,) = executor.forward()

    def fail(*args):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(executor.program, "infer", (fail, fail))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of memory"):
            out.asnumpy()
    monkeypatch.undo()
    np.testing.assert_allclose(out.asnumpy(), np.sin([1, 2]) * [3, 4], 1e-6)


def test_surplus_head_gradients_are_ignored():
    executor = (mx.sym.var("x") * 3).simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(2), mx.nd.ones((3, 3))])
    assert executor.grad_dict["x"].asnumpy().tolist() == [3, 3]
