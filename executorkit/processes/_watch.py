"""Connections by which each process of a job sees at once that another one has gone.

Process 0 listens (the hub); every process, 0 too, has one connection to it. The operating system
closes it when a process ends, however it ends. A process that ends by an exception says why before.
A stopped process that another one on its host sees counts as gone; a host that does not answer is
found by TCP. Silence alone proves nothing, since a long call of C code may keep Python's threads
from running: then JAX decides, whose heartbeats come from C++.
"""

import json
import os
import secrets
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jax_internals import distributed_state

#: Key of JAX's store under which process 0 tells the hub's port and the word that is asked for.
_KEY = "executorkit/watch"
#: Seconds between two signs of life, and of silence after which a process is looked at.
_BEAT, _SILENCE = 2.0, 8.0
#: Seconds in which the hub has to appear.
_PATIENCE = 60
#: Bytes of a line that are read at most.
_MAX_LINE = 8192
#: Seconds after which TCP gives up a host that does not answer: idle, between probes, and probes.
_KEEPALIVE = (4, 3, 3)


@dataclass(frozen=True)
class Gone:
    """A process that takes no part any more, and why. ``aborts``: it had JAX's coordination
    service, without which C++ aborts this process at once."""

    rank: int
    reason: str
    aborts: bool = False


class MessageLine:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.rank: int | None = None
        self.identity: dict[str, Any] = {}
        self.has_ended = self.is_closed = False
        self.last_heard = time.monotonic()
        self._received = b""
        self._lock = threading.Lock()
        sock.settimeout(_BEAT)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
        idle, interval, probes = _KEEPALIVE
        values = (idle, interval, probes, 1000 * (idle + interval * probes))
        for name, value in zip(names, values, strict=True):
            option = getattr(socket, name, None)
            if option is not None:
                sock.setsockopt(socket.IPPROTO_TCP, option, value)

    def send(self, **message: object) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                self.sock.sendall(data)
        except OSError:
            pass

    def receive(self) -> list[dict[str, Any]] | None:
        try:
            data = self.sock.recv(_MAX_LINE)
        except TimeoutError:
            return []
        except OSError:
            return None
        self._received += data
        *lines, self._received = self._received.split(b"\n")
        if not data or len(self._received) > _MAX_LINE:
            return None
        self.last_heard = time.monotonic()
        try:
            return [m for m in map(json.loads, lines) if isinstance(m, dict)]
        except ValueError:
            return None


