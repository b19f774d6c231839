"""Many starts of workers, many epochs, and ends of every kind: nothing hangs, grows or is left.

``python -m pytest --soak -n 0 -s tests/soak/test_dataloader_workers.py``. ``--rounds`` is that
of starts and of epochs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, gluon, nd
from executorkit.gluon.data import ArrayDataset, DataLoader

pytestmark = pytest.mark.soak

#: Allowed growth of a process's memory in 1,000 epochs, in MB.
GROWTH = 20


def children() -> set[int]:
    """The processes that this one has started and that have not ended."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def resident(process: int) -> float:
    """The resident memory of a process, in MB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


def training_step(net, trainer, size):
    x = nd.random.uniform(shape=(size, 40))
    with autograd.record():
        loss = net(x).square().sum()
    loss.backward()
    trainer.step(size)


@pytest.mark.parametrize("beside", ["nothing", "threads"])
def test_starts(beside, request):
    """Between steps of a training whose programs are compiled in the background; beside threads
    that compute all the time."""
    rounds = request.config.getoption("--rounds") or (1000 if beside == "nothing" else 300)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(32, activation="relu"), gluon.nn.Dense(10))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    data, scale, before = nd.random.uniform(shape=(64, 40)), nd.ones(40) * 2, children()
    ending = threading.Event()

    def compute() -> None:
        for k in range(10**9):
            if ending.is_set():
                return
            x = nd.random.uniform(shape=(3 + k % 7, 50 + k % 13))
            nd.dot(x, x.T).asnumpy()

    thread = threading.Thread(target=compute)
    if beside == "threads":
        thread.start()
    seconds = []
    try:
        for number in range(rounds):
            training_step(net, trainer, 8 + number % 3)
            rows = ArrayDataset(data, np.arange(64)).transform_first(
                lambda x: x * scale + 0 * nd.random.uniform(shape=(40,))
            )
            start = time.perf_counter()
            batches = iter(DataLoader(rows, 16, num_workers=2, timeout=60))
            next(batches)
            x, _ = next(batches)
            np.testing.assert_allclose(x.asnumpy(), data[16:32].asnumpy() * 2, rtol=1e-6)
            seconds.append(time.perf_counter() - start)
    finally:
        ending.set()
        if beside == "threads":
            thread.join()
    print(f"\n{rounds} starts: mean {np.mean(seconds):.2f} s, maximum {max(seconds):.2f} s")
    del batches
    assert children() == before


def test_epochs(request):
    rounds = request.config.getoption("--rounds") or 1000
    data = ArrayDataset(nd.random.uniform(shape=(64, 3, 16, 16)), np.arange(64))
    before = children()
    loader = DataLoader(
        data.transform_first(lambda x: (x - 0.5) * 2), 16, shuffle=True, num_workers=2
    )
    processes = [os.getpid(), *(children() - before)]
    memory = []
    for number in range(rounds):
        assert len(list(loader)) == 4
        if number in (rounds // 5, rounds - 1):
            memory.append([resident(process) for process in processes])
            print(f"\nepoch {number}: {memory[-1]} MB")
    assert max(np.subtract(memory[-1], memory[0])) < GROWTH


SCRIPT = """
import sys, time
import executorkit as mx, numpy as np

class Samples:
    def __len__(self):
        return 1000
    def __getitem__(self, number):
        if number > 8:
            end = time.time() + 100
            while time.time() < end:
                time.sleep(100 if sys.argv[1] == "waits" else 0)
        return np.zeros((100, 100), "float32")

batches = iter(mx.gluon.data.DataLoader(Samples(), 4, num_workers=2))
next(batches)
print("begun", flush=True)
list(batches)
"""


@pytest.mark.parametrize("work", ["waits", "computes"])
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("group", [False, True])
def test_no_worker_outlives_its_parent(work, kind, group):
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT, work],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(mx.__file__).parents[1])},
        ) as parent:  # fmt: skip
            assert parent.stdout is not None
            assert parent.stdout.readline() == "begun\n"
            workers = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
            assert len(workers) == 2
            (os.killpg if group else os.kill)(parent.pid, kind)
            assert parent.wait(20) == -kind
        deadline = time.monotonic() + 10
        while running(workers):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def running(processes: list[str]) -> list[str]:
    """Those of these processes that have not ended."""
    paths = {p: Path(f"/proc/{p}/stat") for p in processes}
    return [p for p, x in paths.items() if x.exists() and x.read_text().split()[2] != "Z"]
