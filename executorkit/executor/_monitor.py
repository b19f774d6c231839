"""Monitor callbacks: one program that returns every value, handed out one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..ndarray import NDArray
from ..program import PartitionedProgram, Program, program_for

if TYPE_CHECKING:
    from ._executor import Executor
    from ._run import Run

Callback = Callable[[str, NDArray], Any]


def observe_forward(executor: Executor, run: Run, callback: Callback, monitor_all: bool) -> None:
    """Runs forward at once and reports every operator's outputs, in topological order; with
    ``monitor_all`` also its inputs, variables first under their own name."""
    graph = executor._graph
    program = _whole_program(executor)
    values, side_aux = program.observe[run.train](run.args, run.aux, run.key)
    run.keep([values[i] for i in graph.heads], side_aux)
    for step in graph.steps:
        node = step.node
        if monitor_all:
            for name, i, (child, _) in zip(step.names, step.inputs, node.inputs, strict=True):
                if child.op is None:
                    _report(executor, callback, child.name, values[i])
                _report(executor, callback, f"{node.name}_{name}", values[i])
        for k, name in enumerate(node.output_names):
            _report(executor, callback, name, values[step.first_output + k])


def observe_backward(
    executor: Executor, run: Run, heads: Sequence[Any], callback: Callback
) -> None:
    """Reports the gradients of every operator's inputs, last operator first."""
    program = _whole_program(executor)
    for name, gradient in zip(
        program.input_gradient_names,
        program.observe_backward[run.train](run.args, run.aux, run.key, heads),
        strict=True,
    ):
        _report(executor, callback, name, gradient)


def _whole_program(executor: Executor) -> Program | PartitionedProgram:
    """The program of the graph as the user wrote it: passes drop nodes that a monitor names."""
    if executor._group2ctx:
        return executor._program
    return program_for(executor._graph, executor._wanted, executor._add)


def _report(executor: Executor, callback: Callback, name: str, value: Any) -> None:
    callback(name, NDArray._from_jax(value, executor._ctx))
