"""One of several processes whose modules train together; also runs alone.

See ``test_module_processes``.

python module_worker.py PROCESS PROCESSES PORT
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS, DEVICES, STEPS = 8, 4, 4


def train(mx: Any, process: int, processes: int) -> dict[str, Any]:
    """Fits this process's rows of every batch; parameters and states afterwards."""
    devices = DEVICES // processes
    rows = slice(process * ROWS // processes, (process + 1) * ROWS // processes)
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=3, name="fc2")
    symbol = mx.sym.SoftmaxOutput(x, name="softmax")
    random = np.random.RandomState(5)
    data, label = random.randn(STEPS, ROWS, 5), random.randint(0, 3, (STEPS, ROWS))
    batches = mx.io.NDArrayIter(
        data[:, rows].reshape(-1, 5), label[:, rows].reshape(-1), ROWS // processes
    )
    module = mx.mod.Module(symbol, context=[mx.cpu(i) for i in range(devices)])
    # All processes begin with the first one's parameters.
    mx.random.seed(process)
    module.fit(
        batches,
        kvstore="dist_sync",
        optimizer="adam",
        optimizer_params={"learning_rate": 0.05},
        initializer=mx.init.Uniform(0.5),
        num_epoch=1,
    )
    return {
        "params": {n: a.asnumpy().tolist() for n, a in module.get_params()[0].items()},
        "replicas": [[w.asnumpy().tolist() for w in ws] for ws in module._exec_group.param_arrays],
        "rescale": module._optimizer.rescale_grad,
    }


if __name__ == "__main__":
    from tests._tools.processes import run_worker

    run_worker(train, DEVICES)
