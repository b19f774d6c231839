"""``mx.np.random``: samples from distributions.

Parameters are numbers, or arrays that broadcast; ``size`` is the shape of the result, by default
the parameters'. ``dtype`` is float32 by default, ``ctx`` the device, ``out`` an array that is
filled. The numbers are not MXNet's, their distributions are; ``npx.random.seed`` makes them
repeatable.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..calls.ways import call as run_operator, invoke
from ..errors import ArgumentValueError, InputTypeError, ShapeError
from ..ndarray import NDArray
from ..ndarray.array_classes import element_type
from ._new_arrays import array, context_of, sizes_of
from ._ufuncs import UFUNCS
from .multiarray import ndarray
from .utils import is_number, is_numpy, operator

#: MXNet's functions.
__all__ = [
    "beta", "chisquare", "choice", "exponential", "gamma", "gumbel", "logistic", "lognormal",
    "multinomial", "multivariate_normal", "normal", "pareto", "power", "rand", "randint", "randn",
    "rayleigh", "shuffle", "uniform", "weibull",
]  # fmt: skip

#: The function that makes a symbol of an operator without arrays; None where arrays are drawn.
_creates: ContextVar[Callable[..., Any] | None] = ContextVar("creates", default=None)


def run_symbolic(create: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function of this module, which then makes symbols by ``create``."""
    token = _creates.set(create)
    try:
        return function(*args, **kwargs)
    finally:
        _creates.reset(token)


def _shape_of(name: str, size: Any) -> Any:
    if size is None:
        return None
    sizes = sizes_of(f"random.{name}", size)
    if min(sizes, default=0) < 0:
        raise ShapeError(f"np.random.{name}", f"size is {size!r}", hint="lengths of 0 or more")
    return sizes


def draw(
    name: str, parameters: dict[str, Any], size: Any, dtype: Any = None, ctx: Any = None,
    out: Any = None, **attrs: Any,
) -> Any:  # fmt: skip
    """Calls the sampling operator behind ``_npi_``; its parameters that are arrays are inputs."""
    arrays = [x for x in parameters.values() if is_numpy(x)]
    for key, value in parameters.items():
        if not (is_number(value) or is_numpy(value) or value is None):
            problem = f"{key} is {value!r}, expected a number or an array of mx.np"
            raise InputTypeError(f"np.random.{name}", problem)
    values = {k: "None" if is_numpy(v) or v is None else float(v) for k, v in parameters.items()}
    positive = name in ("gamma", "pareto", "powerd", "weibull")
    for key, value in values.items():
        if isinstance(value, str) or key in ("loc", "low", "high"):
            continue
        if value < 0 or (positive and value == 0):
            hint = "more than 0" if positive else "0 or more"
            raise ArgumentValueError(f"np.random.{name}", f"{key} is {value}", hint=hint)
    shape = _shape_of(name, size)
    if shape is None and out is not None:
        shape = out.shape
    attrs |= values | ({} if shape is None else {"size": shape})
    if dtype is not None:
        attrs["dtype"] = element_type(dtype).name
    create = _creates.get()
    if create is not None and not arrays:
        return create(f"_npi_{name}", name, (), **attrs)
    op = operator(f"_npi_{name}")
    if arrays and not isinstance(arrays[0], NDArray):
        return arrays[0].numpy_call(op, name, arrays, attrs)
    return invoke(op, ndarray, arrays, attrs, out, None if arrays else context_of(ctx))


_OPTIONS = """ These are
numbers, or arrays that broadcast. ``size`` is the shape of the result, by default theirs; ``dtype``
its type (float32), ``ctx`` its device. It is written to ``out``, if that is given. ShapeError for
negative sizes, ArgumentValueError for parameters out of their range."""


