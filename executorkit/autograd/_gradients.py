"""Backward: from heads through segments to the gradients of variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from .._support.annotations import Arrays, NumberedArrays, Raw, Tree
from ..arrays.handle import Handle
from ..arrays.pending import resolve_pending
from ..arrays.storage import Storage
from ..arrays.values import filled
from ..calls.recording import Variable, modes
from ..calls.rollback import all_or_none, complete
from ..context import Context
from ..errors import InputTypeError, MXNetError, ShapeError
from ..ndarray import NDArray
from ._call_by_call import sum_of
from ._immediate_segment import takes_gradient
from ._recorded_segment import RecordedSegment
from ._tape_segment import Reached, RecordedValue, Status, TapeSegment

#: A value that gradients start from, and its head gradient.
Head = tuple[RecordedValue, Raw]


class Passed(NamedTuple):
    """Effects of a backward besides the gradients of variables.

    ``states`` are auxiliary states with their new contents. ``ends`` release the segments that
    gradients have gone through. ``deferred`` defers the gradients of the earliest segment, if
    possible.
    """

    states: list[tuple[NDArray, Raw]]
    ends: list[Callable[[], None]]
    deferred: Callable[[], None] | None = None

    def store(self, gradients: Iterable[tuple[Any, Any, bool]], retain_graph: bool) -> None:
        """Writes gradients (array, contents, whether shared) and states; may release the graph."""
        for array, contents in self.states:
            array.assign(contents)
        for target, value, shared in gradients:
            target.assign(value, shared=shared)
        if self.deferred is not None:
            self.deferred()
        for end in () if retain_graph else self.ends:
            end()


def backward(
    heads: Sequence[Handle], head_grads: Arrays, retain_graph: bool, train_mode: bool
) -> None:
    values, own = checked_heads(heads, head_grads)
    together = own or retain_graph or not train_mode or len(values) == 1
    parts = [values] if together else _independent(values)
    if len(parts) == 1:
        _backward(values, own, retain_graph, train_mode)
    else:
        all_or_none([(partial(_backward, x, {}, False, True), partial(_live, x)) for x in parts])


def _independent(values: Sequence[Head]) -> list[Sequence[Head]]:
    """Groups heads so that one segment computes each group from its own variables, if possible."""
    parts: dict[TapeSegment, list[Head]] = {}
    for value, head in values:
        parts.setdefault(value.segment, []).append((value, head))
    if len(parts) > 1:
        seen: set[Storage] = set()
        for segment, heads in parts.items():
            if not isinstance(segment, RecordedSegment):
                return [values]
            with segment.lock:
                leaves = _reached(segment, sorted({v.number for v, _ in heads})).leaves
                entries = [segment.leaf_entries[i] for i in leaves]
            grads = {e.grad.storage for e in entries if isinstance(e, Variable)}
            if len(grads) < len(entries) or not seen.isdisjoint(grads):
                return [values]
            seen |= grads
    return list(parts.values())


def _live(values: Sequence[Head]) -> list[bool]:
    return [value.is_live for value, _ in values]


def _backward(
    values: Sequence[Head], own: Mapping[Variable, Raw], retain_graph: bool, train_mode: bool
) -> None:
    if train_mode and not own and _deferred(values, retain_graph, None):
        return
    grads, passed = gradients(values, own, train_mode, retain_graph, defers=True)
    stored: list[tuple[Any, Any, bool]] = []
    # Variables may share an array.
    contents: dict[Storage, Raw] = {}
    for variable, value in grads.items():
        target = variable.grad
        new = _fitted(value, target)
        if variable.request == "add":
            before = contents.get(target.storage)
            new = sum_of(target.value if before is None else before, new)
        contents[target.storage] = new
        stored.append((target, new, variable in own))

    def store() -> None:
        passed.store(stored, retain_graph)
        for variable in grads:
            variable.is_fresh = True

    complete(store)


def _fitted(value: jax.Array, array: Handle) -> jax.Array:
    device = array.context.device
    if value.devices() != {device}:
        value = jax.device_put(value, device)
    return value if value.dtype == array.storage.dtype else value.astype(array.storage.dtype)


def _deferred(
    values: Sequence[Head], retain: bool, requested: Mapping[Variable, Raw] | None
) -> bool:
    """Defers the gradients to the one segment that they need; says whether that was possible."""
    segment = values[0][0].segment
    heads: dict[int, Raw] = {}
    for value, head in values:
        if value.segment is not segment or value.number in heads:
            return False
        heads[value.number] = head
    if not isinstance(segment, RecordedSegment):
        return False
    waits = requested is None
    while True:
        with segment.lock:
            reach = _reached(segment, tuple(heads))
            entries = [segment.leaf_entries[i] for i in reach.leaves]
            waiting = _waiting(entries) if waits else []
            if requested is not None:
                if not all(isinstance(e, Variable) for e in entries):
                    return False
                _check_reached(requested, entries)
            if not waiting:
                defer = segment.backward(heads, reach, retain, requested)
                if defer is not None:
                    complete(defer)
                return defer is not None
        # Another thread may compute them, and wait for this segment: without the lock.
        resolve_pending(waiting)
        waits = False  # what has failed would wait for ever


def _deferral(
    segment: TapeSegment, heads: NumberedArrays, sums: dict[Variable, Raw], retain: bool
) -> Callable[[], None] | None:
    """Returns a function that defers the gradients of the earliest segment, added to ``sums``,
    which loses them; None, with nothing changed, if that is impossible."""
    if not isinstance(segment, RecordedSegment):
        return None
    with segment.lock:
        entries = [segment.leaf_entries[i] for i in _reached(segment, sorted(heads)).leaves]
    variables = [e for e in entries if isinstance(e, Variable)]
    arrays = {v.grad.storage for v in variables}
    if any(v.grad.storage in arrays for v in sums if v not in variables):
        return None
    taken = {v: sums[v] for v in variables if v in sums}
    if any(v.request == "add" or _fitted(x, v.grad) is not x for v, x in taken.items()):
        return None
    # Without the lock, as in _deferred.
    resolve_pending(_waiting(variables))
    with segment.lock:
        reach = _reached(segment, sorted(heads))
        defer = segment.backward(heads, reach, retain, sums=taken)
    if defer is None:
        return None
    for variable in taken:
        del sums[variable]

    def locked() -> None:
        with segment.lock:
            defer()

    return locked


def _waiting(entries: Iterable[Any]) -> list[Raw]:
    added = [e.grad for e in entries if e.__class__ is Variable and e.request == "add"]
    return [x for x in added if x.current is None and x.pending is not None] if added else added


def _reached(segment: TapeSegment, numbers: Sequence[int]) -> Reached:
    reach = segment.reached(numbers)
    if segment.status is Status.USED_UP or not segment.used.isdisjoint(reach.values):
        raise _not_in_graph()
    return reach


def checked_heads(
    heads: Sequence[Handle], head_grads: Arrays
) -> tuple[list[Head], dict[Variable, Raw]]:
    """Returns computed heads with their head gradients, and the head gradients of variables.

    MXNetError for a head that no graph computes, or whose graph has no variable with a gradient.
    """
    values: list[Head] = []
    variables: dict[Variable, Raw] = {}
    requires = False
    for head, grad in zip(heads, head_grads, strict=True):
        if not isinstance(head, Handle):
            problem = f"{type(head).__name__} is not an NDArray"
            raise InputTypeError("autograd.backward: heads", problem)
        entry = head.graph_entry
        if entry.__class__ is Variable:
            if entry.request != "null":
                variables[entry] = _head_gradient(head, grad)
                requires = True
            continue
        if entry is None or not entry.is_live:
            raise _not_in_graph()
        values.append((entry, _head_gradient(head, grad)))
        segment = entry.segment
        with segment.lock:
            leaves = segment.reached((entry.number,)).leaves
            entries = map(segment.leaf_entries.__getitem__, leaves)
            requires = requires or any(map(takes_gradient, entries))
    if not requires:
        raise MXNetError(
            "autograd.backward",
            "no inputs in computation graph require gradients.",
            hint="x.attach_grad() before autograd.record()",
        )
    return values, variables


def _not_in_graph() -> MXNetError:
    return MXNetError(
        "autograd.backward",
        "Cannot differentiate node because it is not in a computational graph. You need to set "
        "is_recording to true or use autograd.record() to save computational graphs for backward. "
        "If you want to differentiate the same graph twice, you need to pass retain_graph=True to "
        "backward.",
    )


def _head_gradient(head: Handle, grad: Raw) -> Tree:
    if grad is None:
        return _ones(head.shape, head.storage.dtype, head.context)
    if not isinstance(grad, Handle):
        problem = f"{type(grad).__name__} is not an NDArray"
        raise InputTypeError("autograd.backward: head gradient", problem, hint="mx.nd.array(...)")
    if grad.size != head.size:
        problem = f"it is {grad.shape}, expected {head.shape}, or as many elements"
        raise ShapeError("autograd.backward: head gradient", problem)
    value = grad.value
    grad.storage.shared = True
    return _fitted(value if grad.shape == head.shape else value.reshape(head.shape), head)


_known_ones: dict[Hashable, Any] = {}
_MAX_ONES = 64


def _ones(shape: tuple[int, ...], dtype: np.dtype, context: Context) -> Any:
    key = shape, dtype, context.device
    known = _known_ones.get(key)
    if known is None:
        known = filled(1, shape, dtype, context.device)
        if known.size <= 4096:
            if len(_known_ones) >= _MAX_ONES:
                _known_ones.clear()
            _known_ones[key] = known
    return known


def gradients(
    values: Sequence[Head],
    own: Mapping[Variable, Raw],
    train_mode: bool,
    retain_graph: bool,
    defers: bool = False,
) -> tuple[dict[Variable, Raw], Passed]:
    """Returns the gradients of all variables and the other effects of the backward; stores nothing.

    ``own`` are head gradients of variables. ``defers`` leaves the gradients of the earliest segment
    to its program where possible.
    """
    states: list[tuple[NDArray, Raw]] = []
    ends: list[Callable[[], None]] = []
    deferred: Callable[[], None] | None = None
    uses_up = train_mode and not retain_graph

    def of_segment(segment: TapeSegment, heads: dict[int, Raw]) -> Sequence[tuple[int, Raw]]:
        at_once = uses_up and isinstance(segment, RecordedSegment) and segment.last_gradients(heads)
        if at_once:
            computed, end = at_once
        else:
            computed = segment.gradients(heads, train_mode)
            end = partial(segment.use_up, sorted(heads))
        states.extend(computed.states)
        ends.append(end)
        return computed.leaves

    def is_left(segment: TapeSegment, heads: dict[int, Raw], sums: dict[Variable, Raw]) -> bool:
        nonlocal deferred
        if defers and train_mode and not own:
            deferred = _deferral(segment, heads, sums, retain_graph)
        return deferred is not None

    if not uses_up:
        _close(values)
    sums = _reverse(values, dict(own), of_segment, sum_of, is_left)
    return sums, Passed(states, ends, deferred)


def recorded_gradients(
    values: Sequence[Head], own: Mapping[Variable, Raw], train_mode: bool
) -> dict[Variable, NDArray]:
    """Returns :func:`gradients` as recorded values, which can be differentiated again."""

    def of_segment(segment: TapeSegment, heads: dict[int, Raw]) -> Sequence[tuple[int, Raw]]:
        return segment.recorded_gradients(heads, train_mode)

    def add(x: NDArray, y: NDArray) -> NDArray:
        return x + y

    _close(values)
    heads = [(v, NDArray.from_jax(head, v.segment.context)) for v, head in values]
    sums = {v: NDArray.from_jax(head, v.grad.context) for v, head in own.items()}
    return modes.run(True, modes.training, lambda: _reverse(heads, sums, of_segment, add))


def _close(values: Sequence[Head]) -> None:
    for value, _ in values:
        if isinstance(value.segment, RecordedSegment):
            numbers = [v.number for v, _ in values if v.segment is value.segment]
            with value.segment.lock:
                value.segment.close("backward", numbers)


def _reverse(
    values: Sequence[tuple[RecordedValue, Raw]],
    sums: dict[Variable, Raw],
    of_segment: Callable[[TapeSegment, dict[int, Raw]], Sequence[tuple[int, Raw]]],
    add_up: Callable[[Raw, Raw], Raw],
    is_left: Callable[[TapeSegment, dict[int, Raw], dict[Variable, Raw]], bool] = lambda *_: False,
) -> dict[Variable, Raw]:
    waiting: dict[TapeSegment, dict[int, Raw]] = {}

    def add(to: dict[Any, Raw], key: Hashable, value: Raw) -> None:
        to[key] = add_up(to[key], value) if key in to else value

    for value, head in values:
        add(waiting.setdefault(value.segment, {}), value.number, head)
    while waiting:
        segment = max(waiting, key=lambda s: s.number)
        heads = waiting.pop(segment)
        if not waiting and is_left(segment, heads, sums):
            break
        with segment.lock:
            _reached(segment, sorted(heads))
            entries = segment.leaf_entries
            computed = of_segment(segment, heads)
        for i, grad in computed:
            entry = entries[i]
            if isinstance(entry, Variable):
                if entry.request != "null":
                    add(sums, entry, grad)
            elif entry is not None:
                add(waiting.setdefault(entry.segment, {}), entry.number, grad)
    return sums


def grad(
    heads: Sequence[Handle],
    variables: Sequence[Handle],
    head_grads: Arrays,
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
) -> list[Raw]:
    requested = [_variable(i, x) for i, x in enumerate(variables, 1)]
    values, own = checked_heads(heads, head_grads)
    if create_graph:
        sums = recorded_gradients(values, own, train_mode)
        _check_reached(requested, sums)
        return [sums[variable] for variable in requested]
    targets = {v: _empty_like(x) for v, x in zip(requested, variables, strict=True)}
    deferrable = train_mode and not retain_graph and not own
    if not (deferrable and _deferred(values, retain_graph, targets)):
        sums, passed = gradients(values, own, train_mode, retain_graph)
        _check_reached(requested, sums)
        stored = [(target, _fitted(sums[v], target), True) for v, target in targets.items()]
        complete(lambda: passed.store(stored, retain_graph))
    return [targets[variable] for variable in requested]


def _empty_like(array: Handle) -> Any:
    storage = Storage(array.shape, array.storage.dtype)
    return array.from_storage(storage, 0, array.shape, array.context)


def _variable(position: int, array: Handle) -> Variable:
    entry = array.graph_entry
    if entry.__class__ is not Variable or entry.request == "null":
        raise MXNetError(
            "autograd.grad",
            f"Cannot differentiate with respect to the {position}-th variable because it does not "
            "require gradient.",
            hint="attach_grad() before autograd.record()",
        )
    return entry


def _check_reached(requested: Iterable[Variable], reach: Collection[Any]) -> None:
    for position, variable in enumerate(requested, 1):
        if variable not in reach:
            raise MXNetError(
                "autograd.grad",
                f"Cannot differentiate with respect to the {position}-th variable because it is "
                "unreachable from the outputs.",
            )
