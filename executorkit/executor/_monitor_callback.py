"""Monitor callbacks: one program that returns every value, handed out one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from ..lowering._graph import GraphStep
from ..ndarray import NDArray
from ..program import Program, program_for

if TYPE_CHECKING:
    from ._executor import Executor
    from ._pending_step import PendingStep

Callback = Callable[[str, NDArray], Any]

#: Operators of one input, ``data``, whose input has that name in MXNet. All others of one input
#: called data have a nameless one there, which monitors call ``input0``.
_OPS_WITH_NAMED_INPUT = frozenset(
    {
        "Custom", "Dropout", "GridGenerator", "L2Normalization", "LRN", "LeakyReLU", "MakeLoss",
        "Pad", "Pooling", "Pooling_v1", "SequenceLast", "SequenceMask", "SequenceReverse",
        "SliceChannel", "SwapAxis", "_contrib_BilinearResize2D", "_contrib_MultiBoxPrior",
        "_contrib_index_array", "_ravel_multi_index", "_split_v2", "_unravel_index",
        "depth_to_space", "diag", "log_softmax", "repeat", "reverse", "softmax", "space_to_depth",
        "squeeze", "tile",
    }
)  # fmt: skip


def observe_forward(
    executor: Executor, run: PendingStep, callback: Callback, monitor_all: bool
) -> None:
    """Runs forward at once and reports every operator's outputs, in topological order; with
    ``monitor_all`` also its inputs, variables first under their own name."""
    graph = executor._graph
    values, forward_states = _program(executor).observe[run.train](*_step_inputs(executor, run))
    run.keep(
        [
            jax.device_put(values[i], array.context.device)
            for i, array in zip(graph.heads, executor.outputs, strict=True)
        ],
        forward_states,
    )
    for step in graph.steps:
        node = step.node
        if monitor_all:
            for name, i, (child, _) in zip(_inputs(step), step.inputs, node.inputs, strict=True):
                if child.op is None:
                    _call_back(executor, callback, child.name, values[i])
                _call_back(executor, callback, f"{node.name}_{name}", values[i])
        for k, name in enumerate(node.output_names):
            _call_back(executor, callback, name, values[step.first_output + k])


def observe_backward(
    executor: Executor, run: PendingStep, heads: Sequence[Any], callback: Callback
) -> None:
    """Reports the gradients of every operator's inputs, last operator first."""
    program = _program(executor)
    arrays = _step_inputs(executor, run, heads)
    for name, gradient in zip(
        program.input_gradient_names(executor._graph),
        program.observe_backward[run.train](*arrays),
        strict=True,
    ):
        _call_back(executor, callback, name, gradient)


def _inputs(step: GraphStep) -> tuple[str, ...]:
    nameless = step.names == ("data",) and step.op.name not in _OPS_WITH_NAMED_INPUT
    return ("input0",) if nameless else step.names


def _program(executor: Executor) -> Program:
    """The program of the graph as the user wrote it: passes drop nodes that a monitor names."""
    return program_for(executor._graph, executor._wanted, executor._add)


def _step_inputs(executor: Executor, run: PendingStep, *more: Any) -> tuple[Any, ...]:
    """The inputs of a run; with group2ctx brought together on one device."""
    arrays = (run.args, run.aux, run.key, *more)
    if not executor._group2ctx:
        return arrays
    return jax.device_put(arrays, executor._ctx.device)


def _call_back(executor: Executor, callback: Callback, name: str, value: Any) -> None:
    callback(name, NDArray.from_jax(value, executor._ctx))
