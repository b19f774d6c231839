"""XLA's threads leave a core to the calls beside a compilation, unless a call waits for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import executorkit as mx
from executorkit.program import submit
from executorkit.program._background_tasks import join_workers
from executorkit.program._compiler_threads import CompilerThreads, compiler_threads


def _has_cores() -> bool:
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1


pytestmark = pytest.mark.skipif(not _has_cores(), reason="needs a Linux with two cores")


@pytest.fixture
def thread() -> Iterator[int]:
    """The id of another thread, which waits."""
    end, ids, started = threading.Event(), [], threading.Event()

    def wait() -> None:
        ids.append(threading.get_native_id())
        started.set()
        end.wait(60)

    other = threading.Thread(target=wait)
    other.start()
    started.wait(60)
    yield ids[0]
    end.set()
    other.join()


def test_a_compilation_beside_calls_leaves_them_a_core(thread):
    cores = os.sched_getaffinity(thread)
    threads = CompilerThreads(lambda: [thread])
    with threads.confined():
        confined = os.sched_getaffinity(thread)
        with threads.confined():
            assert os.sched_getaffinity(thread) == confined
        assert os.sched_getaffinity(thread) == confined
    assert confined < cores
    assert len(confined) == len(cores) - 1
    assert os.sched_getaffinity(thread) == cores


def test_a_call_that_waits_gives_the_compiler_all_cores(thread):
    cores = os.sched_getaffinity(thread)
    threads = CompilerThreads(lambda: [thread])
    with threads.confined():
        with threads.awaited():
            assert os.sched_getaffinity(thread) == cores
        assert os.sched_getaffinity(thread) < cores
    with threads.awaited(), threads.confined():
        assert os.sched_getaffinity(thread) == cores


def test_one_core_and_threads_that_have_ended_stay_as_they_are(thread):
    cores = os.sched_getaffinity(thread)
    os.sched_setaffinity(thread, {min(cores)})
    ended = threading.Thread(target=threading.get_native_id)
    ended.start()
    ended.join()
    threads = CompilerThreads(lambda: [thread, ended.native_id or 0])
    with threads.confined():
        assert os.sched_getaffinity(thread) == {min(cores)}
    assert os.sched_getaffinity(thread) == {min(cores)}
    os.sched_setaffinity(thread, cores)


def test_the_compiler_has_threads_and_python_none_of_them(fresh_programs):
    seen = []
    submit(lambda: seen.append(dict(compiler_threads.cores)), beside_calls=True).wait(60)
    (confined,) = seen
    assert confined
    assert not confined.keys() & {t.native_id for t in threading.enumerate()}
    assert compiler_threads.cores == {}


def test_programs_compiled_beside_calls_leave_all_cores(automatic):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, no_bias=True)
    executor = x.simple_bind(mx.cpu(), grad_req="null", data=(2, 5))
    executor.arg_arrays[1][:] = 1
    for _ in range(60):
        result = executor.forward(is_train=False, data=mx.nd.ones((2, 5)))[0]
    np.testing.assert_array_equal(result.asnumpy(), np.full((2, 3), 5))
    assert compiler_threads.cores == {}


def test_waiting_ends_when_nothing_is_compiled_any_more():
    gate, ended = threading.Event(), []

    def work() -> None:
        gate.wait(60)
        ended.append(None)

    for beside_calls in (False, True, True):
        submit(work, beside_calls)
    gate.set()
    join_workers()
    assert len(ended) == 3
