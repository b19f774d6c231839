"""Several processes: two of two devices, and four of one, do what one process of four does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.processes import run_processes
from tests.parallel.job_scenarios import DEVICES, SCENARIOS, run

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("processes")]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return run(mx, 0, 1)


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.slow)])
def seen(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    results = run_processes("tests/parallel/worker.py", request.param)
    assert [r["devices"] for r in results] == [DEVICES] * request.param
    return results


@pytest.mark.parametrize("name", [s.__name__ for s in SCENARIOS])
def test_processes_train_as_one(name, seen, expected):
    ranks = [result[name] for result in seen]
    assert all(rank == ranks[0] for rank in ranks), "not equal to the last bit"
    assert ranks[0] != [False]
    if name in ("a_rank_that_differs", "one_process_reads_a_divided_state"):
        return
    for theirs, ours in zip(ranks[0], expected[name], strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-6)


def test_looking_changes_nothing(seen):
    pairs = {
        "one_process_looks": "sgd",
        "one_process_looks_at_a_step": "step_with_optax",
        "one_process_looks_at_a_trainer": "gluon_trainer",
    }
    assert all(rank[looked] == rank[other] for rank in seen for looked, other in pairs.items())


def test_a_run_that_begins_anew_goes_on_bit_for_bit(seen):
    assert all(rank["resumed"] == rank["undisturbed"] for rank in seen)
