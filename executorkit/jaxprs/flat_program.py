"""Flat programs: a jaxpr as a list of operations on values, which rewrites change.

Calls are inlined; loops and branches that depend on data stay one operation each.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from .._support.annotations import DType, Equation, Jaxpr, Operands, Raw
from ..jax_internals import ClosedJaxpr, Primitive
from .flatten import Flattener, needed


@dataclass(eq=False, slots=True)
class FlatValue:
    """An array of a flat program; ``constant`` holds known contents."""

    shape: tuple[int, ...]
    dtype: DType
    constant: Any = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        return self.size * getattr(self.dtype, "itemsize", 8)


@dataclass(eq=False, slots=True)
class Operation:
    """A primitive with its parameters, or a rewrite of one that computes the same except for
    rounding: ``compute(params, *arrays)`` returns the results. ``scopes`` are name stacks of the
    surrounding calls, outermost first, and its own. ``parts``, if there are any, are primitives
    that compute the same."""

    primitive: Primitive
    params: Mapping[str, Any]
    compute: Callable[..., Sequence[Any]]
    inputs: tuple[FlatValue, ...]
    outputs: tuple[FlatValue, ...]
    scopes: tuple[Any, ...] = ()
    has_effects: bool = False
    parts: tuple["Operation", ...] = ()

    @property
    def name(self) -> str:
        return self.primitive.name


class FlatProgram:
    """Operations in an order of evaluation, without unneeded ones that have no effects."""

    def __init__(
        self,
        inputs: Iterable[FlatValue],
        operations: Sequence[Operation],
        outputs: Iterable[FlatValue],
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.operations = needed(operations, self.outputs)

    def __call__(self, *arrays: object) -> Operands:
        contents: dict[FlatValue, Any] = dict(zip(self.inputs, arrays, strict=True))

        def read(value: FlatValue) -> Any:
            return contents[value] if value.constant is None else value.constant

        for operation in self.operations:
            with jax.named_scope("/".join(filter(None, map(str, operation.scopes)))):
                results = operation.compute(operation.params, *map(read, operation.inputs))
            contents.update(zip(operation.outputs, results, strict=True))
        return tuple(map(read, self.outputs))

    @property
    def used_inputs(self) -> set[FlatValue]:
        return {*self.outputs, *(x for each in self.operations for x in each.inputs)}


def flat_program(jaxpr: Jaxpr, platform: str | None = None) -> FlatProgram:
    """Flattens a jaxpr for a platform (``cpu``) or any; an open jaxpr's constants come first."""
    operations = _Operations(platform)
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    inputs = operations.values(inner.invars)
    constants = None if isinstance(jaxpr, ClosedJaxpr) else operations.values(inner.constvars)
    outputs = operations.flatten(jaxpr, inputs, constants)
    return FlatProgram((*(constants or ()), *inputs), operations.all, outputs)


class _Operations(Flattener[FlatValue]):
    def __init__(self, platform: str | None) -> None:
        super().__init__(platform)
        self.all: list[Operation] = []

    def values(self, variables: Sequence[Any]) -> list[FlatValue]:
        return [FlatValue(v.aval.shape, v.aval.dtype) for v in variables]

    def constant(self, aval: Any, contents: Raw) -> FlatValue:
        if not isinstance(contents, jax.Array | np.ndarray):
            contents = np.asarray(contents, aval.dtype)
        return FlatValue(aval.shape, aval.dtype, contents)

    def contents(self, value: FlatValue) -> Any:
        return value.constant

    def equation(self, equation: Equation, inputs: tuple[FlatValue, ...]) -> Sequence[FlatValue]:
        primitive, params = equation.primitive, equation.params
        outputs = tuple(self.values(equation.outvars))
        scopes = (*self.scopes, equation.source_info.name_stack)
        self.all.append(
            Operation(
                primitive, params, partial(_bind, primitive), inputs, outputs,
                scopes=scopes, has_effects=bool(equation.effects),
            )
        )  # fmt: skip
        return outputs


def _bind(primitive: Any, params: Mapping[str, Any], *arrays: Raw) -> Sequence[Any]:
    results = primitive.bind(*arrays, **params)
    return results if primitive.multiple_results else (results,)
