"""Distributions of the random operators' numbers, each compared as a whole.

Every number drawn is put through the distribution function, in plain NumPy, and compared with what
uniform numbers would give: the largest distance of the two curves (Kolmogorov and Smirnov) for
real numbers, the sum of squared differences of counts (Pearson) for whole ones. Keys are fixed;
a right sampler misses a bound for fewer than one key in a million.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import executorkit as mx
from executorkit.ops import lookup
from tests.ops.test_random import run

MANY = 20_000


def law_of(name: str, *arguments: Any) -> Any:
    """A distribution of SciPy's, whose import takes seconds: not at collection."""
    from scipy import stats

    return getattr(stats, name)(*arguments)


#: name: (attributes of _random_X, the arguments of its distribution)
REAL: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "uniform": ({"low": -1.0, "high": 3.0}, ("uniform", -1, 4)),
    "normal": ({"loc": 2.0, "scale": 0.5}, ("norm", 2, 0.5)),
    "gamma": ({"alpha": 0.4, "beta": 3.0}, ("gamma", 0.4, 0, 3)),
    "exponential": ({"lam": 4.0}, ("expon", 0, 1 / 4)),
}
WHOLE: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "poisson": ({"lam": 3.5}, ("poisson", 3.5)),
    "negative_binomial": ({"k": 3, "p": 0.4}, ("nbinom", 3, 0.4)),
    "generalized_negative_binomial": ({"mu": 2.0, "alpha": 0.5}, ("nbinom", 2, 0.5)),
}


def assert_follows(drawn: np.ndarray, law) -> None:
    """Kolmogorov and Smirnov: the distance is below 2.6 / sqrt(n) but for one draw in a million."""
    at = np.sort(law.cdf(drawn.astype("float64").reshape(-1)))
    steps = np.arange(at.size + 1) / at.size
    distance = max(np.max(steps[1:] - at), np.max(at - steps[:-1]))
    assert distance < 2.6 / math.sqrt(at.size)


def assert_counts(counts: np.ndarray, expected: np.ndarray) -> None:
    """Pearson: chi-square lies five deviations or less above its mean; no cell is too rare."""
    assert expected.min() > 5
    chi2 = np.sum((counts - expected) ** 2 / expected)
    free = counts.size - 1
    assert chi2 < free + 5 * math.sqrt(2 * free) + 10


def assert_whole_follows(drawn: np.ndarray, law) -> None:
    numbers = np.arange(64)
    expected = law.pmf(numbers) * drawn.size
    usual = int(np.argmax(expected[5:] < 8)) + 5  # the rare numbers beyond count as one
    counts = np.bincount(drawn.reshape(-1).astype(int), minlength=64)
    tail = drawn.size - expected[:usual].sum()
    together = np.append(counts[:usual], counts[usual:].sum())
    assert_counts(together, np.append(expected[:usual], max(tail, 5.1)))


@pytest.mark.parametrize("name", REAL)
def test_real_numbers(name):
    attrs, law = REAL[name]
    assert_follows(run(f"_random_{name}", shape=(MANY,), **attrs)[0], law_of(*law))


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name):
    attrs, law = WHOLE[name]
    assert_whole_follows(run(f"_random_{name}", shape=(MANY,), **attrs)[0], law_of(*law))


def test_randint_is_even():
    (drawn,) = run("_random_randint", low=-3, high=10, shape=(MANY,))
    counts = np.bincount(drawn + 3, minlength=13)
    assert_counts(counts, np.full(13, MANY / 13))


def test_multinomial_follows_its_probabilities():
    p = np.array([0.05, 0.25, 0.3, 0.4], "float32")
    (drawn,) = run("_sample_multinomial", p, shape=(MANY,))
    assert_counts(np.bincount(drawn, minlength=4), p * MANY)


def test_every_order_is_as_likely():
    op = lookup("_shuffle")
    assert op is not None
    draw = jax.jit(jax.vmap(lambda key: op.apply(op.parse({}), [jnp.arange(4)], key=key)[0]))
    orders = np.asarray(draw(jax.random.split(jax.random.key(0), 2400)))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert_counts(np.pad(counts, (0, 24 - counts.size)), np.full(24, 100.0))


def test_the_test_can_fail():
    """A spread wrong by 10 % and a mean wrong by 3 % are noticed."""
    (drawn,) = run("_random_normal", shape=(MANY,), scale=1.1)
    with pytest.raises(AssertionError):
        assert_follows(drawn, law_of("norm"))
    (drawn,) = run("_random_poisson", shape=(MANY,), lam=3.6)
    with pytest.raises(AssertionError):
        assert_whole_follows(drawn, law_of("poisson", 3.5))


@pytest.fixture(name="executor", scope="module")
def _executor():
    one = mx.sym.random.normal(shape=(4000,), name="one")
    two = mx.sym.random.normal(shape=(4000,), name="two")
    loud = mx.sym.Dropout(mx.sym.var("x"), p=0.5, mode="always", name="drop")
    group = mx.sym.Group([one, two, loud])
    return group.bind(mx.cpu(), {"x": mx.nd.ones((4000,))}, grad_req="null")


def two_steps(executor, seed):
    mx.random.seed(seed)
    return [[o.asnumpy() for o in executor.forward()] for _ in range(2)]


def test_nodes_and_steps_are_unrelated(executor):
    (a, b, mask), (c, d, mask_2) = two_steps(executor, 7)
    related = np.corrcoef(np.stack([a, b, c, d, mask, mask_2])) - np.eye(6)
    assert np.abs(related).max() < 5 / math.sqrt(a.size)


def test_the_seed_repeats_every_node_and_step(executor):
    first, again, other = (two_steps(executor, s) for s in (7, 7, 8))
    np.testing.assert_array_equal(np.array(first), np.array(again))
    assert not np.array_equal(first[0][0], other[0][0])
