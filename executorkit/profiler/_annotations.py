"""Annotations that a program makes itself: time spans, counters and markers. Nothing is recorded
while the profiler is stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Self
from urllib.parse import quote, unquote

from jax.profiler import TraceAnnotation

from ..errors import ProfilerError

#: The metadata entry of an annotation that holds its kind.
_KIND = "executorkit"
_SCOPES = ("global", "process", "thread", "task", "marker")


class _Named:
    def __init__(self, name: str) -> None:
        self.name = str(name)

    def __str__(self) -> str:
        return self.name


class Domain(_Named):
    """A group of tasks, frames, counters and markers: their category in tables and traces."""

    def new_task(self, name: str) -> Task:
        """Creates a :class:`Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Creates a :class:`Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """Creates a :class:`Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Creates a :class:`Marker` of this domain."""
        return Marker(self, name)


class LongSpans:
    """Time spans over several of JAX's recordings, each of which loses what began before it.

    began
        When the present recording began, in nanoseconds since 1970; 0 without one.
    ended
        Name, category, begin and duration, in microseconds, of the spans that have ended.
    """

    def __init__(self) -> None:
        self.began = 0
        self.ended: list[tuple[str, str, float, float]] = []


long_spans = LongSpans()


class _TimeSpan(_Named):
    def __init__(self, name: str, category: str) -> None:
        super().__init__(name)
        self._category = category
        self._running: TraceAnnotation | None = None
        self._begin = 0

    def start(self) -> None:
        """Starts the time span, again if it is running."""
        self.stop()
        self._running = _annotation(self.name, "time", self._category)
        self._running.__enter__()
        self._begin = time.time_ns() if long_spans.began else 0

    def stop(self) -> None:
        """Ends the time span; does nothing if it is not running."""
        running, self._running = self._running, None
        if running is None:
            return
        running.__exit__(None, None, None)
        if 0 < self._begin < long_spans.began:
            duration = time.time_ns() - self._begin
            span = self.name, self._category, self._begin / 1000, duration / 1000
            long_spans.ended.append(span)


class Task(_TimeSpan):
    """A named piece of work; the times of all its runs are added up."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, str(domain))
        self.domain = domain


class Frame(_TimeSpan):
    """One repetition of the same work, in a category of its own: ``<domain>,frame``."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, f"{domain},frame")
        self.domain = domain


class Event(_TimeSpan):
    """A time span that belongs to no domain."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "event")


class Counter(_Named):
    """A whole number that changes over time; ``counter += 2`` and ``-= 2`` change it too. An
    initial ``value`` is recorded; by default it is 0, and not recorded."""

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        super().__init__(name)
        self.domain = domain
        self._value = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: int) -> None:
        """Sets and records the number."""
        self._value = int(value)
        _instant(self.name, "number", str(self.domain), value=self._value)

    def increment(self, delta: int = 1) -> None:
        """Adds to the number."""
        self.set_value(self._value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Subtracts from the number."""
        self.set_value(self._value - int(delta))

    def __iadd__(self, delta: int) -> Self:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Self:
        self.decrement(delta)
        return self


class Marker:
    """A named instant."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain = domain
        self.name = str(name)

    def mark(self, scope: str = "process") -> None:
        """Records the present instant. ``scope`` is the extent of its line across the timeline:
        'global', 'process', 'thread', 'task' or 'marker'; MXNetError for anything else."""
        if scope not in _SCOPES:
            raise ProfilerError("mark", f"scope {scope!r}", hint=" or ".join(map(repr, _SCOPES)))
        _instant(self.name, "moment", f"{self.domain},instant_marker", scope=scope)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Records the time of a ``with`` block under a name, in the category ``scope``."""
    span = _TimeSpan(name, "scope")
    span.start()
    try:
        yield
    finally:
        span.stop()


def _instant(name: str, kind: str, category: str, **more: object) -> None:
    with _annotation(name, kind, category, **more):
        pass


def _annotation(name: str, kind: str, category: str, **more: object) -> TraceAnnotation:
    words = {_KIND: kind, "label": quote(name), "category": quote(category)}
    return TraceAnnotation(name.replace("#", "_"), **words, **more)


def parse_annotation(details: Mapping[str, object]) -> tuple[str, str, str] | None:
    """Returns (name, category, kind) of an event that this module recorded, None for any other."""
    if _KIND not in details:
        return None
    label, category = (unquote(str(details[k])) for k in ("label", "category"))
    return label, category, str(details[_KIND])
