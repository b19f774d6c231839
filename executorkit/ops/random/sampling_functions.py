"""Distributions of the random operators: sampling as pure functions of a key, and descriptions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import DTypeLike

from ..schema.attrs import Shape
from ..tensor.derivatives import with_jvp

#: ``draw(key, shape, dtype, *parameters)`` in float32 or float64; parameters broadcast.
Draw = Callable[..., Array]


def draw_uniform(key: Array, shape: Shape, dtype: DTypeLike, low: Array, high: Array) -> Array:
    return low + (high - low) * jax.random.uniform(key, shape, dtype)


def draw_normal(key: Array, shape: Shape, dtype: DTypeLike, loc: Array, scale: Array) -> Array:
    return loc + scale * jax.random.normal(key, shape, dtype)


def draw_gamma(key: Array, shape: Shape, dtype: DTypeLike, alpha: Array, beta: Array) -> Array:
    """Draws gamma numbers of shape alpha and scale beta; alpha has implicit gradients.

    Candidates for all numbers are drawn at once until each has an accepted one (Marsaglia and Tsang
    2000): ``jax.random.gamma``, with a loop for each number, takes XLA a second to compile.
    """
    alpha = jnp.broadcast_to(jnp.asarray(alpha, dtype), shape)
    drawn = _standard_gamma(key, lax.stop_gradient(alpha))
    slope: Any = lax.random_gamma_grad
    implicit = with_jvp(lambda _, x: x, lambda t, x, alpha, _: t * slope(alpha, x), None)
    return beta * implicit(alpha, drawn)


def _standard_gamma(key: Array, alpha: Array) -> Array:
    d = jnp.where(alpha < 1, alpha + 1, alpha) - 1 / 3
    key, boost_key = jax.random.split(key)

    def propose(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, waiting, drawn = state
        key, normal_key, uniform_key = jax.random.split(key, 3)
        x = jax.random.normal(normal_key, d.shape, d.dtype)
        t = x / (3 * jnp.sqrt(d))
        # d (1 - v + log v) with v = (1 + t)^3, without cancellation; NaN where v is negative.
        bound = x * x / 2 + d * (3 * jnp.log1p(t) - t * (3 + t * (3 + t)))
        accepted = jnp.log(jax.random.uniform(uniform_key, d.shape, d.dtype)) < bound
        drawn = jnp.where(waiting & accepted, d * (1 + t) ** 3, drawn)
        return key, waiting & ~accepted, drawn

    start = key, (alpha > 0) & (alpha < jnp.inf), jnp.where(alpha < 0, jnp.nan, alpha)
    drawn = lax.while_loop(lambda state: state[1].any(), propose, start)[2]
    boost = jax.random.uniform(boost_key, d.shape, d.dtype) ** (1 / alpha)
    return jnp.where(alpha < 1, drawn * boost, drawn)


def _poisson(key: Array, shape: Shape, dtype: DTypeLike, lam: Array) -> Array:
    return jax.random.poisson(key, jnp.broadcast_to(lam, shape), shape).astype(dtype)


def _negative_binomial(key: Array, shape: Shape, dtype: DTypeLike, k: Array, p: Array) -> Array:
    gamma_key, poisson_key = jax.random.split(key)
    rate = draw_gamma(gamma_key, shape, dtype, k, (1 - p) / p)
    return _poisson(poisson_key, shape, dtype, rate)


def _generalized_negative_binomial(
    key: Array, shape: Shape, dtype: DTypeLike, mu: Array, alpha: Array
) -> Array:
    gamma_key, poisson_key = jax.random.split(key)
    spread = jnp.where(jnp.asarray(alpha) == 0, 1, alpha).astype(dtype)
    rate = draw_gamma(gamma_key, shape, dtype, 1 / spread, mu * spread)
    return _poisson(poisson_key, shape, dtype, jnp.where(jnp.asarray(alpha) == 0, mu, rate))


@dataclass(frozen=True, slots=True)
class DistributionSampler:
    """A distribution: its sampling function, parameters (types and defaults) and description;
    ``positive`` and ``non_negative`` name the scalar parameters that must be so."""

    draw: Draw
    scalars: dict[str, tuple[type, float]]
    arrays: tuple[str, ...]
    words: str
    aliases: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    non_negative: tuple[str, ...] = ()

    def refusal(self, scalars: Mapping[str, Any]) -> str | None:
        """Returns the reason why a distribution does not exist, or None; NaN is refused, too."""
        for name in self.positive:
            if not scalars[name] > 0:
                return f"{name}={scalars[name]}, expected a number above 0"
        for name in self.non_negative:
            if not scalars[name] >= 0:
                return f"{name}={scalars[name]}, expected 0 or more"
        if "low" in self.scalars and not scalars["low"] <= scalars["high"]:
            return f"low={scalars['low']} is above high={scalars['high']}"
        return None


def _floats(**defaults: float) -> dict[str, tuple[type, float]]:
    return {name: (float, default) for name, default in defaults.items()}


#: Distributions by the stem of their operators' names (``_random_X``).
DISTRIBUTIONS = {
    "uniform": DistributionSampler(
        draw_uniform, _floats(low=0.0, high=1.0), ("low", "high"),
        "Uniformly distributed numbers in [low, high)", ("uniform",),
    ),
    "normal": DistributionSampler(
        draw_normal, _floats(loc=0.0, scale=1.0), ("mu", "sigma"),
        "Normally distributed numbers with mean {0} and standard deviation {1}",
        ("normal",), positive=("scale",),
    ),
    "gamma": DistributionSampler(
        draw_gamma, _floats(alpha=1.0, beta=1.0), ("alpha", "beta"),
        "Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)",
        positive=("alpha", "beta"),
    ),
    "exponential": DistributionSampler(
        lambda key, shape, dtype, lam: jax.random.exponential(key, shape, dtype) / lam,
        _floats(lam=1.0), ("lam",),
        "Exponentially distributed numbers with rate lam (mean 1 / lam)", positive=("lam",),
    ),
    "poisson": DistributionSampler(
        _poisson, _floats(lam=1.0), ("lam",),
        "Poisson distributed numbers with mean lam", non_negative=("lam",),
    ),
    "negative_binomial": DistributionSampler(
        _negative_binomial, {"k": (int, 1), "p": (float, 1.0)}, ("k", "p"),
        "Numbers of failures before success k, where each trial succeeds with probability p",
        non_negative=("k", "p"),
    ),
    "generalized_negative_binomial": DistributionSampler(
        _generalized_negative_binomial, _floats(mu=1.0, alpha=1.0), ("mu", "alpha"),
        "Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)",
        non_negative=("mu", "alpha"),
    ),
}  # fmt: skip


def sampling_dtype(dtype: DTypeLike) -> DTypeLike:
    """Returns the dtype in which numbers are drawn: float16 would round the distribution itself."""
    return jnp.float64 if jnp.dtype(dtype) == jnp.float64 else jnp.float32
