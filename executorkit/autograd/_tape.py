"""The tape: each thread's recorded calls by context, and the recorder that array calls go to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp

from .._support.annotations import Arrays, Operands, Raw
from ..arrays.handle import Handle
from ..arrays.random_state import next_key
from ..arrays.storage import Storage
from ..arrays.values import filled
from ..calls.recording import Variable, check_unrecorded, is_recorded, modes
from ..calls.resolved_calls import (
    NEEDS_VALUES_ERRORS,
    GraphCall,
    ResolvedCall,
    call_errors,
    call_of,
    check_inputs,
    check_targets,
)
from ..calls.rollback import NO_ROLLBACK, Rollback, complete
from ..context import Context
from ..errors import MXNetError
from ..jax_internals import in_x64
from ..ndarray import NDArray
from ._gradients import backward
from ._immediate_segment import ImmediateSegment, differentiable, record_copy, takes_gradient
from ._recorded_segment import RecordedSegment
from ._tape_segment import RecordedValue, Status
from ._trace import NumberUses, with_number_inputs

#: Maximum number of scopes in which calls are added to a segment.
_MAX_SCOPES = 4
_RECORDING = Status.RECORDING


class _Tape(threading.local):
    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: By the numbers of a context, whose own hash is a Python function.
        self.segments: dict[tuple[int, int], RecordedSegment] = {}
        self._latest: RecordedSegment | None = None

    def segment(self, context: Context) -> RecordedSegment:
        segment = self._latest
        if segment is None or segment.context is not context or segment.status is not _RECORDING:
            key = context.device_typeid, context.device_id
            segment = self.segments.get(key)
            if segment is None or segment.status is not _RECORDING:
                segment = self.segments[key] = RecordedSegment(context, self.lock)
            self._latest = segment
        return segment

    def begin(self) -> None:
        """Begins to record: with a new segment where no array waits for the old one, and where that
        was already open in several scopes, as in a loop that only looks at results."""
        self._latest = None
        for key, segment in list(self.segments.items()):
            if segment.status is not _RECORDING or not segment.has_living_values:
                del self.segments[key]
                continue
            segment.n_scopes += 1
            if segment.n_scopes > _MAX_SCOPES:
                with segment.lock:
                    segment.close("it was open in several scopes")


tape = _Tape()


def takes(arrays: Sequence[Handle], out: Any) -> bool:
    """Returns whether a call is to be recorded, since one of its arrays belongs to a graph."""
    for array in arrays:
        entry = array.graph_entry
        # Values of a segment that is being recorded are live; the property is a Python call.
        if entry is not None and (
            entry.__class__ is Variable or entry.segment.status is _RECORDING or entry.is_live
        ):
            return True
    if out is None:
        return False
    targets = [out] if isinstance(out, Handle) else out
    return any(isinstance(t, Handle) and is_recorded(t) for t in targets)


def record(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    out: Any = None,
    numbers: Arrays = (),
) -> Any:
    """Records a call and returns its outputs, whose contents are pending. MXNetError for inputs
    that do not fit, and for an ``out`` that belongs to a graph."""
    uses = None
    if numbers:
        resolved, arrays, uses = _with_numbers(resolved, cls, arrays, tuple(numbers))
    targets = [] if out is None else _targets(resolved, arrays, out)
    if not resolved.is_compiled or resolved.has_effects:
        with NO_ROLLBACK if resolved.op.key_name is None else Rollback(streams=True):
            results = _compute_at_once(resolved, cls, arrays)
        _assign(resolved, targets, results)
    else:
        try:
            if resolved.op.key_name is None:  # NO_ROLLBACK takes 0.2 us
                results = _record(resolved, cls, arrays, targets, uses)
            else:
                with Rollback(streams=True):
                    results = _record(resolved, cls, arrays, targets, uses)
        except NEEDS_VALUES_ERRORS:
            resolved.is_compiled = False
            return record(resolved, cls, arrays, out)
    if out is not None:
        return out
    return results[0] if len(results) == 1 else results


def _with_numbers(
    resolved: ResolvedCall, cls: type[Handle], arrays: Sequence[Handle], numbers: Operands
) -> tuple[ResolvedCall, Sequence[Handle], NumberUses | None]:
    """Returns a call, arrays and numbers; numbers that change between steps become inputs."""
    for number in numbers:
        if number.__class__ is not float:
            return resolved.with_numbers(numbers), arrays, None
    context = arrays[0].context
    uses = tape.segment(context).trace.skeleton.numbers_of(resolved)
    constant = uses.constant(resolved, numbers)
    if constant is not None:
        return constant, arrays, uses
    dtype = arrays[0].storage.dtype
    inputs = [
        cls.from_jax(filled(number, (), dtype, context.device), context, shared=False)
        for number in numbers
    ]
    return with_number_inputs(resolved, resolved.number_names), [*arrays, *inputs], uses


def _targets(resolved: ResolvedCall, arrays: Sequence[Handle], out: Any) -> list[Handle]:
    targets = [out] if isinstance(out, Handle) else list(out)
    for target in targets:
        check_unrecorded(target)
        if any(target is array for array in arrays):
            raise _in_place()
    return targets


def _in_place() -> MXNetError:
    return MXNetError(
        "autograd",
        "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd",
        hint="z = z + x",
    )


def _record(
    resolved: ResolvedCall,
    cls: type[Handle],
    arrays: Sequence[Handle],
    targets: list[Handle],
    uses: NumberUses | None = None,
) -> list[Raw]:
    context = arrays[0].context
    if resolved.constant_inputs:
        _overwrite_constants(resolved, arrays)
    for array in arrays:
        if array.context is not context and is_recorded(array):
            arrays = [_moved(a, context) for a in arrays]
            break
    covered = targets
    if targets and not all(t.covers_storage and t.context == context for t in targets):
        covered = []
    train = resolved.op.train_name is None or modes.training
    states = resolved.state_positions if train else ()
    while True:
        segment = tape.segment(context)
        references = segment.references(arrays, states)
        with segment.lock:
            # Otherwise another thread has read one of its values meanwhile.
            if segment.status is _RECORDING:
                outputs = segment.add(resolved, train, references, covered, uses)
                break
    if covered:
        for target, entry in zip(targets, outputs, strict=True):
            target.graph_entry = entry
        return targets
    results = [cls.from_storage(e.storage, 0, e.storage.shape, context, e) for e in outputs]
    if targets:
        _assign(resolved, targets, results)
    return results


def record_graph(
    call: GraphCall, cls: type[Handle], arrays: Sequence[Handle], check: Callable[[], object]
) -> list[Raw]:
    context, train = arrays[0].context, modes.training
    for position, number in call.constants:
        _overwrite(arrays[position], number)
    states = call.states if train else ()
    with Rollback(streams=True) if call.draws else NO_ROLLBACK:
        while True:
            segment = tape.segment(context)
            references = segment.references(arrays, states)
            with segment.lock:
                # Otherwise another thread has read one of its values meanwhile.
                if segment.status is _RECORDING:
                    outputs, places = segment.add_graph(call, train, references, check)
                    break
    results = [cls.from_storage(e.storage, 0, e.storage.shape, context, e) for e in outputs]
    return results if len(places) == len(results) else list(map(results.__getitem__, places))


def _assign(resolved: ResolvedCall, targets: Sequence[Handle], results: Sequence[Handle]) -> None:
    """Writes results into arrays, which belong to the graph then; a part of one as a view."""
    if not targets:
        return
    kinds = [(x.shape, x.storage.dtype) for x in results]
    check_targets(f"operator {resolved.op.name}", targets, kinds)
    for target, result in zip(targets, results, strict=True):
        if target.covers_storage:
            TapeRecorder.record_write(target, result, covers=True)
            continue
        entry = _moved(result, target.context).graph_entry
        target.assign(entry.storage.value, shared=True)
        version = target.storage.version
        target.graph_entry = RecordedValue(entry.segment, entry.number, entry.storage, version)


def _moved(array: Handle, context: Context) -> Handle:
    return array if array.context == context else record_copy(type(array), array, context)


def _overwrite_constants(resolved: ResolvedCall, arrays: Sequence[Handle]) -> None:
    names = resolved.op.inputs(resolved.params)
    for name, number in resolved.constant_inputs.items():
        _overwrite(arrays[names.index(name)], number)


def _overwrite(array: Handle, number: float) -> None:
    entry = array.graph_entry
    known = _constants.get(array.storage)
    if known is None or known.shape != array.shape:
        known = filled(number, array.shape, array.storage.dtype, array.context.device)
        _constants[array.storage] = known
    if array.storage.current is not known and entry.__class__ is not RecordedValue:
        array.assign(known, shared=True)


#: The constants that inputs were overwritten with: a step makes no new ones.
_constants: WeakKeyDictionary[Storage, Any] = WeakKeyDictionary()


def _compute_at_once(
    resolved: ResolvedCall, cls: type[Handle], arrays: Sequence[Handle]
) -> list[Raw]:
    op, p = resolved.op, resolved.params
    context = arrays[0].context
    values = [jax.device_put(a.value, context.device) for a in arrays]
    check_inputs(op, p, values)
    key = next_key(context) if op.key_name is not None else None
    floating = [
        i
        for i, (x, a) in enumerate(zip(values, arrays, strict=True))
        if jnp.issubdtype(x.dtype, jnp.inexact) and takes_gradient(differentiable(a))
    ]
    train = modes.training
    kinds: list[Raw] = []

    def function(*differentiated: Raw) -> Operands:
        inputs = list(values)
        for i, x in zip(floating, differentiated, strict=True):
            inputs[i] = x
        results = op.apply(p, inputs, key=key, train=train)
        kinds[:] = [jnp.issubdtype(r.dtype, jnp.inexact) for r in results]
        exact = tuple(r for r, inexact in zip(results, kinds, strict=True) if not inexact)
        return tuple(r for r, inexact in zip(results, kinds, strict=True) if inexact), exact

    differentiated = [values[i] for i in floating]
    with call_errors(op, p, arrays):
        inexact, vjp, exact = in_x64(jax.vjp)(function, *differentiated, has_aux=True)
    parts = iter(inexact), iter(exact)
    results = [next(parts[0] if is_inexact else parts[1]) for is_inexact in kinds]
    inputs = dict(zip(op.inputs(p), arrays, strict=False))
    states = results[len(results) - len(resolved.aux) :]
    pairs = list(zip(resolved.aux, states, strict=True))
    if pairs:
        complete(lambda: [inputs[name].assign(value) for name, value in pairs])
    visible = results[: resolved.n_visible]
    outputs = [cls.from_jax(value, context, shared=True) for value in visible]

    def gradients(heads: Arrays) -> Arrays:
        heads = [*heads, *[None] * (len(results) - len(heads))]
        cotangents = tuple(
            jnp.zeros(r.shape, r.dtype) if head is None else head.astype(r.dtype)
            for r, head, is_inexact in zip(results, heads, kinds, strict=True)
            if is_inexact
        )
        with call_errors(op, p, values):
            grads = dict(zip(floating, vjp(cotangents), strict=True))
        return [grads.get(i) for i in range(len(values))]

    ImmediateSegment(arrays, outputs, in_x64(gradients))
    return outputs


class TapeRecorder:
    takes = staticmethod(takes)
    record = staticmethod(record)
    record_copy = staticmethod(record_copy)
    record_graph = staticmethod(record_graph)
    backward = staticmethod(backward)

    @staticmethod
    def watch(arrays: Sequence[Handle], compute: Callable[[], Any]) -> tuple[Any, GraphCall | None]:
        segment = tape.segment(arrays[0].context)
        before, output = segment.trace, compute()
        entry: Any = getattr(output, "graph_entry", None)
        if entry.__class__ is not RecordedValue or entry.segment is not segment:
            return output, None
        return output, segment.graph_since(before, arrays, entry.number)

    @staticmethod
    def record_view(view: Handle, array: Handle, calls: Sequence[ResolvedCall]) -> None:
        result = array
        for resolved in calls:
            (result,) = _record(resolved, NDArray, [result], [])
        entry = result.graph_entry
        base = None if array.storage.producer is entry.segment else array.storage.version
        view.graph_entry = RecordedValue(entry.segment, entry.number, entry.storage, base)

    @staticmethod
    def record_write(array: Handle, value: Handle, covers: bool) -> None:
        """Records the assignment of a value to a whole array; MXNetError for a part."""
        if not covers:
            raise _in_place()
        if value.ndim < array.ndim:
            shape = (*[1] * (array.ndim - value.ndim), *value.shape)
            value = record(call_of("Reshape", {"shape": shape}), NDArray, [value])
        value = _moved(value, array.context)
        if value.shape != array.shape:
            value = record(call_of("broadcast_to", {"shape": array.shape}), NDArray, [value])
        if value.storage.dtype != array.storage.dtype:
            value = record(call_of("Cast", {"dtype": array.dtype_name}), NDArray, [value])
        record(call_of("_copy", {}), NDArray, [value], array)
