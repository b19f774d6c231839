"""Real interrupts (SIGINT) at random moments of every way of training; threads for longer.

``python -m pytest --soak -n 0 -s tests/soak/test_signals.py``. ``--rounds`` is the number of
interrupts, over all ways.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

import executorkit as mx
from tests._tools.interrupts import WAYS, Reference, UpdaterTraining, differences, prepare
from tests.test_threads import in_threads, train

# An interrupt that strikes in a callback of the garbage collector is lost.
pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("way", WAYS)
def test_interrupts_lose_nothing(way, request):
    rounds = (request.config.getoption("--rounds") or 1000) // len(WAYS) + 1
    reference, training = Reference(WAYS[way]), WAYS[way]()
    rng = random.Random(way)
    number, interrupts, before_step, after_step = 0, 0, 0, 0
    while interrupts < rounds:
        prepare(training, number)
        start = time.perf_counter()
        if number < 5:  # compiled, and timed
            training.step(number)
            number += 1
            seconds = time.perf_counter() - start
            continue
        timer = threading.Timer(
            rng.uniform(0, 1.5 * seconds), os.kill, (os.getpid(), signal.SIGINT)
        )
        interrupted = False
        try:
            timer.start()
            training.step(number)
            timer.join()
            time.sleep(0.001)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            timer.join()
        interrupts += interrupted
        state = training.state()
        after = differences(state, reference.before(number + 1))
        if not after:
            after_step += interrupted
            number += 1
            continue
        before = differences(state, reference.before(number))
        if isinstance(training, UpdaterTraining):  # forward has drawn already
            before = [path for path in before if not path.startswith("/random")]
        assert interrupted
        assert not before, min(before, after, key=len)
        before_step += 1
    print(f"\n{way}: {interrupts} interrupts, {before_step} before the step, {after_step} after it")


def test_threads_train_for_long(request):
    rounds = request.config.getoption("--rounds") or 1800
    shared = mx.nd.ones((3, 4))
    in_threads(lambda number: train(number, shared, rounds))
