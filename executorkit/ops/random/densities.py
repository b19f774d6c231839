"""Densities of the distributions that the samplers draw from, with gradients."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array, lax

from ...errors import ShapeError
from ..schema.attrs import Shape
from ..schema.calls import with_signature
from ..schema.inference import same_shapes_among
from ..schema.operator_registry import register


def _poisson(x: Array, lam: Array) -> Array:
    x = lax.stop_gradient(x)
    return x * jnp.log(lam) - lax.lgamma(x + 1) - lam


def _negative_binomial(x: Array, k: Array, p: Array) -> Array:
    x = lax.stop_gradient(x)
    ways = lax.lgamma(x + k) - lax.lgamma(x + 1) - lax.lgamma(jnp.broadcast_to(k, x.shape))
    return ways + k * jnp.log(p) + x * jnp.log(1 - p)


def _dirichlet(x: Array, alpha: Array) -> Array:
    scale = lax.lgamma(jnp.sum(alpha, -1)) - jnp.sum(lax.lgamma(alpha), -1)
    return jnp.sum((alpha - 1) * jnp.log(x), -1) + scale


@dataclass(frozen=True, slots=True)
class Density:
    """A density, by its logarithm ``log(sample, *parameters)``; a draw has ``axes`` axes."""

    log: Callable[..., Array]
    parameters: tuple[str, ...]
    equation: str
    axes: int = 0


_DISCRETE = " sample holds integers, as floating numbers, and gets zero gradient."
_DENSITIES = {
    "uniform": Density(
        lambda x, low, high: jnp.broadcast_to(-jnp.log(high - low), x.shape),
        ("low", "high"),
        "1 / (high - low), wherever x lies",
    ),
    "normal": Density(
        lambda x, mu, sigma: (
            -0.5 * jnp.square((x - mu) / sigma) - jnp.log(math.sqrt(2 * math.pi) * sigma)
        ),
        ("mu", "sigma"),
        "exp(-((x - mu) / sigma)^2 / 2) / (sqrt(2 pi) sigma)",
    ),
    "gamma": Density(
        lambda x, alpha, beta: (
            alpha * jnp.log(beta) + (alpha - 1) * jnp.log(x) - beta * x - lax.lgamma(alpha)
        ),
        ("alpha", "beta"),
        "beta^alpha x^(alpha - 1) exp(-beta x) / gamma(alpha): beta is a rate here, where the "
        "sampler's beta is a scale",
    ),
    "exponential": Density(lambda x, lam: jnp.log(lam) - lam * x, ("lam",), "lam exp(-lam x)"),
    "poisson": Density(_poisson, ("lam",), "lam^x exp(-lam) / x!." + _DISCRETE[:-1]),
    "negative_binomial": Density(
        _negative_binomial,
        ("k", "p"),
        "gamma(x + k) / (x! gamma(k)) p^k (1 - p)^x." + _DISCRETE[:-1],
    ),
    "generalized_negative_binomial": Density(
        lambda x, mu, alpha: _negative_binomial(x, 1 / alpha, 1 / (mu * alpha + 1)),
        ("mu", "alpha"),
        "the density of the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1)."
        + _DISCRETE[:-1],
    ),
    "dirichlet": Density(
        _dirichlet,
        ("alpha",),
        "gamma(sum of alpha) / product of gamma(alpha) times the product of x^(alpha - 1), over "
        "the last axis, which the result does not have",
        axes=1,
    ),
}


def _register_density(stem: str, d: Density) -> None:
    def run(arrays: tuple[Array, ...], attrs: dict[str, bool]) -> Array:
        sample, *parameters = arrays
        outer: Shape = parameters[0].shape[: parameters[0].ndim - d.axes]
        draw = sample.shape[sample.ndim - d.axes :]
        between = sample.ndim - d.axes - len(outer)
        if between < 0 or sample.shape[: len(outer)] != outer:
            raise ShapeError(
                f"'sample' is {sample.shape}, expected {d.parameters[0]}'s shape "
                f"{parameters[0].shape} first"
            )
        placed = [p.reshape(*outer, *(1 for _ in range(between)), *draw) for p in parameters]
        log = d.log(sample, *placed)
        return log if attrs["is_log"] else jnp.exp(log)

    name = f"_random_pdf_{stem}"
    doc = (
        f"The density of each x in sample: {d.equation}.\n\n"
        f"{' and '.join(d.parameters)} have one shape (s) and sample has (s, draws ...), draws "
        "from each of the distributions; so has the result. With ``is_log`` it is the natural "
        "logarithm."
    )
    arrays = ("sample", *d.parameters)
    register(name, name[1:], infer_shape=same_shapes_among(*d.parameters))(
        with_signature(run, name, doc, arrays, {"is_log": (bool, False)})
    )


for _stem, _density in _DENSITIES.items():
    _register_density(_stem, _density)
