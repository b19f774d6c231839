"""Parameters are updated as MXNet's training loops update them, in one process and in several."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import explain
from tests._processes import together
from tests._tools import compare, names

WORKER = "tests/model/update_worker.py"


@pytest.mark.parametrize("name", names("updates"))
def test_script_sees_what_it_sees_under_mxnet(name):
    compare(name)


@pytest.mark.parametrize("on_store", [True, False])
def test_processes_train_as_one(on_store, monkeypatch):
    """Two processes of two devices do what one process of four devices does."""
    from tests.model.update_worker import train

    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", str(int(on_store)))
    expected = train(mx, 0, 1)
    seen = together(WORKER, 2)
    assert [s["rank"] for s in seen] == [0, 1]
    assert [s["num_workers"] for s in seen] == [2, 2]
    for s in (*seen, expected):
        assert s["on_store"] is on_store
    for s in seen:
        for name, devices in expected["params"].items():
            for theirs in s["params"][name]:
                np.testing.assert_allclose(theirs, devices[0], rtol=1e-4, atol=1e-6)
        # What process 0 put into the store counts.
        assert s["broadcast"] == [0, 0]
        # A local store sums what its own process pushes.
        assert s["local"] == [2, 2]
        # Each process rounds its own sum: 0.6 + 0.6 to 1.
        assert s["compressed"] == [2, 0]


def test_a_wrong_store_is_named():
    with pytest.raises(TypeError) as caught:
        mx.model._create_kvstore(3, 2, {})
    assert str(caught.value) == explain("kvstore", "a int, expected a KVStore, a name or None")
