"""Updates of parameters computed by parts, each by the device that has it.

The jaxpr of an update says whether it can be: elements of divided arrays may meet those at the same
place, and numbers; sums, largest and smallest elements of a whole array become those over all
devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..jaxprs import ELEMENTWISE, FlatProgram, FlatValue, Operation, flat_program
from ..program import Arrays, UpdateFunction
from ._division import Division

#: Primitives that move no element of an array with as many elements as their result.
_RESHAPES = frozenset({"broadcast_in_dim", "expand_dims", "reshape", "reshard", "squeeze"})
#: Reductions over devices of the results of their parts, and what is neutral for each.
_REDUCTIONS: Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "reduce_sum": (lax.psum, lambda dtype: 0),
    "reduce_max": (lax.pmax, lambda dtype: _extreme(dtype, -1)),
    "reduce_min": (lax.pmin, lambda dtype: _extreme(dtype, 1)),
    "reduce_and": (lax.pmin, lambda dtype: True),
    "reduce_or": (lax.pmax, lambda dtype: False),
}

#: ``function(weights, grads, leaves, hyperparams, key_data)`` returns the new weights and leaves.
#: Divided arrays are parts.
ByParts = Callable[..., tuple[list[Any], list[Any]]]


def by_parts(
    update: UpdateFunction,
    division: Division,
    weights: Arrays,
    state: tuple[Sequence[Any], Any, Sequence[Any]],
    hyperparams: Any,
    key_data: Any,
) -> ByParts | None:
    """An update by parts, or None if an element of its results depends on more than the elements at
    its place, numbers, and reductions of whole arrays.

    state
        the leaves of the update's state, parts where they are divided, their tree, and for each
        leaf the whole shape if it is divided, else None.
    """
    leaves, tree, shapes = state
    whole = [
        x if shape is None else jax.ShapeDtypeStruct(shape, x.dtype)
        for x, shape in zip(leaves, shapes, strict=True)
    ]

    def function(weights: Arrays, grads: Arrays, leaves: Arrays, *numbers: Any) -> Any:
        new, new_state = update(weights, grads, jax.tree.unflatten(tree, leaves), *numbers)
        return tuple(new), tuple(jax.tree.leaves(new_state))

    avals = jax.tree.map(_aval, (list(weights), list(weights), whole, hyperparams, key_data))
    program = flat_program(jax.make_jaxpr(function)(*avals))
    divided = [division.divides(w.shape) for w in weights]
    kept = [shape is not None for shape in shapes]
    n_numbers = len(jax.tree.leaves((hyperparams, key_data)))
    parts = _Parts(program, [*divided, *divided, *kept, *[False] * n_numbers], division)
    results = [*divided, *kept]
    if not parts.fits(results):
        return None

    def on_device(*arguments: Any) -> tuple[list[Any], list[Any]]:
        new = parts(jax.tree.leaves(arguments), results)
        return new[: len(weights)], new[len(weights) :]

    return on_device


def _aval(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


class _Parts:
    """A flat program of whole arrays, evaluated with parts of some of its inputs.

    A value is held as a part (of the elements in their order, whatever the shape), as a number that
    all its elements are equal to, or whole.
    """

    def __init__(self, program: FlatProgram, divided: Sequence[bool], division: Division) -> None:
        self._program = program
        self._division = division
        pairs = zip(program.inputs, divided, strict=True)
        self._parts = {value for value, is_part in pairs if is_part}
        self._numbers: set[FlatValue] = set()
        #: Operations with what computes them by parts; None for those of whole arrays.
        self._steps: list[tuple[Operation, Callable[..., Any] | None]] = []
        self._is_possible = all(map(self._add, program.operations))

    def fits(self, divided: Sequence[bool]) -> bool:
        """True if the program can be evaluated, with parts of these of its results."""
        pairs = zip(self._program.outputs, divided, strict=True)
        return self._is_possible and all(
            self._is_part(x) if d else x not in self._parts for x, d in pairs
        )

    def _is_part(self, value: FlatValue) -> bool:
        return value in self._parts or self._is_number(value)

    def _is_number(self, value: FlatValue) -> bool:
        return value.shape == () or value in self._numbers

    def _add(self, operation: Operation) -> bool:
        """Takes an operation over; False if it cannot be computed by parts."""
        inputs, outputs = operation.inputs, operation.outputs
        name, parts = operation.name, [x for x in inputs if x in self._parts]
        compute: Callable[..., Any] | None = None
        if parts and name in ELEMENTWISE:
            same = {x.shape for x in (*parts, *outputs)} == {parts[0].shape}
            if not same or not all(map(self._is_part, inputs)):
                return False
            compute = partial(_elementwise, operation)
            self._parts.update(outputs)
        elif parts and name in _RESHAPES and outputs[0].size == inputs[0].size:
            compute = _unchanged
            self._parts.update(outputs)
        elif parts and name in _REDUCTIONS and len(operation.params["axes"]) == len(parts[0].shape):
            compute = partial(self._reduce, operation)
        elif parts or operation.has_effects:
            return False
        elif inputs and all(map(self._is_number, inputs)) and name in (ELEMENTWISE | _RESHAPES):
            compute = _unchanged if name in _RESHAPES else partial(_elementwise, operation)
            self._numbers.update(outputs)
        self._steps.append((operation, compute))
        return True

    def __call__(self, arrays: Arrays, divided: Sequence[bool]) -> list[Any]:
        """The results for these inputs; as parts where they are divided."""
        contents: dict[FlatValue, Any] = dict(zip(self._program.inputs, arrays, strict=True))

        def read(value: FlatValue) -> Any:
            return contents[value] if value.constant is None else value.constant

        def whole(value: FlatValue) -> Any:
            return jnp.broadcast_to(read(value), value.shape)

        for operation, compute in self._steps:
            if compute is None:
                results = operation.compute(operation.params, *map(whole, operation.inputs))
            else:
                results = compute(*map(read, operation.inputs))
            contents.update(zip(operation.outputs, results, strict=True))
        size = self._division.part_size
        return [
            jnp.broadcast_to(read(x), (size(x.shape),)) if is_divided else whole(x)
            for x, is_divided in zip(self._program.outputs, divided, strict=True)
        ]

    def _reduce(self, operation: Operation, part: Any) -> Sequence[Any]:
        """The reduction of an array, of which this is a part, on all devices."""
        division, shape = self._division, operation.inputs[0].shape
        over_devices, neutral_of = _REDUCTIONS[operation.name]
        size, count = division.part_size(shape), math.prod(shape)
        if size * division.count > count:
            place = division.number * size + jnp.arange(size)
            part = jnp.where(place < count, part, neutral_of(part.dtype))
        (own,) = operation.compute({**operation.params, "axes": (0,)}, part)
        if own.dtype != jnp.bool_:
            return (over_devices(own, division.axes),)
        return (over_devices(own.astype(jnp.int32), division.axes).astype(jnp.bool_),)


def _elementwise(operation: Operation, *arrays: Any) -> Sequence[Any]:
    """The operation on parts and numbers."""
    shape = jnp.broadcast_shapes(*map(jnp.shape, arrays))
    return operation.compute(operation.params, *[jnp.broadcast_to(x, shape) for x in arrays])


def _unchanged(array: Any) -> Sequence[Any]:
    return (array,)


def _extreme(dtype: Any, sign: int) -> Any:
    """The largest number of a dtype, or the smallest."""
    if jnp.issubdtype(dtype, jnp.inexact):
        return sign * jnp.inf
    if dtype == jnp.bool_:
        return sign > 0
    info = jnp.iinfo(dtype)
    return info.max if sign > 0 else info.min
