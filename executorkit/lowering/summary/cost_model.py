"""Cost model: floating-point operations and bytes of a traced function, primitive by primitive.

Both tables of work are sums over :func:`leaf_equations`: that of a symbol's layers, each traced by
itself, and that of a compiled program's nodes. XLA's own analysis needs a lowered program, at 30
times the cost, leaves out the products of a convolution with its padding, which published counts
include, and takes a loop for one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import log2, prod
from typing import Any

#: Primitives that move elements and compute nothing.
_MOVES = frozenset(
    {
        "broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims", "slice",
        "dynamic_slice", "dynamic_update_slice", "gather", "concatenate", "pad", "rev", "iota",
        "copy", "copy_p", "convert_element_type", "bitcast_convert_type", "stop_gradient",
        "device_put", "split", "select_n", "optimization_barrier", "reduce_precision",
        "random_wrap", "random_unwrap", "sharding_constraint", "pvary",
    }
)  # fmt: skip
#: Primitives that do one operation per element of their input.
_SIZE_OF_INPUT = frozenset(
    {
        "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
        "reduce_xor", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin",
        "cumlogsumexp", "reduce", "select_and_scatter_add", "select_and_gather_add",
    }
)  # fmt: skip
#: Primitives whose work does not show: opaque calls, and iterations until convergence.
_UNCOUNTED = frozenset(
    {
        "pure_callback", "io_callback", "debug_callback", "custom_call", "ffi_call", "eig", "eigh",
        "svd", "schur", "hessenberg", "tridiagonal", "ragged_dot_general",
    }
)  # fmt: skip
OPEN_LOOP = "a loop of unknown length counts as one iteration"
PYTHON_CODE = "Python code, whose work is unknown"


@dataclass(slots=True)
class OperationCount:
    """The work of a function.

    flops
        floating-point operations and functions of one element, one each.
    macs
        the multiply-accumulate operations of convolutions and matrix products.
    bytes
        bytes that operations read and write, before any fusion.
    uncounted
        descriptions of the work that the numbers leave out.
    """

    flops: float = 0.0
    macs: float = 0.0
    bytes: float = 0.0
    uncounted: set[str] = field(default_factory=set)

    @property
    def is_partial(self) -> bool:
        """True if some work is not in the numbers at all."""
        return bool(self.uncounted - {OPEN_LOOP})

    def add(self, equation: Any, times: float) -> None:
        """Adds ``times`` the work of one primitive."""
        name = equation.primitive.name
        if name in _UNCOUNTED:
            is_python = name.endswith("_callback")
            self.uncounted.add(PYTHON_CODE if is_python else f"no rule for {name}")
        flops = times * _flops(equation)
        self.flops += flops
        if name in _PRODUCTS:
            self.macs += flops / 2
        avals = (x.aval for x in (*equation.invars, *equation.outvars))
        self.bytes += times * sum(map(_bytes, avals))


def leaf_equations(
    jaxpr: Any, scopes: tuple[Any, ...] = (), times: float = 1.0
) -> Iterator[tuple[Any, tuple[Any, ...], float]]:
    """Every primitive of a jaxpr and of the functions inside it: (equation, stack of names, number
    of executions). Of branches, the longest is taken."""
    for equation in jaxpr.eqns:
        stack = (*scopes, *equation.source_info.name_stack.stack)
        bodies = _bodies(equation)
        if not bodies:
            yield equation, stack, times
            continue
        name = equation.primitive.name
        length = equation.params.get("length", 1) if name == "scan" else 1
        for body in bodies:
            yield from leaf_equations(body, stack, times * length)


def has_open_loop(jaxpr: Any) -> bool:
    """True if a jaxpr, or a function inside it, has a loop of unknown length."""
    return any(
        equation.primitive.name == "while" or any(map(has_open_loop, _bodies(equation)))
        for equation in jaxpr.eqns
    )


def total_work(jaxpr: Any) -> OperationCount:
    """The work of a jaxpr and of the functions inside it."""
    work = OperationCount(uncounted={OPEN_LOOP} if has_open_loop(jaxpr) else set())
    for equation, _, times in leaf_equations(jaxpr):
        work.add(equation, times)
    return work


def _bodies(equation: Any) -> list[Any]:
    """The functions inside a primitive that is not counted as a whole; of branches, the longest."""
    if equation.primitive.name in _LEAVES:
        return []
    bodies = [
        jaxpr
        for value in equation.params.values()
        for item in (value if isinstance(value, tuple | list) else (value,))
        if hasattr(jaxpr := getattr(item, "jaxpr", item), "eqns")
    ]
    if equation.primitive.name == "cond" and bodies:
        return [max(bodies, key=lambda jaxpr: sum(map(_flops, jaxpr.eqns)))]
    return bodies


def _flops(equation: Any) -> float:
    """Operations of one primitive: one for each element that it computes, two for each product of
    a dot or a convolution, none for data movement."""
    name = equation.primitive.name
    if name in _MOVES:
        return 0.0
    if name in _RULES:
        return _RULES[name](equation)
    if name in _SIZE_OF_INPUT:
        return float(_size(equation.invars[0].aval))
    return float(sum(_size(x.aval) for x in equation.outvars))


def _size(aval: Any) -> int:
    """The number of elements."""
    return prod(getattr(aval, "shape", ()))


def _bytes(aval: Any) -> int:
    return _size(aval) * getattr(getattr(aval, "dtype", None), "itemsize", 0)


def _dot(equation: Any) -> float:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return 2.0 * _size(equation.outvars[0].aval) * prod(shape[i] for i in contracted)


def _convolution(equation: Any) -> float:
    """Without the products with the zeros that a dilated input has between its elements."""
    kernel = equation.invars[1].aval.shape
    dimensions = equation.params["dimension_numbers"]
    per_output = prod(kernel) / kernel[dimensions.rhs_spec[0]]
    dilation = prod(equation.params["lhs_dilation"])
    return 2.0 * _size(equation.outvars[0].aval) * per_output / dilation


def _window(equation: Any) -> float:
    return float(_size(equation.outvars[0].aval) * prod(equation.params["window_dimensions"]))


def _sort(equation: Any) -> float:
    count = _size(equation.invars[0].aval)
    return count * log2(max(2, equation.invars[0].aval.shape[-1] if count else 2))


def _fft(equation: Any) -> float:
    length = prod(equation.params["fft_lengths"])
    return 5.0 * _size(equation.outvars[0].aval) * log2(max(2, length))


def _cubic(factor: float) -> Callable[[Any], float]:
    """Factorisations of matrices: ``factor`` times rows x columns x the smaller of both."""

    def flops(equation: Any) -> float:
        aval = equation.invars[0].aval
        return factor * _size(aval) * min(aval.shape[-2:])

    return flops


_PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})
_RULES: dict[str, Callable[[Any], float]] = {
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "reduce_window": _window, "reduce_window_sum": _window, "reduce_window_max": _window,
    "reduce_window_min": _window,
    "sort": _sort, "top_k": _sort, "fft": _fft,
    "cholesky": _cubic(1 / 3), "lu": _cubic(2 / 3), "geqrf": _cubic(4 / 3),
    "householder_product": _cubic(4 / 3),
    "triangular_solve": lambda e: float(
        _size(e.invars[1].aval) * e.invars[0].aval.shape[-1]
    ),
    "scatter": lambda e: 0.0,
    **dict.fromkeys(
        ("scatter-add", "scatter-mul", "scatter-min", "scatter-max"),
        lambda e: float(_size(e.invars[2].aval)),
    ),
}  # fmt: skip
#: Primitives that are counted as a whole, though some hold a function of two elements.
_LEAVES = _RULES.keys() | _MOVES | _SIZE_OF_INPUT
