"""Views of programs, of the reasons of their compilations, and of the costs of their nodes."""

from ..display import Fold, Line, Part, Table, View, many, scaled, view_of
from ._partitioned import PartitionedProgram
from ._program import Program
from ._trace_history import History


def program_parts(program: Program | PartitionedProgram) -> list[Part]:
    """Returns the parts of views of a program."""
    if isinstance(program, PartitionedProgram):
        return [
            Fold(f"segment {k} on {segment.context}", program_parts(part))
            for k, (segment, part) in enumerate(program.segments)
        ]
    analysis = program.analyse()
    if analysis.function is None:
        return [Line("nothing has been compiled yet")]
    memory = analysis.memory or {}
    row = [
        analysis.function, scaled(analysis.flops, "FLOPs"),
        scaled(analysis.bytes_moved, "B", 1024), scaled(memory.get("peak"), "B", 1024),
        scaled(memory.get("temporaries"), "B", 1024),
    ]  # fmt: skip
    header = ["function", "FLOPs by XLA", "bytes moved", "peak memory", "temporaries"]
    history = Fold("compilations", _history_parts(program.explain()))
    return [Table(header, [row], {1, 2, 3, 4}), history]


@view_of.register
def _program_view(program: Program) -> View:
    functions = [function for function in program.all_functions if function.traces]
    traces = many(sum(function.traces for function in functions), "compilation")
    title = f"Program of {many(len(program.graph.steps), 'operator')}: {traces}"
    seconds = sum(function.seconds for function in functions)
    return View(f"{title} in {seconds:.2f} s", program_parts(program))


@view_of.register
def _partitioned_view(program: PartitionedProgram) -> View:
    title = f"Program in {many(len(program.segments), 'segment')}: "
    compiled = f"{many(program.traces, 'compilation')} in {program.compile_seconds:.2f} s"
    return View(title + compiled, program_parts(program))


def _history_parts(history: History) -> list[Part]:
    rows = [[t.function, f"{t.seconds:.2f}", t.why] for t in history.traces]
    parts: list[Part] = [Line(history.origin)] if history.origin else []
    return [*parts, Table(["function", "seconds", "compiled because"], rows, {1})]


@view_of.register
def _history_view(history: History) -> View:
    return View(many(len(history.traces), "compilation"), _history_parts(history))
