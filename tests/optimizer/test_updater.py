"""Updaters: states, their bytes, many parameters in one program, optimizers of users."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import FileFormatError
from executorkit.optimizer import apply_cache_info
from tests.golden.cases import _optimizers
from tests.golden.cases._optimizers import RUNS, SHAPES
from tests.optimizer._runs import ANSWERS, keys
from tests.optimizer.test_golden import compare

pytestmark = pytest.mark.smoke

DATA = Path(__file__).parents[1] / "golden" / "data"


def second_half(key: str, data: bytes):
    """The last ten updates of a run, by an updater that gets the states after ten."""
    case = RUNS[key]
    updater = _optimizers.new_updater(mx, case)
    *_, (_, weights) = _optimizers.train(mx, updater, case, range(10))
    fresh = _optimizers.new_updater(mx, case)
    fresh.set_states(data)
    *_, (_, weights) = _optimizers.train(mx, fresh, case, range(10, 20), weights)
    return updater, fresh, weights


def last_weights(key: str) -> dict[int, np.ndarray]:
    arrays, _ = _optimizers.run(mx, RUNS[key])
    assert not compare(key, arrays)
    return {i: arrays[f"20/{i}"] for i in _optimizers.shapes_of(RUNS[key])}


@pytest.mark.parametrize(
    ("file", "key"),
    [("sgd", "sgd_momentum|mixed"), ("adam", "adam|factor"), ("nadam", "nadam|named")],
)
def test_continues_from_mxnets_states(file: str, key: str) -> None:
    """The file holds the optimizer too, with its counts, its schedule and Nadam's product."""
    data = (DATA / f"optimizer_{file}.states").read_bytes()
    ours, loaded, weights = second_half(key, data)
    assert type(loaded.optimizer) is type(ours.optimizer)
    assert loaded.optimizer.num_update == 20
    for i, expected in last_weights(key).items():
        np.testing.assert_allclose(weights[i].asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_states_that_mxnet_wrote_without_their_optimizer() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("rmsprop", centered=True))
    updater.set_states((DATA / "optimizer_rmsprop.states").read_bytes())
    assert {i: [s.shape for s in state] for i, state in updater.states.items()} == {
        i: [shape] * 3 for i, shape in enumerate(SHAPES)
    }
    assert type(updater.states[0][0]) is mx.nd.NDArray
    updater.set_states((DATA / "optimizer_none.states").read_bytes())
    assert updater.states == {0: None, 1: None, 2: None}


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("key", keys("single"))
def test_states_are_restored_from_bytes(key: str) -> None:
    """Bit for bit, by an updater that gets states and optimizer as bytes."""
    case = RUNS[key]
    ours, _, weights = second_half(key, _optimizers.states(mx, case, True))
    assert ours.get_states(True) == _optimizers.states(mx, case, True)
    straight = _optimizers.new_updater(mx, case)
    *_, (_, expected) = _optimizers.train(mx, straight, case)
    for i, x in expected.items():
        np.testing.assert_array_equal(weights[i].asnumpy(), x.asnumpy())


def test_bytes_name_mxnets_classes() -> None:
    data = _optimizers.states(mx, RUNS["lars_momentum|factor"], True)
    for name in (
        b"cmxnet.ndarray.ndarray\nNDArray\n",
        b"cmxnet.optimizer.optimizer\nLARS\n",
        b"cmxnet.lr_scheduler\nFactorScheduler\n",
    ):
        assert name in data
    assert b"executorkit" not in data


class _Evil:
    def __reduce__(self):
        return os.system, ("false",)


class _Strange:
    pass


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps({0: _Evil()}), "they name posix.system"),
        (pickle.dumps({0: _Strange()}), "they name .*_Strange"),
        (pickle.dumps({0: getattr}), "they name builtins.getattr"),
        (pickle.dumps([1, 2]), "list found, expected states by index"),
        (pickle.dumps(({}, 3)), "dict found|expected states by index"),
        (b"", "cannot be read"),
        (b"\x80\x04nonsense", "what save_optimizer_states or get_states wrote"),
        ("text", "str given, expected bytes"),
    ],
)
def test_other_bytes_are_refused(data, message: str) -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    updater.states = {7: None}
    with pytest.raises(FileFormatError, match=message):
        updater.set_states(data)
    assert updater.states == {7: None}


