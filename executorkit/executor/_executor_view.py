"""The view of an executor: its arrays with statistics, its program, its graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax

from .._support.annotations import Arrays
from ..arrays.protocol import Producer
from ..display import (
    Cell,
    Fold,
    Line,
    Part,
    Table,
    View,
    clipped,
    count,
    many,
    scaled,
    shape,
    view_of,
)
from ..errors import listed
from ..lowering import Graph, infer
from ..ndarray import NDArray
from ..ndarray.array_statistics import Statistics, statistics
from ..ndarray.array_view import RIGHT_ALIGNED, STATISTICS_COLUMNS, statistics_cells
from ..symbol.node import topological_order
from ..symbol.symbol_view import graph_parts
from ._executor import Executor
from ._update import CONSUMED

#: Maximum number of rows of a table, and of its text form.
_MAX_ROWS, _MAX_LINES = 500, 30
#: Tables up to this number of rows are unfolded.
_MAX_OPEN_ROWS = 12
#: Maximum number of arrays listed above the tables because they are not finite.
_MAX_LISTED_ARRAYS = 4

#: Columns of an array before its statistics.
_COLUMNS = ("shape", "dtype", "device")

NOT_COMPUTED = "not computed yet"
USED_UP = "used up by the update"
NOT_STORED = "a Step stores none"


class SectionEntry(NamedTuple):
    name: str
    columns: Sequence[str]
    #: Statistics, or the reason why there are none.
    contents: Statistics | str


@dataclass(frozen=True, slots=True)
class Section:
    """Arrays of one kind, such as arguments. ``header`` names their ``columns``."""

    title: str
    header: Sequence[str]
    entries: Sequence[SectionEntry]
    open: bool | None = None


def statistics_or_status(array: NDArray) -> Statistics | str:
    """Returns the statistics of an array, or the reason why it is not computed yet. Nothing is
    computed for a view: an unread forward would be compiled and run by itself, without the backward
    and the update that follow it."""
    status = pending_status(array.pending)
    return statistics(array.host) if status is None else status


def pending_status(producer: Producer | None) -> str | None:
    """Returns the reason why a producer's contents are not computed; None without a producer."""
    return None if producer is None else USED_UP if producer is CONSUMED else NOT_COMPUTED


def array_columns(array: NDArray) -> list[str]:
    return [shape(array.shape), array.dtype_name, str(array.context)]


def section_views(sections: Sequence[Section]) -> list[Part]:
    """Returns a table for each section that has arrays, below the arrays that are not finite."""
    parts: list[Part] = []
    nonfinite: list[str] = []
    for section in sections:
        rows: list[list[Cell]] = []
        for entry in section.entries:
            name, each = clipped(entry.name, 80), entry.contents
            if isinstance(each, str):
                blanks = [""] * (len(STATISTICS_COLUMNS) - 1)
                rows.append([name, *entry.columns, each, *blanks])
                continue
            rows.append([name, *entry.columns, *statistics_cells(each)])
            pairs = ((each.nans, "NaN"), (each.infs, "Inf"))
            counts = ", ".join(f"{count(n)} {word}" for n, word in pairs if n)
            if counts:
                nonfinite.append(f"{name} ({section.title}): {counts}")
        if rows:
            parts.append(_table(section, rows))
    if nonfinite:
        parts.insert(0, Line(f"not finite: {listed(nonfinite, _MAX_LISTED_ARRAYS)}", bad=True))
    return parts


def _table(section: Section, rows: Sequence[Sequence[Cell]]) -> Part:
    header = ["name", *section.header, *STATISTICS_COLUMNS]
    right = {len(section.header) + 1 + k for k in RIGHT_ALIGNED}
    inner: list[Part] = [Table(header, rows[:_MAX_ROWS], right, most_lines=_MAX_LINES)]
    if len(rows) > _MAX_ROWS:
        inner.append(Line(f"... {len(rows) - _MAX_ROWS} more"))
    opened = len(rows) <= _MAX_OPEN_ROWS if section.open is None else section.open
    return Fold(f"{section.title} ({len(rows)})", inner, opened)


def memory_summary(arrays: Arrays) -> str:
    """Describes arrays or replicated arrays, as in ``11 arrays, 25.6 M elements, 97.7 MiB``."""
    sizes = [prod(a.shape) for a in arrays]
    n_bytes = sum(n * jax.numpy.dtype(a.dtype).itemsize for n, a in zip(sizes, arrays, strict=True))
    return f"{len(arrays)} arrays, {scaled(sum(sizes))} elements, {scaled(n_bytes, 'B', 1024)}"


def value_shapes(graph: Graph, arrays: Arrays) -> dict[Any, tuple[int, ...] | None]:
    """Returns the shapes of a bound graph's values by node and number of the output."""
    names = [*graph.arg_names, *graph.aux_names]
    dtypes = {n: jax.numpy.dtype(a.dtype).name for n, a in zip(names, arrays, strict=True)}
    inferred = infer(graph, {n: a.shape for n, a in zip(names, arrays, strict=True)}, dtypes)
    first = dict(graph.variables)
    first.update((s.node, s.first_output) for s in graph.steps)
    return {(n, k): inferred.values[s + k] for n, s in first.items() for k in range(n.n_outputs)}


@view_of.register
def executor_view(executor: Executor) -> View:
    name = executor.symbol.name or ", ".join(executor.output_names[:3])
    return View(f"Executor of {name} on {executor.context}", executor_parts(executor))


def executor_parts(executor: Executor) -> list[Part]:
    arrays = [*executor.arg_arrays, *executor.aux_arrays]
    program = executor.program
    compiled = f"program: {many(program.traces, 'compilation')} in {program.compile_seconds:.2f} s"
    if program.prepared_bytes:
        compiled += f"; {scaled(program.prepared_bytes, 'B', 1024)} of prepared arrays"
    shapes = value_shapes(executor.graph, arrays)
    order = topological_order(executor.symbol.heads)
    return [
        Line(f"{memory_summary(arrays)} in arguments and states; {executor.last_run}"),
        Line(compiled),
        *section_views(_sections(executor)),
        Fold("graph", graph_parts(executor.symbol, order, shapes)),
    ]


def _sections(executor: Executor) -> list[Section]:
    graph = executor.graph
    arguments = [
        SectionEntry(name, [*array_columns(array), request], statistics_or_status(array))
        for name, array, request in zip(
            graph.arg_names, executor.arg_arrays, executor.effective_grad_req, strict=True
        )
    ]
    targets = executor.grad_arrays or [None] * len(graph.arg_names)
    stepped = NOT_STORED if executor.steps_taken else None
    gradients = [
        SectionEntry(n, array_columns(g), stepped or statistics_or_status(g))
        for n, g in zip(graph.arg_names, targets, strict=True)
        if g is not None
    ]
    return [
        Section("arguments", [*_COLUMNS, "grad_req"], arguments),
        _section("auxiliary states", zip(graph.aux_names, executor.aux_arrays, strict=True)),
        Section("gradients", _COLUMNS, gradients),
        _section("outputs", zip(executor.output_names, executor.outputs, strict=True)),
    ]


def _section(title: str, arrays: Iterable[tuple[str, NDArray]]) -> Section:
    entries = [SectionEntry(n, array_columns(a), statistics_or_status(a)) for n, a in arrays]
    return Section(title, _COLUMNS, entries)
