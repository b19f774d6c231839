"""Nested lists, as loops take and return them, and their leaves."""

from typing import Any


def flatten(x: Any) -> list[Any]:
    """Returns the leaves of nested lists and tuples, from first to last."""
    return [leaf for part in x for leaf in flatten(part)] if isinstance(x, list | tuple) else [x]


def nest_like(structure: Any, leaves: list[Any]) -> Any:
    """Nests ``leaves``, used up from the front, like ``structure``.

    >>> nest_like(["a", ("b", [])], [1, 2])
    [1, [2, []]]
    """
    if isinstance(structure, list | tuple):
        return [nest_like(part, leaves) for part in structure]
    return leaves.pop(0)
