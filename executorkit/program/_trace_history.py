"""The history of a program's compilations: the new fields in the arguments of each trace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from .._support.annotations import Operands
from ..display import Viewed, view_of
from ..errors import listed
from ._compilation_log import TraceRecord

#: Maximum number of changed fields in the reason of one trace.
_MAX_CHANGES = 4
#: Maximum number of devices in the description of an argument.
_MAX_DEVICES = 8

#: The name of the argument at a path: ``args['data']``.
ArgumentNamer = Callable[[Sequence[Any]], str]
#: Shape, dtype and devices of an argument; None for one that is left out.
ArgumentFacts = tuple[tuple[int, ...], str, str] | None


@dataclass(frozen=True, slots=True)
class Trace:
    """One compilation of a function, or the loading of its executable, with its time and reason.

    changes
        the fields of the signature that differ from the nearest earlier one, such as
        ``args['data']: shape (32, 10) -> (64, 10)``; empty for a function's first trace.
    why
        the same in words.
    loaded
        whether the executable was loaded from the disk cache.
    """

    function: str
    seconds: float
    changes: tuple[str, ...]
    why: str
    loaded: bool = False


class History(Viewed, Sequence[Trace]):
    """The compilations of a program, function by function; printed, a table of them.

    origin
        the difference to the nearest other program, in words; empty if none is near.
    """

    def __init__(self, traces: Sequence[Trace], origin: str = "") -> None:
        self.traces = tuple(traces)
        self.origin = origin

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, index: Any) -> Any:
        return self.traces[index]

    def __repr__(self) -> str:
        return view_of(self).text()


def explain_traces(
    name: str,
    records: Sequence[TraceRecord],
    argument_name: ArgumentNamer,
    size_note: str | None = None,
) -> list[Trace]:
    """Compares each trace of a function with the nearest earlier one."""
    signatures = [_signature(record.avals, argument_name) for record in records]
    traces = []
    for n, record in enumerate(records):
        earlier = [argument_differences(old, signatures[n]) for old in signatures[:n]]
        changes = tuple(min(reversed(earlier), key=len)) if earlier else ()
        if not earlier:
            why = "it was called, or compiled, first"
        elif not changes:
            why = "the same arguments again: what was compiled had been dropped"
        else:
            why = listed(changes, _MAX_CHANGES, "; ")
        if changes and size_note is not None:
            why += f" ({size_note})"
        why += " (loaded from the disk cache)" if record.loaded else ""
        traces.append(Trace(name, record.seconds, changes, why, record.loaded))
    return traces


def _signature(avals: Operands, argument_name: ArgumentNamer) -> dict[str, ArgumentFacts]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(avals, is_leaf=lambda x: x is None)
    return {
        argument_name(path): None if x is None else (tuple(x.shape), str(x.dtype), _devices(x))
        for path, x in leaves
    }


def _devices(aval: Any) -> str:
    if aval.sharding is None:
        return "host"
    devices = sorted(aval.sharding.device_set, key=lambda d: d.id)
    return listed((f"{d.platform}:{d.id}" for d in devices), _MAX_DEVICES)


def argument_differences(
    old: Mapping[str, ArgumentFacts], new: Mapping[str, ArgumentFacts]
) -> list[str]:
    differences = []
    for name in dict.fromkeys((*new, *old)):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            if before is not after:
                differences.append(f"{name}: {_described(before)} -> {_described(after)}")
            continue
        changed = [
            f"{fact} {x} -> {y}"
            for fact, x, y in zip(("shape", "dtype", "device"), before, after, strict=True)
            if x != y
        ]
        if changed:
            differences.append(f"{name}: {', '.join(changed)}")
    return differences


def _described(facts: ArgumentFacts) -> str:
    return "none" if facts is None else f"{facts[1]} {facts[0]}"
