"""Options of XLA's compiler, chosen per program instead of for the whole process."""

from collections.abc import Iterable
from functools import lru_cache

import jax
import jaxlib.version

from .._support.annotations import Attrs
from ..ops import OpDef
from ..ops.schema.traits import BARRIERS, CONVOLUTION
from .disk_cache import cached_answer

#: XLA's CPU backend hands products of matrices, sums and convolutions to the library YNNPACK. That
#: is good for the first two (sums over all but the channels take a tenth of the time), but its
#: convolutions take twice as long as XLA's own: 9.3 ms for 5.0 ms with 64 filters of 3 x 3 on four
#: images of 56 x 56 pixels, two cores. So it is asked for the first two only.
_CONVOLUTIONS_ON_CPU = {
    "xla_cpu_experimental_ynn_fusion_type": (
        "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
    )
}
#: The CPU backend drops optimization barriers early. It then merges the two computations of a value
#: that ``jax.checkpoint`` computes twice, and keeps it; it prepares gradients of convolutions in
#: forward; and it fuses the rows that iterations of a loop read with the gates they are cut into.
_BARRIERS_ON_CPU = {"xla_disable_hlo_passes": "cse_barrier_expander"}
#: With the older emitter of element-wise kernels and no unrolled loops a training step compiles in
#: 0.65 to 0.9 of the time, and takes as long. Inference of SqueezeNet takes 6 % longer with them.
_FEWER_PASSES_ON_CPU = {
    "xla_backend_extra_options": "xla_cpu_disable_tiled_emitter,xla_cpu_disable_loop_unrolling"
}
#: Options that this module may ask for.
EVERY_OPTION = _CONVOLUTIONS_ON_CPU | _BARRIERS_ON_CPU | _FEWER_PASSES_ON_CPU
#: Versions of jaxlib that are known to take all of them. To ask the compiler takes 30 ms, which
#: the first bind of a process would wait for.
_VERSIONS_THAT_TAKE_ALL = frozenset({"0.10.2"})


def compiler_options(
    ops: Iterable[OpDef], has_barriers: bool = False, trains: bool = True
) -> Attrs:
    """Returns the options for programs of these operators, which may have further optimization
    barriers, and which train or only infer."""
    if jax.default_backend() != "cpu":
        return {}
    traits = {trait for op in ops for trait in op.traits}
    choices = (
        (_CONVOLUTIONS_ON_CPU, CONVOLUTION in traits),
        (_BARRIERS_ON_CPU, has_barriers or not traits.isdisjoint((BARRIERS, CONVOLUTION))),
        (_FEWER_PASSES_ON_CPU, trains),
    )
    every = _CONVOLUTIONS_ON_CPU | _BARRIERS_ON_CPU | _FEWER_PASSES_ON_CPU
    takes_all = compiler_accepts(tuple(every.items()))
    accepted: Attrs = {}
    for options, needed in choices:
        if needed and (takes_all or compiler_accepts(tuple(options.items()))):
            accepted |= options
    return accepted


@lru_cache(maxsize=16)
def compiler_accepts(options: tuple[tuple[str, str], ...]) -> bool:
    """Tells whether the compiler takes these options: they change between versions."""
    takes_all = jaxlib.version.__version__ in _VERSIONS_THAT_TAKE_ALL
    if takes_all and EVERY_OPTION.items() >= set(options):
        return True
    return cached_answer(lambda: (options, jax.default_backend()), lambda: _compiles_with(options))


def _compiles_with(options: tuple[tuple[str, str], ...]) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
