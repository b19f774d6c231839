"""Contents of key-value stores of one process after pushes of many forms, and refusals."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from ._facts import attempt, numbers, script

SHAPE = (2, 3)


def _array(mx: Any, name: str, device: int = 0, dtype: str = "float32", shape: Any = SHAPE) -> Any:
    return mx.nd.array(numbers(name, shape) * 4, ctx=mx.cpu(device), dtype=dtype)


def _pulled(mx: Any, store: Any, key: Any, dtype: str = "float32", shape: Any = SHAPE) -> Any:
    out = mx.nd.zeros(shape, dtype=dtype)
    store.pull(key, out=out)
    return out


@script
def store_kinds(mx: Any) -> Any:
    answers: dict[str, Any] = {}
    for name in ("local", "device", "LOCAL", "local_update_cpu", "local_allreduce_device"):
        store = mx.kv.create(name)
        answers[name] = [store.type, store.rank, store.num_workers, store.is_capable("optimizer")]
    answers["capital"] = store.is_capable("OPTIMIZER")
    answers["default"] = mx.kvstore.create().type
    answers["no name"] = attempt(mx, lambda: mx.kv.create(3))
    answers["capability"] = attempt(mx, lambda: store.is_capable("telepathy"))
    base = mx.kv.KVStoreBase()
    actions = (
        lambda: base.broadcast(1, 2, 3), lambda: base.pushpull(1, 2), lambda: base.type,
        lambda: base.rank, lambda: base.num_workers, lambda: base.is_capable("optimizer"),
        lambda: base.set_optimizer(None), lambda: base.save_optimizer_states("f"),
        lambda: base.load_optimizer_states("f"),
    )  # fmt: skip
    answers["base"] = [attempt(mx, action) for action in actions]
    return answers


@script
def store_registry(mx: Any) -> Any:
    @mx.kv.KVStoreBase.register
    class MineToTest(mx.kv.KVStoreBase):
        pass

    store = mx.kv.create("MineToTest")
    try:
        return [
            type(store) is MineToTest,
            mx.kv.KVStoreBase.kv_registry["minetotest"] is MineToTest,
            attempt(mx, lambda: mx.kv.KVStoreBase.register("no class")),
            mx.kv.KVStoreBase.OPTIMIZER,
        ]
    finally:
        del mx.kv.KVStoreBase.kv_registry["minetotest"]


@script
def store_push_and_pull(mx: Any) -> Any:
    answers: dict[str, Any] = {}
    for kind in ("local", "device"):
        for key in (3, -1, "weight"):
            store, seen = mx.kv.create(kind), []
            store.init(key, _array(mx, "start"))
            seen.append(_pulled(mx, store, key))
            store.push(key, _array(mx, "one"))
            seen.append(_pulled(mx, store, key))
            store.push(key, [_array(mx, f"of {i}", i) for i in range(4)], priority=-3)
            seen.append(_pulled(mx, store, key))
            store.push(key, (_array(mx, "a"), _array(mx, "b")))
            outs = [mx.nd.zeros(SHAPE, ctx=mx.cpu(i)) for i in range(3)]
            store.pull(key, outs, 5, False)
            seen.extend(outs)
            answers[f"{kind} {key}"] = seen
    return answers


@script
def store_lists_of_keys(mx: Any) -> Any:
    answers: dict[str, Any] = {}
    for keys in ([5, 7, 6], ("b", "a", "c")):
        store = mx.kv.create("device")
        store.init(keys, [_array(mx, f"start {k}") for k in keys])
        store.push(keys, [[_array(mx, f"{k} {i}", i) for i in range(2)] for k in keys])
        seen = [_pulled(mx, store, k) for k in keys]
        outs = [mx.nd.zeros(SHAPE) for _ in keys]
        store.push([keys[0], keys[0], keys[2]], [_array(mx, n) for n in "xyz"])
        store.pull(list(keys), out=outs)
        pairs = [[mx.nd.zeros(SHAPE) for _ in range(2)] for _ in keys]
        store.pull(keys, out=pairs)
        answers[str(keys)] = [seen, outs, pairs]
    return answers


@script
def store_dtypes(mx: Any) -> Any:
    answers = {}
    for dtype in ("float16", "float32", "float64", "int32", "uint8"):
        store = mx.kv.create("local")
        store.init(1, mx.nd.ones(SHAPE, dtype=dtype))
        store.push(1, [mx.nd.ones(SHAPE, dtype=dtype) * 3] * 3)
        answers[dtype] = [_pulled(mx, store, 1, d) for d in (dtype, "float32", "float16")]
    store.push(1, [mx.nd.ones(SHAPE), mx.nd.ones(SHAPE, dtype="float16") * 2])
    answers["two in one push"] = _pulled(mx, store, 1)
    store.init(2, mx.nd.ones(SHAPE))
    store.push(2, _array(mx, "wide", dtype="float64"))
    answers["pushed wider"] = _pulled(mx, store, 2, "float64")
    return answers


@script
def store_pushpull(mx: Any) -> Any:
    answers: dict[str, Any] = {}
    for kind in ("local", "device"):
        store = mx.kv.create(kind)
        store.init("w", _array(mx, "start"))
        arrays = [_array(mx, f"of {i}", i) for i in range(2)]
        store.pushpull("w", arrays)
        single = _array(mx, "single")
        store.pushpull("w", single, priority=1)
        out = mx.nd.zeros(SHAPE)
        store.pushpull("w", arrays, out=out)
        new = [mx.nd.zeros(SHAPE, ctx=mx.cpu(i)) for i in range(2)]
        store.broadcast("v", _array(mx, "sent"), out=new)
        answers[kind] = [arrays, single, out, _pulled(mx, store, "w"), new, _pulled(mx, store, "v")]
    store = mx.kv.create("local")
    store.init([1, 2], [_array(mx, "start")] * 2)
    several = [[_array(mx, f"{k} {i}", i) for i in range(2)] for k in (1, 2)]
    store.pushpull([1, 2], several)
    news = [mx.nd.zeros(SHAPE) for _ in range(2)]
    store.broadcast([8, 9], [_array(mx, "eight"), _array(mx, "nine")], out=news)
    answers["lists"] = [several, news]
    return answers


@script
def store_updater(mx: Any) -> Any:
    calls: list[Any] = []

    def updater(key: Any, pushed: Any, stored: Any) -> None:
        calls.append([type(key).__name__, pushed.asnumpy(), stored.asnumpy()])
        stored += 2 * pushed

    answers: dict[str, Any] = {}
    for keys in ([4, 2, 9], ["d", "b", "x"]):
        store = mx.kv.create("local")
        store.init(keys, [_array(mx, f"start {k}") for k in keys])
        store._set_updater(updater)
        store.push(keys[0], [_array(mx, "p", 0), _array(mx, "q", 1)])
        backwards = list(reversed(keys))
        store.push(backwards, [_array(mx, f"push {k}") for k in backwards])
        updates = _array(mx, "pushpull")
        store.pushpull(keys[1], updates)
        mx.nd.waitall()
        arguments = [call if isinstance(keys[0], int) else call[1:] for call in calls]
        answers[str(keys)] = [arguments, updates, [_pulled(mx, store, k) for k in keys]]
        calls.clear()
    return answers


@script
def store_optimizer(mx: Any) -> Any:
    answers: dict[str, Any] = {}
    for kind in ("local", "device"):
        for keys in ([0, 1], ["fc_weight", "fc_bias"]):
            store = mx.kv.create(kind)
            answers[f"{kind} {keys} none"] = [
                attempt(mx, lambda s=store: s.save_optimizer_states("unwritten")),
                attempt(mx, lambda s=store: s.load_optimizer_states("unread")),
            ]
            store.init(keys, [_array(mx, f"start {k}") for k in keys])
            options = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}
            store.set_optimizer(mx.optimizer.create("sgd", **options))
            steps = []
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "states")
                for step in range(4):
                    store.push(keys, [[_array(mx, f"{k} {step}", i) for i in (0, 1)] for k in keys])
                    steps.append([_pulled(mx, store, k) for k in keys])
                    if step == 1:
                        store.save_optimizer_states(path)
                    if step == 2:
                        store.load_optimizer_states(path)
                missing = os.path.join(folder, "missing")
                refused = attempt(mx, lambda s=store, f=missing: s.load_optimizer_states(f))
            answers[f"{kind} {keys}"] = [steps, refused]
    return answers


@script
def store_compression(mx: Any) -> Any:
    answers: dict[str, Any] = {}
    for name, params in {
        "default": {"type": "2bit"}, "half": {"type": "2bit", "threshold": 0.5},
        "two": {"type": "2bit", "threshold": 2}, "text": {"type": "2bit", "threshold": "1.5"},
    }.items():  # fmt: skip
        store = mx.kv.create("device")
        store.set_gradient_compression(params)
        store.init("w", mx.nd.zeros((2, 5)))
        rounds = []
        for step in range(4):
            gradients = [_array(mx, f"{step} {i}", i, shape=(2, 5)) for i in range(2)]
            gradients[0][0, :2] = [0.5, -0.5]
            store.push("w", gradients if step < 3 else gradients[0])
            rounds.append(_pulled(mx, store, "w", shape=(2, 5)))
        answers[name] = rounds
    refusals = {
        "none": {"type": "none"}, "1bit": {"type": "1bit"}, "empty": {},
        "negative": {"type": "2bit", "threshold": -1}, "zero": {"type": "2bit", "threshold": 0},
        "number": 3,
    }  # fmt: skip
    for name, params in refusals.items():
        device = mx.kv.create("device")
        answers[f"refuses {name}"] = attempt(
            mx, lambda s=device, p=params: s.set_gradient_compression(p)
        )
    local = mx.kv.create("local")
    answers["local"] = attempt(mx, lambda: local.set_gradient_compression({"type": "2bit"}))
    return answers


@script
def store_refusals(mx: Any) -> Any:
    one, out = mx.nd.ones(SHAPE), mx.nd.zeros(SHAPE)
    other = mx.nd.ones((3, 3))

    def store() -> Any:
        local_store = mx.kv.create("local")
        local_store.init(1, one)
        return local_store

    def pushed(value: Any) -> Any:
        local_store = store()
        local_store.push(1, value)
        return _pulled(mx, local_store, 1)

    actions: dict[str, Callable[[], Any]] = {
        "init twice": lambda: store().init(1, one),
        "init two arrays": lambda: store().init(2, [one, one]),
        "init one key twice": lambda: store().init([2, 2], [one, one]),
        "init mixed": lambda: store().init("a", one),
        "init too few": lambda: store().init([2, 3], [one]),
        "init nothing": lambda: store().init(2, []),
        "push unknown": lambda: store().push(2, one),
        "push mixed": lambda: store().push("a", one),
        "push keys of two types": lambda: store().push([1, "a"], [one, one]),
        "push float key": lambda: store().push(1.0, one),
        "push number": lambda: store().push(1, 3),
        "push list of numbers": lambda: store().push(1, [3]),
        "push numpy": lambda: store().push(1, np.ones(SHAPE)),
        "push no array": lambda: store().push(1, []),
        "push no key": lambda: store().push([], []),
        "push two shapes": lambda: pushed([one, other]),
        "pull unknown": lambda: store().pull(2, out=out),
        "pull without out": lambda: store().pull(1),
        "pull numpy": lambda: store().pull(1, out=np.ones(SHAPE)),
        "pull other shape": lambda: store().pull(1, out=other),
        "pull nothing": lambda: store().pull(1, out=[]),
        "pull too many": lambda: store().pull([1], out=[out, out]),
        "pushpull unknown": lambda: store().pushpull(2, one),
        "broadcast known": lambda: store().broadcast(1, one, out),
        "broadcast two": lambda: store().broadcast(2, [one, one], out),
        "rows without out": lambda: store().row_sparse_pull(1, row_ids=mx.nd.array([0])),
        "rows without ids": lambda: store().row_sparse_pull(1, out=out),
        "rows": lambda: store().row_sparse_pull(1, out=out, row_ids=mx.nd.array([0])),
    }
    return {name: attempt(mx, action) for name, action in actions.items()}
