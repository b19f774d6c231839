"""Options of XLA's compiler, chosen per program instead of for the whole process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax

from ..lowering import Graph
from ._keeping import remembered

#: XLA's CPU backend hands products of matrices, sums and convolutions to the library YNNPACK. That
#: is good for the first two (sums over all but the channels take a tenth of the time), but its
#: convolutions take twice as long as XLA's own: 9.3 ms for 5.0 ms with 64 filters of 3 x 3 on four
#: images of 56 x 56 pixels, two cores. So it is asked for the first two only.
_CONVOLUTIONS_ON_CPU = {
    "xla_cpu_experimental_ynn_fusion_type": (
        "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
    )
}
#: The CPU backend drops early the barriers that keep apart what ``jax.checkpoint`` computes twice,
#: then finds that it is the same, and keeps it; and those that keep gradients of convolutions from
#: being prepared in forward, and rows that the turns of a loop read from the gates they are cut
#: into.
_BARRIERS_ON_CPU = {"xla_disable_hlo_passes": "cse_barrier_expander"}
_CONVOLUTIONS = frozenset({"Convolution", "Convolution_v1", "Deconvolution"})


def compiler_options(graph: Graph, has_barriers: bool = False) -> dict[str, Any]:
    """The options that a graph's programs are compiled with; ``has_barriers`` says whether some of
    what they compute is to be kept apart from the rest."""
    if jax.default_backend() != "cpu":
        return {}
    convolves = any(step.op.name in _CONVOLUTIONS for step in graph.steps)
    found: dict[str, Any] = {}
    for options, wanted in (
        (_CONVOLUTIONS_ON_CPU, convolves),
        (_BARRIERS_ON_CPU, convolves or has_barriers),
    ):
        if wanted and known_to_compiler(tuple(options.items())):
            found |= options
    return found


@lru_cache(maxsize=16)
def known_to_compiler(options: tuple[tuple[str, str], ...]) -> bool:
    """Whether the compiler of this process takes these options: they change between versions."""
    return remembered((options, jax.default_backend()), lambda: _takes(options))


def _takes(options: tuple[tuple[str, str], ...]) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
