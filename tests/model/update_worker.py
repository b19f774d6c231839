"""One of two processes that train through a dist store; also runs alone.

See ``test_kvstore_update``.

python update_worker.py PROCESS PROCESSES PORT
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

ROWS, DEVICES, STEPS = 8, 4, 3


def train_both(mx: Any, process: int, processes: int) -> dict[str, Any]:
    """The results of :func:`train` without updates on the store, and with them."""
    results = {}
    for update_on_kvstore in "01":
        os.environ["MXNET_UPDATE_ON_KVSTORE"] = update_on_kvstore
        results[update_on_kvstore] = train(mx, process, processes)
    return results


def train(mx: Any, process: int, processes: int) -> dict[str, Any]:
    """Trains on this process's rows of every batch; the parameters on its devices, and sums."""
    devices = DEVICES // processes
    rows = slice(process * ROWS // processes, (process + 1) * ROWS // processes)
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=3, name="fc2")
    symbol = mx.sym.SoftmaxOutput(x, name="softmax")
    names = [n for n in symbol.list_arguments() if n not in ("data", "softmax_label")]
    random = np.random.RandomState(5)
    data, label = random.randn(STEPS, ROWS, 5), random.randint(0, 3, (STEPS, ROWS))
    shapes = mx.io.NDArrayIter(data[0][rows], label[0][rows], ROWS // processes)
    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol, [mx.cpu(i) for i in range(devices)], shapes, symbol.list_arguments(), names, []
    )
    executor = manager.execgrp.train_execs[0]
    params = {n: mx.nd.array(random.randn(*executor.arg_dict[n].shape)) for n in names}
    manager.set_params(params, {})
    store, update_on_kvstore = mx.model._create_kvstore("dist_sync", devices, params)
    optimizer = mx.optimizer.create("sgd", learning_rate=0.3, momentum=0.9, rescale_grad=1 / ROWS)
    updater = mx.optimizer.get_updater(optimizer)
    if update_on_kvstore:
        store.set_optimizer(optimizer)
    mx.model._initialize_kvstore(store, manager.param_arrays, params, names, update_on_kvstore)
    for xs, ys in zip(data, label, strict=True):
        manager.load_data_batch(mx.io.DataBatch([mx.nd.array(xs[rows])], [mx.nd.array(ys[rows])]))
        manager.forward(is_train=True)
        manager.backward()
        if update_on_kvstore:
            mx.model._update_params_on_kvstore(
                manager.param_arrays, manager.grad_arrays, store, names
            )
        else:
            mx.model._update_params(
                manager.param_arrays, manager.grad_arrays, updater, devices, store, names
            )
    store.barrier()
    return {
        "params": {
            n: [a.asnumpy().tolist() for a in arrays]
            for n, arrays in zip(names, manager.param_arrays, strict=True)
        },
        "update_on_kvstore": update_on_kvstore,
        "rank": store.rank,
        "num_workers": store.num_workers,
        **_sums(mx, process),
    }


def _sums(mx: Any, process: int) -> dict[str, Any]:
    out = mx.nd.zeros((2,))
    dist, local, compressed = (mx.kv.create(n) for n in ("dist_sync", "device", "dist_async"))
    dist.broadcast("w", mx.nd.ones((2,)) * process, out=out)
    results = {"broadcast": out.asnumpy().tolist()}
    local.init("w", out)
    local.pushpull("w", [mx.nd.ones((2,))] * 2, out=out)
    results["local"] = out.asnumpy().tolist()
    compressed.init("w", out)
    compressed.set_gradient_compression({"type": "2bit", "threshold": 1})
    compressed.pushpull("w", [mx.nd.array([0.6, 0.2])] * 2, out=out)
    results["compressed"] = out.asnumpy().tolist()
    return results


if __name__ == "__main__":
    from tests._tools.processes import run_worker

    run_worker(train_both, DEVICES)
