"""Programs in two stages: expressions of arrays that stay are computed once per set of arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..._support.garbage_collection import paused_collection
from ...jaxprs import flat_program
from ...ops.tracing import traced_for_fused_kernels
from .cpu_forms import convolve_pointwise, pack_weights
from .fused_convolutions import fuse_convolutions
from .split import Stages as Stages, split, static_values


def two_stages(
    function: Callable[..., Sequence[Any]],
    arguments: Sequence[object],
    staying: Sequence[bool],
    platform: str,
) -> Stages:
    """Splits a pure function for ``platform`` by binding times: ``staying`` says for each argument
    (shape and dtype) whether it stays from call to call or is fed."""
    with paused_collection():
        program = flat_program(jax.make_jaxpr(function)(*arguments), platform)
        if platform == "cpu":
            if traced_for_fused_kernels():
                program = fuse_convolutions(program, static_values(program, staying))
            program = convolve_pointwise(pack_weights(program, static_values(program, staying)))
        return split(program, staying)
