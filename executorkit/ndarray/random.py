"""``mx.nd.random``: samples from distributions whose parameters are numbers or NDArrays.

With numbers, an array of ``shape`` (default (1,)) is drawn; with NDArrays, ``shape`` samples for
every element, of shape ``parameter.shape + shape``. ``dtype`` is the type of the numbers (float32
or the parameters' by default), ``ctx`` the device, ``out`` an NDArray that is filled instead of a
new one. The numbers are not MXNet's, their distributions are. ``mx.random.seed`` makes them
repeatable.
"""

from typing import Any

from .._support.annotations import DType, Function
from ..calls.ways import call, invoke
from ..errors import AttributeValueError, InputTypeError
from ..ops import lookup
from ..ops.schema.calls import numpy_dtype_name
from ..symbol.distributions import DISTRIBUTIONS, Distribution, sampler
from ._array_operators import array_module
from ._creation import without_node_attributes
from ._ndarray import NDArray

__all__ = [*DISTRIBUTIONS, "multinomial", "randn", "shuffle"]  # pyright: ignore

__getattr__, __dir__ = array_module(globals(), "random", NDArray)

_OPTIONS = {"shape": None, "dtype": ..., "ctx": None, "out": None}
_OPTION_DOCS = """\
The parameters are numbers, or NDArrays of one shape. ``shape`` is the shape of the result, (1,) by
default; with NDArrays, of the samples for each of their elements. ``dtype`` is the type of the
result, by default the parameters' or float32 (int32 for ``randint``); None means float64, as in
MXNet. ``ctx`` is its device; ``out`` is filled instead of a new array. ``kwargs`` are attributes of
the operator."""


def _draw(
    distribution: Distribution,
    values: dict[str, Any],
    options: dict[str, Any],
    attrs: dict[str, Any],
) -> Any:
    name, shape, out = distribution.name, options["shape"], options["out"]
    attrs = without_node_attributes(attrs)
    has_arrays = any(isinstance(v, NDArray) for v in values.values())
    parameters = distribution.operator_parameters(values, has_arrays)
    for key in ("dtype", "shape"):
        if options.get(key) is not None:
            attrs[key] = options[key]
    if has_arrays:
        arrays = list(parameters.values())
        if not all(isinstance(v, NDArray) for v in arrays):
            types = ", ".join(f"{k}: {type(v).__name__}" for k, v in parameters.items())
            problem = f"parameters are all NDArrays or all numbers, got {types}"
            raise InputTypeError(f"random.{name}", problem)
        sample = lookup(f"_sample_{name}")
        if sample is None:
            raise InputTypeError(f"random.{name}", "its parameters are numbers, not NDArrays")
        return invoke(sample, NDArray, arrays, attrs, out)
    for key, value in parameters.items():
        if isinstance(value, str) or not hasattr(value, "__float__"):
            problem = f"{key} is {value!r}, expected a number or an NDArray"
            raise AttributeValueError(f"random.{name}", problem)
    if shape is None:
        attrs["shape"] = (1,) if out is None else out.shape
    op = lookup(f"_random_{name}")
    assert op is not None, name
    return invoke(op, NDArray, (), {**parameters, **attrs}, out, options["ctx"])


def _sampler(name: str) -> Function:
    return sampler(name, __name__, _OPTIONS, _OPTION_DOCS, _draw)


uniform = _sampler("uniform")
normal = _sampler("normal")
exponential = _sampler("exponential")
gamma = _sampler("gamma")
poisson = _sampler("poisson")
negative_binomial = _sampler("negative_binomial")
generalized_negative_binomial = _sampler("generalized_negative_binomial")
randint = _sampler("randint")


def randn(*shape: int, **kwargs: Any) -> Any:
    """Draws normal samples of shape ``shape``, by default with mean (``loc``) 0 and ``scale`` 1."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    return normal(loc, scale, shape or None, **kwargs)


def multinomial(
    data: NDArray,
    shape: Any = None,
    get_prob: bool = False,
    out: Any = None,
    dtype: DType = "int32",
    **kwargs: Any,
) -> Any:
    """Draws indices with the probabilities in the last axis of ``data``, of shape ``data.shape[:-1]
    + shape``; with ``get_prob`` the logarithms of the drawn probabilities come second."""
    attrs = {"get_prob": get_prob, "dtype": numpy_dtype_name(dtype), **kwargs}
    if shape is not None:
        attrs["shape"] = shape
    op = lookup("_sample_multinomial")
    assert op is not None
    return invoke(op, NDArray, [data], attrs, out)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """Shuffles the rows of ``data``: returns a copy, or writes to ``out=``."""
    out = kwargs.pop("out", None)
    shuffled = call("_shuffle", data, **kwargs)
    if out is None:
        return shuffled
    out[:] = shuffled
    return out
