"""Saves a checkpoint, then another one, in the middle of which the process is killed.

    python checkpoint_worker.py FOLDER EPOCH FILE MOMENT

The first checkpoint is of epoch 1, the second of EPOCH. FILE says in which file of the second one
the process ends (params, states, symbol), MOMENT when: ``write``, with 100 bytes written, or
``move``, with all bytes written beside the file's place. Copies of both checkpoints, whole, are in
FOLDER/first and FOLDER/second.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import executorkit as mx


def module() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=20, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer(optimizer="adam")
    return module


def train(module: Any) -> None:
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.arange(4)]))
    module.update()


def end_in(file: str, moment: str) -> None:
    """Has the process killed when a file is written, or moved to its place."""

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event not in ("open", "os.rename") or file not in Path(str(args[0])).name:
            return
        if event == "open" and moment == "write":
            # The kernel kills who writes more than it may.
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        elif event == "os.rename" and moment == "move":
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def main(folder: Path, epoch: int, file: str, moment: str) -> None:
    prefix = folder / "net"
    trained = module()
    train(trained)
    trained.save_checkpoint(str(prefix), 1, save_optimizer_states=True)
    for copies, number in (("first", 1), ("second", epoch)):
        (folder / copies).mkdir()
        trained.save_checkpoint(str(folder / copies / "net"), number, save_optimizer_states=True)
        if copies == "first":
            train(trained)
    end_in(file, moment)
    trained.save_checkpoint(str(prefix), epoch, save_optimizer_states=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
