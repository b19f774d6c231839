"""Freed memory that the process retains for the next call of a large program.

A program takes its working memory from ``malloc`` at every call. The GNU C library fetches large
blocks from the system, which clears every page, and gives them back at once: 56,000 page faults in
each training step of MobileNet v2 (four images of 224 x 224). With one arena, no block of its own
mapping and no trimming there are none.

XLA can split working memory into pieces that ``malloc`` retains by itself. Such a program cannot be
written to a file, and takes twice the memory (MobileNet v2 1.5 to 1.8 GB for 0.8 to 1.0): the first
step of ResNet-50 took 16 s in every process, for 3.5 s from disk.

What is retained in vain goes back to the system: a compiler's memory before the first run of the
program (:func:`trim`), and where the heap has grown since, blocks into which working memory has not
fitted again (:func:`settle`).
"""

from __future__ import annotations

import math
import os
import time
from functools import lru_cache
from operator import methodcaller

import jax
import jax.numpy as jnp
import numpy as np

from .._support.annotations import Operands
from .._support.malloc import (
    M_ARENA_MAX,
    M_MMAP_MAX,
    M_MMAP_THRESHOLD,
    M_TOP_PAD,
    M_TRIM_THRESHOLD,
    bytes_in_use,
    heap_end,
    release_freed_memory,
    set_malloc,
)
from ..lowering import Graph, InferenceResult, memoize
from ..ops.schema.inference import is_fully_known
from ._program_options import chosen

_VARIABLE = "EXECUTORKIT_RETAIN_MEMORY"
#: Number of elements of all values of a graph from which its working memory is worth retaining.
_LARGE = 2**23
#: Number of calls of new sizes after which freed memory is given back.
_NEW_SIZES = 128
#: -1 means never to trim; memory is fetched 64 MiB at a time.
_SETTINGS = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: -1, M_TOP_PAD: 64 * 2**20}

#: Working memory of an executable, and growth of the heap, in bytes, that are large.
_GROWTH = 2**25
#: Number of times that other threads get the core. With none a training step of MobileNet held two
#: blocks of working memory at 4 of 25 calls, with one at 2, with five at none.
_YIELDS = 5
#: Working memory whose runs wait for the ones before; a look at the heap takes 7 ms there.
_WAITED_FOR = 2**28
#: Seconds between looks whether memory is freed. On a busy machine it took up to 13 ms.
_LOOKS = 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064


def retain_freed_memory(graph: Graph, inferred: InferenceResult) -> None:
    """Has the process retain freed memory, if a graph with these shapes is large.

    Once per process, on CPUs with the GNU C library, unless the environment has settings of
    ``malloc``. The environment variable ``EXECUTORKIT_RETAIN_MEMORY`` forbids it ('0'), or asks for
    it whatever the size ('1'). :meth:`Context.empty_cache` gives the memory back.
    """
    if jax.default_backend() != "cpu":
        return
    choice = chosen(None, _VARIABLE)
    if choice or (choice is None and _is_large(graph, inferred)):
        _set_malloc()


def _is_large(graph: Graph, inferred: InferenceResult) -> bool:
    key = "is large", inferred.arg_shapes
    answer = graph.memo.get(key)
    if answer is not None:
        return answer
    sizes = (math.prod(shape) for shape in inferred.values if shape and is_fully_known(shape))
    return memoize(graph.memo, key, sum(sizes) >= _LARGE)


@lru_cache(maxsize=1)
def _set_malloc() -> bool:
    _heap.is_retained = set_malloc(_SETTINGS)
    return _heap.is_retained


class _Heap:
    is_retained = False
    #: The highest end at which freed memory was given back.
    end = 0
    #: Number of bytes in use when a call had last waited for the memory of the run before.
    in_use = 0
    new_sizes = 0


_heap = _Heap()


def trim() -> None:
    """Gives freed memory back, if it is retained."""
    if _heap.is_retained:
        _heap.end = max(_heap.end, heap_end())
        release_freed_memory()


def settles(executable: jax.stages.Compiled) -> int:
    """Returns the working memory of an executable before whose runs :func:`settle` should be
    called; 0 for others."""
    sizes = executable.memory_analysis() if _heap.is_retained else None
    size = 0 if sizes is None else sizes.temp_size_in_bytes
    return size if size >= _GROWTH else 0


def has_room(executable: jax.stages.Compiled) -> bool:
    """Tells whether there is memory for a run of an executable, as far as this can be known."""
    sizes = executable.memory_analysis() if jax.default_backend() == "cpu" else None
    if sizes is None:
        return False
    try:
        np.empty(sizes.temp_size_in_bytes + sizes.output_size_in_bytes, np.int8)
    except MemoryError:
        return False
    return True


def settle(args: Operands, working_memory: int) -> None:
    """Has the memory of the run before freed, and gives freed memory back where the heap has grown.

    XLA's thread frees it after it has begun a run that waits for its results, or has waked a thread
    that does, which may take its core. The next run would begin with memory of its own, twice as
    much in all.
    """
    for _ in range(_YIELDS):
        os.sched_yield()
    leaves = (x for x in jax.tree.leaves(args) if isinstance(x, jax.Array))
    arrays = (x for x in leaves if not jnp.issubdtype(x.dtype, jax.dtypes.prng_key))
    if working_memory >= _WAITED_FOR and not all(map(_is_ready, arrays)):
        jax.block_until_ready(args)
        for seconds in _LOOKS:
            in_use = bytes_in_use()
            if in_use < _heap.in_use + _GROWTH:
                break
            time.sleep(seconds)
        _heap.in_use = in_use
    if heap_end() - _heap.end >= _GROWTH:
        trim()


_is_ready = methodcaller("is_ready")


def count_new_sizes() -> None:
    """Counts a call of new sizes, and gives freed memory back after a number of them: growing
    arrays leave holes among the small objects that stay."""
    _heap.new_sizes += 1
    if _heap.new_sizes % _NEW_SIZES == 0:
        release_freed_memory()


# A thread keeps the arena that it first allocates from, so that XLA's threads, which start with the
# first array, have to find the setting. The thresholds are malloc's own after it has freed a block
# of 32 MiB: with its first ones, each interpreted step of an LSTM has 4,000 page faults.
if os.environ.get(_VARIABLE) != "0":
    set_malloc({M_ARENA_MAX: 1, M_MMAP_THRESHOLD: 32 * 2**20, M_TRIM_THRESHOLD: 64 * 2**20})
