"""Ends of connected processes: none waits for one that has gone, and each says why it ends. An
exception, Ctrl-C, SIGTERM or the loss of another process ends a connected process by ``os._exit``:
Python's own way out would wait in JAX for all others, which wait for this one."""

import atexit
import contextlib
import ctypes
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import MXNetError
from ._job_environment import Environment
from ._watch import Gone, Watch

#: Texts of the errors by which a collective ends when a process has gone.
_LOST = re.compile(
    r"gloo|NCCL|coordination service|connection (closed|reset) by peer|stopped sending heartbeats"
    r"|socket closed|broken pipe",
    re.IGNORECASE,
)
#: Seconds that Python code has to end by itself after another process has gone.
_GRACE = 2.0
#: Seconds in which a process learns which other has gone, and for which it lets that one be seen
#: to have ended first.
_PATIENCE, _DELAY = 2.0, 0.2
#: Seconds from SIGTERM to the step at which all stop.
_STOP_SECONDS = 20.0
#: Exit statuses, as a shell has them.
_FAILED, _INTERRUPTED, _TERMINATED = 1, 130, 143


class Faults:
    def __init__(self, environment: Environment) -> None:
        self._rank, self._number = environment.rank or 0, environment.number or 1
        self._pid = os.getpid()
        self._step: int | None = None
        self._steps = 0
        self._checkpoint: str | None = None
        self._lost: MXNetError | None = None
        self._is_ending = threading.Lock()
        self._watch = Watch(self._rank, self._number, self._on_gone, self._on_ended)
        self._excepthook, self._thread_hook = sys.excepthook, threading.excepthook
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        atexit.register(self._at_exit)

    def note_step(self, number: int) -> None:
        self._step = number
        self._steps += 1
        if self._watch.ended:
            gone = self._ended_before()
            if gone is not None:
                raise self._error(gone)

    def note_checkpoint(self, name: str) -> None:
        self._checkpoint = name

    def peer_error(self, error: BaseException) -> MXNetError | None:
        if not self._is_of_lost_peer(error):
            return None
        gone = self._watch.wait_for_gone(_PATIENCE) or self._ended_before()
        self._lost = self._error(gone, None if gone else str(error).partition("\n")[0])
        return self._lost

    def end(self, status: int, reason: str) -> NoReturn:
        """Ends this process, and tells the others why. Process 0 lets the others end before: their
        JAX would write a page of C++ without it."""
        self._watch.tell_fault(reason)
        self._watch.wait_for_others(_GRACE + 1.5)
        self._exit(status)

    def _is_of_lost_peer(self, error: BaseException) -> bool:
        seen: BaseException | None = error
        while seen is not None:
            if seen is self._lost:
                return True
            if isinstance(seen, RuntimeError | ValueError) and _LOST.search(str(seen)):
                return True
            seen = seen.__cause__ or seen.__context__
        return False

    def _ended_before(self) -> Gone | None:
        for rank, steps in self._watch.ended.items():
            if steps < self._steps:
                return Gone(rank, "its script has ended")
        return None

    def _error(self, gone: Gone | None, because: str | None = None) -> MXNetError:
        where = f"rank {self._rank} of {self._number}"
        step = "" if self._step is None else f" in step {self._step}"
        problem = f"another process is gone{step}"
        if gone is not None:
            problem, because = f"rank {gone.rank} is gone{step}", gone.reason
        hint = "start all processes again (executorkit launch --restarts K ... does)"
        if self._checkpoint is not None:
            hint += f"; the newest checkpoint is {self._checkpoint}"
        return MXNetError(where, problem, because=because, hint=hint)

    # Called by the watch's thread.

    def _on_gone(self, gone: Gone) -> None:
        threading.Thread(target=self._end_after_grace, args=(gone,), daemon=True).start()

    def _on_ended(self) -> None:
        gone = self._ended_before()
        if gone is not None:
            self._on_gone(gone)

    def _end_after_grace(self, gone: Gone) -> None:
        if not gone.aborts:
            time.sleep(_GRACE)
        self._end_with(self._error(gone))

    # Called by Python.

    def _on_exception(self, kind: type[BaseException], error: BaseException, frames: Any) -> None:
        if os.getpid() != self._pid or sys.flags.interactive or hasattr(sys, "ps1"):
            self._excepthook(kind, error, frames)
            return
        lost = self.peer_error(error)
        if lost is not None:
            self._end_with(lost)
        self._excepthook(kind, error, frames)
        self._end_by(error)

    def _on_thread_exception(self, arguments: Any) -> None:
        if os.getpid() != self._pid or arguments.exc_type is SystemExit:
            self._thread_hook(arguments)
            return
        error = arguments.exc_value
        lost = None if error is None else self.peer_error(error)
        if lost is not None:
            self._end_with(lost)
        self._thread_hook(arguments)
        self._end_by(error)

    def _end_by(self, error: BaseException | None) -> NoReturn:
        if isinstance(error, KeyboardInterrupt):
            self.end(_INTERRUPTED, "it got Ctrl-C (SIGINT)")
        text = "" if error is None else str(error).strip().partition("\n")[0]
        where = "" if self._step is None else f" in step {self._step}"
        self.end(_FAILED, f"it ended by {type(error).__name__}{where}: {text[:300]}")

    def _end_with(self, lost: MXNetError) -> NoReturn:
        if not self._is_ending.acquire(blocking=False):
            time.sleep(_GRACE)  # another thread ends it
        sys.stderr.write(f"executorkit: {lost}\n")
        sys.stderr.flush()
        if self._watch.gone is not None and self._watch.gone.aborts:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            self._exit(_FAILED)
        time.sleep(_DELAY)
        self.end(_FAILED, "it lost another process")

    def _at_exit(self) -> None:
        if os.getpid() != self._pid:
            return
        try:
            if not self._watch.tell_end(self._steps):
                return
            while not self._watch.closed.wait(0.05):
                if self._watch.gone is not None:
                    self._end_with(self._error(self._watch.gone))
        except KeyboardInterrupt:
            self.end(_INTERRUPTED, "it got Ctrl-C (SIGINT)")

    def _exit(self, status: int) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status)


