"""An account of recorded calls: their programs, why a trace was cut, why one is new."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..display import Line, Table, View, Viewed, many, view_of
from ._trace import CallTrace
from ._trace_plan import TracePlan

#: Number of runs that are remembered in a thread.
_MAX_RUNS = 256


class RecordedRun(NamedTuple):
    """One run of recorded calls.

    cut
        the reason for which recording ended: "backward", "a value was read", ...
    kind
        "forward", "forward and backward" (with the updates that follow), or "call by call".
    why
        the reason for a new plan (``is_new``); empty for a known plan.
    """

    cut: str
    kind: str
    calls: int
    is_new: bool
    why: str


class Explanation(Viewed, Sequence[RecordedRun]):
    """The latest runs of recorded calls in a thread; printed, a table of them."""

    def __init__(self, runs: Sequence[RecordedRun]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: Any) -> Any:
        return self._runs[index]

    def __repr__(self) -> str:
        return view_of(self).text()


class _Note(NamedTuple):
    cut: str
    kind: str
    trace: CallTrace
    is_new: bool
    n_plans: int


class _Log(threading.local):
    def __init__(self) -> None:
        self.notes: deque[_Note] = deque(maxlen=_MAX_RUNS)


_log = _Log()


def note_run(cut: str, kind: str, trace: CallTrace, plan: TracePlan | None) -> bool:
    """Notes a run and returns whether it is the plan's first for arrays of these sizes."""
    is_new = plan is not None and trace.note_run(plan)
    n_plans = sum(isinstance(p, TracePlan) for p in trace.plans) if is_new else 0
    _log.notes.append(_Note(cut, kind, trace, is_new, n_plans))
    return is_new


def explain() -> Explanation:
    """Returns this thread's runs of recorded calls since the previous call, at most 256: whether
    they ran as one program or call by call, why recording ended, and why a program is new.

    >>> import executorkit as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> _ = mx.autograd.explain()
    >>> for _ in range(3):
    ...     with mx.autograd.record():
    ...         y = x * x
    ...     y.backward()
    >>> [(run.cut, run.kind, run.calls) for run in mx.autograd.explain()][-1]
    ('backward', 'forward and backward', 1)

    A forward that does not run together with its backward is followed by a program of the backward;
    later updates are programs of their own.
    """
    notes = [_log.notes.popleft() for _ in range(len(_log.notes))]
    return Explanation(
        [RecordedRun(n.cut, n.kind, n.trace.n_calls, n.is_new, _why(n)) for n in notes]
    )


def _why(note: _Note) -> str:
    if not note.is_new:
        return "" if note.kind != "call by call" else "most traces of this training came once"
    if note.n_plans > 1:
        return "other values are alive, or other heads, than before"
    fork = note.trace
    while fork.parent is not None and not _earlier(fork):
        fork = fork.parent
    if fork.parent is None:
        return "it is the first of its kind"
    others = _earlier(fork)
    same = [t for t in others if t.resolved.op is fork.resolved.op]
    name = fork.resolved.op.name
    where = f"call {fork.n_calls}, {name}"
    if not same:
        return f"{where}: {others[-1].resolved.op.name} stood there before"
    if same[-1].resolved.params != fork.resolved.params:
        return f"{where}: other attributes or numbers than before"
    for old, new in zip(same[-1].leaves, fork.leaves, strict=False):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            return f"{where}: {old.dtype}{list(old.shape)} -> {new.dtype}{list(new.shape)}"
        if old.role is not new.role:
            return f"{where}: {old.role.value} -> {new.role.value}"
    return f"{where}: other inputs than before"


def _earlier(trace: CallTrace) -> list[CallTrace]:
    following = trace.parent.following if trace.parent is not None else [trace]
    return following[: following.index(trace)] if trace in following else following


@view_of.register
def _view(explanation: Explanation) -> View:
    counts = Counter(run.kind for run in explanation)
    summary = ", ".join(f"{number} x {kind}" for kind, number in counts.items())
    rows = [
        [str(i), run.kind, str(run.calls), run.cut, run.why] for i, run in enumerate(explanation)
    ]
    header = ["", "ran", "calls", "cut by", "new because"]
    title = f"{many(len(explanation), 'run')} of recorded calls"
    return View(title, [Line(summary or "nothing was recorded"), Table(header, rows, {0, 2})])
