"""Options of XLA's compiler, chosen per program instead of for the whole process."""

import math
import os
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import jax
import jaxlib.version

from ..jax_internals import set_min_log_level
from ..lowering import Graph, InferenceResult, memoize
from ..ops.schema.inference import is_fully_known
from ..ops.schema.traits import CONVOLUTION, LOOP
from .disk_cache import cached_answer, directory_is_named

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
#: forward; and it fuses the rows that the iterations of a loop read with the gates they are cut
#: into.
_BARRIERS_ON_CPU = {"xla_disable_hlo_passes": "cse_barrier_expander"}
#: Maximum size of one piece of working memory, in bytes. A program takes its working memory from
#: ``malloc`` at every call. Blocks above 32 MiB the GNU C library fetches from the system, which
#: clears every page, and gives them back at once: that was a quarter of a training step of
#: MobileNet (four images of 224 x 224), an eighth of ResNet-50's. So it is split into smaller
#: pieces, if no value is larger. XLA's compiler warns of each larger one, as a padded copy may be:
#: of hundreds in a large network, and there is no remedy.
_MAX_PIECE = 30 * 2**20
_PIECES_ON_CPU = {"xla_multiheap_size_constraint_per_heap": str(_MAX_PIECE)}
#: Options that this module may ask for.
EVERY_OPTION = _CONVOLUTIONS_ON_CPU | _BARRIERS_ON_CPU | _PIECES_ON_CPU
#: Versions of jaxlib that are known to take all of them. To ask the compiler takes 30 ms, which
#: the first bind of a process would wait for.
_VERSIONS_THAT_TAKE_ALL = frozenset({"0.10.2"})


def compiler_options(
    graph: Graph, has_barriers: bool = False, split_temp_buffers: bool = False
) -> dict[str, Any]:
    """The options for a graph's programs.

    ``has_barriers`` says whether they contain optimization barriers, ``split_temp_buffers`` whether
    their working memory may be taken in pieces.
    """
    if jax.default_backend() != "cpu":
        return {}
    convolves = _convolves(graph)
    choices = (
        (_CONVOLUTIONS_ON_CPU, convolves),
        (_BARRIERS_ON_CPU, convolves or has_barriers),
        (_PIECES_ON_CPU, split_temp_buffers),
    )
    every = _CONVOLUTIONS_ON_CPU | _BARRIERS_ON_CPU | _PIECES_ON_CPU
    takes_all = compiler_accepts(tuple(every.items()))
    accepted: dict[str, Any] = {}
    for options, needed in choices:
        if needed and (takes_all or compiler_accepts(tuple(options.items()))):
            accepted |= options
            if options is _PIECES_ON_CPU:
                _hide_warnings()
    return accepted


@cache
def _hide_warnings() -> None:
    """Lets XLA print errors only, unless TF_CPP_MIN_LOG_LEVEL or ``jax_logging_level`` are set: JAX
    sets the former to 1 where it finds none."""
    level = jax.config.jax_logging_level  # type: ignore[attr-defined]
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1") == "1" and level == "NOTSET":
        set_min_log_level(2)


def mapped_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a program's options that its form for several devices takes: pieces of working
    memory, which every device fetches for itself.

    With them a training step of an IResNet-18 (eight pictures of 56 x 56) on four CPU devices and
    two cores takes 270 ms, without 382; with all options 313.
    """
    return {name: options[name] for name in _PIECES_ON_CPU if name in options}


def can_split_temp_buffers(graph: Graph, inferred: InferenceResult) -> bool:
    """True if the working memory of a graph with these shapes can be taken in pieces.

    False where the user has named a directory in which compiled programs are kept, by JAX or by us:
    XLA cannot write such a program to a file.
    """
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if jax.default_backend() != "cpu" or folder is not None or directory_is_named():
        return False
    key = "can split temporary buffers", inferred.arg_shapes, inferred.arg_dtypes
    answer = graph.memo.get(key)
    return memoize(graph.memo, key, _all_fit(graph, inferred)) if answer is None else answer


def _all_fit(graph: Graph, inferred: InferenceResult) -> bool:
    """True if no value is larger than a piece, those of all iterations of a loop taken together."""
    if any(LOOP in step.op.traits for step in graph.steps):
        return False
    dtypes = (*inferred.arg_dtypes, *inferred.out_dtypes)
    itemsize = 8 if any(dtype in ("float64", "int64") for dtype in dtypes) else 4
    limit = _MAX_PIECE // itemsize
    known = (shape for shape in inferred.values if shape and is_fully_known(shape))
    if not all(math.prod(shape) <= limit for shape in known):
        return False
    if _convolves(graph):
        return True
    # In a re-rolled recurrence an operator's results of all iterations are one value.
    values = inferred.values
    repetitions = Counter((s.op.name, s.n_outputs, values[s.first_output]) for s in graph.steps)
    return all(
        math.prod(shape) * outputs * length <= limit
        for (_, outputs, shape), length in repetitions.items()
        if shape and is_fully_known(shape)
    )


def _convolves(graph: Graph) -> bool:
    return any(CONVOLUTION in step.op.traits for step in graph.steps)


@lru_cache(maxsize=16)
def compiler_accepts(options: tuple[tuple[str, str], ...]) -> bool:
    """True if the compiler of this process takes these options: they change between versions."""
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