def _sampler(name: str, op: str, **defaults: Any) -> Callable[..., Any]:
    names = (*defaults, "size", "dtype", "ctx", "out")
    missing = object()

    def function(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args, strict=False))
        unknown = [k for k in kwargs if k not in names or k in arguments]
        if unknown or len(args) > len(names):
            raise TypeError(f"{name}() got unexpected arguments: {', '.join(unknown) or args}")
        arguments |= kwargs
        parameters = {k: arguments.get(k, missing if d is ... else d) for k, d in defaults.items()}
        if any(value is missing for value in parameters.values()):
            raise TypeError(f"{name}() needs {', '.join(map(repr, defaults))}")
        options = {k: v for k, v in arguments.items() if k not in defaults and k != "size"}
        return draw(op, parameters, arguments.get("size"), **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Draws from the distribution {name!r} with {', '.join(defaults)}.{_OPTIONS}"
    return function


uniform = _sampler("uniform", "uniform", low=0.0, high=1.0)
normal = _sampler("normal", "normal", loc=0.0, scale=1.0)
gamma = _sampler("gamma", "gamma", shape=..., scale=1.0)
exponential = _sampler("exponential", "exponential", scale=1.0)
gumbel = _sampler("gumbel", "gumbel", loc=0.0, scale=1.0)
logistic = _sampler("logistic", "logistic", loc=0.0, scale=1.0)
pareto = _sampler("pareto", "pareto", a=...)
power = _sampler("power", "powerd", a=...)
rayleigh = _sampler("rayleigh", "rayleigh", scale=1.0)
weibull = _sampler("weibull", "weibull", a=...)


def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Draws numbers whose logarithms are normal, of ``mean`` and deviation ``sigma``; the other
    arguments are as for :func:`normal`."""
    return UFUNCS["exp"](normal(mean, sigma, size, dtype, ctx), out=out)


def chisquare(df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Draws sums of ``df`` squares of normal numbers; see :func:`normal` for the other
    arguments."""
    return gamma(df / 2, 2.0, size, dtype, ctx)


def beta(a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Draws beta numbers: from 0 to 1, of density proportional to x^(a - 1) (1 - x)^(b - 1);
    the other arguments are as for :func:`normal`."""
    if size is None and is_numpy(a) is not is_numpy(b):
        size = np.broadcast_shapes(np.shape(a), np.shape(b))
    first, second = gamma(a, 1.0, size, dtype, ctx), gamma(b, 1.0, size, dtype, ctx)
    return first / (first + second)


def rand(*size: int, **kwargs: Any) -> Any:
    """Draws uniform numbers from 0 to 1, of shape ``size``; ``kwargs`` as for :func:`uniform`."""
    return uniform(0.0, 1.0, size, **kwargs)


def randn(*size: int, **kwargs: Any) -> Any:
    """Draws normal numbers of shape ``size``; ``kwargs`` as for :func:`normal`."""
    return normal(0.0, 1.0, size, **kwargs)


def randint(
    low: int, high: int | None = None, size: Any = None, dtype: Any = None, ctx: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Draws integers from ``low`` up to ``high``, which is excluded; below ``low`` without it. They
    have the shape ``size`` (() by default) and ``dtype`` (int64), and are on ``ctx`` or in
    ``out``."""
    first, end = (0, low) if high is None else (low, high)
    kind = element_type(dtype, np.int64).name
    shape = out.shape if out is not None and size is None else _shape_of("randint", size) or ()
    attrs = {"low": int(first), "high": int(end), "dtype": kind, "shape": shape or (1,)}
    result = invoke(operator("_random_randint"), ndarray, (), attrs, out, context_of(ctx))
    return result if shape else result.reshape(())


def choice(
    a: Any, size: Any = None, replace: bool = True, p: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draws numbers below ``a``, or elements of the vector ``a``, with the probabilities ``p``;
    each at most once unless ``replace``. ``size`` is the shape of the result, ``ctx`` its device;
    it is written to ``out``, if that is given."""
    count = int(a) if is_number(a) else a.shape[0]
    attrs: dict[str, Any] = {"a": count, "replace": replace, "weighted": p is not None}
    if size is not None:
        attrs["size"] = _shape_of("choice", size)
    arrays = [] if p is None else [p]
    places = invoke(operator("_npi_choice"), ndarray, arrays, attrs, None, context_of(ctx))
    result = places if is_number(a) else run_operator("take", a, places, axis=0)
    if out is None:
        return result
    out[...] = result
    return out


def shuffle(x: NDArray) -> None:
    """Puts the parts of ``x`` along its first axis in a random order, in place."""
    x[...] = run_operator("_shuffle", x)


def multinomial(n: int, pvals: Any, size: Any = None) -> Any:
    """Draws how often each outcome occurs in ``n`` trials with the probabilities ``pvals``;
    ``size`` such experiments. ValueError if ``pvals``, a sequence, exceeds 1 without its last."""
    shape = _shape_of("multinomial", size)
    attrs: dict[str, Any] = {"n": n} | ({} if shape is None else {"size": shape})
    if is_numpy(pvals):
        return invoke(operator("_npi_multinomial"), ndarray, [pvals], attrs)
    attrs["pvals"] = tuple(map(float, pvals))
    if sum(attrs["pvals"][:-1]) > 1 + 1e-12:
        raise ArgumentValueError("np.random.multinomial", f"the sum of {pvals} is more than 1")
    return invoke(operator("_npi_multinomial"), ndarray, (), attrs, None, context_of(None))


def multivariate_normal(
    mean: Any, cov: Any, size: Any = None, check_valid: Any = None, tol: Any = None
) -> Any:
    """Draws vectors of normal numbers with ``mean`` (..., n) and covariances ``cov`` (..., n, n),
    ``size`` of each. ``check_valid`` and ``tol`` have no effect."""
    mean, cov = (x if is_numpy(x) else array(x) for x in (mean, cov))
    factor = run_operator("_npi_cholesky", cov)
    shape = np.broadcast_shapes(mean.shape, cov.shape[:-1])
    noise = normal(0.0, 1.0, (*(_shape_of("multivariate_normal", size) or ()), *shape))
    return mean + run_operator("_npi_einsum", factor, noise, num_args=2,
                               subscripts="...ij,...j->...i")  # fmt: skip
