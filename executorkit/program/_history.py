"""Why functions were compiled: what was new in the arguments of each trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ..display import Line, Part, Table, View, Viewed, many

#: So many traces of one function are remembered.
MAX_TRACES = 32
_MAX_CHANGES = 4

#: Says what stands at a path in the arguments: ``args['data']``.
ArgumentNamer = Callable[[Sequence[Any]], str]


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One trace: shapes, dtypes and devices of the arguments, the seconds that it took, and
    whether the program was loaded instead."""

    avals: tuple[Any, ...]
    seconds: float
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """One compilation: of which function, what it took, and why it was needed. Or the loading of
    what an earlier process has compiled and kept.

    changes
        the fields of the signature that differ from the nearest earlier one, such as
        ``args['data']: shape (32, 10) -> (64, 10)``; empty for a function's first trace.
    why
        the same in words.
    loaded
        whether the program was loaded.
    """

    function: str
    seconds: float
    changes: tuple[str, ...]
    why: str
    loaded: bool = False


class History(Viewed, Sequence[Trace]):
    """The compilations of a program, function by function; printed, a table of them."""

    def __init__(self, traces: Sequence[Trace], origin: str = "") -> None:
        self.traces = tuple(traces)
        self.origin = origin

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, index: Any) -> Any:
        return self.traces[index]

    def parts(self) -> list[Part]:
        """The table, and where the program comes from."""
        rows = [[t.function, f"{t.seconds:.2f}", t.why] for t in self.traces]
        parts: list[Part] = [Line(self.origin)] if self.origin else []
        return [*parts, Table(["function", "seconds", "compiled because"], rows, {1})]

    def _as_view(self) -> View:
        return View(many(len(self.traces), "compilation"), self.parts())

    def __repr__(self) -> str:
        return self._as_view().text()


def explain_traces(
    name: str, trace_log: Sequence[TraceRecord], namer: ArgumentNamer
) -> list[Trace]:
    """Each of a function's traces, compared with the nearest earlier one."""
    found = []
    fields = [_fields(one.avals, namer) for one in trace_log]
    for i, one in enumerate(trace_log):
        earlier = [argument_differences(old, fields[i]) for old in fields[:i]]
        if not earlier:
            why = "it was called, or compiled, first"
            found.append(_trace(name, one, (), why))
            continue
        changes = tuple(min(reversed(earlier), key=len))
        why = "; ".join(changes[:_MAX_CHANGES])
        if len(changes) > _MAX_CHANGES:
            why += f"; ... {len(changes) - _MAX_CHANGES} more"
        if not changes:
            why = "the same arguments again: what was compiled had been dropped"
        found.append(_trace(name, one, changes, why))
    return found


def _trace(name: str, one: TraceRecord, changes: tuple[str, ...], why: str) -> Trace:
    why += " (loaded: an earlier process had kept it)" if one.loaded else ""
    return Trace(name, one.seconds, changes, why, one.loaded)


ArgumentFacts = tuple[tuple[int, ...], str, str] | None


def _fields(avals: tuple[Any, ...], namer: ArgumentNamer) -> dict[str, ArgumentFacts]:
    """Shape, dtype and devices of every argument, by name; None for those that are left out."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(avals, is_leaf=lambda x: x is None)
    return {
        namer(path): None if x is None else (tuple(x.shape), str(x.dtype), _devices(x))
        for path, x in leaves
    }


def _devices(aval: Any) -> str:
    if aval.sharding is None:
        return "host"
    devices = sorted(aval.sharding.device_set, key=lambda d: d.id)
    names = ", ".join(f"{d.platform}:{d.id}" for d in devices[:8])
    return names + (f", ... {len(devices) - 8} more" if len(devices) > 8 else "")


def argument_differences(
    old: Mapping[str, ArgumentFacts], new: Mapping[str, ArgumentFacts]
) -> list[str]:
    """What differs between two signatures, field by field."""
    found = []
    for name in dict.fromkeys((*new, *old)):
        a, b = old.get(name), new.get(name)
        if a is None or b is None:
            if a is not b:
                found.append(f"{name}: {_words(a)} -> {_words(b)}")
            continue
        changed = [
            f"{what} {x} -> {y}"
            for what, x, y in zip(("shape", "dtype", "device"), a, b, strict=True)
            if x != y
        ]
        if changed:
            found.append(f"{name}: {', '.join(changed)}")
    return found


def _words(field: ArgumentFacts) -> str:
    return "none" if field is None else f"{field[1]} {field[0]}"
