"""What a step is made of: its parameters, and its optax transformation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import optax

from ..errors import StepError, explain
from ..executor._executor import is_input_name
from ._batch_feeder import BatchFeeder


def parameter_indices(
    names: Sequence[str], fed: BatchFeeder, inputs: Iterable[str] | None
) -> tuple[int, ...]:
    """Numbers of the arguments that a step trains; ``inputs`` as in :class:`Step`."""
    requests = fed.requests()
    if inputs is None:
        fixed = {n for n in names if is_input_name(n)} | set(fed.inputs)
    else:
        fixed = set(inputs)
        unknown = sorted(fixed - set(names))
        if unknown:
            raise StepError(
                explain(
                    "Step: inputs",
                    f"no argument is called {', '.join(map(repr, unknown))}",
                    hint="one of: " + ", ".join(names),
                )
            )
    found = tuple(
        i for i, (n, r) in enumerate(zip(names, requests, strict=True))
        if r != "null" and n not in fixed
    )  # fmt: skip
    if not found:
        raise StepError(
            explain(
                "Step",
                "there is no parameter to train",
                because="parameters are arguments with a gradient that are no inputs",
                hint="bind with gradients: simple_bind(grad_req='write', ...)",
            )
        )
    return found


def build_transformation(
    optimizer: Any, clip_global_norm: float | None, accumulate: int
) -> optax.GradientTransformation:
    """The transformation with what is to be done before and around it."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise StepError(
            explain(
                "Step: optimizer",
                f"a {type(optimizer).__name__}, expected an optax.GradientTransformation, an "
                "Optimizer or the name of one",
                hint="optax.adam(1e-3)",
            )
        )
    if clip_global_norm is not None:
        optimizer = optax.chain(optax.clip_by_global_norm(clip_global_norm), optimizer)
    if accumulate > 1:
        optimizer = optax.MultiSteps(optimizer, accumulate).gradient_transformation()
    return optimizer


def reject_options(**given: Any) -> None:
    """StepError if an option is given that belongs to optax transformations."""
    named = [name for name, value in given.items() if value]
    if named:
        raise StepError(
            explain(
                "Step",
                f"{', '.join(named)} cannot be combined with MXNet's optimizers",
                hint="optimizer.to_optax(names), or the optimizer's own rescale_grad",
            )
        )
