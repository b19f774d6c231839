"""Options of XLA's compiler, chosen per program instead of for the whole process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax

from ..lowering import Graph

#: XLA's CPU backend hands products of matrices, sums and convolutions to the library YNNPACK. That
#: is good for the first two (sums over all but the channels take a tenth of the time), but its
#: convolutions take twice as long as XLA's own: 9.3 ms for 5.0 ms with 64 filters of 3 x 3 on four
#: images of 56 x 56 pixels, two cores. So it is asked for the first two only.
_CONVOLUTIONS_ON_CPU = {
    "xla_cpu_experimental_ynn_fusion_type": (
        "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
    )
}
_CONVOLUTIONS = frozenset({"Convolution", "Convolution_v1", "Deconvolution"})


def compiler_options(graph: Graph) -> dict[str, Any]:
    """The options that a graph's programs are compiled with."""
    if jax.default_backend() != "cpu":
        return {}
    if not any(step.op.name in _CONVOLUTIONS for step in graph.steps):
        return {}
    return _CONVOLUTIONS_ON_CPU if known_to_compiler(tuple(_CONVOLUTIONS_ON_CPU.items())) else {}


@lru_cache(maxsize=16)
def known_to_compiler(options: tuple[tuple[str, str], ...]) -> bool:
    """Whether the compiler of this process takes these options: they change between versions."""
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
