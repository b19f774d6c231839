"""The classes: names, arguments, multipliers, errors; and what no stored run can show."""

from __future__ import annotations

import copy
import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest

import executorkit as mx
from tests.golden.cases import _optimizers
from tests.optimizer._runs import ANSWERS

OPTIMIZERS = ANSWERS.facts["classes"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_arguments_and_defaults_are_mxnets(name: str) -> None:
    klass = mx.optimizer.Optimizer.opt_registry[name]
    ours = [
        [p.name, None if p.default is inspect.Parameter.empty else repr(p.default)]
        for p in inspect.signature(klass).parameters.values()
    ]
    assert ours == OPTIMIZERS[name]
    assert inspect.getdoc(klass)


def test_names_are_mxnets() -> None:
    names = dir(mx.optimizer)
    assert set(ANSWERS.facts["names"]) <= {*names}
    assert all(hasattr(mx.optimizer, name) for name in names)
    assert set(OPTIMIZERS) == {
        name
        for name, klass in mx.optimizer.Optimizer.opt_registry.items()
        if klass.__module__.startswith("executorkit.optimizer")
    }
    assert type(mx.optimizer.Optimizer.create_optimizer("AdaM")) is mx.optimizer.Adam
    assert mx.optimizer.NDabs(mx.nd.array([-1.0])).asscalar() == 1


@pytest.mark.parametrize(
    "name", [n for n in ANSWERS.facts["errors"] if n.split()[0] not in _optimizers.SCHEDULE_WORDS]
)
def test_errors(name: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is compared
        _optimizers.ERRORS[name](mx)
    assert ANSWERS.facts["errors"][name] in [c.__name__ for c in type(caught.value).__mro__]


def _message(function) -> str:
    with pytest.raises(mx.MXNetError) as caught:
        function()
    return str(caught.value)


def test_texts_of_errors() -> None:
    sgd = mx.optimizer.create("sgd", param_idx2name={0: "fc_weight"})
    weight, grad = mx.nd.ones((2, 3)), mx.nd.ones((3,))
    assert _message(lambda: mx.optimizer.create("adem")) == (
        "optimizer: create: 'adem' is not registered\n  try: 'adam' or 'nadam' or 'adamax'"
    )
    assert _message(lambda: mx.optimizer.create(sgd)).startswith("optimizer: create: <")  # type: ignore[arg-type]
    assert _message(lambda: sgd.update(0, weight, grad, None)) == (
        "SGD: parameter 'fc_weight': grad is (3,), expected (2, 3)"
    )
    half = mx.nd.ones((2, 3), dtype="float16")
    assert _message(lambda: sgd.update(0, weight, half, None)) == (
        "SGD: parameter 'fc_weight': grad is float16, expected float32\n  try: grad.astype(...)"
    )
    assert _message(lambda: sgd.update(1, weight, 3.0, None)) == (
        "SGD: parameter 1: grad is float, expected an NDArray\n  try: mx.nd.array(...)"
    )
    assert _message(lambda: mx.optimizer.Optimizer().update(0, weight, weight, None)) == (
        "Optimizer: it defines no update(index, weight, grad, state)"
    )


def test_nothing_is_counted_when_arrays_do_not_fit() -> None:
    sgd = mx.optimizer.create("sgd")
    with pytest.raises(ValueError, match="grad is"):
        sgd.update(0, mx.nd.ones((2,)), mx.nd.ones((3,)), None)
    assert sgd.num_update == 0


def test_rates_and_multipliers() -> None:
    optimizer = mx.optimizer.create(
        "sgd", learning_rate=2.0, wd=0.5, param_idx2name={0: "a_weight", 1: "a_bias", 2: "b_gamma"}
    )
    assert optimizer.learning_rate == 2.0
    assert optimizer._get_wds([0, 1, 2, 3]) == [0.5, 0.0, 0.5, 0.5]
    optimizer.set_lr_mult({"a_bias": 2.0, 0: 0.5})
    optimizer.set_wd_mult({"a_bias": 1.0})
    assert optimizer._get_lrs([0, 1, 2]) == [1.0, 4.0, 2.0]
    assert optimizer._get_wds([0, 1, 2]) == [0.5, 0.5, 0.5]
    optimizer.set_learning_rate(1.0)
    assert optimizer._get_lr(1) == 2.0
    lars = mx.optimizer.create("lars", wd=0.5, param_idx2name={0: "a_weight", 1: "b_gamma"})
    assert lars._get_wds([0, 1]) == [0.5, 0.0]


def test_a_given_rate_overrides_the_schedulers() -> None:
    scheduler = mx.lr_scheduler.FactorScheduler(5, base_lr=0.1)
    optimizer = mx.optimizer.create("sgd", learning_rate=0.3, lr_scheduler=scheduler)
    assert (optimizer.learning_rate, scheduler.base_lr) == (0.3, 0.3)


def test_classes_of_users_are_registered() -> None:
    class Mine(mx.optimizer.Optimizer):
        pass

    registry = mx.optimizer.Optimizer.opt_registry
    try:
        assert mx.optimizer.register(Mine) is Mine
        assert type(mx.optimizer.create("mine")) is Mine
        replacement = type("Mine", (mx.optimizer.Optimizer,), {})
        with pytest.warns(UserWarning, match="'mine' was"):
            mx.optimizer.register(replacement)
        assert registry["mine"] is replacement
    finally:
        del registry["mine"]


def test_a_users_class_stays_when_ours_of_its_name_is_imported_later() -> None:
    lines = """import executorkit as mx
class LAMB(mx.optimizer.Optimizer): pass
mx.optimizer.register(LAMB)
mx.optimizer.Adam, mx.optimizer.LAMB, mx.optimizer.Optimizer.opt_registry
assert type(mx.optimizer.create("lamb")) is LAMB is not mx.optimizer.LAMB"""
    process = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "'lamb' was executorkit.optimizer._layerwise.LAMB, is now __main__" in process.stderr


def test_the_registry_has_the_classes_of_every_module_of_the_package() -> None:
    lines = """import sys, executorkit as mx
registry = mx.optimizer.Optimizer.opt_registry
assert {"sgd", "adam", "ftrl", "lamb", "groupadagrad"} <= registry.keys()
assert "optax" not in sys.modules"""
    process = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_half_precision_without_a_master_is_warned_of() -> None:
    weight = mx.nd.ones((2,), dtype="float16")
    with pytest.warns(UserWarning, match="multi_precision=True"):
        mx.optimizer.create("adam").create_state_multi_precision(0, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = mx.optimizer.create("adam", multi_precision=True).create_state_multi_precision(
            0, weight
        )
    assert [x.dtype for x in (state[0], *state[1])] == [np.float32] * 3


@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "lbsgd"])
def test_masters_of_bfloat16_weights(name: str) -> None:
    """Steps too small for bfloat16 add up in the master; MXNet has masters for float16 only."""
    optimizer = mx.optimizer.create(name, learning_rate=1e-3, multi_precision=True)
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.ones((4,), dtype="bfloat16")
    for _ in range(20):
        updater(0, mx.nd.ones((4,), dtype="bfloat16"), weight)
    np.testing.assert_allclose(weight.astype("float32").asnumpy(), 0.98, atol=4e-3)


def test_direct_calls_with_masters() -> None:
    """LBSGD makes them in create_state too, in the other order."""
    optimizer = mx.optimizer.create("lbsgd", learning_rate=0.5, multi_precision=True, momentum=0.5)
    weight, grad = (mx.nd.ones((2,), dtype="float16") for _ in range(2))
    momentum, master = state = optimizer.create_state(0, weight)
    optimizer.update(0, weight, grad, state)
    assert master.dtype == np.float32
    assert (weight.asnumpy() == 0.5).all()
    assert (momentum.asnumpy() == -0.5).all()


def test_momentum_of_dcasgd_works() -> None:
    """MXNet asks for the truth of an array there, and fails."""
    updater = mx.optimizer.get_updater(
        mx.optimizer.create("dcasgd", learning_rate=0.5, momentum=0.5, lamda=0.0)
    )
    weight = mx.nd.ones((3,))
    for _ in range(2):
        updater(0, mx.nd.ones((3,)), weight)
    np.testing.assert_allclose(weight.asnumpy(), 1 - 0.5 - 0.75)


def test_adadelta_leaves_the_gradient_as_it_is() -> None:
    """MXNet's rescales it in place."""
    grad = mx.nd.ones((3,))
    updater = mx.optimizer.get_updater(mx.optimizer.create("adadelta", rescale_grad=0.5))
    updater(0, grad, mx.nd.ones((3,)))
    assert (grad.asnumpy() == 1).all()


def test_langevin_noise() -> None:
    """Normal, of the rate's variance, around a step of half the rate; it repeats with the seed."""
    options = {"learning_rate": 0.04, "wd": 0.5, "rescale_grad": 2.0, "clip_gradient": 3.0}

    def steps() -> np.ndarray:
        mx.random.seed(3)
        updater = mx.optimizer.get_updater(mx.optimizer.create("sgld", **options))
        weights = [mx.nd.ones((20000,)), mx.nd.ones((20000,))]
        noise_of_steps = []
        for _ in range(2):
            before = [w.asnumpy() for w in weights]
            updater([0, 1], [mx.nd.ones(w.shape) * 5 for w in weights], weights)
            noise_of_steps += [
                w.asnumpy() - old + 0.02 * (3 + 0.5 * old)
                for w, old in zip(weights, before, strict=True)
            ]
        return np.array(noise_of_steps)

    noise = steps()
    np.testing.assert_allclose(noise.mean(1), 0, atol=0.005)
    np.testing.assert_allclose(noise.std(1), 0.2, rtol=0.02)
    assert np.abs(np.corrcoef(noise) - np.eye(4)).max() < 0.03
    np.testing.assert_allclose((np.abs(noise) < 0.2).mean(1), 0.6827, atol=0.015)
    np.testing.assert_array_equal(steps(), noise)


def test_copies_are_independent() -> None:
    optimizer = mx.optimizer.Nadam(learning_rate=0.1)
    other = copy.deepcopy(optimizer)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, mx.nd.ones((1,)), mx.nd.ones((1,)))
    assert optimizer.m_schedule < 1.0
    assert other.m_schedule == 1.0
    assert other._index_update_count == {}


def test_aggregation_size_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "7")
    assert mx.optimizer.create("sgd").aggregate_num == 7
    monkeypatch.setenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "100")
    assert mx.optimizer.create("lamb").aggregate_num == 45


@pytest.mark.parametrize("name", ["sgd", "adam", "nadam"])
def test_a_scheduler_is_called_once_an_update(name: str) -> None:
    calls: list[int] = []

    class Logged(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update: int) -> float:
            calls.append(num_update)
            return 0.1

    update = mx.optimizer.get_updater(mx.optimizer.create(name, lr_scheduler=Logged()))
    weights = [mx.nd.ones(2), mx.nd.ones(3)]
    for _ in range(2):
        for i, weight in enumerate(weights):
            update(i, mx.nd.ones(weight.shape), weight)
    assert calls == [1, 1, 2, 2]
