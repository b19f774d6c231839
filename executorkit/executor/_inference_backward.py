"""``backward(is_train=False)``: batch normalisation differentiated by its moving statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax

from ..lowering import Graph, GraphStep
from ..ndarray import NDArray
from ..ops import Params
from ..program import Program, program_for
from ._pending_step import PendingStep
from .protocol import Runnable


def inference_program(runnable: Runnable[NDArray]) -> Program | None:
    """The program in which normalisations use their moving statistics in every mode; None if the
    runnable's own does so, or runs on several devices."""
    program = runnable.program
    if not isinstance(program, Program):
        return None
    graph = _with_moving_statistics(program.graph)
    if graph is program.graph:
        return None
    return program_for(graph, program.argnums)


@lru_cache(maxsize=64)
def _with_moving_statistics(graph: Graph) -> Graph:
    steps = tuple(_step_with_moving_statistics(step) for step in graph.steps)
    if steps == graph.steps:
        return graph
    return dataclasses.replace(graph, steps=steps, memo={})


def _step_with_moving_statistics(step: GraphStep) -> GraphStep:
    if step.params.get("use_global_stats", True):
        return step
    return dataclasses.replace(step, params=Params({**step.params, "use_global_stats": True}))


def backward_in_inference(
    runnable: Runnable[NDArray], program: Program, step: PendingStep, heads: Sequence[Any]
) -> None:
    """Computes the gradients of a step's arguments by ``program``, and stores or adds them.

    The outputs are those of the step's forward, and no auxiliary state changes. Random operators
    draw what they drew there.
    """
    step.force()
    targets = runnable.gradient_targets
    with jax.enable_x64(True):
        *_, grads = program.forward_backward[step.train](step.args, step.aux, step.key, heads)
        for target, add, grad in zip(targets, runnable.accumulate, grads, strict=True):
            target.assign(target.value + grad if add else grad)
