"""Compilations that a call waits for."""

from __future__ import annotations

import itertools
import threading

from executorkit.program import CompileTask
from tests._tools.interrupts import Interrupter


def test_work_that_was_interrupted_is_done_by_the_next_call():
    for at in itertools.count(1):
        done: list[int] = []
        task = CompileTask(lambda done=done: done.append(1))
        interrupted = Interrupter(at, only="_background_tasks").run(task.finish)
        waiting = threading.Thread(target=task.finish, daemon=True)
        waiting.start()
        waiting.join(20)
        assert not waiting.is_alive(), f"signal {at}"
        assert task.done
        assert done
        assert task.error is None
        if not interrupted:
            break
    assert at > 5


def test_an_error_belongs_to_the_task():
    task = CompileTask(lambda: 1 / 0)
    task.finish()
    assert isinstance(task.error, ZeroDivisionError)


def test_cancelled_work_is_not_done():
    task = CompileTask(lambda: 1 / 0)
    task.cancel()
    task.finish()
    assert task.done
    assert task.error is None
