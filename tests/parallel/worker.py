"""One of two processes that train together; see ``test_processes``. Also runs in one process alone.

python worker.py PROCESS PROCESSES PORT
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS, DEVICES, STEPS = 8, 4, 3


def train(mx: Any, process: int, processes: int) -> dict[str, Any]:
    """Trains on this process's rows of every batch; what the process sees of its devices."""
    local_devices = DEVICES // processes
    rows = slice(process * ROWS // processes, (process + 1) * ROWS // processes)
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    x = mx.sym.BatchNorm(mx.sym.Activation(x, act_type="tanh"), name="bn", fix_gamma=False)
    symbol = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(x, num_hidden=3, name="fc2"), name="softmax"
    )
    names = [n for n in symbol.list_arguments() if n not in ("data", "softmax_label")]
    random = np.random.RandomState(5)
    data, label = random.randn(STEPS, ROWS, 5), random.randint(0, 3, (STEPS, ROWS))
    shapes = mx.io.NDArrayIter(data[0][rows], label[0][rows], ROWS // processes)
    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol,
        [mx.cpu(i) for i in range(local_devices)],
        shapes,
        symbol.list_arguments(),
        names,
        symbol.list_auxiliary_states(),
    )
    executor = manager.execgrp.train_execs[0]
    params = {n: mx.nd.array(random.randn(*executor.arg_dict[n].shape)) for n in names}
    manager.set_params(params, {n: mx.nd.ones((4,)) for n in manager.aux_names})
    metric = mx.metric.create("ce")
    for xs, ys in zip(data, label, strict=True):
        batch = mx.io.DataBatch([mx.nd.array(xs[rows])], [mx.nd.array(ys[rows])])
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        manager.update_metric(metric, batch.label)
        sums = mx.parallel.all_reduce(manager.grad_arrays)
        for weights, totals in zip(manager.param_arrays, sums, strict=True):
            for weight, total in zip(weights, totals, strict=True):
                weight -= 0.1 / ROWS * total
    states = {n: mx.nd.zeros((4,)) for n in manager.aux_names}
    manager.copy_to(params, states)
    return {
        "grads": [[g.asnumpy().tolist() for g in gs] for gs in manager.grad_arrays],
        "aux": [[a.asnumpy().tolist() for a in arrays] for arrays in manager.aux_arrays],
        "params": {n: a.asnumpy().tolist() for n, a in params.items()},
        "states": {n: a.asnumpy().tolist() for n, a in states.items()},
        "metric": metric.get()[1],
        "mapped": manager.execgrp.core.is_pmapped,
    }


if __name__ == "__main__":
    from tests._processes import run_worker

    run_worker(train, DEVICES)
