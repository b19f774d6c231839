"""Nested lists of arrays or symbols as a flat list with their structure, and back."""

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentValueError
from ..ndarray import NDArray
from ..symbol import Symbol

#: The structure of one array, of None, of a symbol with n outputs (n), or of a list of these.
Structure = int | list[Any]
_LEAF, _NONE = 0, -1


def flatten(values: Any, kind: str) -> tuple[list[Any], Structure]:
    """The arrays or symbols of nested lists, None for each None, and the structure.

    ``kind`` is 'input' or 'output'. ValueError for anything else.
    """
    if isinstance(values, NDArray):
        return [values], _LEAF
    if isinstance(values, Symbol):
        count = len(values.list_outputs())
        return [values], count if count > 1 else _LEAF
    if values is None:
        return [None], _NONE
    if isinstance(values, (list, tuple)):
        flat: list[Any] = []
        structure: list[Any] = []
        for value in values:
            part, inner = flatten(value, kind)
            flat += part
            structure.append(inner)
        return flat, structure
    problem = f"the {kind} has a {type(values).__name__}"
    because = f"each {kind} is an NDArray, a Symbol, None or a nested list of these"
    raise ArgumentValueError("HybridBlock", problem, because=because)


def regroup(flat: Sequence[Any], structure: Structure) -> tuple[Any, Sequence[Any]]:
    """Nested lists of flat values, and the values that are left."""
    if isinstance(structure, int):
        if structure == _LEAF:
            return flat[0], flat[1:]
        if structure == _NONE:
            return None, flat[1:] if flat and flat[0] is None else flat
        return list(flat[:structure]), flat[structure:]
    values = []
    for part in structure:
        value, flat = regroup(flat, part)
        values.append(value)
    return values, flat


def without_trailing_none(structure: Structure) -> Structure:
    """The structure of arguments without the None that ends them: as if they were not given."""
    if not isinstance(structure, list):
        return structure
    end = len(structure)
    while end and structure[end - 1] == _NONE:
        end -= 1
    return structure[:end]
