"""Workers that load batches in the background: forked processes, or threads.

A process is forked with its loader, so that it has datasets, lambdas and closures as they are. It
answers the requests of its parent in turn, with batches in shared memory, and ends with its parent.
"""

import contextlib
import multiprocessing
import os
import pickle
import queue
import select
import signal
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import connection
from multiprocessing.pool import (
    RemoteTraceback,  # pyright: ignore[reportAttributeAccessIssue]
    ThreadPool,
)
from typing import Any, NoReturn, Protocol

from ..._support.shape_semantics import (
    numpy_arrays,
    numpy_shapes,
    set_numpy_arrays,
    set_numpy_shapes,
)
from ...context import current_context
from ...errors import MXNetError, explain
from ._forking import ForkedArrays, can_fork, ready_to_fork
from ._shared_memory import MappedSegments, arena

#: Seconds in which a process has to answer once it is forked, at each attempt.
_START_SECONDS = (4.0, 8.0, 16.0, 32.0)

Work = Callable[[Any], Any]


class Workers(Protocol):
    """Threads or processes that load batches; ``is_open`` in the process that started them."""

    @property
    def is_open(self) -> bool: ...

    def request(self, number: int, samples: Any) -> Any:
        """Requests the batch of these samples, the ``number``-th of an epoch; returns a ticket."""
        ...

    def result(self, ticket: Any, timeout: float) -> Any:
        """Returns the batch of a ticket. Raises the worker's exception, or TimeoutError."""
        ...

    def cancel(self, ticket: Any) -> None: ...

    def close(self) -> None: ...


def start_workers(work: Work, count: int, in_threads: bool) -> Workers:
    """Starts workers that call ``work(samples)``: threads if asked for or if it cannot fork."""
    if in_threads:
        return ThreadWorkers(work, count)
    because = None
    if not can_fork():
        because = "processes are forked on Linux alone"
    elif multiprocessing.current_process().daemon:
        because = "a worker process has no processes of its own"
    if because is None:
        try:
            return ProcessWorkers(work, count)
        except multiprocessing.ProcessError as error:
            because = str(error)
        except OSError as error:
            because = f"no process can be forked: {error.strerror or error}"
    hint = "thread_pool=True does the same without this line"
    text = explain("DataLoader", "its workers are threads", because=because, hint=hint)
    warnings.warn(text, RuntimeWarning, stacklevel=4)
    return ThreadWorkers(work, count)


def timed_out(timeout: float, hint: str) -> multiprocessing.TimeoutError:
    problem = f"no batch came from a worker within {timeout:g} seconds"
    return multiprocessing.TimeoutError(explain("DataLoader", problem, hint=hint))


class ThreadWorkers:
    def __init__(self, work: Work, count: int) -> None:
        shapes, arrays, context = numpy_shapes(), numpy_arrays(), current_context()

        def begin() -> None:
            set_numpy_shapes(shapes)
            set_numpy_arrays(arrays)
            context.__enter__()

        self._work = work
        self._pool = ThreadPool(count, begin)
        self._owner = os.getpid()
        self._end = weakref.finalize(self, self._pool.terminate)

    @property
    def is_open(self) -> bool:
        return self._end.alive and os.getpid() == self._owner

    def request(self, number: int, samples: Any) -> Any:
        return self._pool.apply_async(_outcome, (self._work, samples))

    def result(self, ticket: Any, timeout: float) -> Any:
        ticket.wait(timeout)
        if not ticket.ready():
            raise timed_out(timeout, "a larger timeout")
        batch, error = ticket.get()
        if error is not None:
            raise error
        return batch

    def cancel(self, ticket: Any) -> None:
        pass

    def close(self) -> None:
        self._end()


def _outcome(work: Work, samples: Any) -> tuple[Any, BaseException | None]:
    try:
        return work(samples), None
    except BaseException as error:
        return None, error


class _Process:
    def __init__(self, arrays: ForkedArrays, work: Work, number: int) -> None:
        self.number = number
        self.segments = MappedSegments()
        #: Untaken answers, by request, and abandoned requests.
        self.answers: dict[int, Any] = {}
        self.cancelled: set[int] = set()
        self.count = 0
        self.is_ready = False
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(arrays, work, number, theirs, os.getpid()), daemon=True,
            name=f"DataLoaderWorker-{number}",
        )  # fmt: skip
        # The child ignores what Ctrl-C sends to both processes; none must come before it does.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with warnings.catch_warnings():
                # JAX and Python warn of forks in processes that have threads.
                warnings.simplefilter("ignore")
                self.process.start()
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def send(self, request: Any) -> None:
        with contextlib.suppress(OSError):  # an end of the process is seen in `receive`
            self.connection.send(request)

    def receive(self, timeout: float, others: Sequence["_Process"]) -> bool:
        sentinels = {p.process.sentinel: p for p in (self, *others)}
        ready: list[Any] = connection.wait([self.connection, *sentinels], timeout)
        if not ready:
            return False
        if self.connection not in ready and not self.connection.poll():
            raise sentinels[ready[0]]._ended()
        try:
            number, kind, content = pickle.loads(self.connection.recv_bytes())
            if kind == "batch":
                self.segments.receive(content, self.connection)
        except (EOFError, ConnectionResetError):
            raise self._ended() from None
        if kind == "ready":
            self.is_ready = True
        elif number in self.cancelled:
            self.cancelled.discard(number)
            if kind == "batch":
                self.segments.discard(content)
        else:
            self.answers[number] = kind, content
        return True

    def _ended(self) -> MXNetError:
        self.process.join(1.0)
        code = self.process.exitcode
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        else:
            how = f"has ended with exit code {code}"
        hint = "thread_pool=True, or num_workers=0 to see what its samples do"
        problem = f"worker process {self.number} {how}"
        because = "the system may have run out of memory" if code == -signal.SIGKILL else None
        return MXNetError("DataLoader", problem, because=because, hint=hint)

    def kill(self) -> None:
        if self.process.pid is not None and self.process.is_alive():
            self.process.kill()

    def close(self) -> None:
        if self.process.pid is not None:
            self.process.join()
            self.process.close()
        self.connection.close()


