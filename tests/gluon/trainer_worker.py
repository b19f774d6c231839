"""One of two processes whose trainers use a dist store; also runs alone. See ``test_trainer``.

python trainer_worker.py PROCESS PROCESSES PORT
"""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import numpy as np

ROWS, DEVICES, STEPS = 8, 4, 3
#: Devices of a process, and whether the store updates.
TRAININGS = {"2-True": (2, True), "2-False": (2, False), "1-True": (1, True)}


def train_all(mx: Any, process: int, processes: int) -> dict[str, Any]:
    results = {}
    for name, (devices, on_store) in TRAININGS.items():
        os.environ["MXNET_UPDATE_ON_KVSTORE"] = str(int(on_store))
        results[name] = train(mx, devices, process, processes)
    return results


def train(mx: Any, devices: int, process: int, processes: int) -> dict[str, Any]:
    """Trains on this process's rows of every batch, which its devices share: the parameters, and
    the programs of the last step."""
    from executorkit.program import CompiledFunction

    call, programs = CompiledFunction._call, []

    def noted(function: CompiledFunction, *args: Any, **options: Any) -> Any:
        programs.append(function.name)
        return call(function, *args, **options)

    contexts = [mx.cpu(k) for k in range(devices)]
    random = np.random.RandomState(5)
    weight = mx.gluon.Parameter("weight", shape=(3, 5))
    weight.initialize(ctx=contexts)
    weight.set_data(mx.nd.array(random.randn(3, 5)))
    options = {"learning_rate": 0.3, "momentum": 0.9}
    trainer = mx.gluon.Trainer([weight], "sgd", options, kvstore="dist_sync")
    n_rows = ROWS // processes
    for _ in range(STEPS):
        rows = random.randn(ROWS, 5)[process * n_rows : (process + 1) * n_rows]
        parts = mx.gluon.utils.split_and_load(mx.nd.array(rows), contexts)
        programs.clear()
        with mock.patch.object(CompiledFunction, "_call", noted):
            with mx.autograd.record():
                losses = [
                    mx.nd.FullyConnected(x, weight.data(x.context), num_hidden=3, no_bias=True)
                    .square()
                    .sum()
                    for x in parts
                ]
            for loss in losses:
                loss.backward()
            trainer.step(ROWS)
    return {
        "programs": programs,
        "weight": [x.asnumpy().tolist() for x in weight.list_data()],
        "on store": trainer._update_on_kvstore,
        "workers": trainer._kvstore.num_workers,
    }


if __name__ == "__main__":
    from tests._tools.processes import run_worker

    run_worker(train_all, DEVICES)
