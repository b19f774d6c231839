"""How many operations a traced function does, counted primitive by primitive.

XLA's own analysis needs a program to be lowered, at 30 times the cost, leaves out the products of a
convolution with its padding, which published counts include, and takes a loop for one round.
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
_SIZE_OF_INPUT = frozenset(
    {
        "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
        "reduce_xor", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin",
        "cumlogsumexp", "reduce", "select_and_scatter_add", "select_and_gather_add",
    }
)  # fmt: skip
#: Primitives that say nothing of what they do, or do it until something converges.
_UNCOUNTED = frozenset(
    {
        "pure_callback", "io_callback", "debug_callback", "custom_call", "ffi_call", "eig", "eigh",
        "svd", "schur", "hessenberg", "tridiagonal", "ragged_dot_general",
    }
)  # fmt: skip
UNKNOWN_TRIP_COUNT = "a loop of unknown length counts as one round"
PYTHON_CODE = "Python code, whose work is not known"


@dataclass(slots=True)
class Count:
    """The work of a function.

    flops
        floating-point operations and functions of one element, one each.
    macs
        multiplications with addition among them: those of convolutions and matrix products.
    uncounted
        what could not be counted, in words.
    """

    flops: float = 0.0
    macs: float = 0.0
    uncounted: set[str] = field(default_factory=set)

    @property
    def hidden(self) -> bool:
        """Whether there is work that does not show in the numbers at all."""
        return bool(self.uncounted - {UNKNOWN_TRIP_COUNT})

    def add(self, jaxpr: Any, times: float = 1.0) -> None:
        """Adds ``times`` the work of a jaxpr and of those inside it."""
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            if name in _UNCOUNTED:
                words = PYTHON_CODE if name.endswith("_callback") else f"no rule for {name}"
                self.uncounted.add(words)
                continue
            if name == "while":
                self.uncounted.add(UNKNOWN_TRIP_COUNT)
            rounds, parts = inner_jaxprs(equation)
            for part in parts:
                self.add(part, times * rounds)
            if not parts:
                flops = times * flops_of(equation)
                self.flops += flops
                self.macs += flops / 2 if name in _PRODUCTS else 0.0


def inner_jaxprs(equation: Any) -> tuple[int, list[Any]]:
    """The functions inside a primitive, and how often they run; of branches, the longest."""
    if equation.primitive.name in _LEAVES:
        return 1, []
    parts = list(_inner(equation))
    if equation.primitive.name == "cond" and parts:
        parts = [max(parts, key=lambda j: sum(map(flops_of, j.eqns)))]
    rounds = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
    return rounds, parts


def _inner(equation: Any) -> Iterator[Any]:
    for value in equation.params.values():
        for one in value if isinstance(value, tuple | list) else (value,):
            jaxpr = getattr(one, "jaxpr", one)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def size(aval: Any) -> int:
    """The number of elements."""
    return prod(getattr(aval, "shape", ()))


def _dot(equation: Any) -> float:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return 2.0 * size(equation.outvars[0].aval) * prod(shape[i] for i in contracted)


def _convolution(equation: Any) -> float:
    """Without the products with the zeros that a dilated input has between its elements."""
    kernel = equation.invars[1].aval.shape
    numbers = equation.params["dimension_numbers"]
    each = prod(kernel) / kernel[numbers.rhs_spec[0]]
    zeros = prod(equation.params["lhs_dilation"])
    return 2.0 * size(equation.outvars[0].aval) * each / zeros


def _window(equation: Any) -> float:
    return float(size(equation.outvars[0].aval) * prod(equation.params["window_dimensions"]))


def _sort(equation: Any) -> float:
    count = size(equation.invars[0].aval)
    return count * log2(max(2, equation.invars[0].aval.shape[-1] if count else 2))


def _fft(equation: Any) -> float:
    length = prod(equation.params["fft_lengths"])
    return 5.0 * size(equation.outvars[0].aval) * log2(max(2, length))


def _cubic(share: float) -> Callable[[Any], float]:
    """Factorisations of matrices: a share of rows x columns x the smaller of both."""

    def flops(equation: Any) -> float:
        aval = equation.invars[0].aval
        return share * size(aval) * min(aval.shape[-2:])

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
        size(e.invars[1].aval) * e.invars[0].aval.shape[-1]
    ),
    "scatter": lambda e: 0.0,
    **dict.fromkeys(
        ("scatter-add", "scatter-mul", "scatter-min", "scatter-max"),
        lambda e: float(size(e.invars[2].aval)),
    ),
}  # fmt: skip
#: Primitives that are counted whole, though some hold a function: that of two elements.
_LEAVES = _RULES.keys() | _MOVES | _SIZE_OF_INPUT


def flops_of(equation: Any) -> float:
    """Operations of one primitive: one for each element that it computes, two for each product of
    a dot or a convolution, none for what only moves elements."""
    name = equation.primitive.name
    if name in _MOVES:
        return 0.0
    if name in _RULES:
        return _RULES[name](equation)
    if name in _SIZE_OF_INPUT:
        return float(size(equation.invars[0].aval))
    return float(sum(size(x.aval) for x in equation.outvars))
