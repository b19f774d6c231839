"""Saves a checkpoint, then others, each in a forked process that is killed in the middle of it.

    python checkpoint_worker.py FOLDER "EPOCH FILE MOMENT" ...

The first checkpoint is of epoch 1, the other one of EPOCH. FILE says in which file of it the
process ends (params, states, symbol), MOMENT when: ``write``, with 100 bytes written, or ``move``,
with all bytes written beside the file's place. Each kill has a folder, FOLDER/0 and so on, with
copies of both checkpoints, whole, in ``first`` and ``second``. Prints how the processes ended.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
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


def save(module: Any, folder: Path, epoch: int) -> None:
    module.save_checkpoint(str(folder / "net"), epoch, save_optimizer_states=True)


def main(folder: Path, kills: list[str]) -> None:
    trained = module()
    train(trained)
    first = folder / "first"
    first.mkdir()
    save(trained, first, 1)
    train(trained)
    codes = []
    for number, kill in enumerate(kills):
        epoch, file, moment = kill.split()
        own = folder / str(number)
        shutil.copytree(first, own)
        shutil.copytree(first, own / "first")
        (own / "second").mkdir()
        save(trained, own / "second", int(epoch))
        process = os.fork()
        if process == 0:
            end_in(file, moment)
            save(trained, own, int(epoch))
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    print(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
