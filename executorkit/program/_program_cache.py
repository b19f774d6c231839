"""Programs by signature: bounded, counted, clearable."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import NamedTuple

import jax
from jax.experimental.compilation_cache import compilation_cache

from ..lowering import LOWERING_PASSES, Graph, disabled_passes
from ..lowering._infer import INFERENCE_CACHES
from ._jit import counters
from ._program import Program, Signature, signature_of
from ._program_options import Options, current_options, mirrored_steps
from .disk_cache.fingerprint import process_fingerprint
from .disk_cache.store import DiskCache, InferenceDiskCache, set_disk_cache

_Key = tuple[
    Signature, tuple[int, ...], tuple[bool, ...], Options, frozenset[int], frozenset[str], bool
]

_programs: OrderedDict[_Key, Program] = OrderedDict()
_lock = threading.Lock()
_hits = 0
_misses = 0
_limit = 256


class CacheInfo(NamedTuple):
    """hits, misses, programs held, limit; traces, seconds and loads of all programs of the
    process."""

    hits: int
    misses: int
    programs: int
    limit: int
    traces: int
    seconds: float
    loads: int


def program_for(
    graph: Graph,
    argnums: tuple[int, ...] = (),
    accumulate: tuple[bool, ...] = (),
    split_temp_buffers: bool = False,
) -> Program:
    """The program of a graph and a choice of gradients, with the options of now; equal graphs get
    the same one. ``split_temp_buffers``: whether its working memory is (``_compiling.fits_in_pieces``)."""
    global _hits, _misses
    chosen = current_options()
    off = disabled_passes().intersection(LOWERING_PASSES)
    key = (
        signature_of(graph),
        argnums,
        accumulate,
        chosen,
        mirrored_steps(graph),
        off,
        split_temp_buffers,
    )
    with _lock:
        program = _programs.get(key)
        if program is not None:
            _hits += 1
            _programs.move_to_end(key)
            return program
        _misses += 1
        program = _programs[key] = Program(graph, argnums, accumulate, chosen, split_temp_buffers)
        while len(_programs) > _limit:
            _programs.popitem(last=False)
        return program


def cached_programs() -> list[Program]:
    """The programs that are held, the least recently used first."""
    with _lock:
        return list(_programs.values())


def cache_info() -> CacheInfo:
    """How the program cache has been used so far in this process."""
    with _lock:
        return CacheInfo(
            _hits, _misses, len(_programs), _limit,
            counters.traces, counters.seconds, counters.loads,
        )  # fmt: skip


def clear_cache() -> None:
    """Forgets all programs. Executors keep theirs; new ones compile again."""
    with _lock:
        _programs.clear()


def enable_disk_cache(directory: str | os.PathLike[str] | None) -> None:
    """Keeps compiled programs in a directory, where later processes find them; None ends that.

    A switch of the whole process, for what is compiled from now on, however small: JAX's persistent
    compilation cache, and beside it, in a folder ``executorkit``, programs of inference and of
    training steps, and what was inferred of shapes. A later process neither traces nor lowers
    these: they are found by all that they depend on (graph, shapes, gradients, update, options,
    configuration, processor, versions of JAX and of this package), and loaded in the background
    from bind on. What depends on Python of the user's (operators, optimizers, schedules) is traced
    each time, as are the two halves that run where outputs are read between forward and backward.

    A file that is damaged, or that this process cannot use, is as if it were not there. Where JAX's
    ``jax_compilation_cache_max_size`` is set, either folder stays below so many bytes; without it
    nothing removes old files.

    On CPUs such programs take their working memory in one block, which the system clears at every
    call where it is above 32 MiB (others take it in pieces, which XLA cannot write to files): an
    eighth of a training step of ResNet-50, a quarter of MobileNet's. With
    ``GLIBC_TUNABLES=glibc.malloc.hugetlb=1`` in the environment from the start that costs little.

    Whoever can write to the directory can have his code run by those who read it: it needs to be
    trusted as much as a directory that modules are imported from.
    """
    place = None if directory is None else os.fspath(directory)
    jax.config.update("jax_compilation_cache_dir", place)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0 if place else 1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1 if place else 0)
    compilation_cache.reset_cache()
    folder = None if place is None else DiskCache(os.path.join(place, "executorkit"))
    set_disk_cache(folder)
    INFERENCE_CACHES[:] = [] if folder is None else [InferenceDiskCache(folder)]
    if place is not None:
        process_fingerprint()


def set_cache_limit(programs: int) -> None:
    """Bounds the number of programs that are kept; the least recently used go first."""
    global _limit
    if programs < 1:
        raise ValueError(f"the program cache needs room for at least one program, not {programs}")
    with _lock:
        _limit = programs
        while len(_programs) > _limit:
            _programs.popitem(last=False)
