"""``Executor.debug_str``: the plan, then the costs that XLA reports.

What notebooks show of an executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..display import Fold, Line, Part, View, many
from ..ndarray import NDArray
from ..symbol.node import topological_order
from ..symbol.symbol_view import graph_parts
from ._array_sections import (
    Section,
    SectionEntry,
    array_columns,
    memory_summary,
    section_views,
    value_or_status,
    value_shapes,
)

if TYPE_CHECKING:
    from ._executor import Executor


def debug_str(executor: Executor) -> str:
    """MXNet's plan form (the graph in order, then megabytes bound), then XLA's analysis of the
    most complete program that has been compiled."""
    arrays = [*executor.arg_arrays, *executor.aux_arrays, *executor._grad_targets]
    arrays += executor.outputs
    bound = sum(a.size * a.storage.dtype.itemsize for a in arrays)
    lines = [
        executor._symbol.debug_str().rstrip("\n"),
        f"Total {bound // 2**20} MB allocated",
    ]
    analysis = executor._program.analyse()
    if analysis.function is None:
        lines.append("XLA: not compiled yet; run it, or call executor.compile()")
    else:
        lines.append(f"XLA program {analysis.function}:")
        if analysis.memory is None:
            lines.append("\tmemory: not told by this backend")
        else:
            lines += [f"\t{k}: {v} bytes" for k, v in analysis.memory.items()]
        flops = analysis.flops
        lines.append(f"\toperations: {'not told' if flops is None else f'{flops:.6g} FLOPs'}")
    return "\n".join(lines) + "\n"


_COLUMNS = ("shape", "dtype", "device")


def executor_view(executor: Executor) -> View:
    """What it holds, with statistics of what has been computed, and its graph with shapes."""
    name = executor.symbol.name or ", ".join(executor._graph.output_names[:3])
    return View(f"Executor of {name} on {executor._ctx}", executor_parts(executor))


def executor_parts(executor: Executor) -> list[Part]:
    """What views of an executor consist of."""
    arrays = [*executor.arg_arrays, *executor.aux_arrays]
    program = executor.program
    compiled = f"program: {many(program.traces, 'compilation')} in {program.compile_seconds:.2f} s"
    shapes = value_shapes(executor._graph, arrays)
    order = topological_order(executor.symbol.heads)
    return [
        Line(f"{memory_summary(arrays)}; {_last_forward_text(executor)}"),
        Line(compiled),
        *section_views(sections(executor)),
        Fold("graph", graph_parts(executor.symbol, order, shapes)),
    ]


def sections(executor: Executor) -> list[Section]:
    """Arguments, auxiliary states, gradients and outputs."""
    graph = executor._graph
    arguments = [
        SectionEntry(name, [*array_columns(array), req], value_or_status(array))
        for name, array, req in zip(
            graph.arg_names, executor.arg_arrays, _effective_grad_req(executor), strict=True
        )
    ]
    targets = executor.grad_arrays or [None] * len(graph.arg_names)
    gradients = [(n, g) for n, g in zip(graph.arg_names, targets, strict=True) if g is not None]
    return [
        Section("arguments", [*_COLUMNS, "grad_req"], arguments),
        _section("auxiliary states", zip(graph.aux_names, executor.aux_arrays, strict=True)),
        _section("gradients", gradients),
        _section("outputs", zip(graph.output_names, executor.outputs, strict=True)),
    ]


def _section(
    title: str, arrays: Sequence[tuple[str, NDArray]] | zip[tuple[str, NDArray]]
) -> Section:
    return Section(
        title, _COLUMNS, [SectionEntry(n, array_columns(a), value_or_status(a)) for n, a in arrays]
    )


def _effective_grad_req(executor: Executor) -> list[str]:
    targets = executor.grad_arrays or [None] * len(executor.arg_arrays)
    return [
        "null" if target is None else req
        for target, req in zip(targets, executor._grad_req, strict=True)
    ]


def _last_forward_text(executor: Executor) -> str:
    run = executor._run
    if run is None:
        return "not run yet"
    kind = "training" if run.train else "inference"
    looked = "" if run.done else ", which nobody has looked at"
    return f"last forward for {kind}{looked}"
