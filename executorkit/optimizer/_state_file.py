"""An optimizer's states as a file: bytes that MXNet reads, and the facts that a resumed run needs.

MXNet stores a pickle of the states alone, and ignores bytes after it. There we put the counts of
updates, on which the steps of many optimizers depend, and the state of ``mx.random``::

    pickle | JSON text | length of that text (8 bytes, little-endian) | b"EXECKIT1"
"""

import json
import operator
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from .. import random
from .._files import PICKLE, AnyPath, path_text, read_kind, remove_leftovers
from .._support.annotations import Attrs, Tree
from ..context import Context
from ..errors import FileFormatError, MXNetError
from ._state_pickle import load_states

_MAGIC = b"EXECKIT1"
_TRAILER = struct.Struct("<Q8s")


def dump_updater(updater: Any) -> bytes:
    """Returns an updater's states, its optimizer's counts, and the state of ``mx.random``."""
    optimizer = updater.optimizer
    facts = {
        "counts": [[d, [*n.items()]] for d, n in optimizer._all_index_update_counts.items()],
        "num_update": optimizer.num_update,
        "memory": optimizer.shared_state,
        "random": random.get_state(),
    }
    text = json.dumps(facts).encode()
    return updater.get_states() + text + _TRAILER.pack(len(text), _MAGIC)


def read_state_file(path: AnyPath) -> bytes:
    """Returns the bytes of a file of states. Raises OSError, or FileFormatError for others."""
    path = path_text(path)
    with open(path, "rb") as file:
        remove_leftovers(path)
        return read_kind(file, path, PICKLE)


def prepare_restoration(
    updater: Any,
    content: bytes,
    indices: Mapping[str, Any],
    devices: Sequence[int],
    where: str = "optimizer states",
) -> Callable[[], None]:
    """Checks the bytes of a file of states; returns a function that gives them to an updater.

    ``indices`` are the optimizer's for each parameter; ``devices`` the number of the device that
    updates, or of all devices, each with its own states at ``index * len(devices) + k``. Files of a
    module with a store have names where others have numbers, and files of several devices without a
    store have states for each; any file is read by any module. States of devices beyond the file's
    are copies of the last one's. (In MXNet such a module has errors, or new states.)
    """
    pickled, text = _split(content)
    facts = None if text is None else _parsed(text, where)
    loaded = load_states(pickled, where, whole=True)
    states, optimizer = loaded if isinstance(loaded, tuple) else (loaded, None)
    if not any(all(isinstance(index, kind) for index in states) for kind in (int, str)):
        raise FileFormatError(where, "the indices of the states are neither numbers nor names")
    new_indices = _new_indices(states, indices, len(devices))
    if len(devices) > 1 or any(len(targets) == 0 for targets in new_indices.values()):
        new_states: dict[Hashable, Any] = {}
    else:
        new_states = {i: state for i, state in states.items() if i not in new_indices}
    for file_index, targets in new_indices.items():
        for n, index in enumerate(targets if file_index in states else ()):
            new_states[index] = _copy(states[file_index]) if n else states[file_index]
    counts = None if facts is None else _counts_by_new_index(facts, new_indices, devices)

    def restore() -> None:
        if facts is not None:
            random.set_state(facts["random"])
        if optimizer is not None:
            updater.optimizer = optimizer
            updater.aggregate_updates = optimizer.aggregate_num > 0
        updater.states = new_states
        updater.states_synced = dict.fromkeys(new_states, False)
        if facts is not None:
            updater.optimizer._restore_counts(counts, devices[0])
            updater.optimizer.num_update = facts["num_update"]
            updater.optimizer.shared_state = facts["memory"]

    return restore


def _counts_by_new_index(
    facts: Mapping[str, Any], new_indices: Mapping[Any, list[Any]], devices: Sequence[int]
) -> dict[int, dict[Hashable, int]]:
    counts: dict[int, dict[Hashable, int]] = {device: {} for device in devices}
    for file_index, n in facts["counts"].items():
        for index in new_indices.get(file_index, [file_index] if len(devices) == 1 else []):
            device = devices[index % len(devices)] if len(devices) > 1 else devices[0]
            counts[device][index] = n
    return counts


def _new_indices(
    states: Mapping[Any, Any], indices: Mapping[str, Any], count: int
) -> dict[Hashable, list[Any]]:
    names = list(indices)
    if all(isinstance(i, str) for i in states):
        file_indices = {name: [name] for name in names}
    else:
        saved = _saved_devices(states, len(names), count)
        file_indices = {n: [i * saved + k for k in range(saved)] for i, n in enumerate(names)}
    targets: dict[Hashable, list[Any]] = {
        i: [] for entries in file_indices.values() for i in entries
    }
    for name, entries in file_indices.items():
        for k in range(count):
            index = indices[name] if count == 1 else indices[name] * count + k
            targets[entries[min(k, len(entries) - 1)]].append(index)
    return targets


def _saved_devices(states: Mapping[Any, Any], names: int, count: int) -> int:
    last = max(states, default=0)
    if last < names:
        return 1
    if count > 1:
        return count
    complete = names and len(states) == last + 1 and len(states) % names == 0
    return len(states) // names if complete else 1


def _copy(state: Tree) -> Any:
    if isinstance(state, tuple | list):
        return type(state)(_copy(s) for s in state)
    return None if state is None else state.copy()


def _split(content: bytes) -> tuple[bytes, bytes | None]:
    if len(content) < _TRAILER.size:
        return content, None
    length, magic = _TRAILER.unpack(content[-_TRAILER.size :])
    start = len(content) - _TRAILER.size - length
    if magic != _MAGIC or start < 0:
        return content, None
    return content[:start], content[start : start + length]


def _parsed(text: bytes, where: str) -> Attrs:
    try:
        facts = json.loads(text)
        counts = {_index(i): int(n) for _, pairs in facts["counts"] for i, n in pairs}
        return {
            "counts": counts,
            "num_update": operator.index(facts["num_update"]),
            "memory": _as_tuples(facts["memory"]),
            "random": checked_random_state(facts["random"]),
        }
    except (ValueError, TypeError, LookupError, RecursionError, MXNetError):
        problem = "the text after the states is damaged"
        raise FileFormatError(where, problem, hint="another file") from None


def checked_random_state(value: Any) -> Any:
    """Returns a state of ``mx.random`` from JSON's lists; other values raise an error."""
    start, streams = value
    positions = ((Context(kind, operator.index(n)), operator.index(at)) for kind, n, at in streams)
    return operator.index(start), tuple((c.device_type, c.device_id, at) for c, at in positions)


def _index(value: Any) -> int | str:
    return value if isinstance(value, str) else operator.index(value)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(v) for v in value) if isinstance(value, list) else value
