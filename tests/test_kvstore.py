"""Key-value stores hold what MXNet's hold; groups stay on their devices; many processes sum."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import InputTypeError
from executorkit.kvstore import KVStoreBase, KVStoreError
from executorkit.kvstore._key_value_table import _sum_parts
from executorkit.parallel import ReplicatedArray, traffic
from tests._tools.training_tools import compare, names


@pytest.mark.parametrize("name", names("stores"))
def test_script_gives_mxnets_answers(name):
    compare(name)


def _replicated(number: float, devices: int = 4) -> ReplicatedArray:
    array = ReplicatedArray([mx.cpu(i) for i in range(devices)], (2, 3), "float32")
    for i, member in enumerate(array):
        member[:] = number + i
    return array


@pytest.mark.parametrize("kind", ["local", "device", "dist_sync"])
def test_group_arrays_stay_replicated(kind):
    """Replicated arrays are summed on their devices, and split for the store alone."""
    store = mx.kv.create(kind)
    store.init(["v", "w"], [mx.nd.zeros((2, 3))] * 2)
    grads = [_replicated(1), _replicated(10)]
    values = [g.value for g in grads]
    before = traffic.snapshot()
    store.pushpull(["v", "w"], grads)
    moved = {k: n - before[k] for k, n in traffic.snapshot().items() if n != before[k]}
    assert moved == {"split": 2}
    assert [v.is_deleted() for v in values] == [False, False]
    for grad, total in zip(grads, (10, 46), strict=True):
        assert [a.asnumpy().tolist() for a in grad] == [[[total] * 3] * 2] * 4
    out = mx.nd.zeros((2, 3))
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [[46] * 3] * 2


def test_group_arrays_are_updated_once_and_broadcast():
    store = mx.kv.create("device")
    weights, grads = _replicated(0), _replicated(1)
    store.init(0, mx.nd.ones((2, 3)))
    contexts = []

    def updater(key, grad, weight):
        contexts.append((grad.context, weight.context))
        weight -= grad

    store.set_updater(updater)
    store.pushpull(0, grads, out=weights)
    assert contexts == [(mx.cpu(0), mx.cpu(0))]
    assert [a.asnumpy().tolist() for a in weights] == [[[-9] * 3] * 2] * 4
    assert [a.asnumpy()[0, 0] for a in grads] == [1, 2, 3, 4]


def test_a_device_store_moves_to_the_device_of_the_first_push():
    contexts = {}
    for kind in ("local", "device"):
        store = mx.kv.create(kind)
        store.init(0, mx.nd.ones((2,)))
        store.set_updater(
            lambda key, grad, weight, kind=kind: contexts.update({kind: weight.context})
        )
        store.push(0, [mx.nd.ones((2,), ctx=mx.cpu(3)), mx.nd.ones((2,), ctx=mx.cpu(4))])
    assert contexts == {"local": mx.cpu(0), "device": mx.cpu(3)}


def test_pulled_arrays_are_independent_of_the_store():
    store = mx.kv.create()
    start, pushed, out = mx.nd.ones((2,)), mx.nd.ones((2,)) * 5, mx.nd.zeros((2,))
    store.init(0, start)
    start[:] = 7
    store.pull(0, out=out)
    assert out.asnumpy().tolist() == [1, 1]
    store.push(0, pushed)
    pushed[:] = 8
    store.pull(0, out=out)
    out[:] = 9
    store.pull(0, out=out)
    assert out.asnumpy().tolist() == [5, 5]


def test_everything_is_checked_before_anything_changes():
    store = mx.kv.create()
    one = mx.nd.ones((2,))
    store.init([0, 1], [one, one])
    with pytest.raises(mx.MXNetError):
        store.push([0, 1], [one * 2, mx.nd.ones((3,))])
    with pytest.raises(mx.MXNetError):
        store.init([2, 1], [one, one])
    out = mx.nd.zeros((2,))
    store.pull(0, out=out)
    assert out.asnumpy().tolist() == [1, 1]
    store.init(2, one)


@pytest.mark.usefixtures("compiled")
def test_sums_compile_once():
    store = mx.kv.create("device")
    store.init(0, mx.nd.ones((5, 7)))
    grads = [mx.nd.ones((5, 7), ctx=mx.cpu(i)) for i in range(3)]
    store.push(0, grads)
    before = _sum_parts.executables
    for _ in range(3):
        store.push(0, grads)
    assert _sum_parts.executables == before


def test_signatures_are_mxnets():
    for method, expected in {
        "broadcast": ["key", "value", "out", "priority"],
        "init": ["key", "value"],
        "push": ["key", "value", "priority"],
        "pull": ["key", "out", "priority", "ignore_sparse"],
        "pushpull": ["key", "value", "out", "priority"],
        "row_sparse_pull": ["key", "out", "priority", "row_ids"],
        "save_optimizer_states": ["fname", "dump_optimizer"],
        "load_optimizer_states": ["fname"],
        "set_gradient_compression": ["compression_params"],
        "set_optimizer": ["optimizer"],
    }.items():
        parameters = inspect.signature(getattr(mx.kv.KVStore, method)).parameters
        assert [*parameters] == ["self", *expected], method
    assert mx.kv is mx.kvstore


def test_str_keys_reach_updaters_as_str():
    """MXNet gives bytes, which its own optimizers decode."""
    store, keys = mx.kv.create(), []
    store.init("fc_weight", mx.nd.ones((2,)))
    store.set_updater(lambda key, grad, weight: keys.append(key))
    store.push("fc_weight", mx.nd.ones((2,)))
    assert keys == ["fc_weight"]


@pytest.mark.parametrize(
    "name", ["nccl", "dist", "dist_sync", "dist_async", "dist_device_sync", "DIST_SYNC"]
)
def test_stores_that_need_no_launcher_and_no_nccl(name):
    store = mx.kv.create(name)
    assert (store.type, store.rank, store.num_workers) == (name.lower(), 0, 1)
    store.init("w", mx.nd.zeros((2,)))
    store.push("w", [mx.nd.ones((2,)), mx.nd.ones((2,))])
    out = mx.nd.zeros((2,))
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [2, 2]
    store._barrier()


def test_dist_stores_compress_what_a_process_sends():
    store = mx.kv.create("dist_sync")
    store.set_gradient_compression({"type": "2bit", "threshold": 1})
    store.init("w", mx.nd.zeros((2,)))
    out = mx.nd.zeros((2,))
    for expected in ([1, 0], [1, -1]):
        store.push("w", [mx.nd.array([0.6, -0.3]), mx.nd.array([0.6, -0.3])])
        store.pull("w", out=out)
        assert out.asnumpy().tolist() == expected


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (
            lambda store: mx.kv.create("horovod"),
            KVStoreError,
            "kvstore 'horovod': unknown store\n"
            "  try: 'local' or 'device' or 'nccl' or 'dist' or 'dist_sync' or 'dist_async' or "
            "'dist_device_sync' or 'dist_sync_device' or 'dist_device_async'",
        ),
        (
            lambda store: store.push(2, mx.nd.ones((2,))),
            KVStoreError,
            "push: the key 2 is not there\n  try: init(2, value)",
        ),
        (
            lambda store: store.push(1, mx.nd.ones((3,))),
            mx.errors.ShapeError,
            "push: key 1: shape (3,), expected (2,)",
        ),
        (
            lambda store: store.pull("w", out=mx.nd.ones((2,))),
            KVStoreError,
            "pull: the key 'w' is of another type than those before\n  because 1 is in the store",
        ),
        (
            lambda store: store.push(1, np.ones(2)),
            InputTypeError,
            "push: key 1: a ndarray, expected an NDArray or a list of NDArrays",
        ),
        (
            lambda store: store.save_optimizer_states("f"),
            InputTypeError,
            "save_optimizer_states: it has no optimizer\n  try: set_optimizer(optimizer) first",
        ),
    ],
)
def test_messages(action, error, message):
    store = mx.kv.create()
    store.init(1, mx.nd.ones((2,)))
    with pytest.raises(error) as caught:
        action(store)
    assert str(caught.value) == message


def test_registering_a_taken_name_warns():
    class Taken(KVStoreBase):
        pass

    first = KVStoreBase.register(Taken)
    try:
        with pytest.warns(UserWarning, match="kvstore 'taken' was"):
            KVStoreBase.register(Taken)
        assert KVStoreBase.kv_registry["taken"] is first
    finally:
        del KVStoreBase.kv_registry["taken"]


def test_an_updater_of_a_user_is_called_for_one_key():
    class Noting(mx.optimizer.Updater):
        def __call__(self, index, grad, weight):
            keys.append(index)
            super().__call__(index, grad, weight)

    keys: list[int] = []
    store = mx.kv.create("local")
    store._set_updater(Noting(mx.optimizer.SGD(learning_rate=1.0)))
    store.init([3, 5], [mx.nd.ones(2), mx.nd.ones(2)])
    store.push([5, 3], [mx.nd.ones(2), mx.nd.zeros(2)])
    assert keys == [3, 5]
    out = mx.nd.zeros(2)
    store.pull(5, out=out)
    assert out.asnumpy().tolist() == [0, 0]
