"""A training in which one process fails: python faulty_training.py FAULT RANK BATCH FOLDER."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import executorkit as mx

SIGNALS = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}


def main() -> None:
    fault, failing, batch, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    logging.basicConfig(level=logging.WARNING)
    seen = 0

    def fail(_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen != batch or store.rank != failing:
            return
        Path(folder, "failed").write_text("")
        if fault == "raise":
            raise ValueError("bad")
        if fault == "exit":
            sys.exit(3)
        os.kill(os.getpid(), signal.SIGSTOP if fault == "stop" else SIGNALS[fault])

    prefix = str(Path(folder) / "net")
    store = mx.kv.create("dist_sync")
    data = np.random.RandomState(0).randn(40, 5)
    network = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(network, name="softmax"))
    module.fit(
        mx.io.NDArrayIter(data, np.zeros(40), 4),
        num_epoch=200,
        kvstore=store,
        batch_end_callback=fail,
        epoch_end_callback=mx.callback.do_checkpoint(prefix) if store.rank == 0 else None,
    )


if __name__ == "__main__":
    main()
