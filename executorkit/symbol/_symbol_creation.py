"""Variables, groups, loading, and functions of ``mx.sym`` that are more than one operator."""

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from numbers import Number
from typing import IO, Any

from .._files import naming
from .._support.annotations import DType
from ..errors import AttributeValueError
from ..ops.schema.attrs import DTYPE_NUMBERS, dtype_name, to_text
from ..ops.schema.calls import numpy_dtype_name
from ._compose import attr_texts, require_operator
from ._load import read_json
from ._python_operators import split_attrs
from ._symbol import Symbol, call_operator
from .naming import AttrScope
from .node import Node, is_annotation
from .symbol_json import read_source

_STORAGE = {"default": 0, "row_sparse": 1, "csr": 2}


def var(
    name: str,
    attr: dict[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DType = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """Creates a variable: an input of the graph, to be bound to an array.

    name
        Its name among the arguments.
    attr, kwargs
        Further annotations, as texts; keywords must be of the form ``__name__``.
    shape, dtype
        The shape (0 is an unknown dimension) and dtype from which inference starts.
    lr_mult, wd_mult
        Factors of learning rate and weight decay.
    init
        The initializer of the parameter: an object with ``dumps()``, or its text.
    stype
        The storage type, "default", "row_sparse" or "csr": an annotation only; arrays are dense.
    """
    if not isinstance(name, str):
        raise TypeError(f"name of a variable is {name!r}, expected a text")
    attrs = AttrScope.current.get(attr)
    for key, value in attrs.items():
        if not isinstance(value, str):
            raise AttributeValueError(f"variable {name!r}: {key}={value!r} is not a text")
    for key, value in kwargs.items():
        if not is_annotation(key):
            hint = f"__{key}__={value!r}"
            raise AttributeValueError(f"variable {name!r}", f"unknown argument {key!r}", hint=hint)
    if stype is not None and stype not in _STORAGE:
        problem = f"stype={stype!r}, expected one of {', '.join(_STORAGE)}"
        raise AttributeValueError(f"variable {name!r}", problem)
    annotations = {
        "__shape__": shape,
        "__lr_mult__": lr_mult,
        "__wd_mult__": wd_mult,
        "__dtype__": None if dtype is None else DTYPE_NUMBERS[dtype_name(numpy_dtype_name(dtype))],
        "__init__": init if init is None or isinstance(init, str) else init.dumps(),
        "__storage_type__": None if stype is None else _STORAGE[stype],
        **kwargs,
    }
    attrs.update((key, to_text(value)) for key, value in annotations.items() if value is not None)
    return Symbol(((Node(None, name, attr_texts(attrs)), 0),))


Variable = var


def Group(symbols: Iterable[Symbol], create_fn: Any = Symbol) -> Symbol:  # noqa: N802
    """Groups the outputs of all ``symbols`` into one symbol; TypeError for other objects.
    ``create_fn`` makes it from pairs of a node and a number.

    >>> a, b = var("a"), var("b")
    >>> Group([a, b]).list_outputs()
    ['a', 'b']
    """
    parts = list(symbols)
    if not parts or not all(isinstance(symbol, Symbol) for symbol in parts):
        raise TypeError(f"Group of {parts!r}, expected symbols, at least one")
    return create_fn([entry for symbol in parts for entry in symbol.heads])


def load(fname: str | os.PathLike[str] | IO[Any]) -> Symbol:
    """Loads the symbol in a file of any MXNet version; ``fname`` is its path, or an open file.
    Raises :class:`FileAccessError` if it cannot be read, and the errors of :func:`load_json`."""
    if not isinstance(fname, str | os.PathLike) and not hasattr(fname, "read"):
        raise TypeError(f"load({fname!r}), expected a path or an open file")
    text = read_source(fname)
    with naming(fname) if isinstance(fname, str | os.PathLike) else nullcontext():
        return Symbol(read_json(text))


def load_json(json_str: str | bytes) -> Symbol:
    """Parses a symbol's JSON text, of any MXNet version; the inverse of ``tojson``.

    Raises :class:`FileFormatError` for malformed text, and names everything that is not served in
    one :class:`UnknownOperatorError` or :class:`AttributeValueError`.
    """
    if not isinstance(json_str, str | bytes):
        raise TypeError(f"load_json of {type(json_str).__name__}, expected a text")
    return Symbol(read_json(json_str))


def _call(op: str, *args: Any, **kwargs: Any) -> Symbol:
    return call_operator(require_operator(op), op, args, kwargs)


def zeros(shape: Any, dtype: DType = None, **kwargs: Any) -> Symbol:
    """Returns zeros of ``shape``, float32 by default. Inference fills in a 0 in the shape."""
    return _call("_zeros", shape=shape, dtype=_or_float32(dtype), **kwargs)


def ones(shape: Any, dtype: DType = None, **kwargs: Any) -> Symbol:
    """Returns ones of ``shape``, float32 by default."""
    return _call("_ones", shape=shape, dtype=_or_float32(dtype), **kwargs)


def full(shape: Any, val: float, dtype: DType = None, **kwargs: Any) -> Symbol:
    """Returns ``val`` everywhere in ``shape``, float32 by default."""
    return _call("_full", shape=shape, dtype=_or_float32(dtype), value=float(val), **kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DType = None,
) -> Symbol:
    """Returns the numbers from ``start`` (0 if ``stop`` is None) to before ``stop``, each
    ``repeat`` times. With ``infer_range`` the length is filled in by inference."""
    return _call(
        "_arange", start=start, stop=stop, step=step, repeat=repeat, infer_range=infer_range,
        name=name, dtype=_or_float32(dtype),
    )  # fmt: skip


def eye(N: int, M: int = 0, k: int = 0, dtype: DType = None, **kwargs: Any) -> Symbol:  # noqa: N803
    """Returns N rows and M columns (M = 0: N) of zeros, with ones on diagonal ``k``."""
    return _call("_eye", N=N, M=M, k=k, dtype=_or_float32(dtype), **kwargs)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: DType = None,
) -> Symbol:
    """Returns ``num`` evenly spaced numbers from ``start`` to ``stop`` (``endpoint``: included)."""
    return _call(
        "_linspace", start=start, stop=stop, num=num, endpoint=endpoint, name=name,
        dtype=_or_float32(dtype),
    )  # fmt: skip


def _or_float32(dtype: DType) -> Any:
    return "float32" if dtype is None else dtype


def split_v2(
    ary: Symbol, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Splits ``ary`` along ``axis`` into a number of equal parts, or before each of the indices.
    ``squeeze_axis`` removes the axis, of which each part must have length 1."""
    return _call("_split_v2", ary, **split_attrs(indices_or_sections, axis, squeeze_axis))


def histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """Returns counts of the values of ``a`` in bins, and the bins' edges. ``bins`` is a symbol of
    edges, or a number of equal bins over ``range``."""
    if isinstance(bins, Symbol):
        return _call("_histogram", a, bins, **kwargs)
    if not isinstance(bins, int):
        raise ValueError(f"bins={bins!r}, expected a number or a symbol of edges")
    if range is None:
        raise ValueError("with a number of bins, give the range that they cover")
    return _call("_histogram", data=a, bin_cnt=bins, range=range, **kwargs)


def _binary(left: Any, right: Any, key: str, numbers: Any) -> Any:
    if isinstance(left, Symbol):
        return left._operate(right, key)
    if isinstance(right, Symbol):
        return right._operate(left, key, reflected=True)
    if isinstance(left, Number) and isinstance(right, Number):
        return numbers(left, right)
    types = f"{type(left).__name__} and {type(right).__name__}"
    raise TypeError(f"{key} of {types}: expected symbols or numbers")


def pow(base: Any, exp: Any) -> Any:
    """Returns ``base`` to the power ``exp``, element-wise; each a symbol or a number."""
    return _binary(base, exp, "pow", lambda a, b: a**b)


power = pow


def maximum(left: Any, right: Any) -> Any:
    """Returns the larger of two, element-wise; each a symbol or a number."""
    return _binary(left, right, "maximum", lambda a, b: a if a > b else b)


def minimum(left: Any, right: Any) -> Any:
    """Returns the smaller of two, element-wise; each a symbol or a number."""
    return _binary(left, right, "minimum", lambda a, b: a if a < b else b)


def hypot(left: Any, right: Any) -> Any:
    """Returns the hypotenuse over two legs, element-wise; each a symbol or a number."""
    return _binary(left, right, "hypot", math.hypot)


__all__ = [
    "Group", "Variable", "arange", "eye", "full", "histogram", "hypot", "linspace", "load",
    "load_json", "maximum", "minimum", "ones", "pow", "power", "split_v2", "var", "zeros",
]  # fmt: skip
