"""Compares what a script saw here with what it saw under MXNet, both as JSON."""

from __future__ import annotations

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


def differences(ours: Any, theirs: Any, where: str) -> Iterator[tuple[str, str]]:
    """Places at which two answers differ. What inference leaves open may be known here."""
    if where.startswith("infer_") and theirs in (None, [], 0):
        return
    if isinstance(theirs, dict) and "raises" in theirs:
        raised = ours.get("raises") if isinstance(ours, dict) else None
        if raised is None or not set(theirs["raises"]) <= set(raised):
            yield where, f"ours {ours}, MXNet raises {theirs['raises']}"
    elif isinstance(theirs, dict) and isinstance(ours, dict) and list(ours) == list(theirs):
        for key, value in theirs.items():
            yield from differences(ours[key], value, f"{where}/{key}")
    elif _is_array(theirs) and _is_array(ours):
        if ours[0] != theirs[0] or not _close(ours, theirs):
            yield where, f"ours {ours}, MXNet {theirs}"
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(a, b, f"{where}/{i}")
    elif isinstance(theirs, float) and isinstance(ours, float):
        if not np.isclose(ours, theirs, 1e-5, 1e-6, equal_nan=True):
            yield where, f"ours {ours}, MXNet {theirs}"
    elif ours != theirs:
        yield where, f"ours {ours}, MXNet {theirs}"
