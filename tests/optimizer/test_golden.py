"""Weights and states after any number of updates are MXNet 1.9.1's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import executorkit as mx
from tests.golden.cases import _optimizers
from tests.golden.cases._optimizers import RUNS
from tests.optimizer._runs import ANSWERS, inner_state, keys

#: Relative to the largest magnitude of each array. MXNet rounds rates to float32, also in float64.
TOLERANCES = {"float16": 1e-3, "float32": 4e-6, "float64": 5e-7}
#: Without a master MXNet computes in half precision, and we in float32 with one rounding.
HALF = 0.08
#: Norms of rounded weights: one that is rounded the other way changes all elements of the next.
#: MXNet's LAMB takes such a norm too, ours that of the master.
ROUNDED_NORMS = 1.5e-4
#: These do not ask their schedule (or count), so that it has another memory of the past.
UNASKED = ("adadelta", "test")


def compare(key: str, found: dict[str, np.ndarray]) -> list[str]:
    """Where a run differs from MXNet's."""
    theirs, at, wrong = ANSWERS[key], 0, []
    assert sum(x.size for x in found.values()) == theirs.size
    for name in sorted(found):
        ours = found[name]
        expected = theirs[at : at + ours.size].reshape(ours.shape)
        at += ours.size
        tolerance = HALF if key.endswith("|half") else TOLERANCES[ours.dtype.name]
        if key.startswith(("lars", "lamb")) and key.endswith("|mixed"):
            tolerance = max(tolerance, ROUNDED_NORMS)
        error = np.max(np.abs(ours.astype(np.float64) - expected), initial=0)
        if not error <= tolerance * np.max(np.abs(expected)) + 1e-30:
            wrong.append(f"{name}: {ours.ravel()[:4]}, MXNet {expected.ravel()[:4]}")
    return wrong


@pytest.mark.parametrize("key", [k for k in keys() if k not in ANSWERS.facts["failed"]])
def test_trajectory(key: str) -> None:
    case = RUNS[key]
    found, counts = _optimizers.run(mx, case, inner_state)
    assert not compare(key, found)
    if case.name not in UNASKED:
        assert counts == pytest.approx(ANSWERS.facts["counts"][key], rel=1e-12)


@pytest.mark.parametrize("key", sorted(ANSWERS.facts["failed"]))
def test_what_mxnet_refuses_is_done_in_the_precision_of_the_weight(key: str) -> None:
    """States are float32 in MXNet, which then mixes no precisions; here they fit the weight."""
    case = RUNS[key]
    found, _ = _optimizers.run(mx, case)
    expected, _ = _optimizers.run(mx, replace(case, dtype="float32"))
    for name, x in found.items():
        assert x.dtype == case.dtype
        np.testing.assert_allclose(x, expected[name], rtol=0.05, atol=0.02)


def test_comparison_finds_a_difference() -> None:
    key = "sgd|"
    found, _ = _optimizers.run(mx, RUNS[key])
    found["20/1"] = found["20/1"] * (1 + 1e-5)
    (wrong,) = compare(key, found)
    assert wrong.startswith("20/1")
