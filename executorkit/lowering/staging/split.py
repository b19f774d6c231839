"""Split of a program in two stages: the first depends only on arrays that stay from call to call.

Its results that the second one reads are the *prepared* arrays. Free operations, or ones computed
where they are read (a reshape, a broadcast), do not move, so that prepared arrays stay small.
"""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from ...jax_internals import ClosedJaxpr
from ...jaxprs import FlatProgram, FlatValue, Operation, Trait, primitives_with

_FREE = primitives_with(Trait.FREE)
_PARTS = primitives_with(Trait.PART)
_WIDENING = primitives_with(Trait.WIDENS)
#: Maximum size in bytes of a part that is read where it is needed.
_MAX_PART = 16_384


@dataclass(frozen=True)
class Stages:
    """A program in two stages: ``prepare`` computes the prepared arrays from the inputs at
    ``sources``, ``run`` the outputs from the inputs at ``fed``, the staying inputs at ``held``,
    read unchanged, and the prepared arrays."""

    prepare: FlatProgram
    run: FlatProgram
    sources: tuple[int, ...]
    fed: tuple[int, ...]
    held: tuple[int, ...]

    @cached_property
    def preparation(self) -> str | None:
        """Returns a text, equal for equal prepared arrays and sources; None if arrays are held."""
        structure = _structure(self.prepare)
        if structure is None:
            return None
        return hashlib.blake2b(repr(structure).encode(), digest_size=24).hexdigest()


def static_values(program: FlatProgram, staying: Sequence[bool]) -> set[FlatValue]:
    static = {v for v, stays in zip(program.inputs, staying, strict=True) if stays}
    for operation in program.operations:
        if not operation.has_effects and all(
            v in static or v.constant is not None for v in operation.inputs
        ):
            static.update(operation.outputs)
    return static


def split(program: FlatProgram, staying: Sequence[bool]) -> Stages:
    static = static_values(program, staying)
    first, second = [], []
    for op in program.operations:
        (first if op.outputs and static.issuperset(op.outputs) else second).append(op)
    read = {v for op in second for v in op.inputs} | set(program.outputs)
    crossing, repeated = _crossing(read & static, first)
    prepared = [v for op in first for v in op.outputs if v in crossing]
    second = [op for op in first if op in repeated] + second

    def positions(stay: bool, used: set[FlatValue]) -> tuple[int, ...]:
        pairs = enumerate(zip(program.inputs, staying, strict=True))
        return tuple(i for i, (v, stays) in pairs if stays == stay and (v in used or not stays))

    inputs = program.inputs
    sources = positions(True, FlatProgram(inputs, first, prepared).used_inputs)
    needed = FlatProgram((*inputs, *prepared), second, program.outputs).used_inputs
    fed, held = positions(False, needed), positions(True, needed)
    prepare = FlatProgram([inputs[i] for i in sources], first, prepared)
    run_inputs = [*(inputs[i] for i in (*fed, *held)), *prepared]
    return Stages(prepare, FlatProgram(run_inputs, second, program.outputs), sources, fed, held)


def _crossing(
    read: set[FlatValue], first: Sequence[Operation]
) -> tuple[set[FlatValue], set[Operation]]:
    producer = {v: op for op in first for v in op.outputs}
    crossing: set[FlatValue] = set()
    repeated: set[Operation] = set()
    pending = [v for v in read if v in producer]
    while pending:
        value = pending.pop()
        operation = producer[value]
        if not _is_free(operation):
            crossing.add(value)
        elif operation not in repeated:
            repeated.add(operation)
            pending += [v for v in operation.inputs if v in producer]
    return crossing, repeated


def _is_free(operation: Operation) -> bool:
    # True if an operation is better repeated in the second stage than prepared.
    if operation.name in _FREE or _keeps_order(operation):
        return True
    result = sum(v.n_bytes for v in operation.outputs)
    if operation.name in _PARTS:
        return result <= _MAX_PART
    if operation.name in _WIDENING:
        return result > sum(v.n_bytes for v in operation.inputs)
    return False


def _keeps_order(operation: Operation) -> bool:
    # A transposition that moves axes of one element only.
    if operation.name != "transpose":
        return False
    shape = operation.inputs[0].shape
    moved = [i for i in operation.params["permutation"] if shape[i] != 1]
    return moved == sorted(moved)


def _structure(program: FlatProgram) -> Hashable:
    numbers = {value: i for i, value in enumerate(program.inputs)}
    steps = []
    constants = (v.dtype for v in program.used_inputs if v.constant is not None)
    if any(jnp.issubdtype(dtype, jax.dtypes.extended) for dtype in constants):
        return None
    for operation in program.operations:
        if any(map(_holds_arrays, operation.params.values())):
            return None
        inputs = tuple(_name_of(v, numbers) for v in operation.inputs)
        for value in operation.outputs:
            numbers[value] = len(numbers)
        steps.append((operation.name, repr(sorted(operation.params.items())), inputs))
    shapes = tuple((v.shape, str(v.dtype)) for v in program.inputs)
    return shapes, tuple(steps), tuple(_name_of(v, numbers) for v in program.outputs)


def _holds_arrays(param: object) -> bool:
    consts = param.consts if isinstance(param, ClosedJaxpr) else ()
    return bool(consts) or isinstance(param, np.ndarray | jax.Array)


def _name_of(value: FlatValue, numbers: Mapping[FlatValue, int]) -> Hashable:
    if value.constant is None:
        return numbers[value]
    array = np.asarray(value.constant)
    return array.dtype.str, array.shape, array.tobytes()
