"""The profiler's configuration and marks, and what it refuses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from ._facts import attempt, script


@script
def profiler_refusals(mx: Any) -> Any:
    p = mx.profiler
    domain = p.Domain("domain")
    actions: dict[str, Callable[[], Any]] = {
        "dump before a run": lambda: p.dump(),
        "unknown option": lambda: p.set_config(colour="red"),
        "no truth": lambda: p.set_config(profile_all="maybe"),
        "unknown state": lambda: p.set_state("go"),
        "unknown process": lambda: p.set_state("stop", "mars"),
        "pause mars": lambda: p.pause("mars"),
        "resume mars": lambda: p.resume("mars"),
        "format": lambda: p.dumps(format="xml"),
        "order": lambda: p.dumps(sort_by="name"),
        "ascending": lambda: p.dumps(ascending="no"),
        "reset": lambda: p.dumps(reset="no"),
        "nothing yet": lambda: p.dumps(),
        "stop": lambda: p.set_state("stop"),
        "truth as text": lambda: p.set_config(profile_all="True", aggregate_stats="0"),
        "scope": lambda: p.Marker(domain, "m").mark("galaxy"),
        "count": lambda: p.Counter(domain, "c", "many"),
    }
    return {name: attempt(mx, action) for name, action in actions.items()}


@script
def profiler_run(mx: Any) -> Any:
    p = mx.profiler
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        p.set_config(profile_all=True, aggregate_stats=True, filename=path)
        answers = [p.set_state("run"), p.set_state("run")]
        domain = p.Domain("domain")
        marks = [
            domain.new_task("task"), domain.new_frame("frame"), p.Event("event"),
            domain.new_counter("counter", 3), domain.new_marker("marker"),
        ]  # fmt: skip
        answers += [str(x) for x in (domain, *marks[:4])]
        for stretch in marks[:3]:
            answers += [stretch.start(), stretch.stop(), stretch.stop()]
        counter = marks[3]
        counter += 2
        counter -= 1
        answers += [counter is marks[3], counter.set_value(2.7), counter.increment()]
        answers += [counter.decrement(5), marks[4].mark(), marks[4].mark("thread")]
        answers += [p.pause(), p.resume()]
        (mx.nd.ones((2, 2)) + 1).wait_to_read()
        answers += [p.set_state("stop"), p.set_state("stop")]
        table, text = p.dumps(), p.dumps(format="json")
        answers += [name in table for name in ("task", "frame", "event", "counter")]
        answers += [name in text for name in ("task", "Count", "Total", "Min", "Max", "Avg")]
        answers += [p.dump(), os.path.exists(path), attempt(mx, p.dump)]
    return answers
