"""Forked processes that compute with arrays.

A forked process has the memory of its parent and none of its threads, so JAX's clients, which wait
for theirs, cannot be used in it. The child gets clients of its own: the contents of all arrays
become host contents (without a copy, while both processes only read), JAX forgets its clients and
programs, and so do the caches of this package. Nothing of the parent's clients is freed in the
child, since that could wait for a thread, too.

XLA compiles with threads that belong to the process, which a child cannot start again: it hangs, or
aborts. So NumPy computes in it for good (:mod:`executorkit.jaxpr_interpreter`), and only what the
interpreter lacks, such as ``boolean_mask``, is compiled, if that works.

The parent first lets its computations and compilations end. A thread of the user's own that holds a
lock of JAX's or of the allocator at the moment of the fork may nevertheless leave it locked in the
child: its parent has to watch that it answers.
"""

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ...arrays import random_state
from ...arrays.storage import LazyContents, Storage
from ...arrays.values import to_device
from ...calls.recording import modes
from ...context import Context
from ...errors import MXNetError
from ...jax_internals import clear_backends, renew_thread_pool
from ...program import CompiledFunction, HostContents, MadeContents, forget_workers, paused_tasks

#: The parent's arrays and functions, which a forked process never frees.
_held: list[Any] = []


def can_fork() -> bool:
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and hasattr(os, "memfd_create")


class ForkedArrays:
    """The arrays of this process in a context of :func:`ready_to_fork`."""

    def __init__(self) -> None:
        #: Everything, so that the child frees nothing that JAX forgets: to free millions of
        #: objects takes seconds.
        self._objects = objects = gc.get_objects()
        kinds: dict[type, list[Any]] = {
            kind: [] for kind in (Storage, functools._lru_cache_wrapper, *_functions())
        }
        for x in objects:
            kind = type(x)
            if kind in kinds:
                kinds[kind].append(x)
        self._storages: list[Storage] = kinds.pop(Storage)
        self._caches = kinds.pop(functools._lru_cache_wrapper)
        self._functions: list[CompiledFunction] = [f for fs in kinds.values() for f in fs]
        for storage in self._storages:
            if storage.current is None and not isinstance(storage.producer, MadeContents):
                with contextlib.suppress(Exception):  # its error is raised where it is read
                    _ = storage.value
        self._arrays = [x for x in jax.live_arrays() if not x.is_deleted()]
        with contextlib.suppress(Exception):
            jax.block_until_ready(self._arrays)
        clients = {device.client for device in jax.devices()}
        self._executables = [client.live_executables() for client in clients]

    def adopt(self, stream: int = 0) -> None:
        """Makes arrays usable in the forked process. Random operators of child 0 (``stream``) go on
        as the parent's would; the others have streams of their own, and so has ``numpy.random``."""
        modes.recording = modes.training = False
        forget_workers()
        os.environ["EXECUTORKIT_INTERPRET"] = "1"
        _held.extend([self, [function.restart() for function in self._functions]])
        for storage in self._storages:
            _to_host(storage)
        clear_backends()
        renew_thread_pool()
        if jax.config.jax_platforms != "cpu":  # pyright: ignore[reportAttributeAccessIssue]
            jax.config.update("jax_platforms", "cpu")
        package = __name__.partition(".")[0]
        for cache in self._caches:
            if cache.__module__.partition(".")[0] == package:
                cache.cache_clear()
        if stream:
            _separate_streams(stream)
        gc.freeze()
        np.asarray(to_device(np.zeros(1), Context("cpu").device))  # if JAX waits, then here


def _functions() -> Iterator[type]:
    classes = [CompiledFunction]
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        yield kind


@contextlib.contextmanager
def ready_to_fork() -> Iterator[ForkedArrays]:
    """Returns a context in which this process may fork: nothing is compiled in the background."""
    with paused_tasks():
        yield ForkedArrays()


def _to_host(storage: Storage) -> None:
    value = storage.current
    if value is None:
        return
    (device, *others) = value.devices()
    if device.platform == "cpu" and not others:
        storage.defer(HostContents(np.asarray(value), Context("cpu", device.id)))
        _held.append(value)
    else:
        storage.defer(LazyContents(functools.partial(_refuse, str(device))))


def _refuse(device: str) -> jax.Array:
    problem = f"an array on {device} is read in a forked process, which has CPUs alone"
    raise MXNetError("a worker process", problem, hint="x.as_in_context(mx.cpu()) before the fork")


def _separate_streams(stream: int) -> None:
    seed, positions = random_state.get_state()
    words = [seed % 2**64, *(position for _, _, position in positions), stream]
    random_state.seed(int(np.random.SeedSequence(words).generate_state(1)[0]))
    generator = np.random.get_state(legacy=False)
    assert isinstance(generator, dict)
    state = generator["state"]
    words = [*map(int, np.ravel(state["key"])), int(state["pos"]), stream]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
