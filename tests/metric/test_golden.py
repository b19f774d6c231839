"""Metrics give, update by update, what MXNet 1.9.1's gave."""

from __future__ import annotations

import json
import math

import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.golden.cases._metric import ERRORS, EXACT, VALUES

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("metric")

#: MXNet sums half precision in half precision; we sum in float64.
HALF = 2e-3


def differences(ours, theirs, rtol, where=""):
    """Every place in which two nested answers differ, numbers by more than ``rtol``."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and ours.keys() == theirs.keys():
        pairs = [(k, ours[k], theirs[k]) for k in theirs]
    elif isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        pairs = [(i, a, b) for i, (a, b) in enumerate(zip(ours, theirs, strict=True))]
    elif isinstance(theirs, float) and isinstance(ours, int | float):
        close = math.isclose(ours, theirs, rel_tol=rtol, abs_tol=1e-12)
        same = close or (math.isnan(ours) and math.isnan(theirs))
        return [] if same else [f"{where}: {ours!r}, MXNet {theirs!r}"]
    else:
        return [] if ours == theirs else [f"{where}: {ours!r}, MXNet {theirs!r}"]
    return [d for k, a, b in pairs for d in differences(a, b, rtol, f"{where}/{k}")]


def _without_texts(answer):
    """Texts hold the same numbers to the last digit, which differ in the rounding of sums."""
    if isinstance(answer, dict):
        return {k: _without_texts(v) for k, v in answer.items() if k != "text"}
    return [_without_texts(v) for v in answer] if isinstance(answer, list) else answer


def test_every_script_has_an_answer():
    assert set(ANSWERS["values"]) == set(VALUES)
    assert set(ANSWERS["errors"]) == set(ERRORS)


# A script that registers a metric runs twice.
@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:metric 'sum")
@pytest.mark.usefixtures("anywhere", "both_readings")
@pytest.mark.parametrize("name", VALUES)
def test_value(name, tmp_path):
    ours = json.loads(json.dumps(VALUES[name](mx, tmp_path)))
    rtol = HALF if name.endswith("_half") else 2e-6
    values = differences(_without_texts(ours), _without_texts(ANSWERS["values"][name]), rtol)
    assert not values, "\n".join(values)


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("name", EXACT)
def test_value_to_the_last_bit(name, tmp_path):
    assert VALUES[name](mx, tmp_path) == ANSWERS["values"][name]


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_of_the_same_class(name, tmp_path):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        ERRORS[name](mx, tmp_path)
    classes = [cls.__name__ for cls in type(caught.value).__mro__]
    theirs = ANSWERS["errors"][name]
    # NumPy's AxisError is both of these.
    wanted = {"ValueError", "IndexError"} if theirs == "AxisError" else {theirs}
    assert wanted <= set(classes)


def test_comparison_fails_where_it_must():
    assert differences([1.0, 2.0], [1.0, 2.1], 1e-6) == ["/1: 2.0, MXNet 2.1"]
    assert differences({"a": [1]}, {"a": [1, 2]}, 1e-6) == ["/a: [1], MXNet [1, 2]"]
    assert differences(float("nan"), 1.0, 1e-6) == [": nan, MXNet 1.0"]
    assert differences([float("nan"), "x"], [float("nan"), "x"], 1e-6) == []
