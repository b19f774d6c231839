"""Random operators: shapes, dtypes, moments, keys. Numbers differ from MXNet's by design."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.errors import AttributeValueError
from executorkit.ops import lookup

MANY = 40_000
#: name: (attributes, mean, variance, smallest value, whole numbers)
DISTRIBUTIONS = {
    "uniform": ({"low": -1.0, "high": 3.0}, 1.0, 16 / 12, -1.0, False),
    "normal": ({"loc": 2.0, "scale": 0.5}, 2.0, 0.25, -np.inf, False),
    "gamma": ({"alpha": 2.5, "beta": 3.0}, 7.5, 22.5, 0.0, False),
    "exponential": ({"lam": 4.0}, 0.25, 1 / 16, 0.0, False),
    "poisson": ({"lam": 3.5}, 3.5, 3.5, 0.0, True),
    "negative_binomial": ({"k": 3, "p": 0.4}, 4.5, 11.25, 0.0, True),
    "generalized_negative_binomial": ({"mu": 2.0, "alpha": 0.5}, 2.0, 4.0, 0.0, True),
}
ARRAYS = {"normal": ("mu", "sigma")}


def run(name, *arrays, seed=0, **attrs):
    """All results of an operator, as NumPy arrays; the key comes from ``seed``."""
    op = lookup(name)
    assert op is not None
    p = op.parse(attrs)
    with jax.enable_x64(True):
        program = jax.jit(lambda key, *xs: op.apply(p, xs, key=key))
        return jax.device_get(program(jax.random.key(seed), *map(jnp.asarray, arrays)))


def described(name, *arrays, **attrs):
    """Shape and dtype of an operator's first result, without drawing anything."""
    op = lookup(name)
    assert op is not None
    p = op.parse(attrs)
    with jax.enable_x64(True):
        arrays = [jnp.asarray(a) for a in arrays]
        result = jax.eval_shape(lambda k, *xs: op.apply(p, xs, key=k), jax.random.key(0), *arrays)
    return result[0].shape, result[0].dtype.name


def assert_moments(drawn, mean, variance):
    """Within five standard errors (of a variance: those of heavy tails, generously)."""
    assert abs(drawn.mean() - mean) < 5 * np.sqrt(variance / drawn.size)
    assert abs(drawn.var() / variance - 1) < 0.15


