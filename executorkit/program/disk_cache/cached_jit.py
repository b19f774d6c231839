"""A jitted function whose executables are stored on disk, and found there without a trace.

JAX's persistent cache is asked with a program that is traced and lowered, which for ResNet-50's
training step takes twice as long as loading it. The key used here is made of everything that the
trace would follow from: the graph's structure with all attributes, the gradients, the update, the
options, shapes and dtypes, versions, machine and configuration (:mod:`.fingerprint`).

Functions that may depend on anything else are not stored: functions of users, calls back into
Python, and calls of libraries that lowering prepares (LAPACK's).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
from jax.core import Tracer
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from ..._support.annotations import Function, Operands, Raw, Tree
from ...context import Device
from ...errors import NotFingerprintableError
from ...jax_internals import dispatcher, way_in_c
from ...jaxpr_interpreter import FlatJaxpr
from ...ops.nn.conv_kernels import native_convolution
from .._background_tasks import submit_after
from .._donation import Donated, call_donating
from .._retained_memory import has_room, settles, trim
from .fingerprint import environment_fingerprint, trace_context
from .store import DiskCache, digest
from .switch import active_disk_cache, disk_cache_enabled

#: Held where a dispatcher's executables change.
_lock = threading.Lock()
#: Number of donated bytes from which copies of them are spared where a first run seems to be safe.
_LARGE = 2**24
#: An option of the compiler that is a part of JAX's key, and that the CPU backend does not read.
_UNREAD_OPTION = "xla_gpu_kernel_cache_file"


class CachedJit:
    """Dispatches calls of a jitted function to executables from the disk cache; the function has
    the programs compiled here. ``fingerprint`` is None for one that is never stored. ``check``
    raises NotCompiledError where it has to be decided first whether a call is interpreted. ``run``
    is the fastest way now: the function, the only executable, or dispatch by shapes."""

    __slots__ = (
        "_check", "_compiled_with", "_executables", "_fingerprint", "_in_c", "_jitted", "_on_load",
        "_prefetched", "run", "settles",
    )  # fmt: skip

    def __init__(
        self,
        jitted: Any,
        fingerprint: Callable[[], str] | None,
        compiled_with: Any,
        on_load: Callable[[], None],
        check: Callable[[], None],
    ) -> None:
        self._jitted = jitted
        self._fingerprint = fingerprint
        self._compiled_with = compiled_with
        self._on_load = on_load
        self._check = check
        #: Executables by argument shapes, devices and settings; the jitted function itself for what
        #: was compiled here.
        self._executables: dict[Hashable, Any] = {}
        #: Executables that were loaded before a call asked for them.
        self._prefetched: dict[Hashable, Any] = {}
        #: The function of C++ that donating calls go to.
        self._in_c: Function | None = None
        #: Working memory that is to be freed before the next run.
        self.settles = 0
        self.run: Function = jitted if fingerprint is None else self._dispatch

    def clear(self) -> None:
        self._executables.clear()
        self._prefetched.clear()
        # Its other values refer to this object.
        self.run, self._in_c = self._jitted, None

    @property
    def caches(self) -> bool:
        return self._fingerprint is not None and disk_cache_enabled()

    def donate(self, results: list[Raw], donated: Donated, *args: Tree) -> Tree:
        """Appends the result for ``(donated, *args)`` to ``results``, by a function of C++ (see
        :mod:`executorkit.program._donation`), and returns it."""
        while not (results or donated.on_host):
            function = self._in_c = self._in_c or dispatcher(self._compiled_with[0], self._miss)
            call_donating(function, results, donated, args)
        return results[-1] if results else None

    def _miss(self, donated: Donated, *args: Tree) -> tuple[Tree, Any, bool]:
        """Gives C++ the way of calls with such arguments, and runs nothing, unless it has none."""
        in_c, self._in_c = self._in_c, None  # C++ asks it for good where this raises
        function = self._target((donated, *args))
        compiles = function is self._jitted
        executable = function.lower(donated, *args).compile() if compiles else function
        way = None if donated.has_missed else way_in_c(executable)
        if way is None or donated.nbytes < _LARGE or not has_room(executable):
            donated.save()
        donated.has_missed = True
        self._in_c = in_c
        return (function(donated, *args), None, True) if way is None else (None, way, False)

    def _target(self, args: Operands) -> Any:
        if self.run is self._jitted:
            return self._jitted
        if not self._executables and not self.caches:
            self.run = self._jitted
            return self._jitted
        executable = self._executables.get(_call_key(args))
        if executable is None:
            self._check()
            executable = self.obtain(args)
        return executable

    def _dispatch(self, *args: Tree) -> Tree:
        return self._target(args)(*args)

    def held(self, args: Operands) -> jax.stages.Compiled | None:
        """Returns the executable in memory here; None where the jitted function has it."""
        executable = self._executables.get(_call_key(args)) if self._executables else None
        return None if executable is self._jitted else executable

    def obtain(self, args: Operands, lowered: jax.stages.Lowered | None = None) -> Tree:
        """Returns the executable for such arguments: from memory, from disk, or newly compiled, to
        be stored; the jitted function where that has it, or where nothing can be stored.
        ``lowered`` is the function lowered for them, if it has been."""
        if not self.caches or any(isinstance(x, Tracer) for x in jax.tree.leaves(args)):
            return self._jitted
        key = _call_key(args)
        executable = self._executables.get(key)
        if executable is not None:
            return executable
        entry = self._entry(args)
        executable = self._prefetched.pop(key, None) or (entry and entry.load())
        if executable is not None:
            self._on_load()
            self.note(executable)
        elif entry is not None:
            new = self._lowered(args, lowered)
            executable = entry.compile(new)
            self.note(executable or new.compile())
        trim()
        self._add(key, executable or self._jitted)
        return executable or self._jitted

    def note(self, executable: jax.stages.Compiled) -> None:
        self.settles = max(self.settles, settles(executable))

    def executable(
        self, args: Operands, lowered: jax.stages.Lowered | None = None
    ) -> jax.stages.Compiled:
        executable = self.obtain(args, lowered)
        if executable is self._jitted:
            executable = self._lowered(args, lowered).compile()
            trim()
        return executable

    def _lowered(self, args: Operands, lowered: jax.stages.Lowered | None) -> jax.stages.Lowered:
        new: jax.stages.Lowered = lowered or self._jitted.lower(*args)
        trim()
        return new

    def prefetch(self, args: Operands) -> bool:
        """Loads the executable for such arguments if it is on disk; tells whether it was."""
        if not self.caches:
            return False
        key = _call_key(args)
        if key in self._executables or key in self._prefetched:
            return key in self._prefetched
        entry = self._entry(args)
        executable = entry and entry.load()
        if executable is not None:
            self._prefetched[key] = executable
        return executable is not None

    def is_prefetched(self, args: Operands) -> bool:
        return bool(self._prefetched) and _call_key(args) in self._prefetched

    def has_stored(self, args: Operands) -> bool:
        """Tells whether the executable for such arguments seems to be on disk."""
        entry = self._entry(args)
        return entry is not None and entry.is_stored

    def stored_jaxpr(
        self, args: Operands, scope: Any = None, like: Operands = ()
    ) -> tuple[FlatJaxpr, Any] | None:
        """Reads the flat jaxpr for such arguments and the structure of its results. ``args`` with
        symbols of a ``scope`` for sizes are on the devices of others, ``like`` them."""
        entry = self._entry(args, like or args)
        return entry and entry.load_jaxpr(scope)

    def store_jaxpr(
        self, args: Operands, flat: tuple[FlatJaxpr, Any], scope: Any = None, like: Operands = ()
    ) -> None:
        entry = self._entry(args, like or args)
        decisions = {} if scope is None else dict(scope.decisions)
        if entry is not None:
            submit_after(lambda: entry.store_jaxpr(*flat, decisions))

    def _entry(self, args: Operands, like: Operands | None = None) -> CachedExecutable | None:
        if not self.caches:
            return None
        devices = _devices_of(jax.tree.leaves(args if like is None else like))
        return CachedExecutable.of(self._fingerprint, self._compiled_with, args, devices)

    def _add(self, key: _CallKey, executable: Any) -> None:
        with _lock:
            self._executables[key] = executable
            loaded = [x for x in self._executables.values() if x is not self._jitted]
            if not loaded:
                self.run = self._jitted
            elif len(self._executables) > 1:
                self.run = self._dispatch
            else:
                self.run = self._only_call(executable, key.settings)

    def _only_call(self, executable: Any, settings: Any) -> Function:
        """Calls the only executable, as long as JAX's settings are as when it was compiled."""

        def run(*args: Tree) -> Tree:
            if trace_context() == settings:
                try:
                    return executable(*args)
                except (TypeError, ValueError):
                    if self._executables.get(_call_key(args)) is executable:
                        raise
                    # It is for others: calls are dispatched by shapes from now on.
                    self.run = self._dispatch
            return self._dispatch(*args)

        return run