class ProcessWorkers:
    """Forked processes; the batches of an epoch go to them in turn, so that runs repeat."""

    def __init__(self, work: Work, count: int) -> None:
        self._processes: list[_Process] = []
        #: Messages are taken by one thread at a time.
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _end, self._processes, self._owner)
        try:
            with ready_to_fork() as arrays:
                for number in range(count):
                    self._processes.append(_Process(arrays, work, number))
            for number in range(count):
                self._await(work, number)
        except BaseException:
            self.close()
            raise

    def _await(self, work: Work, number: int) -> None:
        for seconds in _START_SECONDS:
            process = self._processes[number]
            with contextlib.suppress(MXNetError):
                if process.receive(seconds, ()):
                    return
            _end([process], self._owner)
            with ready_to_fork() as arrays:
                self._processes[number] = _Process(arrays, work, number)
        problem = "forked processes do not answer; another thread may have held a lock"
        raise multiprocessing.ProcessError(problem)

    @property
    def is_open(self) -> bool:
        return self._end.alive and os.getpid() == self._owner

    def request(self, number: int, samples: Any) -> Any:
        with self._closed_on_error():
            process = self._processes[number % len(self._processes)]
            process.count += 1
            ticket = process, process.count
            process.send((process.count, samples, process.segments.take_released()))
            return ticket

    def result(self, ticket: Any, timeout: float) -> Any:
        process, number = ticket
        end = time.monotonic() + timeout
        with self._closed_on_error():
            while number not in process.answers:
                if not process.receive(max(0.0, end - time.monotonic()), self._processes):
                    raise timed_out(timeout, "a larger timeout, or thread_pool=True")
            kind, content = process.answers.pop(number)
            if kind == "batch":
                return process.segments.unpack(content)
        raise _error(*content)

    def cancel(self, ticket: Any) -> None:
        process, number = ticket
        with self._lock:
            answer = process.answers.pop(number, None)
            if answer is None:
                process.cancelled.add(number)
                process.send((number, None, None))
            elif answer[0] == "batch":
                process.segments.discard(answer[1])

    @contextlib.contextmanager
    def _closed_on_error(self) -> Any:
        with self._lock:
            try:
                yield
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        self._end()


def _end(processes: list[_Process], owner: int) -> None:
    if os.getpid() != owner:
        return
    for process in processes:
        process.kill()
    for process in processes:
        process.close()


# In the forked process


def _serve(arrays: ForkedArrays, work: Work, number: int, parent: Any, parent_id: int) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    cancelled: set[int] = set()
    listening = (parent, parent_id, requests, cancelled)
    threading.Thread(target=_listen, args=listening, daemon=True).start()
    arrays.adopt(number)
    arena.is_shared = True
    parent.send_bytes(pickle.dumps((0, "ready", None)))
    while True:
        request, samples, released = requests.get()
        arena.release(released)
        try:
            batch = None if request in cancelled else work(samples)
            message = arena.pack(batch)
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            answer = pickle.dumps((request, "error", (_portable(error), text)))
            message = None
        else:
            answer = pickle.dumps((request, "batch", message))
        batch = None
        cancelled.discard(request)
        parent.send_bytes(answer)
        if message is not None:
            arena.send_new(message, parent)


def _listen(parent: Any, parent_id: int, requests: Any, cancelled: set[int]) -> None:
    poll = select.poll()
    with contextlib.suppress(OSError, EOFError):
        poll.register(os.pidfd_open(parent_id), select.POLLIN)
        poll.register(parent.fileno(), select.POLLIN)
        # The system may have given the number of a parent that has ended to another process.
        while os.getppid() == parent_id:
            if any(descriptor != parent.fileno() for descriptor, _ in poll.poll()):
                break
            request, samples, released = parent.recv()
            if released is None:
                cancelled.add(request)
            else:
                requests.put((request, samples, released))
    os.kill(os.getpid(), signal.SIGKILL)


def _portable(error: BaseException) -> Any:
    with contextlib.suppress(Exception):
        data = pickle.dumps(error)
        copy = pickle.loads(data)
        if type(copy) is type(error) and str(copy) == str(error):
            return data
    args: tuple[Any, ...] = error.args
    try:
        pickle.dumps(args)
    except Exception:
        args = (str(error),)
    return type(error).__module__, type(error).__qualname__, args


def _error(portable: Any, text: str) -> BaseException:
    if isinstance(portable, bytes):
        error = pickle.loads(portable)
    else:
        module, name, args = portable
        classes: list[type[BaseException]] = [BaseException]
        for cls in classes:  # which grows
            classes += type.__subclasses__(cls)
        same = [c for c in classes if (c.__module__, c.__qualname__) == (module, name)]
        if same:
            error = same[-1].__new__(same[-1], *args)
        else:
            error = MXNetError(
                "DataLoader", f"a worker has raised {name}: {args[0] if args else ''}"
            )
    error.__cause__ = RemoteTraceback(f'\n"""\n{text}"""')
    return error
