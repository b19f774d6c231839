"""Parameters are updated as MXNet's training loops update them, in one process and in several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import explain
from tests._tools.processes import run_processes
from tests._tools.training_tools import compare, names

pytestmark = pytest.mark.processes

WORKER = "tests/model/update_worker.py"


@pytest.mark.parametrize("name", names("updates"))
def test_script_gives_mxnets_answers(name):
    compare(name)


@pytest.fixture(scope="module")
def processes() -> list[dict[str, Any]]:
    """The results of two processes, by the setting of updates on the store."""
    return run_processes(WORKER, 2)


@pytest.mark.parametrize("update_on_kvstore", [True, False])
def test_processes_train_as_one(update_on_kvstore, processes, monkeypatch):
    """Two processes of two devices do what one process of four devices does."""
    from tests.model.update_worker import train

    setting = str(int(update_on_kvstore))
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", setting)
    expected = train(mx, 0, 1)
    results = [rank[setting] for rank in processes]
    assert [s["rank"] for s in results] == [0, 1]
    assert [s["num_workers"] for s in results] == [2, 2]
    for s in (*results, expected):
        assert s["update_on_kvstore"] is update_on_kvstore
    for s in results:
        for name, devices in expected["params"].items():
            for theirs in s["params"][name]:
                np.testing.assert_allclose(theirs, devices[0], rtol=1e-4, atol=1e-6)
        # The store holds the values of process 0.
        assert s["broadcast"] == [0, 0]
        # A local store sums the pushes of its process.
        assert s["local"] == [2, 2]
        # Each process rounds its own sum: 0.6 + 0.6 to 1.
        assert s["compressed"] == [2, 0]


def test_a_wrong_store_is_named():
    with pytest.raises(TypeError) as caught:
        mx.model._create_kvstore(3, 2, {})
    assert str(caught.value) == explain("kvstore", "a int, expected a KVStore, a name or None")
