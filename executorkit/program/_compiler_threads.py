"""XLA's compiler threads, kept off one core while calls are computed beside a compilation.

XLA compiles a program in threads of its own, as many as there are cores. Calls that are interpreted
meanwhile wait for a core then: a SqueezeNet's took 16 ms instead of 10.6 on two cores. A lower
priority could not be taken back without privileges, and a call that waits for the program at last
would wait for every other process of the machine; cores can be given back. With one core less for
the compiler those calls take 11.4 ms.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import jax

#: Minimum seconds of the processor by which a thread shows that it compiles.
_COMPILES = 1e-3


class CompilerThreads:
    """The compiler's threads, and the cores that they may use.

    find
        finds the threads' ids, once.
    cores
        the cores that each confined thread may use otherwise.
    """

    def __init__(self, find: Callable[[], list[int]]) -> None:
        self._find = find
        self._lock = threading.RLock()
        self._ids: list[int] | None = None
        #: Numbers of compilations beside calls, and of calls that wait for one.
        self._beside, self._waits = 0, 0
        self.cores: dict[int, set[int]] = {}

    @contextmanager
    def confined(self) -> Iterator[None]:
        """A compilation beside calls, which leaves them a core."""
        if self._ids is None:
            self._ids = self._find()
        self._change(1, 0)
        try:
            yield
        finally:
            self._change(-1, 0)

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """A call that waits for a compilation, which has all cores."""
        self._change(0, 1)
        try:
            yield
        finally:
            self._change(0, -1)

    def forget(self) -> None:
        """Confines nothing from now on: a forked process has other threads."""
        self._lock = threading.RLock()
        self._ids = []
        self._beside = self._waits = 0
        self.cores.clear()

    def _change(self, beside: int, waits: int) -> None:
        with self._lock:
            self._beside += beside
            self._waits += waits
            if self._beside and not self._waits:
                self._confine()
            elif self.cores:
                self._release()

    def _confine(self) -> None:
        for thread in self._ids or ():
            with suppress(OSError):
                cores = os.sched_getaffinity(thread)
                if thread not in self.cores and len(cores) > 1:
                    self.cores[thread] = cores
                    os.sched_setaffinity(thread, cores - {min(cores)})

    def _release(self) -> None:
        for thread, cores in self.cores.items():
            with suppress(OSError):
                os.sched_setaffinity(thread, cores)
        self.cores.clear()


def _find() -> list[int]:
    """Ids of the threads that compile a program without any work, or begin with it, but Python's;
    none where the system has no list of threads."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    lowered = jax.jit(lambda: 0).lower()
    before = _seconds_of_threads()
    lowered.compile()
    python = {thread.native_id for thread in threading.enumerate()}
    return [
        thread
        for thread, seconds in _seconds_of_threads().items()
        if thread not in python and seconds - before.get(thread, -1.0) > _COMPILES
    ]


def _seconds_of_threads() -> dict[int, float]:
    """Seconds of the processor that each thread of this process has had, but for those that
    compute (``tf_XLAEigen``)."""
    seconds = {}
    for task in Path("/proc/self/task").glob("*"):
        with suppress(OSError):
            if "Eigen" not in (task / "comm").read_text():
                seconds[int(task.name)] = int((task / "schedstat").read_text().split()[0]) * 1e-9
    return seconds


compiler_threads = CompilerThreads(_find)