def test_truncated_files_are_refused() -> None:
    data = (DATA / "optimizer_adam.states").read_bytes()
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    for length in range(0, len(data), 7):
        with pytest.raises(FileFormatError):
            updater.set_states(data[:length])


class Doubling(mx.optimizer.Optimizer):
    """A user's: the state counts its updates, arrays are used as in MXNet's own scripts."""

    def create_state(self, index, weight):
        return mx.nd.zeros(weight.shape, weight.context, dtype=weight.dtype)

    def update(self, index, weight, grad, state) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        state += 1
        weight[:] -= lr * (grad * self.rescale_grad + wd * weight) * state


class Rounded(mx.optimizer.Signum):
    """A user's: a step of another optimizer, then something else."""

    def update(self, index, weight, grad, state) -> None:
        super().update(index, weight, grad, state)
        weight[:] = mx.nd.round(weight)


def test_optimizers_of_users() -> None:
    updater = mx.optimizer.get_updater(Doubling(learning_rate=0.5, wd=0.1))
    weight = mx.nd.array([[1.0, 2.0]])
    for _ in range(2):
        updater([0], [mx.nd.array([[1.0, 1.0]])], [weight])
    first = np.array([[1.0, 2.0]]) - 0.5 * (1 + 0.1 * np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(weight.asnumpy(), first - (1 + 0.1 * first), rtol=1e-6)
    again = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    again.set_states(updater.get_states(dump_optimizer=True))
    assert type(again.optimizer) is Doubling
    np.testing.assert_array_equal(again.states[0].asnumpy(), [[2.0, 2.0]])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_override_of_update_is_called(dtype: str) -> None:
    """With masters it sees these, in float32."""
    optimizer = Rounded(learning_rate=0.75, momentum=0.0, multi_precision=True)
    updater = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.array(x, dtype=dtype) for x in ([1.0], [5.0, 6.0])]
    grads = [mx.nd.array(x, dtype=dtype) for x in ([1.0], [1.0, -1.0])]
    updater([0, 1], grads, weights)
    assert [w.asnumpy().tolist() for w in weights] == [[0.0], [4.0, 7.0]]
    assert weights[0].dtype == np.dtype(dtype)
    assert updater.optimizer._pure_rule(0, weights[0]) is None


@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "nadam", "sgld"])
def test_one_program_for_all_parameters_and_steps(name: str) -> None:
    """Rates, decay, schedules and the scale of gradients change; nothing is compiled again."""
    scheduler = mx.lr_scheduler.PolyScheduler(30, 0.1)
    optimizer = mx.optimizer.create(name, learning_rate=0.1, lr_scheduler=scheduler, wd=0.01)
    updater = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.ones((3, 17)), mx.nd.ones((5,)), mx.nd.ones((3, 17))]
    held = weights[1].jax
    before = apply_cache_info().traces
    for step in range(20):
        optimizer.rescale_grad, optimizer.wd = 1 / (step + 1), step / 100
        grads = [mx.nd.ones(w.shape) * step for w in weights]
        updater([0, 1, 2], grads, weights)
    assert apply_cache_info().traces == before + 1
    np.testing.assert_array_equal(held, np.ones(5))


@pytest.mark.usefixtures("compiled")
def test_buffers_are_updated_in_place() -> None:
    """The old buffers of weight and state are gone, unless someone holds them."""
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.9))
    weight, grad = mx.nd.ones((64, 64)) * 2, mx.nd.ones((64, 64))
    updater(0, grad, weight)
    arrays = weight, updater.states[0]
    before = [x.value.unsafe_buffer_pointer() for x in arrays]
    updater(0, grad, weight)
    assert [x.value.unsafe_buffer_pointer() for x in arrays] == before
    assert not grad.value.is_deleted()
    held = [x.value for x in arrays]
    updater(0, grad, weight)
    assert not any(x.is_deleted() for x in held)
    assert not {x.value.unsafe_buffer_pointer() for x in arrays} & set(before)


