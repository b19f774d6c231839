"""Backward: from heads through pieces to the gradients of variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax

from ..errors import InputTypeError, MXNetError, ShapeError
from ..ndarray import NDArray
from ..ndarray.handle import Handle
from ..ndarray.pending import resolve_pending
from ..ndarray.recording import Variable, modes
from ..ndarray.rollback import complete
from ..ndarray.storage import Storage
from ..program import small_jit
from ._immediate_piece import takes_gradient
from ._piece import Piece, RecordedValue, Status
from ._recorded_piece import RecordedPiece, ones

#: A value that gradients start from, and its head gradient, None for ones.
Head = tuple[RecordedValue, Any]


@small_jit
def _sum(x: jax.Array, y: jax.Array) -> jax.Array:
    return x + y


def backward(
    heads: Sequence[Handle], head_grads: Sequence[Any], retain_graph: bool, train_mode: bool = True
) -> None:
    """Writes the gradients of variables for these heads; see the package's function."""
    values, own = checked_heads(heads, head_grads)
    pieces = {id(value.piece): value.piece for value, _ in values}
    if len(pieces) == 1 and not own:
        (piece,) = pieces.values()
        if isinstance(piece, RecordedPiece) and _deferred(piece, values, retain_graph, None):
            return
    grads, states, used = gradients(values, own)

    def store() -> None:
        for array, contents in states:
            array.assign(contents)
        for variable, (grad, new) in stored.items():
            grad.assign(new, shared=variable in own)
            variable.is_fresh = True
        if not retain_graph:
            for piece, numbers in used:
                piece.use_up(numbers)

    stored: dict[Variable, tuple[Any, Any]] = {}
    # Variables may share an array.
    contents: dict[Storage, Any] = {}
    for variable, value in grads.items():
        target: Any = variable.grad
        new = _on(value, target)
        if variable.request == "add":
            before = contents.get(target.storage)
            new = _sum(target.value if before is None else before, new)
        contents[target.storage] = new
        stored[variable] = target, new
    complete(store)


def _on(value: Any, target: Handle) -> Any:
    """A gradient on the device of the array that it goes to, in its dtype."""
    device = target.context.device
    if value.devices() != {device}:
        value = jax.device_put(value, device)
    return value if value.dtype == target.storage.dtype else value.astype(target.storage.dtype)


def _deferred(piece: RecordedPiece, values: Sequence[Head], retain: bool, requested: Any) -> bool:
    """Defers the gradients to the program of the one piece that they need, if that can be."""
    numbers = [value.number for value, _ in values]
    if len({*numbers}) != len(numbers):
        return False
    with piece.lock:
        reach = piece.reached(numbers)
        if piece.status is Status.USED_UP or not piece.used.isdisjoint(reach.values):
            raise _not_in_graph()
        variables = [piece.leaf_entries[i] for i in reach.leaves]
    for variable in variables if requested is None else ():
        if isinstance(variable, Variable) and variable.request == "add":
            # Another thread may compute it, and wait for this piece: without the lock.
            resolve_pending([variable.grad])
    with piece.lock:
        if piece.status is Status.USED_UP or not piece.used.isdisjoint(reach.values):
            raise _not_in_graph()
        return piece.backward(numbers, [head for _, head in values], retain, requested)