class Hub:
    def __init__(self, number: int) -> None:
        self._number = number
        self._word = secrets.token_hex(8)
        self._lines: dict[int, MessageLine] = {}
        self._gone: dict[str, Any] | None = None
        self._suspects: set[int] = set()
        self._lock = threading.RLock()
        dual = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual else socket.AF_INET
        self._listener = socket.create_server(
            ("", 0), family=family, dualstack_ipv6=dual, backlog=number + 16
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        port = self._listener.getsockname()[1]
        client: Any = distributed_state.client
        client.key_value_set(_KEY, f"{port} {self._word}")
        threading.Thread(target=self._run, name="executorkit hub", daemon=True).start()

    def tell_gone(self, rank: int, reason: str) -> None:
        with self._lock:
            if self._gone is None:
                self._gone = {"kind": "gone", "rank": rank, "reason": reason}
                self._tell(self._gone)

    def has_others(self) -> bool:
        """Returns True while another process is connected; a stopped one stays."""
        gone = None if self._gone is None else self._gone["rank"]
        lines = [*self._lines.items()]
        return any(rank not in (0, gone) and not line.is_closed for rank, line in lines)

    def close(self) -> None:
        self._listener.close()
        for line in self._lines.values():
            line.sock.close()

    def _run(self) -> None:
        beat = time.monotonic()
        while True:
            for key, _ in self._selector.select(_BEAT):
                if key.data is None:
                    self._accept()
                else:
                    self._read(key.data)
            if time.monotonic() - beat > _BEAT:
                beat = time.monotonic()
                self._tell({"kind": "beat"})
                self._look_for_silent_ones(beat)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        self._selector.register(sock, selectors.EVENT_READ, MessageLine(sock))

    def _read(self, line: MessageLine) -> None:
        messages = line.receive()
        if messages is None:
            self._selector.unregister(line.sock)
            line.sock.close()
            line.is_closed = True
            if line.rank is not None and not line.has_ended:
                self.tell_gone(line.rank, "it was killed, or its host does not answer")
            return
        for message in messages:
            if line.rank is None and not self._welcome(line, message):
                self._selector.unregister(line.sock)
                line.sock.close()
                return
            self._handle(line, message)

    def _welcome(self, line: MessageLine, message: dict[str, Any]) -> bool:
        rank = message.get("rank")
        if message.get("word") != self._word or not isinstance(rank, int):
            return False
        line.rank, line.identity = rank, message
        line.send(kind="welcome", **_identity())
        with self._lock:
            self._lines[rank] = line
            if self._gone is not None:
                line.send(**self._gone)
        return True

    def _handle(self, line: MessageLine, message: dict[str, Any]) -> None:
        kind, rank = message.get("kind"), line.rank
        assert rank is not None
        if kind == "fault":
            line.has_ended = True
            self.tell_gone(rank, str(message.get("reason")))
        elif kind == "stopped":
            self.tell_gone(int(message["whom"]), str(message.get("reason")))
        elif kind == "ended":
            line.has_ended = True
            self._tell({"kind": "ended", "rank": rank, "step": message.get("step")})
            if sum(peer.has_ended for peer in self._lines.values()) == self._number:
                self._tell({"kind": "closed"})
        self._suspects.discard(rank)

    def _look_for_silent_ones(self, now: float) -> None:
        for rank, line in list(self._lines.items()):
            seconds = now - line.last_heard
            if seconds > _SILENCE and not line.has_ended:
                pid, host = line.identity.get("pid"), line.identity.get("host")
                self._tell({"kind": "silent", "whom": rank, "pid": pid, "host": host})
                if rank not in self._suspects:
                    self._suspects.add(rank)
                    sys.stderr.write(
                        f"executorkit: rank {rank} (process {pid} on {host}) has said nothing "
                        f"for {seconds:.0f} s\n"
                    )

    def _tell(self, message: dict[str, Any]) -> None:
        with self._lock:
            for line in self._lines.values():
                line.send(**message)


class Watch:
    """The connection of a process to the hub, read by a thread, which calls ``on_gone`` when
    another process has gone, and ``on_ended`` when it has come to its end."""

    def __init__(
        self, rank: int, number: int, on_gone: Callable[[Gone], None], on_ended: Callable[[], None]
    ) -> None:
        self._rank, self._number, self._on_gone, self._on_ended = rank, number, on_gone, on_ended
        self._line: MessageLine | None = None
        self._hub: Hub | None = None
        self._hub_identity: dict[str, Any] = {}
        self._word = ""
        self._connected, self._gone_event = threading.Event(), threading.Event()
        #: Set when all processes have come to their ends.
        self.closed = threading.Event()
        self.gone: Gone | None = None
        #: Number of the last step, by the ranks of the processes that have come to their ends.
        self.ended: dict[int, int] = {}
        if rank == 0:
            self._hub = Hub(number)
        threading.Thread(target=self._run, name="executorkit watch", daemon=True).start()
        os.register_at_fork(after_in_child=self._close)

    def wait_for_gone(self, seconds: float) -> Gone | None:
        self._gone_event.wait(seconds)
        return self.gone

    def tell_fault(self, reason: str) -> None:
        if self._hub is not None:
            self._hub.tell_gone(self._rank, reason)
        elif self._connected.wait(0.5) and self._line is not None:
            self._line.send(kind="fault", reason=reason[:1000])

    def wait_for_others(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while self._hub is not None and self._hub.has_others() and time.monotonic() < limit:
            time.sleep(0.02)

    def tell_end(self, step: int) -> bool:
        """Tells all others that this process has come to its end; returns False if it cannot."""
        if not self._connected.wait(5) or self._line is None:
            return False
        self._line.send(kind="ended", step=step)
        return True

    def _run(self) -> None:
        line = self._connect()
        if line is None:
            return
        self._line = line
        line.send(kind="hello", rank=self._rank, word=self._word, **_identity())
        self._connected.set()
        last_beat = 0.0
        while True:
            messages = line.receive()
            if messages is None:
                self._lose(Gone(0, "it was killed, or its host does not answer", aborts=True))
                return
            for message in messages:
                self._handle(message)
            now = time.monotonic()
            if now - last_beat > 0.9 * _BEAT:
                last_beat = now
                line.send(kind="beat")
            if now - line.last_heard > _SILENCE and _is_stopped(self._hub_identity):
                self._lose(Gone(0, _STOPPED))

    def _connect(self) -> MessageLine | None:
        client: Any = distributed_state.client
        address: Any = distributed_state.coordinator_address
        try:
            text = client.blocking_key_value_get(_KEY, _PATIENCE * 1000)
            port, self._word = text.split(" ")
            host = "localhost" if self._rank == 0 else address.rpartition(":")[0].strip("[]")
            return MessageLine(socket.create_connection((host, int(port)), timeout=_PATIENCE))
        except (OSError, RuntimeError, ValueError, AttributeError):
            return None  # without a hub, as where process 0 has made no store

    def _handle(self, message: dict[str, Any]) -> None:
        kind, rank = message.get("kind"), message.get("rank")
        if kind == "gone" and isinstance(rank, int):
            self._lose(Gone(rank, str(message.get("reason"))))
        elif kind == "ended" and isinstance(rank, int):
            self.ended[rank] = int(message.get("step") or 0)
            self._on_ended()
        elif kind == "welcome":
            self._hub_identity = message
        elif kind == "closed":
            self.closed.set()
        elif kind == "silent" and _is_stopped(message) and self._line is not None:
            self._line.send(kind="stopped", whom=message["whom"], reason=_STOPPED)

    def _lose(self, gone: Gone) -> None:
        if self.gone is None and not self.closed.is_set() and gone.rank != self._rank:
            self.gone = gone
            self._gone_event.set()
            self._on_gone(gone)

    def _close(self) -> None:
        if self._line is not None:
            self._line.sock.close()
        if self._hub is not None:
            self._hub.close()


_STOPPED = f"it is stopped (SIGSTOP, or a debugger), and has said nothing for {_SILENCE:.0f} s"


def _identity() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def _is_stopped(identity: dict[str, Any]) -> bool:
    if identity.get("host") != socket.gethostname():
        return False
    try:
        fields = Path(f"/proc/{identity['pid']}/stat").read_text().rpartition(")")[2].split()
    except (OSError, KeyError):
        return False
    return fields[0] in ("T", "t")
