"""Compares what a script saw here with what it saw under MXNet, both as JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.golden._store import DATA

# MXNet computes some gradients of float64 in float32.
_TOLERANCES = {"float16": (4e-3, 1e-3), "float32": (1e-5, 1e-6), "float64": (1e-7, 1e-9)}
_DTYPES = (*_TOLERANCES, "int8", "uint8", "int32", "int64", "bool")


def stored_answers(name: str) -> Any:
    """Returns MXNet's answers, as a script of ``tests/golden`` stored them."""
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def f32(*values: Any) -> Any:
    """Returns an array of float32 in the form of answers."""
    return ["float32", np.asarray(values, "float32").tolist()]


def raises(*names: str) -> Any:
    """Returns the answer to a call that raises an exception of classes of these names."""
    return {"raises": list(names)}


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


def _with_answer(answer: Any, place: list[str], other: Any) -> Any:
    """An answer with another one at a place."""
    if not place:
        return other
    key: Any = int(place[0]) if isinstance(answer, list) else place[0]
    changed = copy.copy(answer)
    changed[key] = _with_answer(answer[key], place[1:], other)
    return changed


def check_script(
    name: str, seen: Any, answer: Any, deviations: Mapping[str, tuple[str, Any]]
) -> None:
    """Fails where a script did not see MXNet's answer, or at a place (script/key/...) of
    ``deviations`` (why, and the answer that is meant) not that one.
    """
    seen = json.loads(json.dumps(seen))
    expected, meant = answer, [p for p in deviations if p.split("/")[0] == name]
    for place in meant:
        expected = _with_answer(expected, place.split("/")[1:], deviations[place][1])
    wrong = dict(differences(seen, expected, name))
    assert not wrong, wrong
    differing = [f"{place}/" for place in dict(differences(seen, answer, name))]
    agreeing = [p for p in meant if not any(d.startswith(f"{p}/") for d in differing)]
    assert not agreeing, f"{agreeing} agree by now: remove them from the table"


def answer_agrees(ours: list[Any], theirs: list[Any], rtol: float, atol: float) -> bool:
    """Tells whether the answer to a question is MXNet's, or an error of the same class.

    What MXNet has no kernel for is not compared.
    """
    if theirs[0] == "error":
        return ours[0] == "error" and theirs[1][0] in ours[1]
    return _same(ours, theirs, rtol, atol)


def _same(ours: Any, theirs: Any, rtol: float, atol: float) -> bool:
    if theirs in (ours, ["value", "'refused'"]):
        return True
    if isinstance(ours, list) and isinstance(theirs, list):
        pairs = zip(ours, theirs, strict=False)
        return len(ours) == len(theirs) and all(_same(a, b, rtol, atol) for a, b in pairs)
    try:
        return bool(np.isclose(float(str(ours)), float(str(theirs)), rtol, atol, equal_nan=True))
    except ValueError:
        return False