def checked_heads(
    heads: Sequence[Handle], head_grads: Sequence[Any]
) -> tuple[list[Head], dict[Variable, Any]]:
    """The values that heads are, with their head gradients; and the head gradients of those that
    are variables.

    MXNetError for a head that no graph computes, or whose graph has no variable with a gradient.
    """
    values: list[Head] = []
    variables: dict[Variable, Any] = {}
    requires = False
    for head, grad in zip(heads, head_grads, strict=True):
        if not isinstance(head, Handle):
            problem = f"{type(head).__name__} is no NDArray"
            raise InputTypeError("autograd.backward: heads", problem)
        entry: Any = head.graph_entry
        if entry.__class__ is Variable:
            if entry.request != "null":
                value = _head_gradient(head, grad)
                if value is None:
                    value = ones(head.shape, head.storage.dtype, head.context)
                variables[entry] = value
                requires = True
            continue
        if entry is None or not entry.piece.can_differentiate(entry.number):
            raise _not_in_graph()
        values.append((entry, _head_gradient(head, grad)))
        piece = entry.piece
        with piece.lock:
            leaves = piece.reached((entry.number,)).leaves
            requires = requires or any(takes_gradient(piece.leaf_entries[i]) for i in leaves)
    if not requires:
        raise MXNetError(
            "autograd.backward",
            "there are no inputs in computation graph that require gradients.",
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


def _head_gradient(head: Handle, grad: Any) -> Any:
    """A head gradient's contents; ShapeError for one of another shape."""
    if grad is None:
        return None
    if not isinstance(grad, Handle):
        problem = f"{type(grad).__name__} is no NDArray"
        raise InputTypeError("autograd.backward: head gradient", problem, hint="mx.nd.array(...)")
    if grad.shape != head.shape:
        problem = f"it is {grad.shape}, expected {head.shape}"
        raise ShapeError("autograd.backward: head gradient", problem)
    value = grad.value
    grad.storage.shared = True
    device = head.context.device
    value = value if value.devices() == {device} else jax.device_put(value, device)
    dtype = head.storage.dtype
    return value if value.dtype == dtype else value.astype(dtype)


def gradients(
    values: Sequence[Head], own: Mapping[Variable, Any]
) -> tuple[dict[Variable, Any], list[tuple[NDArray, Any]], list[tuple[Piece, list[int]]]]:
    """The gradients of all variables for head gradients, with those of variables that are heads
    themselves; the auxiliary states that change; the values of pieces that were passed. Stores
    nothing."""
    states: list[tuple[NDArray, Any]] = []

    def of_piece(piece: Piece, heads: dict[int, Any]) -> Sequence[tuple[int, Any]]:
        computed = piece.gradients(heads)
        states.extend(computed.states)
        return computed.leaves

    cotangents = [(v, _head_of(v) if head is None else head) for v, head in _closed(values)]
    sums, passed = _reverse(cotangents, dict(own), of_piece, _sum)
    return sums, states, passed


def recorded_gradients(
    values: Sequence[Head], own: Mapping[Variable, Any]
) -> dict[Variable, NDArray]:
    """:func:`gradients` as recorded values, which can be differentiated again."""

    def of_piece(piece: Piece, heads: dict[int, Any]) -> Sequence[tuple[int, Any]]:
        return piece.recorded_gradients(heads)

    def add(x: NDArray, y: NDArray) -> NDArray:
        return x + y

    cotangents = []
    for value, head in _closed(values):
        context = value.piece.context
        head = NDArray.from_jax(_head_of(value) if head is None else head, context)
        cotangents.append((value, head))
    sums = {v: NDArray.from_jax(head, v.grad.context) for v, head in own.items()}
    before = modes.recording, modes.training
    try:
        modes.set(True, before[1])
        return _reverse(cotangents, sums, of_piece, add)[0]
    finally:
        modes.set(*before)


def _closed(values: Sequence[Head]) -> Sequence[Head]:
    """Closes the pieces of values: nothing is added to them any more."""
    for value, _ in values:
        if isinstance(value.piece, RecordedPiece):
            with value.piece.lock:
                value.piece.close(
                    "backward", [v.number for v, _ in values if v.piece is value.piece]
                )
    return values


def _head_of(value: RecordedValue) -> Any:
    """The head gradient where none is given: ones."""
    return ones(value.storage.shape, value.storage.dtype, value.piece.context)


def _reverse(
    values: Sequence[tuple[RecordedValue, Any]],
    sums: dict[Variable, Any],
    of_piece: Callable[[Piece, dict[int, Any]], Sequence[tuple[int, Any]]],
    add_up: Callable[[Any, Any], Any],
) -> tuple[dict[Variable, Any], list[tuple[Piece, list[int]]]]:
    """The sums of gradients by variable, with those in ``sums``, and the values of pieces that were
    passed, from later pieces to earlier ones."""
    waiting: dict[Piece, dict[int, Any]] = {}
    passed: list[tuple[Piece, list[int]]] = []

    def add(to: dict[Any, Any], key: Any, value: Any) -> None:
        to[key] = add_up(to[key], value) if key in to else value

    for value, head in values:
        add(waiting.setdefault(value.piece, {}), value.number, head)
    while waiting:
        piece = max(waiting, key=lambda p: p.number)
        heads = waiting.pop(piece)
        with piece.lock:
            reach = piece.reached(sorted(heads))
            if piece.status is Status.USED_UP or not piece.used.isdisjoint(reach.values):
                raise _not_in_graph()
            entries = piece.leaf_entries
            computed = of_piece(piece, heads)
        passed.append((piece, sorted(heads)))
        for i, grad in computed:
            entry = entries[i]
            if isinstance(entry, Variable):
                if entry.request != "null":
                    add(sums, entry, grad)
            elif entry is not None:
                add(waiting.setdefault(entry.piece, {}), entry.number, grad)
    return sums, passed


def grad(
    heads: Sequence[Handle],
    variables: Sequence[Handle],
    head_grads: Sequence[Any],
    retain_graph: bool,
    create_graph: bool,
) -> list[Any]:
    """See the package's function."""
    requested = [_wanted(i, x) for i, x in enumerate(variables, 1)]
    values, own = checked_heads(heads, head_grads)
    if create_graph:
        sums = recorded_gradients(values, own)
        _check_reached(requested, sums)
        return [sums[variable] for variable in requested]
    pieces = {id(value.piece): value.piece for value, _ in values}
    targets = {v: _empty_like(x) for v, x in zip(requested, variables, strict=True)}
    if len(pieces) == 1 and not retain_graph and not own:
        (piece,) = pieces.values()
        if isinstance(piece, RecordedPiece):
            numbers = tuple([v.number for v, _ in values])
            with piece.lock:
                entries = [piece.leaf_entries[i] for i in piece.reached(numbers).leaves]
            if all(isinstance(e, Variable) for e in entries):
                _check_reached(requested, entries)
                if _deferred(piece, values, retain_graph, targets):
                    return [targets[variable] for variable in requested]
    sums, states, used = gradients(values, own)
    _check_reached(requested, sums)

    def store() -> None:
        for array, contents in states:
            array.assign(contents)
        for variable, target in targets.items():
            target.assign(_on(sums[variable], target), shared=True)
        if not retain_graph:
            for piece, numbers in used:
                piece.use_up(numbers)

    complete(store)
    return [targets[variable] for variable in requested]


def _empty_like(array: Handle) -> Any:
    storage = Storage(array.shape, array.storage.dtype)
    return array.from_storage(storage, 0, array.shape, array.context)


def _wanted(position: int, array: Handle) -> Variable:
    entry: Any = array.graph_entry
    if entry.__class__ is not Variable or entry.request == "null":
        raise MXNetError(
            "autograd.grad",
            f"Cannot differentiate with respect to the {position}-th variable because it does not "
            "require gradient.",
            hint="attach_grad() before autograd.record()",
        )
    return entry


def _check_reached(requested: Sequence[Variable], reach: Collection[Any]) -> None:
    for position, variable in enumerate(requested, 1):
        if variable not in reach:
            raise MXNetError(
                "autograd.grad",
                f"Cannot differentiate with respect to the {position}-th variable because it is "
                "unreachable from the outputs.",
            )
