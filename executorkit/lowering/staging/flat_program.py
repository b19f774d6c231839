"""Flat programs: a jaxpr as a list of operations on values, with all calls of functions inlined.

Rewrites change the list; :class:`FlatProgram` evaluates it while JAX traces. Loops and branches
that depend on data stay one operation each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

#: Primitives that call the jaxpr of this parameter, and do nothing else without differentiation.
_CALLS = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}
#: Primitives that return what they get.
_IDENTITIES = frozenset({"stop_gradient"})
#: Chooses a branch by the platform that a program is compiled for.
_PLATFORM_INDEX = "platform_index"


class FlatValue:
    """An array of a flat program: its shape and dtype, and its contents if they are constant."""

    __slots__ = ("constant", "dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any, constant: Any = None) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.constant = constant

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """The size in bytes; of random keys, that of their data."""
        return self.size * getattr(self.dtype, "itemsize", 8)


class Operation:
    """A function from values to values: a primitive with its parameters, or a rewrite of one.

    name, params
        of the primitive.
    function
        computes a tuple of results.
    scope
        the name of the node that it belongs to.
    has_effects
        whether it does more than compute.
    """

    __slots__ = ("function", "has_effects", "inputs", "name", "outputs", "params", "scope")

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        function: Callable[..., Sequence[Any]],
        inputs: Sequence[FlatValue],
        outputs: Sequence[FlatValue],
        scope: str = "",
        has_effects: bool = False,
    ) -> None:
        self.name = name
        self.params = params
        self.function = function
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.scope = scope
        self.has_effects = has_effects


class FlatProgram:
    """Operations in an order in which they can be computed, from ``inputs`` to ``outputs``."""

    def __init__(
        self,
        inputs: Sequence[FlatValue],
        operations: Iterable[Operation],
        outputs: Sequence[FlatValue],
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.operations = _needed(list(operations), self.outputs)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The outputs for these inputs."""
        contents: dict[FlatValue, Any] = dict(zip(self.inputs, arrays, strict=True))

        def read(value: FlatValue) -> Any:
            return contents[value] if value.constant is None else value.constant

        for operation in self.operations:
            with jax.named_scope(operation.scope):
                results = operation.function(*map(read, operation.inputs))
            contents.update(zip(operation.outputs, results, strict=True))
        return tuple(map(read, self.outputs))

    @property
    def used_inputs(self) -> set[FlatValue]:
        """The values that operations read, or that are outputs."""
        return {*self.outputs, *(x for each in self.operations for x in each.inputs)}


def _needed(operations: list[Operation], outputs: Sequence[FlatValue]) -> list[Operation]:
    """The operations that the outputs depend on, and those with effects."""
    live = set(outputs)
    kept = []
    for operation in reversed(operations):
        if operation.has_effects or not live.isdisjoint(operation.outputs):
            live.update(operation.inputs)
            kept.append(operation)
    return kept[::-1]


def flatten(closed: ClosedJaxpr, platform: str) -> FlatProgram:
    """A jaxpr as a flat program for a platform (``cpu``)."""
    inputs = [_value_of(None, v.aval) for v in closed.jaxpr.invars]
    flattener = _Flattener(platform)
    outputs = flattener.inline(closed.jaxpr, closed.consts, inputs, ())
    return FlatProgram(inputs, flattener.operations, outputs)


class _Flattener:
    def __init__(self, platform: str) -> None:
        self.operations: list[Operation] = []
        self._platform = platform

    def inline(
        self,
        jaxpr: Any,
        consts: Sequence[Any],
        inputs: Sequence[FlatValue],
        scopes: tuple[str, ...],
    ) -> list[FlatValue]:
        """Appends the operations of a jaxpr that is called with ``inputs``; its results."""
        values: dict[Any, FlatValue] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, constant in zip(jaxpr.constvars, consts, strict=True):
            values[variable] = _value_of(constant, variable.aval)

        def read(atom: Any) -> FlatValue:
            if isinstance(atom, Literal):
                aval: Any = atom.aval
                return _value_of(np.asarray(atom.val, aval.dtype), aval)
            return values[atom]

        for equation in jaxpr.eqns:
            outputs = self._equation(equation, [read(x) for x in equation.invars], scopes)
            values.update(zip(equation.outvars, outputs, strict=True))
        return [read(x) for x in jaxpr.outvars]

    def _equation(
        self, equation: Any, inputs: list[FlatValue], scopes: tuple[str, ...]
    ) -> Sequence[FlatValue]:
        name, params = equation.primitive.name, equation.params
        stack = str(equation.source_info.name_stack)
        scopes = (*scopes, stack) if stack else scopes
        if name in _IDENTITIES:
            return inputs
        if name == _PLATFORM_INDEX:
            index = _branch_for(self._platform, params["platforms"])
            return [FlatValue((), np.dtype("int32"), np.int32(index))]
        body = self._body(name, params, inputs)
        if body is not None:
            arguments = inputs[1:] if name == "cond" else inputs
            if isinstance(body, ClosedJaxpr):
                return self.inline(body.jaxpr, body.consts, arguments, scopes)
            return self.inline(body, (), arguments, scopes)
        outputs = [FlatValue(v.aval.shape, v.aval.dtype) for v in equation.outvars]
        self.operations.append(
            Operation(
                name, params, _bind(equation.primitive, params), inputs, outputs,
                "/".join(scopes), bool(equation.effects),
            )
        )  # fmt: skip
        return outputs

    def _body(self, name: str, params: Mapping[str, Any], inputs: list[FlatValue]) -> Any:
        """The jaxpr that an equation calls, None if it is computed as a whole."""
        if name in _CALLS:
            return params[_CALLS[name]]
        if name == "cond" and inputs[0].constant is not None:
            branches = params["branches"]
            return branches[min(max(int(inputs[0].constant), 0), len(branches) - 1)]
        return None


def _value_of(constant: Any, aval: Any) -> FlatValue:
    """A value; ``constant`` are its contents, None where they are not constant."""
    return FlatValue(aval.shape, aval.dtype, constant)


def _bind(primitive: Any, params: Mapping[str, Any]) -> Callable[..., Sequence[Any]]:
    def run(*arrays: Any) -> Sequence[Any]:
        results = primitive.bind(*arrays, **params)
        return results if primitive.multiple_results else (results,)

    return run


def _branch_for(platform: str, platforms: Sequence[Sequence[str] | None]) -> int:
    for index, names in enumerate(platforms):
        if names is None or platform in names:
            return index
    return len(platforms) - 1