def test_a_weight_given_twice_is_updated_twice() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=1.0))
    weight = mx.nd.zeros((2,))
    updater([0, 1], [mx.nd.ones((2,)), mx.nd.ones((2,)) * 2], [weight, weight])
    assert weight.asnumpy().tolist() == [-3.0, -3.0]


def test_views_aliased_gradients_and_other_devices() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.5))
    whole = mx.nd.ones((4, 2))
    updater(0, mx.nd.ones((2, 2)), whole[1:3])
    assert whole.asnumpy()[:, 0].tolist() == [1.0, 0.5, 0.5, 1.0]
    weight = mx.nd.ones((2,))
    updater(1, weight, weight)
    assert weight.asnumpy().tolist() == [0.5, 0.5]
    weight = mx.nd.ones((2,), mx.cpu(1))
    updater(2, mx.nd.ones((2,)), weight)
    assert weight.asnumpy().tolist() == [0.5, 0.5]
    assert weight.jax.devices() == {mx.cpu(1).device}


def test_loaded_states_move_to_their_weights() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
    other = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    other.set_states(updater.get_states())
    assert other.states_synced == {0: False}
    other(0, mx.nd.ones((2,), mx.cpu(2)), mx.nd.ones((2,), mx.cpu(2)))
    assert {s.context for s in other.states[0]} == {mx.cpu(2)}
    assert other.sync_state_context([None, (other.states[0][0],)], mx.cpu(1))[1][0].ctx == mx.cpu(1)


def test_updates_are_counted_for_each_device() -> None:
    optimizer = mx.optimizer.create("adam", begin_num_update=3)
    updater = mx.optimizer.get_updater(optimizer)
    for device in (0, 1, 0):
        context = mx.cpu(device)
        updater(b"w", mx.nd.ones((1,), context), mx.nd.ones((1,), context))
    assert optimizer._all_index_update_counts == {0: {"w": 5}, 1: {"w": 4}}
    assert optimizer.num_update == 5
    assert updater.states.keys() == {"w"}


def test_aggregated_updates_need_no_updater() -> None:
    """Lists of indices are one call for any optimizer."""
    optimizer = mx.optimizer.create("adagrad", learning_rate=1.0)
    weights = [mx.nd.zeros((2,)), mx.nd.zeros((3,))]
    states = [optimizer.create_state(i, w) for i, w in enumerate(weights)]
    optimizer.update([0, 1], weights, [mx.nd.ones(w.shape) for w in weights], states)
    np.testing.assert_allclose(weights[1].asnumpy(), -1, rtol=1e-6)
    assert optimizer._index_update_count == {0: 1, 1: 1}


def test_parameters_of_a_trainer() -> None:
    """Objects with multipliers go before names, and are not saved."""
    parameter = SimpleNamespace(lr_mult=0.5, wd_mult=0.0)
    optimizer = mx.optimizer.create("sgd", learning_rate=1.0, param_dict={0: parameter}, wd=0.1)
    optimizer.set_lr_mult({0: 7.0})
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.ones((1,))
    updater(0, mx.nd.ones((1,)), weight)
    assert weight.asscalar() == 0.5
    updater.set_states(updater.get_states(dump_optimizer=True))
    assert updater.optimizer.param_dict == {}


def test_answers_hold_every_run() -> None:
    assert set(ANSWERS.facts["failed"]) | set(ANSWERS.facts["counts"]) == set(RUNS)


def test_noise_of_sgld_is_what_random_normal_draws():
    weights = [mx.nd.ones(shape) for shape in ((2, 3), (4,))]
    grads = [mx.nd.zeros(w.shape) for w in weights]
    optimizer = mx.optimizer.SGLD(learning_rate=0.04)
    update = mx.optimizer.get_updater(optimizer)
    mx.random.seed(3)
    for i, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
        update(i, grad, weight)
    mx.random.seed(3)
    for weight in weights:
        noise = mx.nd.random.normal(0, 0.2, weight.shape).asnumpy()
        np.testing.assert_allclose(weight.asnumpy(), 1 + noise, rtol=1e-6)
