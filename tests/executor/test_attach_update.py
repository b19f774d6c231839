"""An update after backward is a part of the program that computes the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.arrays.storage import PackedArrays
from executorkit.calls.update_call import UpdateCall
from executorkit.errors import GradientConsumedError
from executorkit.optimizer import attach_update

pytestmark = pytest.mark.usefixtures("fresh_programs")


@dataclass(frozen=True)
class Descent:
    """w - lr g, and the number of steps."""

    def __call__(self, weights: Any, grads: Any, state: Any, numbers: Any, key: Any) -> Any:
        new = tuple(w - numbers[0].astype(w.dtype) * g for w, g in zip(weights, grads, strict=True))
        return new, tuple(s + 1 for s in state)


def _net() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    return mx.sym.SoftmaxOutput(net, name="softmax")


WEIGHTS = ("fc1_weight", "fc1_bias", "bn_gamma", "bn_beta")


def _bound(grad_req: Any = None) -> Any:
    req = grad_req or dict.fromkeys(WEIGHTS, "write")
    executor = _net().simple_bind(mx.cpu(), data=(6, 5), grad_req=req)
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = rng.standard_normal(array.shape) if name != "softmax_label" else 1
    return executor


def _counts() -> list[Any]:
    return [mx.nd.zeros((2,))]


def _update(executor: Any, counts: Any, keep: bool = True, lr: float = 0.1) -> bool:
    executor.set_keep_gradients(keep)
    weights, grads = (
        [arrays[n] for n in WEIGHTS] for arrays in (executor.arg_dict, executor.grad_dict)
    )
    call = attach_update(
        weights, grads, lambda _: UpdateCall(Descent(), tuple(counts), (lr,), None)
    )
    return call is not None


def _by_hand(steps: int) -> Any:
    executor = _bound()
    for _ in range(steps):
        executor.forward(is_train=True)
        executor.backward()
        executor.grad_dict["fc1_weight"].wait_to_read()
        for name in WEIGHTS:
            executor.arg_dict[name][:] -= 0.1 * executor.grad_dict[name]
    return executor


def _assert_same(executor: Any, expected: Any) -> None:
    for name, array in {**expected.arg_dict, **expected.aux_dict}.items():
        ours = {**executor.arg_dict, **executor.aux_dict}[name]
        np.testing.assert_allclose(ours.asnumpy(), array.asnumpy(), 1e-5, 1e-6, err_msg=name)


def test_steps_are_one_program_that_gives_the_right_values():
    executor, counts = _bound(), _counts()
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
        assert _update(executor, counts)
    assert {f.name: f.traces for f in executor.program.functions if f.traces} == {"step": 1}
    expected = _by_hand(3)
    _assert_same(executor, expected)
    np.testing.assert_array_equal(counts[0].asnumpy(), [3, 3])
    np.testing.assert_allclose(
        executor.outputs[0].asnumpy(), expected.outputs[0].asnumpy(), 1e-5, 1e-6
    )
    for name in WEIGHTS:
        np.testing.assert_allclose(
            executor.grad_dict[name].asnumpy(), expected.grad_dict[name].asnumpy(), 1e-4, 1e-6
        )


def test_small_gradients_are_one_result_and_split_off_when_one_is_read():
    executor, expected = _bound(), _by_hand(1)
    grads = executor.grad_dict
    view = grads["fc1_weight"][1:3]
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward()
        _update(executor, _counts(), lr=0.0)
        grads["bn_beta"][:] = 7
        grads["fc1_bias"][1:2] = 5
        assert (grads["bn_beta"].asnumpy() == 7).all()
        bias = expected.grad_dict["fc1_bias"].asnumpy()
        bias[1] = 5
        np.testing.assert_allclose(grads["fc1_bias"].asnumpy(), bias, 1e-4, 1e-6)
        weight = expected.grad_dict["fc1_weight"].asnumpy()
        np.testing.assert_allclose(view.asnumpy(), weight[1:3], 1e-4, 1e-6)
        np.testing.assert_allclose(grads["fc1_weight"].asnumpy(), weight, 1e-4, 1e-6)


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_small_gradients_are_packed_on_cpus_alone(monkeypatch, backend):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    executor = _bound()
    executor.forward(is_train=True)
    executor.backward()
    _update(executor, _counts(), lr=0.0)
    executor.outputs[0].wait_to_read()
    producer = executor.grad_dict["fc1_bias"].storage.producer
    assert isinstance(producer, PackedArrays) == (backend == "cpu")


@pytest.mark.usefixtures("compiled")
def test_replaced_arrays_are_donated_and_shared_ones_are_copied():
    executor, counts = _bound(), _counts()
    weight, mean = executor.arg_dict["fc1_weight"], executor.aux_dict["bn_moving_mean"]
    held = []
    for step in range(3):
        executor.forward(is_train=True)
        executor.backward()
        before = [
            a.unsafe_buffer_pointer()
            for a in (executor.last_step.args[1], executor.last_step.aux[0])
        ]
        _update(executor, counts)
        after = [a.value.unsafe_buffer_pointer() for a in (weight, mean)]
        # The first values may lie in memory that is NumPy's; those are never donated.
        assert step == 0 or after == before
        held.append(executor.arg_dict["bn_beta"].jax)
    betas = [np.array(h) for h in held]
    assert len({b.tobytes() for b in betas}) == 3
    np.testing.assert_array_equal(betas[-1], executor.arg_dict["bn_beta"].asnumpy())


def test_reading_a_consumed_gradient_raises():
    executor = _bound()
    executor.forward(is_train=True)
    executor.backward()
    _update(executor, _counts(), keep=False)
    with pytest.raises(GradientConsumedError, match="look at it between backward and update"):
        executor.grad_dict["fc1_weight"].asnumpy()
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_dict["fc1_weight"].asnumpy().any()


@pytest.mark.parametrize("look", ["outputs", "gradient", "weight written"])
def test_an_update_is_refused_and_changes_nothing_after_a_read(look):
    executor, counts = _bound(), _counts()
    executor.forward(is_train=True)
    if look == "outputs":
        executor.outputs[0].asnumpy()
    executor.backward()
    if look == "gradient":
        executor.grad_dict["bn_beta"].asnumpy()
    if look == "weight written":
        executor.arg_dict["fc1_bias"][:] = 3
    before = [a.asnumpy() for a in executor.arg_arrays]
    assert not _update(executor, counts)
    for array, value in zip(executor.arg_arrays, before, strict=True):
        np.testing.assert_array_equal(array.asnumpy(), value)
    assert executor.grad_dict["bn_beta"].asnumpy().any()


def test_an_update_of_some_gradients_is_deferred_until_a_read():
    executor, counts = _bound(dict.fromkeys([*WEIGHTS, "data"], "write")), _counts()
    executor.forward(is_train=True)
    executor.backward()
    assert _update(executor, counts)
    assert executor.program.traces == 0
    assert executor.grad_dict["data"].asnumpy().any()
    _assert_same(executor, _by_hand(1))


def test_another_executors_snapshot_survives_the_donation():
    executor, counts = _bound(), _counts()
    other = _net().bind(
        mx.cpu(), {**executor.arg_dict}, aux_states=executor.aux_dict, grad_req="null"
    )
    (out,) = other.forward()
    expected = _bound().forward()[0].asnumpy()
    executor.forward(is_train=True)
    executor.backward()
    assert _update(executor, counts)
    np.testing.assert_allclose(out.asnumpy(), expected, 1e-5, 1e-6)


def test_a_weight_written_after_the_update_keeps_its_contents():
    executor, counts = _bound(dict.fromkeys([*WEIGHTS, "data"], "write")), _counts()
    executor.forward(is_train=True)
    executor.backward()
    _update(executor, counts)
    executor.arg_dict["fc1_bias"][:] = 7
    executor.outputs[0].asnumpy()
    assert (executor.arg_dict["fc1_bias"].asnumpy() == 7).all()
    executor.backward()
    assert executor.grad_dict["data"].asnumpy().any()


@pytest.mark.parametrize("interpret", [True, False])
def test_backward_again_after_the_update_uses_the_weights_of_forward(interpret, monkeypatch):
    """An output and the gradients are read before the update, which then may not destroy the
    weights that the step holds: neither where it is interpreted nor where it is compiled."""
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", str(int(interpret)))
    executor = _bound()
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.9))
    grads, weights = ([d[n] for n in WEIGHTS] for d in (executor.grad_dict, executor.arg_dict))
    for _ in range(3):
        executor.forward(is_train=True)
        executor.outputs[0].asnumpy()
        executor.backward()
        expected = [g.asnumpy() for g in grads]
        updater(list(range(len(grads))), grads, weights)
        executor.backward()
        for grad, value in zip(grads, expected, strict=True):
            np.testing.assert_array_equal(grad.asnumpy(), value)