class _CallKey(NamedTuple):
    structure: Any
    arrays: Operands
    devices: frozenset[Device]
    settings: Any


def _call_key(args: Operands) -> _CallKey:
    leaves, structure = jax.tree.flatten(args)
    arrays = tuple([(tuple(x.shape), x.dtype) for x in leaves])
    return _CallKey(structure, arrays, _devices_of(leaves), trace_context())


class CachedExecutable:
    """The executable for arguments of certain shapes and the jaxpr of its first calls, as files."""

    def __init__(self, files: DiskCache, stem: str, device: Device, args: Operands) -> None:
        self._files = files
        self._name = f"{stem}.program"
        self._jaxpr_name = f"{stem}.jaxpr"
        self._device = device
        self._arguments = jax.tree.structure((args, {}))

    @staticmethod
    def of(
        fingerprint: Callable[[], str] | None,
        compiled_with: Any,
        args: Operands,
        devices: frozenset[Device],
    ) -> CachedExecutable | None:
        """Returns the entry of a function, or None if it cannot be stored. ``compiled_with`` are
        the function's name, donated arguments and compiler options."""
        files = active_disk_cache()
        if files is None or fingerprint is None or len(devices) != 1 or not disk_cache_enabled():
            return None
        (device,) = devices
        try:
            text, environment = fingerprint(), environment_fingerprint(device)
        except (NotFingerprintableError, ValueError, RecursionError):  # such as empty cells
            return None
        leaves, structure = jax.tree.flatten(args)
        shapes = [(x.shape, str(x.dtype), getattr(x, "weak_type", False)) for x in leaves]
        facts = compiled_with, str(structure), shapes, environment
        return CachedExecutable(files, digest(repr(facts) + text), device, args)

    @property
    def is_stored(self) -> bool:
        return self._files.has(self._name)

    def load(self) -> jax.stages.Compiled | None:
        entry = self._files.read(self._name)
        if entry is None:
            return None
        facts, executable = entry
        if not executable or (facts.get("native") and not native_convolution.available()):  # a mark
            return None
        try:
            return deserialize_and_load(
                executable,
                self._arguments,
                self._structure(facts["results"]),
                self._device.client,
                [self._device],
            )
        except Exception:  # a file with any defect counts as missing
            self._files.drop(self._name)
            return None

    def load_jaxpr(self, scope: Any) -> tuple[FlatJaxpr, Any] | None:
        entry = self._files.read(self._jaxpr_name)
        if entry is None:
            return None
        facts, contents = entry
        try:
            if scope is not None and not scope.assume(facts["decisions"]):
                return None
            return FlatJaxpr.from_bytes(contents, scope), self._structure(facts["results"])
        except Exception:  # as above
            self._files.drop(self._jaxpr_name)
            return None

    def store_jaxpr(self, jaxpr: FlatJaxpr, structure: Any, decisions: dict[str, bool]) -> None:
        try:
            facts = {"results": self._packed(structure), "decisions": decisions}
            contents = jaxpr.to_bytes()
        except (NotFingerprintableError, pickle.PicklingError, TypeError, AttributeError):
            return
        self._files.write(self._jaxpr_name, facts, contents)

    def _packed(self, structure: Any) -> Any:
        results = jax.tree.unflatten(structure, range(structure.num_leaves))
        return _pack(results, _subtrees(self._arguments))

    def _structure(self, packed: Any) -> Any:
        return jax.tree.structure(_unpack(packed, _subtrees(self._arguments)))

    def compile(self, lowered: jax.stages.Lowered) -> jax.stages.Compiled | None:
        """Compiles, and has the file written in the background. Returns the executable, or None
        where the jitted function that was lowered has it."""
        if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
            self._submit(lowered.compile(), lowered)
            return None
        _listen_to_jax_cache()
        hits = _jax_cache.hits
        executable = self._compile_afresh(lowered)
        if _jax_cache.hits == hits:
            self._submit(executable, lowered)
        else:
            # It came from JAX's cache though the file was gone: a file without an executable marks
            # it, so that JAX's cache is not asked next time.
            self._files.write(self._name, {}, b"")
        return executable

    def _submit(self, executable: jax.stages.Compiled, lowered: jax.stages.Lowered) -> None:
        submit_after(lambda: self._store(executable, lowered))

    def _store(self, executable: jax.stages.Compiled, lowered: jax.stages.Lowered) -> None:
        text = lowered.as_text()
        plain = text
        for name in native_convolution.TARGETS:
            plain = plain.replace(f"custom_call @{name}(", "")
        if "custom_call" in plain:  # it may not be loaded elsewhere
            return
        try:
            facts = {"results": self._packed(executable.out_tree), "native": plain != text}
            contents, _, _ = serialize(executable)
        except (
            NotFingerprintableError,
            ValueError,
            NotImplementedError,
            jax.errors.JaxRuntimeError,
        ):
            return
        self._files.write(self._name, facts, contents)

    def _compile_afresh(self, lowered: jax.stages.Lowered) -> jax.stages.Compiled:
        # An executable from JAX's own cache lacks its code once it is serialised again (XLA's CPU
        # backend, JAX 0.10), so the key is one that this cache does not have.
        if self._device.platform == "cpu":
            seen = self._files.has(self._name)
            key = self._name + (os.urandom(8).hex() if seen else "")
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                return lowered.compile({_UNREAD_OPTION: key})
        return lowered.compile()


