"""How a program differs from the nearest other one: why a graph did not find one that was there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._program import Program

_MAX_LISTED_CHANGES = 4


def nearest_difference(program: Program, others: Iterable[Program]) -> str:
    """In words, the few differences to the nearest of ``others``; empty if none is near."""
    found = [program_differences(other, program) for other in others if other is not program]
    near = [changes for changes in found if changes and len(changes) <= _MAX_LISTED_CHANGES]
    if not near:
        return ""
    return "not shared with the nearest other program: " + "; ".join(min(near, key=len))


def program_differences(old: Program, new: Program) -> list[str] | None:
    """What differs between two programs of graphs with the same connections; None for others."""
    a, b = old.graph, new.graph
    if len(a.steps) != len(b.steps) or (a.arg_values, a.heads) != (b.arg_values, b.heads):
        return None
    changes = []
    for s, t in zip(a.steps, b.steps, strict=True):
        where = f"node {t.node.name!r} ({t.op.name})"
        if s.op is not t.op:
            changes.append(f"{where}: operator {s.op.name} -> {t.op.name}")
        elif s.inputs != t.inputs:
            changes.append(f"{where}: other inputs")
        elif s.params.key != t.params.key:
            changes += [
                f"{where}: {name} {s.params.get(name)!r} -> {t.params.get(name)!r}"
                for name in dict.fromkeys((*t.params, *s.params))
                if s.params.get(name) != t.params.get(name)
            ]
    changes += _requests(old, new)
    if old.options != new.options:
        changes.append(f"options {old.options} -> {new.options}")
    return changes


def _requests(old: Program, new: Program) -> list[str]:
    def request(program: Program, i: int) -> Any:
        if i not in program.argnums:
            return "null"
        return "add" if program.accumulate[program.argnums.index(i)] else "write"

    changed = [
        f"{name!r} {request(old, i)} -> {request(new, i)}"
        for i, name in enumerate(new.graph.arg_names)
        if request(old, i) != request(new, i)
    ]
    if len(changed) > _MAX_LISTED_CHANGES:
        changed[2:] = [f"... {len(changed) - 2} more"]
    return [f"grad_req of {', '.join(changed)}"] if changed else []
