"""What views of executors and groups consist of: tables of arrays with their statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax

from ..display import Cell, Fold, Line, Part, Table, clipped, count, scaled, shape
from ..lowering import Graph, infer
from ..ndarray import NDArray
from ..ndarray.array_statistics import Statistics, statistics_of_lists
from ..ndarray.array_view import RIGHT_ALIGNED, STATISTICS_COLUMNS, statistics_cells
from ..ndarray.storage import Producer
from ._pending_step import PendingStep

#: So many rows has a table, and so many of them are shown as text.
_MAX_ROWS, _MAX_LINES = 500, 30
#: Tables of so many rows stand open.
_MAX_OPEN_ROWS = 12
#: So many arrays that are not finite are named above the tables.
_MAX_LISTED_ARRAYS = 4

NOT_COMPUTED = "not computed yet"
CONSUMED = "used up by the update"


class SectionEntry(NamedTuple):
    """One array of a section: the cells before its statistics, and its contents (whatever the
    reader of the section takes), or the words that stand in their place."""

    name: str
    words: Sequence[str]
    contents: Any


@dataclass(frozen=True, slots=True)
class Section:
    """Arrays of one kind, such as arguments. ``header`` names the columns of ``Entry.words``."""

    title: str
    header: Sequence[str]
    entries: Sequence[SectionEntry]
    open: bool | None = None


#: From lists of contents to what is known of them.
StatisticsReader = Callable[[Sequence[Sequence[Any]]], list[list[Statistics]]]


def value_or_status(array: NDArray) -> jax.Array | str:
    """An array's contents, if they are there; else what there is to say of them.

    Nothing is computed for a view: a forward that nobody has looked at would be run apart from the
    backward and the update that follow it, and compiled for that.
    """
    reason = pending_status(array.pending)
    return array.value if reason is None else reason


def pending_status(producer: Producer | None) -> str | None:
    """Why contents that are promised are not there; None without a promise."""
    if producer is None:
        return None
    gone = isinstance(producer, PendingStep) and producer.heads is None and producer.done
    return CONSUMED if gone else NOT_COMPUTED


def array_columns(array: NDArray) -> list[str]:
    """Shape, dtype and place of an array."""
    return [shape(array.shape), array.dtype_name, str(array.context)]


def section_views(
    sections: Sequence[Section], read: StatisticsReader = statistics_of_lists
) -> list[Part]:
    """A table for each section that has arrays; above them those that are not finite."""
    lists = [
        [e.contents for e in section.entries if not isinstance(e.contents, str)]
        for section in sections
    ]
    parts: list[Part] = []
    odd: list[str] = []
    for section, found in zip(sections, read(lists), strict=True):
        if not section.entries:
            continue
        known = iter(found)
        rows: list[list[Cell]] = []
        for entry in section.entries:
            first = [clipped(entry.name, 80), *entry.words]
            if isinstance(entry.contents, str):
                rows.append([*first, entry.contents, *[""] * (len(STATISTICS_COLUMNS) - 1)])
                continue
            one = next(known)
            rows.append([*first, *statistics_cells(one)])
            if one.nans or one.infs:
                odd.append(f"{clipped(entry.name, 80)} ({section.title}): {nonfinite_counts(one)}")
        parts.append(_table(section, rows))
    if odd:
        more = (
            f", ... {len(odd) - _MAX_LISTED_ARRAYS} more" if len(odd) > _MAX_LISTED_ARRAYS else ""
        )
        parts.insert(0, Line(f"not finite: {', '.join(odd[:_MAX_LISTED_ARRAYS])}{more}", bad=True))
    return parts


def nonfinite_counts(found: Statistics) -> str:
    """``3 NaN, 1 Inf``: what there is of either."""
    pairs = ((found.nans, "NaN"), (found.infs, "Inf"))
    return ", ".join(f"{count(n)} {word}" for n, word in pairs if n)


def _table(section: Section, rows: Sequence[Sequence[Cell]]) -> Part:
    header = ["name", *section.header, *STATISTICS_COLUMNS]
    right = {len(section.header) + 1 + k for k in RIGHT_ALIGNED}
    inner: list[Part] = [Table(header, rows[:_MAX_ROWS], right, most_lines=_MAX_LINES)]
    if len(rows) > _MAX_ROWS:
        inner.append(Line(f"... {len(rows) - _MAX_ROWS} more"))
    opened = len(rows) <= _MAX_OPEN_ROWS if section.open is None else section.open
    return Fold(f"{section.title} ({len(rows)})", inner, opened)


def memory_summary(arrays: Sequence[Any]) -> str:
    """``11 arrays, 25.6 M elements, 97.7 MiB`` of arrays or stacked arrays."""
    sizes = [prod(a.shape) for a in arrays]
    held = sum(n * jax.numpy.dtype(a.dtype).itemsize for n, a in zip(sizes, arrays, strict=True))
    return f"{len(arrays)} arrays, {scaled(sum(sizes))} elements, {scaled(held, 'B', 1024)}"


def value_shapes(graph: Graph, arrays: Sequence[Any]) -> dict[Any, tuple[int, ...] | None]:
    """The shapes of all values of a graph that is bound to arrays (arguments, then states), by
    node and number of the output."""
    names = [*graph.arg_names, *graph.aux_names]
    dtypes = {n: jax.numpy.dtype(a.dtype).name for n, a in zip(names, arrays, strict=True)}
    found = infer(graph, {n: a.shape for n, a in zip(names, arrays, strict=True)}, dtypes)
    first = dict(graph.variables)
    first.update((s.node, s.first_output) for s in graph.steps)
    return {
        (node, k): found.values[start + k]
        for node, start in first.items()
        for k in range(node.n_outputs)
    }