class _JaxCacheHits(threading.local):
    #: Number of executables that this thread has got from JAX's own cache.
    hits = 0


_jax_cache = _JaxCacheHits()


@lru_cache(maxsize=1)
def _listen_to_jax_cache() -> None:
    def count(event: str, **_: Any) -> None:
        _jax_cache.hits += event == "/jax/compilation_cache/cache_hits"

    jax.monitoring.register_event_listener(count)


def _devices_of(leaves: list[Raw]) -> frozenset[Device]:
    devices: set[Device] = set()
    for x in leaves:
        sharding = getattr(x, "sharding", None)
        if sharding is not None:
            devices |= sharding.device_set
    return frozenset(devices)


def _subtrees(structure: Any) -> list[Any]:
    return [structure, *(sub for child in structure.children() for sub in _subtrees(child))]


def _pack(tree: Tree, argument_structures: list[Any]) -> Any:
    """Writes tuples, lists and dicts in JSON's types; other nodes as numbers of equal arguments."""
    if tree is None or type(tree) is int:
        return tree
    if type(tree) in (tuple, list):
        return [type(tree).__name__, *(_pack(x, argument_structures) for x in tree)]
    if type(tree) is dict and all(type(k) is str for k in tree):
        return ["dict", *([k, _pack(v, argument_structures)] for k, v in tree.items())]
    structure = jax.tree.structure(tree)
    if structure not in argument_structures:
        raise NotFingerprintableError(f"results in a {type(tree).__name__}")
    return ["like", argument_structures.index(structure)]


def _unpack(packed: Any, argument_structures: list[Any]) -> Any:
    if not isinstance(packed, list):
        return packed
    kind, *items = packed
    if kind == "like":
        structure = argument_structures[items[0]]
        return jax.tree.unflatten(structure, range(structure.num_leaves))
    if kind == "dict":
        return {k: _unpack(v, argument_structures) for k, v in items}
    return {"tuple": tuple, "list": list}[kind](_unpack(x, argument_structures) for x in items)
