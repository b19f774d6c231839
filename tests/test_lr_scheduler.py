"""Rates, attributes and errors of schedules are MXNet 1.9.1's; as pure functions they are equal."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit import lr_scheduler
from tests.golden._store import Answers
from tests.golden.cases import _optimizers

ANSWERS = Answers("optimizers").facts
NAMES = sorted(ANSWERS["rates"])


def test_rates_and_attributes() -> None:
    rates, attributes = _optimizers.schedules(mx)
    assert attributes.keys() == ANSWERS["attributes"].keys()
    for name in NAMES:
        assert rates[name] == pytest.approx(ANSWERS["rates"][name], rel=1e-14)
        expected = ANSWERS["attributes"][name]
        assert attributes[name].keys() == expected.keys()
        for attribute, value in attributes[name].items():
            theirs = expected[attribute]
            exact = not isinstance(value, float)
            assert value == (theirs if exact else pytest.approx(theirs, rel=1e-14))


@pytest.mark.parametrize("name", NAMES)
def test_pure_schedule(name: str) -> None:
    """Traced, all at once, and from any point on; with 32 bits too."""
    scheduler = _optimizers.make_scheduler(mx, name)
    schedule = scheduler.to_optax()
    counts = np.arange(30)
    expected = ANSWERS["rates"][name]
    with jax.enable_x64(True):
        rates = jax.jit(jax.vmap(schedule))(counts)
        assert rates.dtype == np.float64
        np.testing.assert_allclose(rates, expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(schedule))(counts), expected, rtol=3e-5, atol=1e-9)
    for n in range(10):
        scheduler(n)
    later = scheduler.to_optax(begin=10)
    for n in range(10, 30):
        scheduler(n)
    np.testing.assert_allclose([later(n) for n in range(20)], expected[10:], rtol=3e-5, atol=1e-9)


def test_schedule_in_an_optax_transformation() -> None:
    """With ``begin=1`` optax's first update has the rate that an optimizer's first one has."""
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0).to_optax(begin=1)
    tx = optax.sgd(schedule)
    weight = jnp.zeros(())
    state = tx.init(weight)
    steps = []
    for _ in range(5):
        update: Any
        update, state = tx.update(jnp.ones(()), state)
        steps.append(float(-update))
    assert steps == [1.0, 1.0, 0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    "name", [n for n in ANSWERS["errors"] if n.split()[0] in _optimizers.SCHEDULE_WORDS]
)
def test_errors(name: str) -> None:
    with pytest.raises(mx.MXNetError) as caught:
        _optimizers.ERRORS[name](mx)
    assert ANSWERS["errors"][name] in [c.__name__ for c in type(caught.value).__mro__]


def test_texts_of_errors() -> None:
    with pytest.raises(lr_scheduler.ArgumentValueError) as caught:
        mx.lr_scheduler.MultiFactorScheduler([4, 3])
    assert str(caught.value) == (
        "MultiFactorScheduler: step is [4, 3], expected numbers of updates, from 1 on, "
        "each greater than the last"
    )
    with pytest.raises(lr_scheduler.InputTypeError) as caught:
        mx.lr_scheduler.PolyScheduler(10.0)  # type: ignore[arg-type]
    assert str(caught.value) == "PolyScheduler: max_update is 10.0, expected an integer"


class _Halving(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update: int) -> float:
        return self.base_lr * 0.5**num_update


class _Doubling(mx.lr_scheduler.LRScheduler):
    def _rate(self):
        return lambda n: self.base_lr * 2.0**n


def test_schedules_of_users() -> None:
    assert _Halving(8.0)(3) == 1.0
    with pytest.raises(NotImplementedError, match="computed by Python code"):
        _Halving().to_optax()
    assert float(_Doubling(1.0, warmup_steps=2).to_optax()(3)) == 8.0
    assert float(_Doubling(1.0, warmup_steps=2).to_optax()(1)) == 0.5


def test_a_changed_rate_is_announced(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        scheduler = mx.lr_scheduler.FactorScheduler(1, 0.1, 0.05, 1.0)
        assert [scheduler(n) for n in (1, 2, 3)] == pytest.approx([1.0, 0.1, 0.05])
    assert [r.getMessage() for r in caplog.records] == [
        "Update[2]: Change learning rate to 1.00000e-01",
        "Update[3]: now learning rate arrived at 5.00000e-02, will not change in the future",
    ]


@pytest.mark.parametrize("rate", [None, 0.25])
def test_a_function_of_the_count_is_a_scheduler(rate: float | None) -> None:
    weight = mx.gluon.Parameter("weight", shape=(1,), init="zeros")
    weight.initialize()
    arguments = {"learning_rate": rate, "lr_scheduler": lambda count: 0.5**count}
    trainer = mx.gluon.Trainer([weight], "sgd", arguments)
    for _ in range(2):
        with mx.autograd.record():
            loss = -weight.data().sum()
        loss.backward()
        trainer.step(1)
    assert weight.data().asscalar() == 0.75
    assert trainer.learning_rate == 0.25
