"""Compilations in background threads; XLA compiles without holding Python's lock."""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import jax

#: Maximum number of compilations at a time; XLA itself uses several threads for a large one.
MAX_WORKERS = max(2, min(4, os.cpu_count() or 1))
#: Seconds after which a call looks whether a compilation that it waits for was interrupted.
_PATIENCE = 0.1


class CompileTask:
    """One compilation, by a background thread or by the first call that needs it."""

    __slots__ = ("_done", "_thread", "_work", "error", "seconds")

    def __init__(self, work: Callable[[], object]) -> None:
        context, precision = copy_context(), _matmul_precision()

        def run() -> None:
            if _matmul_precision() == precision:
                context.run(work)
                return
            with jax.default_matmul_precision(precision):
                context.run(work)

        self._work = run
        #: The thread that has begun the work.
        self._thread: int | None = None
        self._done = threading.Event()
        self.error: BaseException | None = None
        self.seconds = 0.0

    @property
    def done(self) -> bool:
        """True if the work is done, has failed, or was cancelled at the end of the process."""
        return self._done.is_set()

    def run(self) -> None:
        """Does the work in this thread, unless it has begun elsewhere. After an interrupt the work
        has not begun: the next call that needs it does it."""
        thread = threading.get_ident()
        try:
            with _lock:
                if self._done.is_set() or self._thread not in (None, thread):
                    return
                self._thread = thread
            start = time.perf_counter()
            try:
                self._work()
            except Exception as error:  # raised where the task is waited for
                self.error = error
            self.seconds = time.perf_counter() - start
            self._done.set()
        except BaseException:
            if self._thread == thread:
                self._thread = None
            raise
        self._work = _nothing

    def wait(self, timeout: float | None = None) -> bool:
        return self._done.wait(timeout)

    def finish(self) -> None:
        while not self.done:
            self.run()
            self.wait(_PATIENCE)

    def cancel(self) -> None:
        with _lock:
            if self._thread is None:
                self._thread = threading.get_ident()
                self._work = _nothing
                self._done.set()


def _nothing() -> None: ...


class Precompilation:
    """Compilations that go on in the background; ``tasks`` has the parts of each request."""

    def __init__(self, tasks: Mapping[Hashable, Sequence[CompileTask]]) -> None:
        self.tasks = {request: tuple(parts) for request, parts in tasks.items()}

    @property
    def _all_tasks(self) -> list[CompileTask]:
        return [task for parts in self.tasks.values() for task in parts]

    @property
    def done(self) -> bool:
        """True if all compilations have ended."""
        return all(task.done for task in self._all_tasks)

    @property
    def seconds(self) -> float:
        """Seconds that the ended compilations took, one by one."""
        return sum(task.seconds for task in self._all_tasks)

    @property
    def errors(self) -> list[tuple[Any, BaseException]]:
        """The requests that could not be compiled so far, each with its error."""
        tasks = ((request, task) for request, parts in self.tasks.items() for task in parts)
        return [(request, task.error) for request, task in tasks if task.error is not None]

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until all compilations have ended, and raises their first error. Returns False if
        that takes more than ``timeout`` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        for task in self._all_tasks:
            if not task.wait(None if end is None else max(0.0, end - time.monotonic())):
                return False
        for _, error in self.errors:
            raise error
        return True

    def __repr__(self) -> str:
        ended = sum(all(task.done for task in parts) for parts in self.tasks.values())
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<Precompilation: {ended} of {len(self.tasks)} compiled{failed}>"


def _matmul_precision() -> Any:
    return jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]


_lock = threading.RLock()
#: Number of contexts that want no task to begin.
_pauses = 0
#: Set at the end of the process, when no thread can be started any more.
_ending = threading.Event()


class _Queue:
    """Tasks in the order of submission, and the background threads that take them."""

    def __init__(self, max_workers: int) -> None:
        self.tasks: deque[CompileTask] = deque()
        self.workers: set[threading.Thread] = set()
        #: Tasks that have begun and not ended.
        self.running: list[CompileTask] = []
        self._max_workers = max_workers

    def submit(self, task: CompileTask) -> None:
        with _lock:
            self.tasks.append(task)
            if len(self.workers) < self._max_workers and not _ending.is_set():
                worker = threading.Thread(
                    target=self.work_off, name="executorkit-compile", daemon=True
                )
                self.workers.add(worker)
                worker.start()

    def work_off(self) -> None:
        while True:
            while _pauses:
                time.sleep(1e-3)
            with _lock:
                if _pauses:
                    continue
                if not self.tasks:
                    self.workers.discard(threading.current_thread())
                    return
                task = self.tasks.popleft()
                self.running.append(task)
            task.run()
            self.running.remove(task)


#: Compilations, and the work after them, which the end of the process waits for.
_compilations, _after = _Queue(MAX_WORKERS), _Queue(1)
_queues = _compilations, _after


def submit(work: Callable[[], object]) -> CompileTask:
    """Queues work for the background threads, which take it in the order of submission."""
    task = CompileTask(work)
    _compilations.submit(task)
    return task


def submit_after(work: Callable[[], object]) -> None:
    """Queues short work that follows a compilation; the process does not end before it is done."""
    _after.submit(CompileTask(work))


def join_workers() -> None:
    """Waits until the background threads have nothing to do."""
    while any(queue.workers for queue in _queues):
        for queue in _queues:
            for worker in list(queue.workers):
                worker.join()


@contextmanager
def paused_tasks() -> Iterator[None]:
    """Waits for the running background tasks, and lets none begin within the context."""
    global _pauses
    with _lock:
        _pauses += 1
    try:
        while any(queue.running for queue in _queues):
            time.sleep(1e-3)
        yield
    finally:
        with _lock:
            _pauses -= 1


def forget_workers() -> None:
    """Drops the parent's tasks and threads in a forked process."""
    global _lock, _pauses
    _lock, _pauses = threading.RLock(), 0
    for queue in _queues:
        queue.tasks.clear()
        queue.workers.clear()
        queue.running.clear()


@atexit.register
def _shut_down() -> None:
    """Cancels queued compilations and waits for running ones: XLA must not be torn down before."""
    with _lock:
        _ending.set()
        queued = list(_compilations.tasks)
        workers = [worker for queue in _queues for worker in queue.workers]
        _compilations.tasks.clear()
    for task in queued:
        task.cancel()
    for worker in workers:
        worker.join()
    _after.work_off()
