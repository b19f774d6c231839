"""The table of primitives: their traits, and their number of operations.

A primitive that is not in the table computes each element of its results by one operation that is
worth storing (``exp``), and calls no jaxpr.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Flag, auto
from math import log2, prod
from typing import Any, NamedTuple

from .._support.annotations import Arrays

#: ``(params, avals of the inputs, avals of the outputs) -> operations``.
_Flops = Callable[[Mapping[str, Any], Sequence[Any], Sequence[Any]], float]


class Trait(Flag):
    #: Its results are its inputs, for all but compilers.
    IDENTITY = auto()
    #: It moves elements, and computes nothing.
    MOVES = auto()
    #: Its result has the elements of its input in the same order, where it is not larger.
    KEEPS_ORDER = auto()
    #: It costs nothing where its result is read: it fuses with any reader.
    FREE = auto()
    #: Its result can be its input's memory, each element once.
    VIEW = auto()
    #: It reads a part of an array.
    PART = auto()
    #: Its result is worth no more than its inputs where it is larger.
    WIDENS = auto()
    #: It takes less time to compute its result again than to store and read it in a loop.
    CHEAP = auto()
    #: It takes one operation for each element of its first input.
    REDUCES = auto()
    #: It multiplies arrays, by several operations for each element.
    PRODUCT = auto()
    #: Its work does not show: a call of other code, or iterations until convergence.
    OPAQUE = auto()


class _Row(NamedTuple):
    names: str
    traits: Trait
    flops: _Flops | None = None


def _size(aval: object) -> int:
    return prod(getattr(aval, "shape", ()))


def _dot(params: Mapping[str, Any], ins: Arrays, outs: Arrays) -> float:
    (contracted, _), _ = params["dimension_numbers"]
    return 2.0 * _size(outs[0]) * prod(ins[0].shape[i] for i in contracted)


def _convolution(params: Mapping[str, Any], ins: Arrays, outs: Arrays) -> float:
    kernel = ins[1].shape
    per_output = prod(kernel) / kernel[params["dimension_numbers"].rhs_spec[0]]
    return 2.0 * _size(outs[0]) * per_output / prod(params["lhs_dilation"])


def _window(params: Mapping[str, Any], ins: Sequence[object], outs: Arrays) -> float:
    return float(_size(outs[0]) * prod(params["window_dimensions"]))


def _shifted_products(params: Mapping[str, Any], ins: Sequence[object], outs: Arrays) -> float:
    return 2.0 * _size(outs[0]) * prod(params["window"])


def _weighted_sums(
    params: Mapping[str, Any], ins: Sequence[object], outs: Sequence[object]
) -> float:
    entries = [f for row in params["matrix"] for f in row if f]
    operations = 2 * len(entries) - entries.count(1) - len(outs)
    return float(_size(outs[0]) * operations)


def _sort(params: Mapping[str, object], ins: Arrays, outs: Sequence[object]) -> float:
    count = _size(ins[0])
    return count * log2(max(2, ins[0].shape[-1] if count else 2))


def _fft(params: Mapping[str, Any], ins: Sequence[object], outs: Arrays) -> float:
    return 5.0 * _size(outs[0]) * log2(max(2, prod(params["fft_lengths"])))


def _cubic(factor: float) -> _Flops:
    return lambda params, ins, outs: factor * _size(ins[0]) * min(ins[0].shape[-2:])


_NONE = Trait(0)
_IDENTITY, _MOVES, _FREE, _CHEAP = Trait.IDENTITY, Trait.MOVES, Trait.FREE, Trait.CHEAP
_VIEW = Trait.VIEW
_TABLE = (
    _Row("copy", _IDENTITY | _MOVES | _FREE | _CHEAP),
    _Row(
        "device_put layout_constraint optimization_barrier pvary sharding_constraint",
        _IDENTITY | _MOVES,
    ),
    _Row("broadcast_in_dim", _MOVES | _FREE | _CHEAP | Trait.KEEPS_ORDER),
    _Row("reshape squeeze", _MOVES | _FREE | _CHEAP | Trait.KEEPS_ORDER | _VIEW),
    _Row("iota", _MOVES | _FREE),
    _Row("concatenate convert_element_type stack", _MOVES | _CHEAP | Trait.WIDENS),
    _Row("pad tile", _MOVES | Trait.WIDENS),
    _Row("slice", _MOVES | _CHEAP | Trait.PART | _VIEW),
    _Row("dynamic_slice gather", _MOVES | Trait.PART),
    _Row("select_n split unstack", _MOVES | _CHEAP),
    _Row("transpose", _MOVES | _CHEAP | _VIEW),
    _Row("rev", _MOVES | _VIEW),
    _Row(
        "bitcast_convert_type dynamic_update_slice empty empty2 random_clone random_unwrap "
        "random_wrap reduce_precision scatter",
        _MOVES,
    ),
    _Row("add add_any div integer_pow max min mul neg square sub", _CHEAP),
    _Row(
        "argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce reduce_and reduce_max "
        "reduce_min reduce_or reduce_prod reduce_sum reduce_xor select_and_gather_add "
        "select_and_scatter_add",
        Trait.REDUCES,
    ),
    _Row("dot_general", Trait.PRODUCT, _dot),
    _Row("conv_general_dilated", Trait.PRODUCT, _convolution),
    _Row("executorkit_shifted_products", _NONE, _shifted_products),
    _Row("executorkit_weighted_sums", _CHEAP, _weighted_sums),
    _Row("reduce_window reduce_window_max reduce_window_min reduce_window_sum", _NONE, _window),
    _Row("sort top_k", _NONE, _sort),
    _Row("fft", _NONE, _fft),
    _Row("cholesky", _NONE, _cubic(1 / 3)),
    _Row("lu", _NONE, _cubic(2 / 3)),
    _Row("geqrf householder_product", _NONE, _cubic(4 / 3)),
    _Row("triangular_solve", _NONE, lambda _, ins, outs: float(_size(ins[1]) * ins[0].shape[-1])),
    _Row(
        "scatter-add scatter-max scatter-min scatter-mul scatter-sub",
        _NONE,
        lambda _, ins, outs: float(_size(ins[2])),
    ),
    _Row(
        "debug_callback debug_print eig eigh ffi_call hessenberg io_callback pure_callback "
        "ragged_dot_general schur svd tridiagonal",
        Trait.OPAQUE,
    ),
)
_ROWS = {name: row for row in _TABLE for name in row.names.split()}


def primitives_with(trait: Trait) -> frozenset[str]:
    return frozenset(name for name, row in _ROWS.items() if trait in row.traits)


_UNCOUNTED = primitives_with(Trait.MOVES)
_BY_INPUT = primitives_with(Trait.REDUCES)
#: Primitives whose operations are known, though some hold a function of two elements.
COUNTED = _UNCOUNTED | _BY_INPUT | {name for name, row in _ROWS.items() if row.flops}


def flops(
    name: str, params: Mapping[str, object], ins: Sequence[object], outs: Sequence[object]
) -> float:
    """Returns a primitive's operations: two per product of a dot, one per computed element."""
    if name in _UNCOUNTED:
        return 0.0
    row = _ROWS.get(name)
    if row is not None and row.flops is not None:
        return row.flops(params, ins, outs)
    if name in _BY_INPUT:
        return float(_size(ins[0]))
    return float(sum(map(_size, outs)))
