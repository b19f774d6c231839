"""Compares what a script saw here with what it saw under MXNet, both as JSON."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

# MXNet computes some gradients of float64 in float32.
_TOLERANCES = {"float16": (4e-3, 1e-3), "float32": (1e-5, 1e-6), "float64": (1e-7, 1e-9)}
_DTYPES = (*_TOLERANCES, "int8", "uint8", "int32", "int64", "bool")


def _is_array(fact: Any) -> bool:
    return (
        isinstance(fact, list)
        and len(fact) == 2
        and fact[0] in _DTYPES
        and not isinstance(fact[1], str)
    )


def _close(ours: Any, theirs: Any) -> bool:
    a, b = np.array(ours[1], ours[0]), np.array(theirs[1], theirs[0])
    rtol, atol = _TOLERANCES.get(theirs[0], (0.0, 0.0))
    return a.shape == b.shape and np.allclose(a, b, rtol, atol, equal_nan=True)


def _are_lists(ours: Any, theirs: Any) -> bool:
    return isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours)


def _agrees(ours: Any, theirs: Any) -> bool:
    if _is_array(theirs) and _is_array(ours):
        return ours[0] == theirs[0] and _close(ours, theirs)
    if isinstance(theirs, float) and isinstance(ours, float):
        return bool(np.isclose(ours, theirs, 1e-5, 1e-6, equal_nan=True))
    return bool(ours == theirs)


def _raises_as(ours: Any, classes: list[str]) -> bool:
    raised = ours.get("raises") if isinstance(ours, dict) else None
    return raised is not None and set(classes) <= set(raised)


def differences(ours: Any, theirs: Any, where: str) -> Iterator[tuple[str, str]]:
    """Places at which two answers differ. Shapes that MXNet leaves unknown may be inferred here."""
    if where.startswith("infer_") and theirs in (None, [], 0):
        return
    if isinstance(theirs, dict) and "raises" in theirs:
        if not _raises_as(ours, theirs["raises"]):
            yield where, f"ours {ours}, MXNet raises {theirs['raises']}"
    elif isinstance(theirs, dict) and isinstance(ours, dict) and list(ours) == list(theirs):
        for key, value in theirs.items():
            yield from differences(ours[key], value, f"{where}/{key}")
    elif _are_lists(ours, theirs) and not (_is_array(theirs) and _is_array(ours)):
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(a, b, f"{where}/{i}")
    elif not _agrees(ours, theirs):
        yield where, f"ours {ours}, MXNet {theirs}"


def with_answer(answer: Any, place: list[str], other: Any) -> Any:
    """An answer with another one at a place."""
    if not place:
        return other
    key: Any = int(place[0]) if isinstance(answer, list) else place[0]
    changed = copy.copy(answer)
    changed[key] = with_answer(answer[key], place[1:], other)
    return changed
