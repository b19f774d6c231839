"""A training that goes on from its newest checkpoint, and whose first attempt fails in one process:
python restarted_training.py FAULT RANK BATCH FOLDER."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import executorkit as mx

SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT, "term": signal.SIGTERM}


def main() -> None:
    fault, failing, batch, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    logging.basicConfig(level=logging.ERROR)
    seen = 0

    def fail(_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen != batch or store.rank != failing or os.environ["EXECUTORKIT_ATTEMPT"] != "0":
            return
        if fault == "raise":
            raise ValueError("bad")
        os.kill(os.getpid(), SIGNALS[fault])

    prefix = str(Path(folder) / "net")
    store = mx.kv.create("dist_sync")
    epochs = [int(p.stem.rpartition("-")[2]) for p in Path(folder).glob("net-*.states")]
    if epochs:
        module = mx.mod.Module.load(prefix, max(epochs), load_optimizer_states=True)
    else:
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
        x = mx.sym.Dropout(mx.sym.tanh(x), p=0.5)
        x = mx.sym.FullyConnected(x, num_hidden=2, name="fc2")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
        mx.random.seed(3)
    data = np.random.RandomState(store.rank).randn(40, 5)
    save = mx.callback.module_checkpoint(module, prefix, save_optimizer_states=True)
    module.fit(
        mx.io.NDArrayIter(data, data[:, 0] > 0, 4),
        begin_epoch=max(epochs, default=0),
        num_epoch=6,
        kvstore=store,
        optimizer="adam",
        initializer=mx.init.Xavier(),
        batch_end_callback=fail,
        epoch_end_callback=save if store.rank == 0 else None,
    )


if __name__ == "__main__":
    main()
