"""Modules in several processes, with a 'dist_sync' store, train as one module does."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from tests._tools.processes import run_processes
from tests.module.module_worker import ROWS, train

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_train_as_one(processes):
    expected = train(mx, 0, 1)
    for result in run_processes("tests/module/module_worker.py", processes):
        assert result["rescale"] == 1 / ROWS
        for name, array in expected["params"].items():
            np.testing.assert_allclose(result["params"][name], array, rtol=1e-5, atol=1e-6)
        for weights, replicas in zip(expected["replicas"], result["replicas"], strict=True):
            for weight in replicas:
                np.testing.assert_allclose(weight, weights[0], rtol=1e-5, atol=1e-6)
