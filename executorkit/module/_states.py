"""An optimizer's states as bytes that MXNet reads, followed by what else a resumed run needs.

MXNet stores a pickle of the states alone, and ignores bytes after it. There we put the counts of
updates, on which the steps of many optimizers depend, and the state of ``mx.random``::

    pickle | JSON text | length of that text (8 bytes, little-endian) | b"EXECKIT1"
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from .. import random
from ..errors import FileFormatError, explain

_MAGIC = b"EXECKIT1"
_END = struct.Struct("<Q8s")


def dumped(updater: Any) -> bytes:
    """The states of an updater, its optimizer's counts, and the state of ``mx.random``."""
    optimizer = updater.optimizer
    more = {
        "counts": [
            [device, list(counts.items())]
            for device, counts in optimizer._all_index_update_counts.items()
        ],
        "num_update": optimizer.num_update,
        "memory": optimizer._memory,
        "random": random.get_state(),
    }
    text = json.dumps(more).encode()
    return updater.get_states() + text + _END.pack(len(text), _MAGIC)


def restored(updater: Any, content: bytes, indices: Mapping[str, Any]) -> None:
    """Takes over what :func:`dumped` gave, or a file of MXNet's.

    indices
        the optimizer's index of each parameter. Files of a module with a store have names where
        others have numbers; either is taken. MXNet's states of several devices without a store are
        those of numbers too.

    Raises FileFormatError for anything else; updater and random state are as they were then.
    """
    states, text = _divided(content)
    more = None if text is None else _parsed(text)
    updater.set_states(states)
    names = list(indices)
    renamed = {i: indices[n] for i, n in enumerate(names)}
    if all(isinstance(i, str) for i in updater.states):
        renamed = dict(indices)
    updater.states = {renamed.get(i, i): state for i, state in updater.states.items()}
    updater.states_synced = dict.fromkeys(updater.states, False)
    if more is None:
        return
    counts, optimizer = more["counts"], updater.optimizer
    optimizer._all_index_update_counts = {
        device: {renamed.get(i, i): n for i, n in own} for device, own in counts
    }
    optimizer._set_current_context(counts[0][0] if counts else 0)
    optimizer.num_update = more["num_update"]
    optimizer._memory = _tuples(more["memory"])
    random.set_state(_tuples(more["random"]))


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
