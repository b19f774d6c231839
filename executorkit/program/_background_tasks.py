"""Work that is done ahead, in threads of its own: XLA compiles without holding Python's lock."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import copy_context
from typing import Any

import jax

#: So many compilations run at once; XLA itself uses several threads for a large one.
MAX_WORKERS = max(2, min(4, os.cpu_count() or 1))


class CompileTask:
    """One piece of work, done once: by a thread in the background, or by whoever needs it first."""

    __slots__ = ("_done", "_work", "error", "seconds")

    def __init__(self, work: Callable[[], Any]) -> None:
        context, precision = copy_context(), _precision()

        def run() -> None:
            if _precision() == precision:
                context.run(work)
                return
            with jax.default_matmul_precision(precision):
                context.run(work)

        self._work: Callable[[], Any] | None = run
        self._done = threading.Event()
        self.error: BaseException | None = None
        self.seconds = 0.0

    @property
    def done(self) -> bool:
        """Whether the work is done, has failed, or was given up at the end of the process."""
        return self._done.is_set()

    def run(self) -> None:
        """Does the work here, unless it has been begun elsewhere."""
        with _lock:
            work, self._work = self._work, None
        if work is None:
            return
        start = time.perf_counter()
        try:
            work()
        except BaseException as error:  # told to whoever waits for the task
            self.error = error
        self.seconds = time.perf_counter() - start
        self._done.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the work is done; False if that takes longer."""
        return self._done.wait(timeout)

    def finish(self) -> None:
        """Does the work here and now if nobody has begun it, else waits for whoever has."""
        self.run()
        self.wait()

    def cancel(self) -> None:
        """Drops work that nobody has begun."""
        with _lock:
            begun, self._work = self._work is None, None
        if not begun:
            self._done.set()


class Precompilation:
    """Compilations that go on in the background.

    tasks
        one for each thing that was asked for, in that order.
    """

    def __init__(self, tasks: Mapping[Hashable, Sequence[CompileTask]]) -> None:
        self.tasks = {what: tuple(some) for what, some in tasks.items()}

    @property
    def _all(self) -> list[CompileTask]:
        return [task for some in self.tasks.values() for task in some]

    @property
    def done(self) -> bool:
        """Whether all compilations have ended."""
        return all(task.done for task in self._all)

    @property
    def seconds(self) -> float:
        """What those that have ended took, one by one."""
        return sum(task.seconds for task in self._all)

    @property
    def errors(self) -> list[tuple[Any, BaseException]]:
        """What could not be compiled so far, and why."""
        return [(w, t.error) for w, some in self.tasks.items() for t in some if t.error is not None]

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for all compilations. True when they have ended, False if ``timeout`` seconds did
        not suffice. Raises the first error that one of them met."""
        end = None if timeout is None else time.monotonic() + timeout
        for task in self._all:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not task.wait(left):
                return False
        for _, error in self.errors:
            raise error
        return True

    def __repr__(self) -> str:
        ended = sum(all(t.done for t in some) for some in self.tasks.values())
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<Warming: {ended} of {len(self.tasks)} compiled{failed}>"


def _precision() -> Any:
    """JAX's precision of products in this thread, which a ``with`` block may have set."""
    return jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]


_lock = threading.Lock()
_waiting: deque[CompileTask] = deque()
_workers: set[threading.Thread] = set()


def submit(work: Callable[[], Any]) -> CompileTask:
    """Has work done in the background, in the order in which it came."""
    task = CompileTask(work)
    with _lock:
        _waiting.append(task)
        if len(_workers) < MAX_WORKERS:
            worker = threading.Thread(target=_serve, name="executorkit-compile", daemon=True)
            _workers.add(worker)
            worker.start()
    return task


def _serve() -> None:
    while True:
        with _lock:
            if not _waiting:
                _workers.discard(threading.current_thread())
                return
            task = _waiting.popleft()
        task.run()


@atexit.register
def _leave() -> None:
    """At the end of the process: what has not been begun is dropped, what has been is waited for,
    since XLA must not be torn down while it compiles."""
    with _lock:
        left, workers = list(_waiting), list(_workers)
        _waiting.clear()
    for task in left:
        task.cancel()
    for worker in workers:
        worker.join()
