"""Classic training loops over a group, with every kind of store and with none."""

from __future__ import annotations

import os
from typing import Any

from ..group_scripts._facts import Shapes, batch, contexts, fill, mlp, parameters
from ._facts import attempt, script

ROWS = 8
INPUTS = ("data", "softmax_label")


def _trained(mx: Any, kvstore: Any, devices: int, steps: int = 4, **options: Any) -> Any:
    """The parameters on all devices after some steps."""
    place = {1: "one device", 2: "two devices", 4: "four devices"}[devices]
    symbol = mlp(mx)
    names = parameters(symbol, INPUTS)
    shapes = Shapes([("data", (ROWS, 5))], [("softmax_label", (ROWS,))], ROWS)
    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol, contexts(mx, place), shapes, symbol.list_arguments(), names,
        symbol.list_auxiliary_states(),
    )  # fmt: skip
    fill(manager, names, manager.execgrp.train_execs)
    params = {n: a[0].copy() for n, a in zip(names, manager.param_arrays, strict=True)}
    store, on_store = mx.model._create_kvstore(kvstore, devices, params)
    optimizer = mx.optimizer.create("sgd", rescale_grad=1 / ROWS, **options)
    updater = mx.optimizer.get_updater(optimizer)
    if on_store:
        store.set_optimizer(optimizer)
    if store:
        mx.model._initialize_kvstore(store, manager.param_arrays, params, names, on_store)
    for step in range(steps):
        manager.load_data_batch(batch(mx, step, (ROWS, 5), (ROWS,)))
        manager.forward(is_train=True)
        manager.backward()
        if on_store:
            mx.model._update_params_on_kvstore(
                manager.param_arrays, manager.grad_arrays, store, names
            )
        else:
            mx.model._update_params(
                manager.param_arrays, manager.grad_arrays, updater, devices, store, names
            )
    mx.nd.waitall()
    return [on_store, getattr(store, "type", None), [list(a) for a in manager.param_arrays]]


@script
def update_loops(mx: Any) -> Any:
    return {
        f"{kvstore} {devices}": _trained(
            mx, kvstore, devices, learning_rate=0.5, momentum=0.9, wd=0.01
        )
        for kvstore in ("local", "device", None)
        for devices in (1, 2, 4)
        if devices < 4 or kvstore
    }


@script
def update_not_on_store(mx: Any) -> Any:
    os.environ["MXNET_UPDATE_ON_KVSTORE"] = "0"
    try:
        return [
            _trained(mx, kvstore, 2, learning_rate=0.5, momentum=0.9)
            for kvstore in ("local", "device")
        ]
    finally:
        del os.environ["MXNET_UPDATE_ON_KVSTORE"]


@script
def update_functions(mx: Any) -> Any:
    calls: list[Any] = []

    def updater(indices: Any, grads: Any, params: Any) -> None:
        calls.append([type(indices).__name__, list(indices), list(grads), list(params)])
        for grad, param in zip(grads, params, strict=True):
            param -= grad

    params = [[mx.nd.ones((2,)) * i, mx.nd.ones((2,)) * (i + 3)] for i in range(3)]
    grads = [
        [mx.nd.ones((2,)) * 10, mx.nd.ones((2,)) * 20],
        [None, None],
        [mx.nd.ones((2,)) * 30, mx.nd.ones((2,)) * 40],
    ]
    mx.model._update_params(params, grads, updater, 2)
    store = mx.kv.create("device")
    first = {n: p[0].copy() for n, p in zip("abc", params, strict=True)}
    mx.model._initialize_kvstore(store, params, first, "abc", False)
    mx.model._update_params(params, grads, updater, 2, store, "abc")
    mx.model._update_params(params, [[None, None]] * 3, updater, 2, store, "abc")
    return [calls, params, [g for g in grads if g[0] is not None]]


@script
def update_stores(mx: Any) -> Any:
    small, large = mx.nd.zeros((2, 2)), mx.nd.zeros((4097, 4096), dtype="int8")
    mine = mx.kv.create("local")
    answers = {}
    for name, kvstore, devices, params in (
        ("none", None, 2, {"w": small}),
        ("one device", "local", 1, {"w": small}),
        ("one device, device", "device", 1, {"w": small}),
        ("two devices", "local", 2, {"w": small}),
        ("large", "local", 2, {"v": small, "w": large}),
        ("large, device", "device", 2, {"w": large}),
        ("given", mine, 1, {"w": small}),
        ("given, large", mine, 1, {"w": large}),
    ):
        store, on_store = mx.model._create_kvstore(kvstore, devices, params)
        answers[name] = [getattr(store, "type", None), store is mine, on_store]
    answers["number"] = attempt(mx, lambda: mx.model._create_kvstore(3, 2, {"w": small}))
    answers["no parameters"] = attempt(mx, lambda: mx.model._create_kvstore("local", 2, {}))
    return answers
