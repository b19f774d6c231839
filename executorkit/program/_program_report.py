"""Answers to questions about a program: cost, HLO text, reason of compilation, nearest program."""

from collections.abc import Iterable, Sequence
from typing import Any

from .._support.annotations import Operands
from ..errors import MXNetError
from ..lowering import Cost, Graph, cost_of
from ._compiled_function import CompiledFunction
from ._trace_history import ArgumentNamer, History, Trace, explain_traces
from .base_program import BaseProgram

#: Names of the arguments of the jitted functions.
_PARAMETERS = {
    "backward": ("residuals", "heads", "accumulated"),
    "backward_step": (
        "donated", "kept", "residuals", "heads", "accumulated", "update_keys", "hyperparams",
    ),
    "prepare": ("sources",),
    "infer_prepared": ("fed", "held", "prepared"),
    "step": (
        "donated", "args", "aux", "key", "heads", "accumulated", "update_keys", "hyperparams",
    ),
}  # fmt: skip
_DEFAULT_PARAMETERS = ("args", "aux", "key", "heads", "accumulated")
#: The functions of a program, the least complete first.
_COMPLETENESS = (
    "infer", "infer_prepared", "infer_train", "forward", "forward_train", "forward_backward",
    "forward_backward_train", "step",
)  # fmt: skip
#: Maximum number of differences between programs that count as near.
_MAX_CHANGES = 4


def compiled_function(
    functions: Sequence[CompiledFunction], name: str | None, method: str
) -> CompiledFunction | None:
    """Returns the compiled function of a name, or the most complete; None if nothing is compiled.

    Raises MXNetError, in the name of a method of the program, if that function is not compiled.
    """
    compiled = {f.name: f for f in reversed(functions) if f.avals is not None}
    if name is None:
        return next((compiled[n] for n in reversed(_COMPLETENESS) if n in compiled), None)
    if name not in compiled:
        hint = f"one of: {', '.join(sorted(compiled))}" if compiled else "run it first"
        raise MXNetError(f"program.{method}", f"no function {name!r} has been compiled", hint=hint)
    return compiled[name]


def required_function(
    functions: Sequence[CompiledFunction], name: str | None, method: str
) -> tuple[CompiledFunction, Operands]:
    """Returns it with the avals of its last trace; MXNetError if nothing is compiled."""
    function = compiled_function(functions, name, method)
    if function is None or function.avals is None:
        hint = "run the executor, or call executor.compile()"
        raise MXNetError(f"program.{method}", "nothing has been compiled", hint=hint)
    return function, function.avals


def cost_of_function(
    function: CompiledFunction, avals: Operands, graph: Graph, names_from: Graph
) -> Cost:
    """Returns the cost of a function of a graph, under the node names of an equal graph."""
    names = [(s.node.name or s.op.name, s.op.name) for s in graph.steps]
    devices = len(function.devices)
    title = f"{function.name} on each of {devices} devices" if devices else function.name
    cost = cost_of(title, function.jaxpr(*avals), dict(names))
    if names_from is not graph:
        renamed = {n: s.node.name for (n, _), s in zip(names, names_from.steps, strict=True)}
        for node in cost:
            node.name = renamed.get(node.name, node.name)
    return cost


def compilation_history(
    program: BaseProgram, functions: Iterable[CompiledFunction], others: Iterable[BaseProgram]
) -> History:
    """Returns the traces of a program's functions, and its difference to the nearest program."""
    traces: list[Trace] = []
    for function in functions:
        devices = len(function.devices)
        name = function.name + (f" on {devices} devices" if devices else "")
        argument_name = _argument_namer(program, function.name)
        log = tuple(function.log.records)
        traces += explain_traces(name, log, argument_name, function.size_note)
    return History(traces, nearest_difference(program, others))


def _argument_namer(program: BaseProgram, function: str) -> ArgumentNamer:
    parameters = _PARAMETERS.get(function, _DEFAULT_PARAMETERS)
    arg_names = program.graph.arg_names
    leaf_names = {
        "args": arg_names,
        "aux": program.graph.aux_names,
        "heads": program.graph.output_names,
        "accumulated": [arg_names[i] for i in program.argnums],
    }

    def argument_name(path: Sequence[Any]) -> str:
        position, inner = path[0].idx, path[1:]
        parameter = parameters[position] if position < len(parameters) else f"argument {position}"
        names = leaf_names.get(parameter, ())
        if len(inner) == 1 and inner[0].idx < len(names):
            return f"{parameter}[{names[inner[0].idx]!r}]"
        return parameter + "".join(str(key) for key in inner)

    return argument_name


def nearest_difference(program: BaseProgram, others: Iterable[BaseProgram]) -> str:
    """Lists the few differences to the nearest of the other programs; empty if none is near."""
    differences = [program_differences(o, program) for o in others if o is not program]
    near = [changes for changes in differences if changes and len(changes) <= _MAX_CHANGES]
    if not near:
        return ""
    return "not shared with the nearest other program: " + "; ".join(min(near, key=len))


def program_differences(old: BaseProgram, new: BaseProgram) -> list[str] | None:
    """Compares programs of graphs with the same connections; None for others."""
    a, b = old.graph, new.graph
    if len(a.steps) != len(b.steps) or (a.arg_values, a.heads) != (b.arg_values, b.heads):
        return None
    changes = []
    for s, t in zip(a.steps, b.steps, strict=True):
        where = f"node {t.node.name!r} ({t.op.name})"
        if s.op is not t.op:
            changes.append(f"{where}: operator {s.op.name} -> {t.op.name}")
        elif s.inputs != t.inputs:
            changes.append(f"{where}: other inputs")
        elif s.params.key != t.params.key:
            changes += [
                f"{where}: {name} {s.params.get(name)!r} -> {t.params.get(name)!r}"
                for name in dict.fromkeys((*t.params, *s.params))
                if s.params.get(name) != t.params.get(name)
            ]
    changes += _grad_req_differences(old, new)
    if old.options != new.options:
        changes.append(f"options {old.options} -> {new.options}")
    return changes


def _grad_req_differences(old: BaseProgram, new: BaseProgram) -> list[str]:
    changed = [
        f"{name!r} {_grad_req(old, i)} -> {_grad_req(new, i)}"
        for i, name in enumerate(new.graph.arg_names)
        if _grad_req(old, i) != _grad_req(new, i)
    ]
    if len(changed) > _MAX_CHANGES:
        changed[2:] = [f"... {len(changed) - 2} more"]
    return [f"grad_req of {', '.join(changed)}"] if changed else []


def _grad_req(program: BaseProgram, i: int) -> str:
    return "write" if i in program.argnums else "null"
