"""An optimizer's states as bytes that MXNet reads, followed by what else a resumed run needs.

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
_END = struct.Struct("<Q8s")


def dump_updater(updater: Any) -> bytes:
    """The states of an updater, its optimizer's counts, and the state of ``mx.random``."""
    optimizer = updater.optimizer
    more = {
        "counts": [
            [device, list(counts.items())]
            for device, counts in optimizer._all_index_update_counts.items()
        ],
        "num_update": optimizer.num_update,
        "memory": optimizer.shared_state,
        "random": random.get_state(),
    }
    text = json.dumps(more).encode()
    return updater.get_states() + text + _END.pack(len(text), _MAGIC)


def restore_updater(
    updater: Any, content: bytes, indices: Mapping[str, Any], devices: Sequence[int]
) -> None:
    """Takes over what :func:`dump_updater` gave, or a file of MXNet's.

    indices
        the optimizer's index of each parameter.
    devices
        the number of the device on which updates are made, or those of all devices, each of which
        has states of its own: there the index is ``index * len(devices) + k``.

    Files of a module with a store have names where others have numbers, and those of several
    devices without a store have states for each; any is taken, by any module. What a device needs
    and the file has for fewer comes from the last one that it has. (In MXNet such a module has
    errors, or begins with new states.)

    Raises FileFormatError for anything else; updater and random state are as they were then.
    """
    states, text = _divided(content)
    more = None if text is None else _parsed(text)
    updater.set_states(states)
    places = _places(updater.states, indices, len(devices))
    found = {old: updater.states.pop(old) for old in places if old in updater.states}
    if len(devices) > 1 or any(len(new) == 0 for new in places.values()):
        updater.states = {}
    for old, state in found.items():
        for n, new in enumerate(places[old]):
            updater.states[new] = _copied(state) if n else state
    updater.states_synced = dict.fromkeys(updater.states, False)
    if more is None:
        return
    optimizer = updater.optimizer
    counts = {i: n for _, own in more["counts"] for i, n in own}
    optimizer._all_index_update_counts = {device: {} for device in devices}
    for old, n in counts.items():
        for new in places.get(old, [old] if len(devices) == 1 else []):
            device = devices[new % len(devices)] if len(devices) > 1 else devices[0]
            optimizer._all_index_update_counts[device][new] = n
    optimizer._set_current_context(devices[0])
    optimizer.num_update = more["num_update"]
    optimizer.shared_state = _tuples(more["memory"])
    random.set_state(_tuples(more["random"]))


def _places(states: Mapping[Any, Any], indices: Mapping[str, Any], count: int) -> dict[Any, Any]:
    """Which indices have the state that a file has at an index: lists, by the latter."""
    names = list(indices)
    if all(isinstance(i, str) for i in states):
        there = {name: [name] for name in names}
    else:
        saved = _devices(states, len(names), count)
        there = {n: [i * saved + k for k in range(saved)] for i, n in enumerate(names)}
    places: dict[Any, list[Any]] = {i: [] for old in there.values() for i in old}
    for name, old in there.items():
        for k in range(count):
            new = indices[name] if count == 1 else indices[name] * count + k
            places[old[min(k, len(old) - 1)]].append(new)
    return places


def _devices(states: Mapping[Any, Any], names: int, count: int) -> int:
    """Of how many devices a file has states that are numbered."""
    last = max(states, default=0)
    if last < names:
        return 1
    if count > 1:
        return count
    return len(states) // names if len(states) == last + 1 and len(states) % names == 0 else 1


def _copied(state: Any) -> Any:
    if isinstance(state, tuple | list):
        return type(state)(_copied(s) for s in state)
    return None if state is None else state.copy()


def _divided(content: bytes) -> tuple[bytes, bytes | None]:
    """The pickle, and the text after it if there is one."""
    if len(content) < _END.size:
        return content, None
    length, magic = _END.unpack(content[-_END.size :])
    start = len(content) - _END.size - length
    if magic != _MAGIC or start < 0:
        return content, None
    return content[:start], content[start : start + length]


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        more = json.loads(text)
        if {"counts", "num_update", "memory", "random"} <= set(more):
            return more
    except (ValueError, TypeError):
        pass
    raise FileFormatError(
        explain("load_optimizer_states", "what follows the states is damaged", hint="another file")
    )


def _tuples(value: Any) -> Any:
    """JSON's lists as the tuples that they were."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
