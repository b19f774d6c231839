"""``mx.sym.random``: random numbers, in nodes that draw anew at every run.

The parameters of a distribution are all numbers (one distribution for the whole ``shape``), or all
symbols (``shape`` draws for each of their elements). ``dtype`` is that of the numbers, float32 or
that of the parameters by default, int32 for ``randint``. Further keywords are the node's: ``name``,
``attr``. The numbers are not MXNet's, their distributions are; ``mx.random.seed`` makes them
repeatable.
"""

from __future__ import annotations

from typing import Any

from ..errors import InputTypeError, explain
from ._compose import find
from ._symbol import Symbol, call_operator
from ._symbol_functions import operators_of


def _draw(name: str, parameters: dict[str, Any], shape: Any, dtype: Any, kwargs: Any) -> Symbol:
    symbols = [isinstance(value, Symbol) for value in parameters.values()]
    if any(symbols) and not all(symbols):
        given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        problem = f"{given}: parameters must be all symbols or all numbers"
        raise InputTypeError(explain(f"random {name}", problem))
    op = f"_sample_{name}" if all(symbols) else f"_random_{name}"
    options = {
        key: value for key, value in (("shape", shape), ("dtype", dtype)) if value is not None
    }
    return call_operator(find(op), op, (), {**parameters, **options, **kwargs})


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Uniform between ``low`` and ``high``."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Normal with mean ``loc`` and standard deviation ``scale``."""
    names = ("loc", "scale") if not isinstance(loc, Symbol) else ("mu", "sigma")
    return _draw("normal", dict(zip(names, (loc, scale), strict=True)), shape, dtype, kwargs)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Normal, with the shape as positional arguments."""
    return normal(loc, scale, shape, dtype, **kwargs)


def gamma(
    alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Gamma with shape ``alpha`` and scale ``beta``."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Exponential with mean ``scale``."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Poisson with mean ``lam``."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Failures before the ``k``-th success, with probability of success ``p``."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Negative binomial with mean ``mu`` and dispersion ``alpha``."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def randint(low: Any, high: Any, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Integers from ``low`` to before ``high``."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


def multinomial(
    data: Symbol, shape: Any = None, get_prob: bool = True, dtype: Any = "int32", **kwargs: Any
) -> Symbol:
    """Classes drawn by the probabilities in the last axis of ``data``, and their log-likelihood
    if ``get_prob``."""
    options = {} if shape is None else {"shape": shape}
    keywords = {**options, "get_prob": get_prob, "dtype": dtype, **kwargs}
    return call_operator(find("_sample_multinomial"), "_sample_multinomial", (data,), keywords)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """``data`` with its first axis in random order."""
    return call_operator(find("_shuffle"), "_shuffle", (data,), kwargs)


__getattr__, __dir__ = operators_of(globals(), "random")
