"""Helper threads: one large kernel is computed by several threads.

NumPy and BLAS release Python's lock while they work on large arrays. The division of a kernel
follows from its shapes and the cores of the process, never from the threads that are free, so that
results are the same at every call.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


#: Number of threads that compute one kernel.
THREADS = min(8, _cores())
#: Minimum number of multiplications of a kernel that is divided, which take 0.4 ms: to wake a
#: thread takes 0.05 ms.
MIN_MULTIPLICATIONS = 1 << 24


class _Helpers:
    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(THREADS - 1, "executorkit-interpreter")
            self._process = os.getpid()
        return self._pool

    def end(self, pool: ThreadPoolExecutor) -> None:
        if self._pool is pool:
            self._pool = None
        pool.shutdown(cancel_futures=True)


_helpers = _Helpers()


def run_all(jobs: Sequence[Callable[[], object]], multiplications: int) -> None:
    """Runs independent jobs in this thread and helpers; few ``multiplications`` need no helpers."""
    count = min(len(jobs), THREADS) - 1
    remaining = iter(jobs)
    if count < 1 or multiplications < MIN_MULTIPLICATIONS:
        _run(remaining)
        return
    pool = _helpers.pool()
    helping: list[Future[None]] = []
    try:
        helping.extend(pool.submit(copy_context().run, _run, remaining) for _ in range(count))
    except RuntimeError:  # the process ends, or may have no more threads
        _helpers.end(pool)
    try:
        _run(remaining)
    finally:
        begun = [helper for helper in helping if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()


def _run(jobs: Iterator[Callable[[], object]]) -> None:
    for job in jobs:
        job()


def parts(length: int, count: int, multiple: int = 1) -> list[slice]:
    """Cuts ``length`` into at most ``count`` slices, equal and multiples but for the last."""
    step = max(multiple, -(-length // (count * multiple)) * multiple)
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]