@pytest.mark.parametrize("name", DISTRIBUTIONS)
class TestDistribution:
    def test_shaped(self, name):
        attrs, mean, variance, low, whole = DISTRIBUTIONS[name]
        (drawn,) = run(f"_random_{name}", shape=(MANY // 4, 4), **attrs)
        assert drawn.shape == (MANY // 4, 4)
        assert drawn.dtype == np.float32
        assert drawn.min() >= low
        assert bool(np.all(drawn == np.round(drawn))) is whole
        assert_moments(drawn, mean, variance)

    def test_like(self, name):
        attrs, mean, variance, *_ = DISTRIBUTIONS[name]
        (drawn,) = run(f"_random_{name}_like", np.zeros(MANY, "float64"), **attrs)
        assert drawn.shape == (MANY,)
        assert drawn.dtype == np.float64
        assert_moments(drawn, mean, variance)

    def test_sampled_per_element(self, name):
        attrs, mean, variance, *_ = DISTRIBUTIONS[name]
        arrays = [np.full((2, 1), v, "float32") for v in attrs.values()]
        (drawn,) = run(f"_sample_{name}", *arrays, shape=(MANY // 2, 1))
        assert drawn.shape == (2, 1, MANY // 2, 1)
        assert drawn.dtype == np.float32
        assert_moments(drawn, mean, variance)
        assert not np.array_equal(drawn[0], drawn[1])

    def test_dtypes(self, name):
        attrs, *_ = DISTRIBUTIONS[name]
        for dtype in ("float16", "float32", "float64"):
            assert described(f"random_{name}", shape=(3,), dtype=dtype, **attrs) == ((3,), dtype)
            arrays = [np.full(3, v, dtype) for v in attrs.values()]
            assert described(f"sample_{name}", *arrays, dtype=dtype) == ((3,), dtype)
            assert described(f"sample_{name}", *arrays, shape=2) == ((3, 2), "float32")
            assert described(f"_random_{name}_like", arrays[0]) == ((3,), dtype)
        with pytest.raises(AttributeValueError, match="dtype='int32'"):
            described(f"_random_{name}", dtype="int32")

    def test_defaults(self, name):
        assert described(f"_random_{name}") == ((1,), "float32")

    def test_key_decides(self, name):
        attrs, *_ = DISTRIBUTIONS[name]
        one, again, other = (
            run(f"_random_{name}", shape=(50,), seed=s, **attrs)[0] for s in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, again)
        assert not np.array_equal(one, other)

    def test_parameters_get_zero_gradient(self, name):
        attrs, *_ = DISTRIBUTIONS[name]
        op = lookup(f"_sample_{name}")
        p = op.parse({"shape": (4,)})

        def total(arrays):
            return op.apply(p, arrays, key=jax.random.key(0))[0].sum()

        arrays = [jnp.full(2, v, jnp.float32) for v in attrs.values()]
        for gradient in jax.grad(total)(arrays):
            np.testing.assert_array_equal(gradient, np.zeros(2))


@pytest.mark.parametrize("alias", ["uniform", "normal"])
def test_short_names(alias):
    assert lookup(alias) is lookup(f"_random_{alias}")


def test_each_element_has_its_own_parameters():
    low, high = np.array([0, 10], np.float32), np.array([1, 20], np.float32)
    (drawn,) = run("_sample_uniform", low, high, shape=(1000,))
    assert 0 <= drawn[0].min() < drawn[0].max() < 1
    assert 10 <= drawn[1].min() < drawn[1].max() < 20


def test_no_dispersion_is_poisson():
    (drawn,) = run("_random_generalized_negative_binomial", mu=3.0, alpha=0.0, shape=(MANY,))
    assert_moments(drawn, 3.0, 3.0)


class TestRandint:
    def test_every_value_and_no_other(self):
        (drawn,) = run("_random_randint", low=-2, high=3, shape=(1000,))
        assert drawn.dtype == np.int32
        assert set(drawn.tolist()) == {-2, -1, 0, 1, 2}

    def test_wide(self):
        (drawn,) = run("random_randint", low=0, high=2**40, shape=(100,), dtype="int64")
        assert drawn.dtype == np.int64
        assert drawn.max() > 2**33


class TestMultinomial:
    P = np.array([[0.1, 0.9, 0.0], [0.25, 0.25, 0.5]], np.float32)

    def test_frequencies(self):
        (drawn,) = run("_sample_multinomial", self.P, shape=(MANY,))
        assert (drawn.shape, drawn.dtype) == ((2, MANY), np.dtype("int32"))
        for row, p in zip(drawn, self.P, strict=True):
            np.testing.assert_allclose(np.bincount(row, minlength=3) / MANY, p, atol=0.02)

    def test_shapes(self):
        assert run("_sample_multinomial", self.P)[0].shape == (2,)
        assert run("_sample_multinomial", self.P[0])[0].shape == (1,)
        assert run("sample_multinomial", self.P[0], shape=(2, 3))[0].shape == (2, 3)
        assert run("sample_multinomial", self.P, shape=4, dtype="uint8")[0].dtype == np.uint8

    def test_log_probability_and_its_gradient(self):
        op = lookup("_sample_multinomial")
        p = op.parse({"shape": (5,), "get_prob": True})
        assert op.outputs(p) == ("output0", "output1")
        draw = lambda data: op.apply(p, [data], key=jax.random.key(3))  # noqa: E731
        drawn, logs = draw(self.P)
        np.testing.assert_allclose(
            logs, np.log(np.take_along_axis(self.P, np.asarray(drawn), 1)), rtol=1e-6
        )
        (gradient,) = jax.vjp(lambda d: draw(d)[1].sum(), jnp.asarray(self.P))[1](1.0)
        counts = np.stack([np.bincount(r, minlength=3) for r in np.asarray(drawn)])
        with np.errstate(divide="ignore", invalid="ignore"):
            np.testing.assert_allclose(gradient, np.where(counts, counts / self.P, 0), rtol=1e-6)


def test_shuffle_moves_whole_rows():
    data = np.arange(40, dtype="float32").reshape(20, 2)
    (shuffled,) = run("_shuffle", data)
    assert not np.array_equal(shuffled, data)
    np.testing.assert_array_equal(shuffled[np.argsort(shuffled[:, 0])], data)


class TestUniqueZipfian:
    def test_rows_hold_different_numbers(self):
        drawn, tries = run("_sample_unique_zipfian", range_max=20, shape=(50, 12))
        assert (drawn.shape, drawn.dtype, tries.dtype) == ((50, 12), np.int64, np.int64)
        assert all(len(set(row)) == 12 for row in drawn.tolist())
        assert 0 <= drawn.min() < drawn.max() < 20
        assert tries.min() >= 12

    def test_first_numbers_follow_the_distribution(self):
        drawn, tries = run("_sample_unique_zipfian", range_max=9, shape=(MANY, 1))
        k = np.arange(9)
        expected = np.log((k + 2) / (k + 1)) / np.log(10)
        np.testing.assert_allclose(np.bincount(drawn[:, 0]) / MANY, expected, atol=0.01)
        np.testing.assert_array_equal(tries, np.ones(MANY))

    def test_everything_can_be_drawn(self):
        drawn, _ = run("_sample_unique_zipfian", range_max=6, shape=(3, 6))
        np.testing.assert_array_equal(np.sort(drawn), np.tile(np.arange(6), (3, 1)))

    def test_too_many(self):
        with pytest.raises(AttributeValueError, match="up to range_max=3 numbers"):
            run("_sample_unique_zipfian", range_max=3, shape=(1, 4))


def test_gamma_numbers_at_the_limits_and_their_implicit_gradient():
    limits = np.array([0, np.inf, -1, np.nan, 1e30], np.float32)
    (drawn,) = run("sample_gamma", limits, np.full(5, 2, np.float32))
    np.testing.assert_array_equal(drawn[:4], [0, np.inf, np.nan, np.nan])
    assert drawn[4] == np.float32(2e30)

    op = lookup("_npi_gamma")
    assert op is not None
    p = op.parse({"shape": None, "scale": 3.0, "size": (MANY,)})

    def mean(alpha):
        return op.apply(p, (alpha,), key=jax.random.key(0))[0].mean()

    assert jax.grad(mean)(1.5) == pytest.approx(3, abs=0.1)
