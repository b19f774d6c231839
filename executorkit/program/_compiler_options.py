"""Options of XLA's compiler, chosen per program instead of for the whole process."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import Any

import jax

from ..lowering import Graph
from ..lowering._graph import memoize
from ..lowering._infer import InferenceResult
from ..ops.schema.inference import is_fully_known
from .disk_cache.store import cached_answer

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
#: A program takes its working memory from ``malloc`` at every call. Blocks above 32 MiB the GNU C
#: library fetches from the system, which clears every page, and gives them back at once: that was a
#: quarter of a training step of MobileNet (four images of 224 x 224), an eighth of ResNet-50's. So
#: it is taken in pieces below that, if no value is larger: XLA's compiler warns of those that are.
_PIECE = 30 * 2**20
_PIECES_ON_CPU = {"xla_multiheap_size_constraint_per_heap": str(_PIECE)}
_CONVOLUTIONS = frozenset({"Convolution", "Convolution_v1", "Deconvolution"})
#: Operators that stack values of all turns of a loop of theirs.
_LOOPS = frozenset({"RNN", "_foreach", "_while_loop"})


def compiler_options(
    graph: Graph, has_barriers: bool = False, split_temp_buffers: bool = False
) -> dict[str, Any]:
    """The options that a graph's programs are compiled with; ``has_barriers`` says whether some of
    what they compute is to be kept apart from the rest, ``split_temp_buffers`` whether their working memory
    may be."""
    if jax.default_backend() != "cpu":
        return {}
    convolves = _convolves(graph)
    found: dict[str, Any] = {}
    for options, wanted in (
        (_CONVOLUTIONS_ON_CPU, convolves),
        (_BARRIERS_ON_CPU, convolves or has_barriers),
        (_PIECES_ON_CPU, split_temp_buffers),
    ):
        if wanted and compiler_accepts(tuple(options.items())):
            found |= options
    return found


def can_split_temp_buffers(graph: Graph, found: InferenceResult) -> bool:
    """Whether the working memory of a graph with these shapes can be taken in pieces.

    Not where compiled programs are kept, by JAX or by us: XLA cannot write such a one to a file.
    """
    if jax.default_backend() != "cpu":
        return False
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return False
    key = "fits in pieces", found.arg_shapes, found.arg_dtypes
    known_answer = graph.memo.get(key)
    if known_answer is not None:
        return known_answer
    return memoize(graph.memo, key, _all_fit(graph, found))


def _all_fit(graph: Graph, found: InferenceResult) -> bool:
    """Whether no value is larger than a piece, those of all turns of a loop taken together."""
    if any(step.op.name in _LOOPS for step in graph.steps):
        return False
    wide = any(dtype in ("float64", "int64") for dtype in (*found.arg_dtypes, *found.out_dtypes))
    most = _PIECE // (8 if wide else 4)
    if not all(
        math.prod(shape) <= most for shape in found.values if shape and is_fully_known(shape)
    ):
        return False
    if _convolves(graph):
        return True
    # Where a recurrence is rolled up, what an operator gives in all turns is one value.
    turns = Counter((s.op.name, s.n_outputs, found.values[s.first_output]) for s in graph.steps)
    return all(
        math.prod(shape) * outputs * times <= most
        for (_, outputs, shape), times in turns.items()
        if shape and is_fully_known(shape)
    )


def _convolves(graph: Graph) -> bool:
    return any(step.op.name in _CONVOLUTIONS for step in graph.steps)


@lru_cache(maxsize=16)
def compiler_accepts(options: tuple[tuple[str, str], ...]) -> bool:
    """Whether the compiler of this process takes these options: they change between versions."""
    return cached_answer((options, jax.default_backend()), lambda: _takes(options))


def _takes(options: tuple[tuple[str, str], ...]) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
