"""The report of ``check_finite``: nodes that read finite arrays and made a NaN or an infinity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax

from ..display import Line, Part, Table, View, Viewed, count, shape, view_of
from ..errors import NotFiniteError, explain, listed


class ArraySummary(NamedTuple):
    """An array that was checked, with the range of its finite elements."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nans: int
    infs: int
    low: float
    high: float

    @property
    def nonfinite(self) -> str:
        """The numbers of NaNs and infinities, as ``3 NaN, 1 Inf``; empty if all are finite."""
        pairs = ((self.nans, "NaN"), (self.infs, "Inf"))
        return ", ".join(f"{count(n)} {word}" for n, word in pairs if n)

    def __str__(self) -> str:
        span = f"{self.low:.4g} to {self.high:.4g}" if self.low <= self.high else ""
        words = (self.name, self.dtype, shape(self.shape), span, self.nonfinite)
        return " ".join(filter(None, words))


@dataclass(frozen=True, slots=True)
class Finding:
    """An array that is not finite, made of finite ones.

    stage
        'given' (an argument, an auxiliary state or a head gradient), 'forward' or 'backward'.
    node, op
        The node's name and operator; the operator is empty at the stage 'given'.
    made, inputs
        The array that is not finite, an output or the gradient of an input; and the node's inputs.
    device
        The device and its rows of the batch, if there are several.
    position
        Its place in the order in which the stage computes.
    """

    stage: str
    node: str
    op: str
    made: ArraySummary
    inputs: tuple[ArraySummary, ...] = ()
    device: str = ""
    position: int = 0

    @property
    def message(self) -> str:
        """The finding in words."""
        where = f"node {self.node!r} ({self.op})" if self.op else f"argument {self.node!r}"
        if self.stage == "given":
            where, problem = self.made.name, f"it holds {self.made.nonfinite}"
        else:
            what = "going back through it made" if self.stage == "backward" else "it made"
            problem = f"{what} {self.made.nonfinite} in {self.made.name}"
        problem += f", {self.made.dtype} {shape(self.made.shape)}"
        limit = None
        if self.made.infs and self.made.dtype in ("float16", "bfloat16"):
            largest = float(jax.numpy.finfo(self.made.dtype).max)
            limit = f"the largest {self.made.dtype} is {largest:.4g}"
        return explain(
            f"{where} on {self.device}" if self.device else where,
            problem,
            because=limit,
            given_by=_join_summaries(self.inputs) or None,
        )


def _join_summaries(arrays: Sequence[ArraySummary]) -> str:
    return "; ".join(map(str, arrays))


class FiniteReport(Viewed):
    """The result of ``check_finite``; true if everything is finite. Printed, the first finding.

    findings
        Every array that is not finite, made of finite ones, in the order of computation: arguments,
        forward, backward.
    checked
        The number of arrays that were checked.
    outputs, gradients
        The names of the outputs, and of the arguments whose gradients, are not finite in the end.
    notes
        The checks that were left out, and why.
    """

    def __init__(
        self,
        findings: Sequence[Finding],
        checked: int,
        outputs: Sequence[str],
        gradients: Sequence[str],
        notes: Sequence[str],
    ) -> None:
        order = {"given": 0, "forward": 1, "backward": 2}
        self.findings = tuple(sorted(findings, key=lambda f: (order[f.stage], f.position)))
        self.checked = checked
        self.outputs = tuple(dict.fromkeys(outputs))
        self.gradients = tuple(dict.fromkeys(gradients))
        self.notes = tuple(dict.fromkeys(notes))

    @property
    def first(self) -> Finding | None:
        """The first finding, None if everything is finite."""
        return self.findings[0] if self.findings else None

    @property
    def node(self) -> str | None:
        """The name of the first node (or argument) that made something not finite."""
        return None if self.first is None else self.first.node

    def __bool__(self) -> bool:
        return not self.findings

    def raise_if_found(self) -> FiniteReport:
        """Raises NotFiniteError, a FloatingPointError, if something is not finite."""
        if self.findings:
            raise NotFiniteError(str(self))
        return self

    def __str__(self) -> str:
        first = self.first
        if first is None:
            return "\n".join([f"all {count(self.checked)} arrays are finite", *self.notes])
        lines = [first.message]
        if self.outputs:
            lines.append(f"  outputs that are not finite: {listed(self.outputs, 6)}")
        if self.gradients:
            lines.append(f"  gradients that are not finite: {listed(self.gradients, 6)}")
        if len(self.findings) > 1:
            lines.append(f"  {len(self.findings) - 1} other places made NaN or Inf too")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    __repr__ = __str__


@view_of.register
def _(report: FiniteReport) -> View:
    lines = str(report).split("\n")
    parts: list[Part] = [Line(line.strip()) for line in lines[1:]]
    rows = [
        [f.stage, f.node, f.op, f.made.name, f.made.nonfinite, _join_summaries(f.inputs), f.device]
        for f in report.findings
    ]
    header = ["stage", "node", "operator", "array", "not finite", "inputs", "device"]
    if rows:
        parts.append(Table(header, rows, most_lines=20))
    return View(lines[0], parts)
