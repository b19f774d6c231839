"""Modules in several processes, with a 'dist_sync' store, train as one module does."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from tests._processes import together
from tests.module.module_worker import ROWS, train


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_train_as_one(processes):
    expected = train(mx, 0, 1)
    for seen in together("tests/module/module_worker.py", processes):
        assert seen["rescale"] == 1 / ROWS
        for name, array in expected["params"].items():
            np.testing.assert_allclose(seen["params"][name], array, rtol=1e-5, atol=1e-6)
        for weights, theirs in zip(expected["apart"], seen["apart"], strict=True):
            for own in theirs:
                np.testing.assert_allclose(own, weights[0], rtol=1e-5, atol=1e-6)