class Termination:
    """SIGTERM: all processes stop at one step, or this one ends at once before it asks. JAX takes
    the signal while it is joined, and lets all processes agree on a step; a handler of Python
    stands before JAX's, since only a loop that asks can stop."""

    def __init__(self, faults: Faults, jax_handler: int) -> None:
        self._faults, self._jax_handler = faults, jax_handler
        self._pid = os.getpid()
        self._is_asked = self._has_stopped = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def is_due(self, agree: Callable[[int], bool], step: int) -> bool:
        self._is_asked = True
        self._has_stopped = self._has_stopped or agree(step)
        return self._has_stopped

    def _on_signal(self, number: int, frame: object) -> None:
        if os.getpid() != self._pid:  # a forked process ends as it would have
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not self._is_asked:
            self._end()
        elif not self._has_stopped:
            timer = threading.Timer(_STOP_SECONDS, self._end_if_none_stops)
            timer.daemon = True
            timer.start()
            set_handler = ctypes.pythonapi.PyOS_setsig
            set_handler.argtypes, set_handler.restype = [ctypes.c_int, ctypes.c_void_p], None
            set_handler(number, self._jax_handler)
            signal.raise_signal(number)

    def _end_if_none_stops(self) -> None:
        if not self._has_stopped:
            self._end()

    def _end(self) -> NoReturn:
        sys.stderr.write("executorkit: SIGTERM ends this process\n")
        self._faults.end(_TERMINATED, "it got SIGTERM")


def current_handler(number: int) -> int:
    get_handler = ctypes.pythonapi.PyOS_getsig
    get_handler.argtypes, get_handler.restype = [ctypes.c_int], ctypes.c_void_p
    return get_handler(number) or 0
