"""The view of an executor: its arrays with statistics, its program, its graph."""

from __future__ import annotations

from collections.abc import Iterable

from ..display import Fold, Line, Part, View, many, scaled, view_of
from ..ndarray import NDArray
from ..symbol.node import topological_order
from ..symbol.symbol_view import graph_parts
from ._array_sections import (
    NOT_STORED,
    Section,
    SectionEntry,
    array_columns,
    memory_summary,
    section_views,
    value_or_status,
    value_shapes,
)
from ._executor import Executor

_COLUMNS = ("shape", "dtype", "device")


@view_of.register
def executor_view(executor: Executor) -> View:
    """Its arrays with statistics of those that are computed, and its graph with shapes."""
    name = executor.symbol.name or ", ".join(executor.output_names[:3])
    return View(f"Executor of {name} on {executor.context}", executor_parts(executor))


def executor_parts(executor: Executor) -> list[Part]:
    """The parts of an executor's view."""
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
    """Arguments, auxiliary states, gradients and outputs."""
    graph = executor.graph
    arguments = [
        SectionEntry(name, [*array_columns(array), request], value_or_status(array))
        for name, array, request in zip(
            graph.arg_names, executor.arg_arrays, executor.effective_grad_req, strict=True
        )
    ]
    targets = executor.grad_arrays or [None] * len(graph.arg_names)
    stepped = NOT_STORED if executor.steps_taken else None
    gradients = [
        SectionEntry(n, array_columns(g), stepped or value_or_status(g))
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
    entries = [SectionEntry(n, array_columns(a), value_or_status(a)) for n, a in arrays]
    return Section(title, _COLUMNS, entries)
