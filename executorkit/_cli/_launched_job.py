"""The processes of one job: started, read, signalled and ended together."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

#: Seconds after the first failure until the others, which end by themselves, get SIGTERM; and
#: from then until SIGKILL.
_PATIENCE, _GRACE = 4.0, 4.0
#: Seconds between two looks at the processes.
_POLL = 0.01
#: Number of the last lines of stderr that are kept of each process.
_KEPT_LINES = 200
#: Lines of JAX's C++ before it aborts a process because process 0, which had the coordination
#: service, is gone: the first lines, and the lines that follow.
_ABORT = re.compile(
    rb"F\d{4} \S+ +\d+ client\.h:\d+\] Terminating process because the JAX distributed service"
    rb"|E\d{4} \S+ +\d+ (coordination_service_agent|preemption_sync_manager)\.cc:\d+\] "
    rb"(Polled an error|Failed to cancel)"
)
_OF_ABORT = re.compile(
    rb"Additional GRPC error information|:\w+:Error received from peer"
    rb"|\*\*\* Check failure stack|\s*@ +0x"
)
_ABORTED = b"executorkit: another process is gone, and JAX has aborted this one\n"
#: Runs a command that Linux kills when the launcher has been killed (1 is PR_SET_PDEATHSIG). A
#: function between fork and exec could not do this: the launcher has threads.
_END_WITH_PARENT = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True)
class Command:
    arguments: Sequence[str]
    environment: Mapping[str, str]
    #: True if the command runs on another host: signals are lines of its standard input.
    is_remote: bool = False


@dataclass
class _Worker:
    rank: int
    command: Command
    process: subprocess.Popen[bytes]
    last_lines: deque[bytes] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    threads: list[threading.Thread] = field(default_factory=list)
    aborts: bool = False
    says_why: bool = False

    def told(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        # C++ ends a process with pages of text when another one has gone; one line says so here.
        for line in lines:
            if _ABORT.match(line):
                self.aborts = True
            elif not (self.aborts and _OF_ABORT.match(line)):
                self.says_why = self.says_why or b" is gone" in line
                self.last_lines.append(line)
                yield line
        if self.aborts and not self.says_why:
            self.last_lines.append(_ABORTED)
            yield _ABORTED

    def send(self, number: int) -> None:
        # A process on another host gets SIGKILL when its input ends.
        if self.process.poll() is not None:
            return
        if not self.command.is_remote:
            self.process.send_signal(number)
            return
        pipe = self.process.stdin
        assert pipe is not None
        try:
            if number == signal.SIGKILL:
                pipe.close()
            else:  # a background process of a shell ignores SIGINT
                pipe.write(b"TERM\n")
                pipe.flush()
        except OSError:  # it has ended
            pass

    def status(self) -> int | None:
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code


class Job:
    """Runs commands, one per rank, until all have ended; ``run`` returns 0, or the status of the
    first process that failed. SIGINT and SIGTERM of this process are handed on; ``interrupted`` is
    True after them."""

    def __init__(self) -> None:
        self.interrupted = False
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._signals: list[int] = []

    def run(self, commands: Sequence[Command]) -> int:
        self._workers, started = [], False
        before = {n: signal.signal(n, self._note_signal) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            for rank, command in enumerate(commands):
                self._workers.append(_Worker(rank, command, _start(command)))
            for worker in self._workers:
                self._read(worker)
            started = True
            failed = self._wait()
        finally:
            if not started:
                self._send(signal.SIGKILL)
            for number, handler in before.items():
                signal.signal(number, handler)
        for worker in self._workers:
            for thread in worker.threads:
                thread.join(2)  # a grandchild may hold the pipe
        return 0 if failed is None else self._report(failed)

    def _wait(self) -> _Worker | None:
        failed: _Worker | None = None
        deadlines: list[tuple[float, int]] = []
        running = list(self._workers)
        while running:
            for worker in running:
                if worker.status() and failed is None:
                    failed = worker
                    now = time.monotonic()
                    deadlines = [
                        (now + _PATIENCE, signal.SIGTERM),
                        (now + _PATIENCE + _GRACE, signal.SIGKILL),
                    ]
            running = [worker for worker in running if worker.status() is None]
            while self._signals:
                number = self._signals.pop(0)
                self._send(signal.SIGKILL if self.interrupted else number)
                self.interrupted = True
            if deadlines and time.monotonic() > deadlines[0][0]:
                self._send(deadlines.pop(0)[1])
            time.sleep(_POLL)
        return failed

    def _note_signal(self, number: int, frame: object) -> None:
        self._signals.append(number)

    def _send(self, number: int) -> None:
        for worker in self._workers:
            worker.send(number)

    def _read(self, worker: _Worker) -> None:
        for source, target, lines_of in (
            (worker.process.stdout, sys.stdout, iter),
            (worker.process.stderr, sys.stderr, worker.told),
        ):
            assert source is not None
            read = functools.partial(self._copy_lines, worker.rank, source, target, lines_of)
            thread = threading.Thread(target=read, daemon=True)
            thread.start()
            worker.threads.append(thread)

    def _copy_lines(
        self, rank: int, source: IO[bytes], target: Any,
        lines_of: Callable[[Iterable[bytes]], Iterator[bytes]],
    ) -> None:  # fmt: skip
        with source:
            for line in lines_of(source):
                with self._lock:
                    text = line.decode("utf-8", "replace").rstrip("\r\n")
                    target.write(f"[{rank}] {text}\n")
                    target.flush()

    def _report(self, worker: _Worker) -> int:
        status = worker.status() or 1
        lines = [line.decode("utf-8", "replace") for line in worker.last_lines]
        starts = [i for i, line in enumerate(lines) if line.startswith("Traceback (")]
        lines = lines[starts[-1] :] if starts else lines[-10:]
        sys.stderr.write(
            f"executorkit launch: rank {worker.rank} was the first that failed, "
            f"with {_status_text(status)}\n{''.join(lines)}"
        )
        sys.stderr.flush()
        return status


def _status_text(status: int) -> str:
    if status <= 128:
        return f"status {status}"
    try:
        return f"status {status} ({signal.Signals(status - 128).name})"
    except ValueError:
        return f"status {status}"


def _start(command: Command) -> subprocess.Popen[bytes]:
    arguments = list(command.arguments)
    if sys.platform == "linux":
        arguments = [sys.executable, "-I", "-S", "-c", _END_WITH_PARENT, *arguments]
    return subprocess.Popen(
        arguments,
        env={**os.environ, **command.environment},
        stdin=subprocess.PIPE if command.is_remote else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is handed on by this process
    )
