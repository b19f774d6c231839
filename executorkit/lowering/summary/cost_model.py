"""Cost model: floating-point operations and bytes of a traced function, primitive by primitive.

XLA's own analysis needs a lowered program, at 30 times the cost, leaves out products of a
convolution with its padding, which published counts include, and counts a loop once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..._support.annotations import Equation, Jaxpr
from ...jaxprs import COUNTED, Flattener, Trait, bodies, flops, primitives_with

#: Primitives whose work does not show.
_UNCOUNTED = primitives_with(Trait.OPAQUE)
_PRODUCTS = primitives_with(Trait.PRODUCT)
OPEN_LOOP = "a loop of unknown length counts as one iteration"
PYTHON_CODE = "Python code, whose work is unknown"


@dataclass(slots=True)
class OperationCount:
    """The work of a function before fusion: floating-point operations (functions of one element
    count one), the multiply-accumulate operations of convolutions and matrix products among them,
    and bytes read and written. ``uncounted`` describes work that the numbers leave out."""

    flops: float = 0.0
    macs: float = 0.0
    bytes: float = 0.0
    uncounted: set[str] = field(default_factory=set)

    @property
    def is_partial(self) -> bool:
        return bool(self.uncounted - {OPEN_LOOP})

    def add(self, equation: Equation, times: float) -> None:
        name = equation.primitive.name
        if name in _UNCOUNTED:
            self.uncounted.add(PYTHON_CODE if name.endswith("_callback") else f"no rule for {name}")
        elif name == "while":
            self.uncounted.add(OPEN_LOOP)
            return
        ins, outs = [v.aval for v in equation.invars], [v.aval for v in equation.outvars]
        operations = times * flops(name, equation.params, ins, outs)
        self.flops += operations
        if name in _PRODUCTS:
            self.macs += operations / 2
        self.bytes += times * sum([_bytes(aval) for aval in (*ins, *outs)])


class WorkCounter(Flattener[None]):
    """A walk over all primitives of a jaxpr and its inner functions; of branches, the longest.
    ``add(equation, stack of names, number of executions)`` gets each of them, and each loop of
    unknown length, a ``while``, before the primitives inside it."""

    def __init__(self, add: Callable[[Equation, tuple[Any, ...], float], None]) -> None:
        super().__init__()
        self._add = add
        self._times = 1.0

    def count(self, jaxpr: Jaxpr) -> None:
        inner = getattr(jaxpr, "jaxpr", jaxpr)
        self.flatten(jaxpr, [None] * len(inner.invars), [None] * len(inner.constvars))

    def constant(self, aval: object, contents: object) -> None:
        return None

    def equation(self, equation: Equation, inputs: tuple[None, ...]) -> Sequence[None]:
        name = equation.primitive.name
        inner = [] if name in COUNTED else bodies(equation)
        if not inner or name == "while":
            stack = equation.source_info.name_stack.stack
            for outer in reversed(self.scopes):
                stack = outer.stack + stack
            self._add(equation, stack, self._times)
        if name == "cond":
            inner = [max(inner, key=lambda branch: total_work(branch).flops)]
        times = self._times
        self._times *= equation.params["length"] if name == "scan" else 1
        for jaxpr in inner:
            self.inline(equation, jaxpr, [None] * len(getattr(jaxpr, "jaxpr", jaxpr).invars))
        self._times = times
        return [None] * len(equation.outvars)


def total_work(jaxpr: object) -> OperationCount:
    work = OperationCount()
    WorkCounter(lambda equation, _, times: work.add(equation, times)).count(jaxpr)
    return work


def _bytes(aval: object) -> int:
    return prod(getattr(aval, "shape", ())) * getattr(getattr(aval, "dtype", None), "itemsize", 0)
