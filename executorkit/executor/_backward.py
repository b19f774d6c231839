"""``backward``: its head gradients in the order of the outputs; ``backward(is_train=False)``."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax

from .._support.annotations import Arrays, Raw
from ..calls.rollback import complete
from ..errors import InputTypeError, UnknownNameError
from ..jax_internals import in_x64
from ..lowering import Graph
from ..ndarray import NDArray
from ..ops import Params
from ..program import Program, program_for
from ._pending_step import PendingStep
from ._precompile_spec import bound_avals
from ._validation import convert_for, is_assignable, type_phrase
from .runnable import Runnable


def heads_in_order(out_grads: Any, names: Sequence[str], kinds: Any = NDArray) -> list[Raw]:
    """Returns ``backward``'s head gradients in the order of the outputs, None for a missing one.

    As in MXNet, surplus arrays are ignored, and so are other names in a dict that names every
    output. ``kinds`` are the classes of a single array.
    """
    if out_grads is None:
        heads: list[Raw] = []
    elif isinstance(out_grads, kinds):
        heads = [out_grads]
    elif isinstance(out_grads, Mapping):
        unknown = [n for n in out_grads if n not in names]
        if unknown and not all(n in out_grads for n in names):
            problem = f"{', '.join(map(repr, unknown))} is not an output"
            hint = "one of: " + ", ".join(names)
            raise UnknownNameError("backward: out_grads", problem, hint=hint)
        heads = [out_grads.get(n) for n in names]
    elif isinstance(out_grads, Sequence) and not isinstance(out_grads, str):
        heads = list(out_grads)
    else:
        problem = f"{type_phrase(out_grads)}, expected an NDArray, or a list or dict of them"
        raise InputTypeError("backward: out_grads", problem, hint="mx.nd.array(value)")
    return [*heads[: len(names)], *[None] * (len(names) - len(heads))]


def head_gradients(out_grads: Any, runnable: Runnable[NDArray]) -> tuple[jax.Array | None, ...]:
    """Converts head gradients to a program's, in the order of the outputs.

    As in MXNet, an array of another shape is ignored at an output that needs no head gradient.
    """
    outputs, names = runnable.outputs, runnable.output_names
    heads = heads_in_order(out_grads, names)
    converted: list[jax.Array | None] = []
    for head, output, name in zip(heads, outputs, names, strict=True):
        if head is None:
            converted.append(None)
            continue
        if head.__class__ is NDArray and is_assignable(head, output):
            converted.append(head.jax)
            continue
        where = f"backward: head gradient of {name!r}"
        if not isinstance(head, NDArray):
            problem = f"{type_phrase(head)}, expected an NDArray"
            raise InputTypeError(where, problem, hint="mx.nd.array(value)")
        if head.shape != output.shape and not needs_head_gradients(runnable)[len(converted)]:
            converted.append(None)
            continue
        converted.append(convert_for(head, output, where).value)
    return tuple(converted)


def needs_head_gradients(runnable: Runnable[NDArray]) -> tuple[bool, ...]:
    args, aux, _ = bound_avals(runnable)
    key = runnable.key_aval() if runnable.uses_rng[True] else None
    return runnable.program.needs_head_gradient(args, aux, key)


def check_head_gradients(heads: Arrays, names: Sequence[str], needed: Sequence[bool]) -> None:
    """Raises UnknownNameError for an output whose head gradient is needed and missing."""
    for head, name, need in zip(heads, names, needed, strict=True):
        if head is None and need:
            raise UnknownNameError(
                f"backward: output {name!r}",
                "it needs a head gradient, and none is given",
                because="it is not the output of a loss operator",
                hint="backward(out_grads=...), or wrap the output in mx.sym.MakeLoss",
            )


def inference_program(runnable: Runnable[NDArray]) -> Program | None:
    """Returns the program with moving statistics in every mode; None for the runnable's own."""
    program = runnable.program
    if not isinstance(program, Program):
        return None
    graph = _with_moving_statistics(program.graph)
    return None if graph is program.graph else program_for(graph, program.argnums)


@lru_cache(maxsize=64)
def _with_moving_statistics(graph: Graph) -> Graph:
    steps = tuple(
        step
        if step.params.get("use_global_stats", True)
        else dataclasses.replace(step, params=Params({**step.params, "use_global_stats": True}))
        for step in graph.steps
    )
    return graph if steps == graph.steps else dataclasses.replace(graph, steps=steps, memo={})


@in_x64
def backward_in_inference(
    runnable: Runnable[NDArray], program: Program, step: PendingStep, heads: Arrays
) -> None:
    """Computes the gradients of a step's arguments by ``program``, and stores or adds them.

    The outputs are forward's, no auxiliary state changes, and random operators draw as in forward.
    """
    step.force()
    targets = runnable.gradient_targets
    with runnable.lock:
        *_, grads = program.forward_backward[step.train](step.args, step.aux, step.key, heads)
        sums = zip(targets, runnable.accumulate, grads, strict=True)
        contents = [target.value + grad if add else grad for target, add, grad in sums]

        def store() -> None:
            for target, value in zip(targets, contents, strict=True):
                target.assign(value)

        complete(store)
