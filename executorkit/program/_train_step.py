"""Forward, backward and an optimiser's update as one program, whose old values are donated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import jax

from ._jit import InstrumentedJit
from ._program import Arrays, Program

#: What a step replaces, so that its memory is used again: weights, optimiser states, aux.
DONATED_ARG = 0
#: The arguments that are the same on all devices: keys of the updates, and numbers.
REPLICATED_ARGS = (6, 7)


class UpdateFunction(Protocol):
    """New weights from gradients: a pure function, hashable, so that equal ones share programs.

    One that has a method ``loss_scale(state)`` gets gradients of losses multiplied by that number.

    ``numbers`` is a vector of float64, the host's part of the update (learning rates); ``words``
    those of a PRNG key, or None where the update does not draw.
    """

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Any, numbers: Any, words: Any
    ) -> tuple[Arrays, Any]: ...


class UpdateSpec(NamedTuple):
    """One update in a step: of the arguments ``program.wanted[k]`` for every k in ``targets``,
    with ``width`` of the step's numbers."""

    targets: tuple[int, ...]
    update: UpdateFunction
    width: int


class StepSpec(NamedTuple):
    """What a step updates, and whether it returns the gradients of what it updates."""

    parts: tuple[UpdateSpec, ...]
    keep_gradients: bool


def make_step(
    program: Program, train: bool, plan: StepSpec, reduce: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """The function of one step:

    step((weights, states, aux), args, aux, key, heads, old, keys, numbers)
        -> (weights, states, backward_states), outputs, forward_states, gradients

    ``args`` and ``aux`` have None where the donated weights (for each part a tuple) and auxiliary
    states belong. A gradient that is used up by the update is returned as None. ``reduce`` sums
    gradients over the devices of a group. What replaces the donated arrays comes first, lest a
    gradient of the same shape gets their memory.
    """
    used = {k for part in plan.parts for k in part.targets}
    hidden = frozenset() if plan.keep_gradients else used

    def step(
        donated: Any, args: Arrays, aux: Arrays, key: Any, heads: Arrays, old: Arrays,
        keys: Sequence[Any], numbers: Any,
    ) -> Any:  # fmt: skip
        weights, states, backward_states = donated
        full_args, full_aux = list(args), list(aux)
        for part, group in zip(plan.parts, weights, strict=True):
            for k, weight in zip(part.targets, group, strict=True):
                full_args[program.argnums[k]] = weight
        for n, value in zip(program.backward_state_indices, backward_states, strict=False):
            full_aux[n] = value
        scale = None
        for part, state in zip(plan.parts, states, strict=True):
            loss_scale = getattr(part.update, "loss_scale", None)
            if loss_scale is not None:
                scale = loss_scale(state)
                heads = tuple(None if h is None else h * scale.astype(h.dtype) for h in heads)
        outputs, side, new_aux, grads = program.forward_backward[train].function(
            full_args, full_aux, key, heads, old, scale
        )
        new_weights, new_states, begin = [], [], 0
        for part, group, state, part_key in zip(plan.parts, weights, states, keys, strict=True):
            own = tuple(grads[k] for k in part.targets)
            if reduce is not None:
                own = reduce(own)
            with jax.named_scope("update"):
                new, state = part.update(
                    group, own, state, numbers[begin : begin + part.width], part_key
                )
            begin += part.width
            new_weights.append(tuple(new))
            new_states.append(state)
        kept = tuple(None if k in hidden else g for k, g in enumerate(grads))
        return (tuple(new_weights), tuple(new_states), new_aux), outputs, side, kept

    return step


def step_function(program: Program, train: bool, plan: StepSpec) -> InstrumentedJit:
    """The compiled step of a program and a plan; equal plans get the same one."""
    found = program.variants.get((train, plan))
    if found is None:
        found = InstrumentedJit(
            make_step(program, train, plan),
            "step",
            (DONATED_ARG,),
            program.compiler_options,
            lambda: program.fingerprint_of(train, plan),
        )
        program.variants[train, plan] = found
    return found
