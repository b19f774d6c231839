"""``mx.nd.random``: samples from distributions whose parameters are numbers or NDArrays.

With numbers, an array of ``shape`` (default (1,)) is drawn; with NDArrays, ``shape`` samples for
every element, of shape ``parameter.shape + shape``. ``dtype`` is the type of the numbers (float32
or the parameters' by default), ``ctx`` the device, ``out`` an NDArray that is filled instead of a
new one. The numbers are not MXNet's, their
distributions are. ``mx.random.seed`` makes them repeatable.
"""

from __future__ import annotations

from typing import Any

from ..errors import AttributeValueError, InputTypeError, explain
from ..ops import lookup
from ._array_operators import module_access
from ._eager import call, invoke
from ._ndarray import NDArray

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]

__getattr__, __dir__ = module_access("random", NDArray, __name__, __all__)


def _draw(
    name: str,
    parameters: dict[str, Any],
    shape: Any,
    dtype: Any,
    ctx: Any,
    out: Any,
    kwargs: dict[str, Any],
) -> Any:
    """Calls ``_random_X`` for numbers, ``_sample_X`` for arrays."""
    arrays = [isinstance(v, NDArray) for v in parameters.values()]
    attrs = dict(kwargs)
    if dtype is not None:
        attrs["dtype"] = dtype
    if shape is not None:
        attrs["shape"] = shape
    if all(arrays):
        sampler = lookup(f"_sample_{name}")
        if sampler is None:
            raise InputTypeError(
                explain(f"random.{name}", "its parameters are numbers, not NDArrays")
            )
        return invoke(sampler, NDArray, list(parameters.values()), attrs, out)
    if any(arrays):
        raise InputTypeError(
            explain(
                f"random.{name}",
                "parameters are all NDArrays or all numbers, got "
                + ", ".join(f"{k}: {type(v).__name__}" for k, v in parameters.items()),
            )
        )
    for key, value in parameters.items():
        if isinstance(value, str) or not hasattr(value, "__float__"):
            raise AttributeValueError(
                explain(f"random.{name}", f"{key} is {value!r}, expected a number or an NDArray")
            )
    if shape is None:
        attrs["shape"] = (1,) if out is None else out.shape
    op = lookup(f"_random_{name}")
    assert op is not None, name
    return invoke(op, NDArray, (), {**parameters, **attrs}, out, ctx)


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples from the uniform distribution over [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(
    loc: Any = 0,
    scale: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples from the normal distribution of mean ``loc`` and standard deviation ``scale``."""
    arrays = isinstance(loc, NDArray) or isinstance(scale, NDArray)
    names = ("mu", "sigma") if arrays else ("loc", "scale")
    parameters: dict[str, Any] = dict(zip(names, (loc, scale), strict=True))
    return _draw("normal", parameters, shape, dtype, ctx, out, kwargs)


def randn(*shape: int, **kwargs: Any) -> Any:
    """Samples of shape ``shape`` from a normal distribution: ``loc=0``, ``scale=1``, ``dtype``,
    ``ctx`` and ``out`` by keyword."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    return normal(loc, scale, shape or None, **kwargs)


def exponential(
    scale: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples from the exponential distribution of mean ``scale``."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)


def gamma(
    alpha: Any = 1,
    beta: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples from the gamma distribution of shape ``alpha`` and scale ``beta``."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def poisson(
    lam: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples from the Poisson distribution of rate ``lam``, in a floating dtype."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: Any = 1,
    p: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples of how many failures precede ``k`` successes of probability ``p``."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu: Any = 1,
    alpha: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Samples from the negative binomial distribution of mean ``mu`` and dispersion ``alpha``."""
    parameters = {"mu": mu, "alpha": alpha}
    return _draw("generalized_negative_binomial", parameters, shape, dtype, ctx, out, kwargs)


def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Integers drawn evenly from low up to, not including, high: int32, or int64 if asked for."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def multinomial(
    data: NDArray,
    shape: Any = None,
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Any:
    """Indices drawn with the probabilities in the last axis of ``data``.

    The result is of shape ``data.shape[:-1] + shape``; with ``get_prob`` the logarithms of the
    drawn probabilities come second.
    """
    attrs = {"get_prob": get_prob, "dtype": dtype, **kwargs}
    if shape is not None:
        attrs["shape"] = shape
    op = lookup("_sample_multinomial")
    assert op is not None
    return invoke(op, NDArray, [data], attrs, out)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """``data`` with its rows in random order: a copy, or ``out=``."""
    out = kwargs.pop("out", None)
    shuffled = call("_shuffle", data, **kwargs)
    if out is None:
        return shuffled
    out[:] = shuffled
    return out
