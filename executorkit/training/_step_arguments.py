"""The arguments of a training step: its parameters, and its optax transformation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import optax

from ..errors import StepError
from ..executor import is_input_name
from ._batch_feeder import BatchFeeder


def parameter_indices(
    names: Sequence[str], feeder: BatchFeeder, inputs: Iterable[str] | None
) -> tuple[int, ...]:
    """Numbers of the arguments that a step trains; ``inputs`` as in :class:`Step`."""
    if inputs is None:
        fixed = {n for n in names if is_input_name(n)} | set(feeder.inputs)
    else:
        fixed = set(inputs)
        unknown = sorted(fixed - set(names))
        if unknown:
            raise StepError(
                "Step: inputs",
                f"no argument is called {', '.join(map(repr, unknown))}",
                hint="one of: " + ", ".join(names),
            )
    indices = tuple(
        i
        for i, (name, request) in enumerate(zip(names, feeder.grad_req, strict=True))
        if request != "null" and name not in fixed
    )
    if not indices:
        raise StepError(
            "Step",
            "there is no parameter to train",
            because="parameters are arguments with a gradient that are no inputs",
            hint="bind with gradients: simple_bind(grad_req='write', ...)",
        )
    return indices


def build_transformation(
    optimizer: Any, clip_global_norm: float | None, accumulate: int
) -> optax.GradientTransformation:
    """The transformation after clipping of gradients, and within their accumulation."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise StepError(
            "Step: optimizer",
            f"a {type(optimizer).__name__}, expected an optax.GradientTransformation, an "
            "Optimizer or the name of one",
            hint="optax.adam(1e-3)",
        )
    if clip_global_norm is not None:
        optimizer = optax.chain(optax.clip_by_global_norm(clip_global_norm), optimizer)
    if accumulate > 1:
        optimizer = optax.MultiSteps(optimizer, accumulate).gradient_transformation()
    return optimizer


def reject_options(**options: Any) -> None:
    """StepError if an option is set that belongs to optax transformations."""
    named = [name for name, is_set in options.items() if is_set]
    if named:
        raise StepError(
            "Step",
            f"{', '.join(named)} cannot be combined with MXNet's optimizers",
            hint="optimizer.to_optax(names), or the optimizer's own rescale_grad",
        )
