"""Freed memory that the process retains for the next call of a large program.

A program takes its working memory from ``malloc`` at every call, in pieces (see
``_compiler_options``). XLA's threads take theirs from heaps of 64 MiB, which hold two of the
largest pieces. The GNU C library gives such a heap back to the system as soon as it is empty, and
the next call has it cleared again, page by page: 15,000 to 90,000 page faults in each training step
of ResNet-50, Inception-v3 and MobileNet (four images), a tenth of the step. Three settings of
``malloc`` prevent that: a heap whose predecessor has less than a heap's size to spare is not given
back, and the other two are what the library comes to by itself where blocks are large. Measured
before and after, two cores: MobileNet 79 and 69 ms, ResNet-50 385 and 330 ms, Inception-v3 479 and
456 ms; memory of the processes 0.99 and 1.21 GB, 1.67 and 1.76 GB, 2.08 and 1.73 GB. First calls
take as long as before.
"""

import ctypes
import math
import os
import platform
from functools import lru_cache

import jax

from ..lowering import Graph, InferenceResult, memoize
from ..ops.schema.inference import is_fully_known
from ._program_options import chosen

_VARIABLE = "EXECUTORKIT_RETAIN_MEMORY"
#: Number of elements of all values of a graph from which its working memory is worth retaining.
_LARGE = 2**23
#: The numbers of ``mallopt``'s parameters, and their values in bytes.
_SETTINGS = {
    -3: 32 * 2**20,  # M_MMAP_THRESHOLD: the most that the library takes
    -1: 64 * 2**20,  # M_TRIM_THRESHOLD: twice as much, as the library has it
    -2: 64 * 2**20,  # M_TOP_PAD: the size of a heap
}


def retain_freed_memory(graph: Graph, inferred: InferenceResult) -> None:
    """Has the process retain freed memory, if a graph with these shapes is large.

    Once per process, on CPUs with the GNU C library, unless the environment has settings of
    ``malloc``. The environment variable ``EXECUTORKIT_RETAIN_MEMORY`` forbids it ('0'), or asks for
    it whatever the size ('1').
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
    """True if the settings were made."""
    chosen_by_user = any(
        name.startswith("MALLOC_") or (name == "GLIBC_TUNABLES" and "malloc" in value)
        for name, value in os.environ.items()
    )
    if chosen_by_user or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(number, value) for number, value in _SETTINGS.items())
