"""Several processes: each loads its rows; sums and means are over the devices of all processes."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from tests._processes import run_processes
from tests.parallel.worker import train

pytestmark = pytest.mark.processes

WORKER = "tests/parallel/worker.py"


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_train_as_one(processes):
    """Two processes of two devices, and four of one, do what one process of four devices does."""
    expected = train(mx, 0, 1)
    seen = run_processes(WORKER, processes)
    assert [s["devices"] for s in seen] == [4] * processes
    assert all(s["mapped"] for s in (*seen, expected))
    for kind in ("grads", "aux"):
        for i, arrays in enumerate(expected[kind]):
            theirs = [a for s in seen for a in s[kind][i]]
            np.testing.assert_allclose(theirs, arrays, rtol=1e-4, atol=1e-6)
    for s in seen:
        for kind in ("params", "states"):
            for name, array in expected[kind].items():
                np.testing.assert_allclose(s[kind][name], array, rtol=1e-5, atol=1e-6)
    metrics = [s["metric"] for s in seen]
    assert np.isclose(np.mean(metrics), expected["metric"], rtol=1e-5)
