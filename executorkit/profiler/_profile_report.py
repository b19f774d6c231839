"""Records as a table, as JSON, as a trace for timeline viewers, and as a picture."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..display import Lane, Span, Timeline, View, Viewed, many, text_table, view_of
from ._xspace import Record

SORT_KEYS = ("total", "avg", "min", "max", "count")
_LETTERS = {"global": "g", "process": "p"}


@dataclass
class Statistic:
    count: int = 0
    total: float = 0.0
    min: float = float("inf")
    max: float = float("-inf")

    def add(self, number: float) -> None:
        self.count += 1
        self.total += number
        self.min = min(self.min, number)
        self.max = max(self.max, number)

    @property
    def avg(self) -> float:
        return self.total / self.count


Statistics = dict[str, dict[str, Statistic]]


def statistics(records: Iterable[Record], sort_by: str, ascending: bool) -> Statistics:
    """Returns statistics by category and name, sorted by a key; instants are counted."""
    by_category: Statistics = {}
    for record in records:
        names = by_category.setdefault(record.category, {})
        if record.kind == "number":
            number = float(record.details["value"])
        else:
            number = 0.0 if record.kind == "moment" else record.duration / 1000
        names.setdefault(record.name, Statistic()).add(number)
    return {
        category: dict(
            sorted(names.items(), key=lambda item: getattr(item[1], sort_by), reverse=not ascending)
        )
        for category, names in sorted(by_category.items())
    }


def as_table(by_category: Statistics) -> str:
    header = ["Name", "Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"]
    parts = ["Profile statistics: times in milliseconds, or the values of counters"]
    for category, names in by_category.items():
        rows = []
        for name, s in names.items():
            rows.append([name, str(s.count), *(f"{x:.4f}" for x in (s.total, s.min, s.max, s.avg))])
        table = text_table(header, rows, right=range(1, len(header)))
        parts.append(f"{category}\n{'=' * len(category)}\n{table}")
    return "\n\n".join(parts) + "\n"


def as_json(by_category: Statistics) -> str:
    times = {
        category: {
            name: {"Count": s.count, "Total": s.total, "Min": s.min, "Max": s.max, "Avg": s.avg}
            for name, s in names.items()
        }
        for category, names in by_category.items()
    }
    return json.dumps({"Time": times}, indent=4)


def as_trace(records: Sequence[Record]) -> str:
    processes = {name: i for i, name in enumerate(dict.fromkeys(r.process for r in records))}
    lines = dict.fromkeys((r.process, r.thread) for r in records)
    threads = {line: i for i, line in enumerate(lines)}
    names = []
    for name, i in processes.items():
        names.append({"ph": "M", "name": "process_name", "pid": i, "args": {"name": name}})
    for (p, name), i in threads.items():
        ids = {"pid": processes[p], "tid": i}
        names.append({"ph": "M", "name": "thread_name", **ids, "args": {"name": name}})
    events = [
        {"pid": processes[r.process], "tid": threads[r.process, r.thread], **_event(r)}
        for r in records
    ]
    return json.dumps({"traceEvents": names + events, "displayTimeUnit": "ms"})


def _event(record: Record) -> dict[str, Any]:
    event: dict[str, Any] = {"name": record.name, "cat": record.category, "ts": record.begin}
    if record.kind == "number":
        return {**event, "ph": "C", "args": {record.name: record.details["value"]}}
    if record.kind == "moment":
        return {**event, "ph": "i", "s": _LETTERS.get(record.details["scope"], "t")}
    hlo_fields = {k: record.details[k] for k in ("hlo_op", "hlo_module") if k in record.details}
    return {**event, "ph": "X", "dur": record.duration, "args": hlo_fields}


class ProfileTimeline(Viewed):
    """The nodes that ran, over time, with a lane for each thread or device."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = [record for record in records if record.kind == "time"]

    @property
    def lanes(self) -> list[Lane]:
        threads: dict[tuple[str, str], list[Span]] = {}
        for record in self.records:
            spans = threads.setdefault((record.process, record.thread), [])
            spans.append(Span(record.name, record.begin, record.duration))
        is_alone = len({process for process, _ in threads}) < 2
        lanes = []
        numbers: Counter[str] = Counter()
        for (process, thread), spans in threads.items():
            # Threads are called NAME/NUMBER, by numbers of the system that tell nothing.
            name = thread.partition("/")[0] if is_alone else f"{process} {thread.partition('/')[0]}"
            numbers[name] += 1
            lanes.append(Lane(f"{name} {numbers[name]}", spans))
        return lanes

    def __repr__(self) -> str:
        return view_of(self).text()


@view_of.register
def _(profile: ProfileTimeline) -> View:
    lanes = profile.lanes
    title = f"profile: {many(len(profile.records), 'event')} on {many(len(lanes), 'thread')}"
    return View(title, [Timeline(lanes)])
