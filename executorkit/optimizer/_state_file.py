"""An optimizer's states as a file: bytes that MXNet reads, and the facts that a resumed run needs.

MXNet stores a pickle of the states alone, and ignores bytes after it. There we put the counts of
updates, on which the steps of many optimizers depend, and the state of ``mx.random``::

    pickle | JSON text | length of that text (8 bytes, little-endian) | b"EXECKIT1"
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from .. import random
from ..errors import FileFormatError, explain

_MAGIC = b"EXECKIT1"
_TRAILER = struct.Struct("<Q8s")


def dump_updater(updater: Any) -> bytes:
    """The states of an updater, its optimizer's counts, and the state of ``mx.random``."""
    optimizer = updater.optimizer
    facts = {
        "counts": [
            [device, list(counts.items())]
            for device, counts in optimizer._all_index_update_counts.items()
        ],
        "num_update": optimizer.num_update,
        "memory": optimizer.shared_state,
        "random": random.get_state(),
    }
    text = json.dumps(facts).encode()
    return updater.get_states() + text + _TRAILER.pack(len(text), _MAGIC)


def restore_updater(
    updater: Any, content: bytes, indices: Mapping[str, Any], devices: Sequence[int]
) -> None:
    """Restores an updater from the bytes of :func:`dump_updater`, or of a file of MXNet's.

    indices
        the optimizer's index of each parameter.
    devices
        the number of the device on which updates are made, or those of all devices, each of which
        has states of its own: there the index is ``index * len(devices) + k``.

    Files of a module with a store have names where others have numbers, and those of several
    devices without a store have states for each; any file is read by any module. Where a file has
    states of fewer devices than are needed, the last one's are copied. (In MXNet such a module has
    errors, or begins with new states.)

    Raises FileFormatError for other bytes; updater and random state are then unchanged.
    """
    pickled, text = _split(content)
    facts = None if text is None else _parsed(text)
    updater.set_states(pickled)
    new_indices = _new_indices(updater.states, indices, len(devices))
    states = {i: updater.states.pop(i) for i in new_indices if i in updater.states}
    if len(devices) > 1 or any(len(targets) == 0 for targets in new_indices.values()):
        updater.states = {}
    for file_index, state in states.items():
        for n, index in enumerate(new_indices[file_index]):
            updater.states[index] = _copy(state) if n else state
    updater.states_synced = dict.fromkeys(updater.states, False)
    if facts is None:
        return
    optimizer = updater.optimizer
    file_counts = {i: n for _, device_counts in facts["counts"] for i, n in device_counts}
    counts: dict[int, dict[Any, int]] = {device: {} for device in devices}
    for file_index, n in file_counts.items():
        unlisted = [file_index] if len(devices) == 1 else []
        for index in new_indices.get(file_index, unlisted):
            device = devices[index % len(devices)] if len(devices) > 1 else devices[0]
            counts[device][index] = n
    optimizer._restore_counts(counts, devices[0])
    optimizer.num_update = facts["num_update"]
    optimizer.shared_state = _as_tuples(facts["memory"])
    random.set_state(_as_tuples(facts["random"]))


def _new_indices(
    states: Mapping[Any, Any], indices: Mapping[str, Any], count: int
) -> dict[Any, list[Any]]:
    """The indices that take over the state at each index of a file.

    count
        number of devices with states of their own.
    """
    names = list(indices)
    if all(isinstance(i, str) for i in states):
        file_indices = {name: [name] for name in names}
    else:
        saved = _saved_devices(states, len(names), count)
        file_indices = {n: [i * saved + k for k in range(saved)] for i, n in enumerate(names)}
    targets: dict[Any, list[Any]] = {i: [] for entries in file_indices.values() for i in entries}
    for name, entries in file_indices.items():
        for k in range(count):
            index = indices[name] if count == 1 else indices[name] * count + k
            targets[entries[min(k, len(entries) - 1)]].append(index)
    return targets


def _saved_devices(states: Mapping[Any, Any], names: int, count: int) -> int:
    """Number of devices that a file has numbered states of."""
    last = max(states, default=0)
    if last < names:
        return 1
    if count > 1:
        return count
    return len(states) // names if len(states) == last + 1 and len(states) % names == 0 else 1


def _copy(state: Any) -> Any:
    if isinstance(state, tuple | list):
        return type(state)(_copy(s) for s in state)
    return None if state is None else state.copy()


def _split(content: bytes) -> tuple[bytes, bytes | None]:
    """The pickle, and the text after it if there is one."""
    if len(content) < _TRAILER.size:
        return content, None
    length, magic = _TRAILER.unpack(content[-_TRAILER.size :])
    start = len(content) - _TRAILER.size - length
    if magic != _MAGIC or start < 0:
        return content, None
    return content[:start], content[start : start + length]


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        facts = json.loads(text)
        if {"counts", "num_update", "memory", "random"} <= set(facts):
            return facts
    except (ValueError, TypeError):
        pass
    raise FileFormatError(
        explain(
            "load_optimizer_states", "the text after the states is damaged", hint="another file"
        )
    )


def _as_tuples(value: Any) -> Any:
    """A value that JSON has read, with tuples in place of its lists."""
    return tuple(_as_tuples(v) for v in value) if isinstance(value, list) else value
