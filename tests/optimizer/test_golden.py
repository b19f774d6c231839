"""Weights and states after any number of updates are MXNet 1.9.1's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import executorkit as mx
from tests.golden.cases import _optimizers
from tests.golden.cases._optimizers import RUNS
from tests.optimizer._runs import ANSWERS, inner_state, keys

pytestmark = pytest.mark.golden

#: Relative to the largest magnitude of each array. MXNet rounds rates to float32, also in float64.
TOLERANCES = {"float16": 1e-3, "float32": 4e-6, "float64": 5e-7}
#: Without a master MXNet computes in half precision, and we in float32 with one rounding.
HALF = 0.08
#: Norms of rounded weights: one that is rounded the other way changes all elements of the next.
#: MXNet's LAMB takes such a norm too, ours that of the master.
ROUNDED_NORMS = 1.5e-4
#: Runs that do not read their schedule (or count) in each update, so that its state differs.
UNASKED = ("adadelta", "test")


def compare(key: str, arrays: dict[str, np.ndarray]) -> list[str]:
    """The arrays of a run that differ from MXNet's."""
    answers, offset, differences = ANSWERS[key], 0, []
    assert sum(x.size for x in arrays.values()) == answers.size
    for name in sorted(arrays):
        ours = arrays[name]
        expected = answers[offset : offset + ours.size].reshape(ours.shape)
        offset += ours.size
        tolerance = HALF if key.endswith("|half") else TOLERANCES[ours.dtype.name]
        if key.startswith(("lars", "lamb")) and key.endswith("|mixed"):
            tolerance = max(tolerance, ROUNDED_NORMS)
        error = np.max(np.abs(ours.astype(np.float64) - expected), initial=0)
        if not error <= tolerance * np.max(np.abs(expected)) + 1e-30:
            differences.append(f"{name}: {ours.ravel()[:4]}, MXNet {expected.ravel()[:4]}")
    return differences


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize("key", [k for k in keys() if k not in ANSWERS.facts["failed"]])
def test_trajectory(key: str) -> None:
    case = RUNS[key]
    arrays, counts = _optimizers.run(mx, case, inner_state)
    assert not compare(key, arrays)
    if case.name not in UNASKED:
        assert counts == pytest.approx(ANSWERS.facts["counts"][key], rel=1e-12)


@pytest.mark.parametrize("key", sorted(ANSWERS.facts["failed"]))
def test_runs_that_mxnet_refuses_have_the_precision_of_the_weight(key: str) -> None:
    """States are float32 in MXNet, which then mixes no precisions; here they fit the weight."""
    case = RUNS[key]
    arrays, _ = _optimizers.run(mx, case)
    expected, _ = _optimizers.run(mx, replace(case, dtype="float32"))
    for name, x in arrays.items():
        assert x.dtype == case.dtype
        np.testing.assert_allclose(x, expected[name], rtol=0.05, atol=0.02)


def test_comparison_finds_a_difference() -> None:
    key = "sgd|"
    arrays, _ = _optimizers.run(mx, RUNS[key])
    arrays["20/1"] = arrays["20/1"] * (1 + 1e-5)
    (wrong,) = compare(key, arrays)
    assert wrong.startswith("20/1")
