"""Programs in two stages: what depends only on arrays that stay is computed once per set of arrays.

:func:`two_stages` traces a function of arrays and splits it by its arguments' binding times: some
stay from call to call (parameters), others are fed (data). See :class:`Stages`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..._support.garbage_collection import paused_collection
from ...jaxprs import flat_program
from .cpu_forms import convolve_pointwise, pack_weights
from .split import Stages as Stages, split, static_values


def two_stages(
    function: Callable[..., Sequence[Any]],
    arguments: Sequence[Any],
    staying: Sequence[bool],
    platform: str,
) -> Stages:
    """A pure function of arrays in two stages.

    arguments
        shapes and dtypes of its arguments.
    staying
        for each of them, whether it stays from call to call.
    platform
        where it will run (``cpu``): functions that differ between platforms are those of this one.
    """
    with paused_collection():
        program = flat_program(jax.make_jaxpr(function)(*arguments), platform)
        if platform == "cpu":
            program = convolve_pointwise(pack_weights(program, static_values(program, staying)))
        return split(program, staying)
