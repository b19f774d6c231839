"""Hyperparameters of several parameters: equal ones are given to a program once."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.optimizer import apply_cache_info
from executorkit.optimizer._apply_rules import CombinedUpdate, Sharing
from executorkit.optimizer._rule import StepRule


def test_parameters_that_have_differed_stay_apart():
    sharing = Sharing()
    assert sharing.distinct([(1.0,), (1.0,), (1.0,)]) == [(1.0,)]
    assert sharing.distinct([(1.0,), (2.0,), (1.0,)]) == [(1.0,), (2.0,)]
    assert sharing.places == (0, 1, 0)
    assert sharing.distinct([(3.0,), (3.0,), (3.0,)]) == [(3.0,), (3.0,)]
    assert sharing.distinct([(3.0,), (3.0,), (4.0,)]) == [(3.0,), (3.0,), (4.0,)]
    assert sharing.distinct([(5.0, 1.0)]) == [(5.0, 1.0)]


def _steps(multipliers: list[dict[int, float]]) -> list[np.ndarray]:
    """Weights after steps with these multipliers of the rate, by one updater for all."""
    optimizer = mx.optimizer.Adam(learning_rate=0.1, wd=0.01)
    updater = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.ones((2, k)) for k in (1, 2, 3)]
    for multiplier in multipliers:
        optimizer.set_lr_mult(multiplier)
        updater([0, 1, 2], [mx.nd.full(w.shape, 0.5) for w in weights], weights)
    return [w.asnumpy() for w in weights]


@pytest.mark.usefixtures("fresh_programs")
def test_multipliers_that_change_make_one_more_program():
    multipliers = [{}, {1: 0.5}, {}, {1: 0.25}, {0: 0.0, 1: 0.0, 2: 0.0}]
    before = apply_cache_info().misses
    together = _steps(multipliers)
    assert apply_cache_info().misses == before + 2
    for k, weight in enumerate(together):
        optimizer = mx.optimizer.Adam(learning_rate=0.1, wd=0.01)
        updater = mx.optimizer.get_updater(optimizer)
        alone = mx.nd.ones(weight.shape)
        for multiplier in multipliers:
            optimizer.set_lr_mult(multiplier)
            updater(k, mx.nd.full(alone.shape, 0.5), alone)
        np.testing.assert_array_equal(weight, alone.asnumpy())


def test_a_rule_is_traced_once_for_weights_of_one_shape():
    shapes: list[tuple[int, ...]] = []

    @dataclass(frozen=True)
    class Descent(StepRule):
        def step(self, weight, grad, state, lr, wd):
            shapes.append(weight.shape)
            return weight - lr * grad, state

    update = CombinedUpdate((Descent(),) * 3, (0, 0, 2), (2, 2, 2))
    weights = [np.ones(2), np.ones(2), np.ones(3)]
    new, _ = jax.jit(update)(weights, weights, [None] * 3, np.array([0.5, 0, 0.25, 0]), None)
    assert [x.tolist() for x in new] == [[0.5, 0.5], [0.5, 0.5], [0.75, 0.75, 0.75]]
    assert shapes == [(2,), (3,)]
