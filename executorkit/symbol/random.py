"""``mx.sym.random``: random numbers, in nodes that draw new ones at every run.

The parameters of a distribution are all numbers (one distribution for the whole ``shape``), or all
symbols (``shape`` draws for each of their elements). ``dtype`` is the numbers' type, by default the
parameters' or float32, int32 for ``randint``. Further keywords are the node's: ``name``, ``attr``.
The numbers are not MXNet's, their distributions are; ``mx.random.seed`` makes them repeatable.
"""

from collections.abc import Callable
from typing import Any

from .._support.annotations import DType
from ..errors import InputTypeError
from ..ops.schema.calls import numpy_dtype_name
from ._compose import require_operator
from ._symbol import Symbol, call_operator
from ._symbol_functions import symbol_module
from .distributions import DISTRIBUTIONS, Distribution, sampler

__all__ = [*DISTRIBUTIONS, "multinomial", "randn", "shuffle"]  # pyright: ignore

_OPTIONS = {"shape": None, "dtype": ...}
_OPTION_DOCS = """\
The parameters are numbers, or symbols of one shape. ``shape`` is the shape of the result; with
symbols, of the samples for each of their elements. ``dtype`` is the type of the result, by
default the parameters' or float32 (int32 for ``randint``); None means float64, as in MXNet.
``kwargs`` are the node's ``name`` and ``attr``."""


def _draw(
    distribution: Distribution,
    values: dict[str, Any],
    options: dict[str, Any],
    kwargs: dict[str, Any],
) -> Symbol:
    has_symbols = any(isinstance(value, Symbol) for value in values.values())
    parameters = distribution.operator_parameters(values, has_symbols)
    if has_symbols and not all(isinstance(value, Symbol) for value in parameters.values()):
        listed = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        problem = f"{listed}: parameters must be all symbols or all numbers"
        raise InputTypeError(f"random {distribution.name}", problem)
    op = f"_sample_{distribution.name}" if has_symbols else f"_random_{distribution.name}"
    attrs = {key: value for key, value in options.items() if value is not None}
    return call_operator(require_operator(op), op, (), {**parameters, **attrs, **kwargs})


def _sampler(name: str) -> Callable[..., Symbol]:
    return sampler(name, __name__, _OPTIONS, _OPTION_DOCS, _draw)


uniform = _sampler("uniform")
normal = _sampler("normal")
gamma = _sampler("gamma")
exponential = _sampler("exponential")
poisson = _sampler("poisson")
negative_binomial = _sampler("negative_binomial")
generalized_negative_binomial = _sampler("generalized_negative_binomial")
randint = _sampler("randint")


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = ..., **kwargs: Any) -> Symbol:
    """Draws normal numbers, with the shape as positional arguments."""
    return normal(loc, scale, shape, dtype, **kwargs)


def multinomial(
    data: Symbol, shape: Any = None, get_prob: bool = True, dtype: DType = "int32", **kwargs: Any
) -> Symbol:
    """Draws classes by the probabilities in the last axis of ``data``, and returns their
    log-likelihood too if ``get_prob``."""
    options = {} if shape is None else {"shape": shape}
    keywords = {**options, "get_prob": get_prob, "dtype": numpy_dtype_name(dtype), **kwargs}
    name = "_sample_multinomial"
    return call_operator(require_operator(name), name, (data,), keywords)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Returns ``data`` with its first axis in random order."""
    return call_operator(require_operator("_shuffle"), "_shuffle", (data,), kwargs)


__getattr__, __dir__ = symbol_module(globals(), "random")
