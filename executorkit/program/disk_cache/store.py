"""Files that later processes find by the hash of what their contents follow from.

Compiled programs in a directory, found by what they compute: nothing is traced to find them.

JAX's persistent cache is asked with a program that is traced and lowered, which of ResNet-50's
training step takes twice as long as loading it. Here the key is made of what the trace would follow
from: the graph's structure with all attributes, what is differentiated, the update, the options,
shapes and types, versions, machine and configuration (``_canonical``, ``_surroundings``).

What may depend on anything else is not kept: functions of users, calls back into Python, and calls
of libraries that lowering prepares (LAPACK's).

Results of inference in a directory: a later process need not trace operators for shapes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import warnings
import zlib
from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from ..._files import write_atomically
from ...errors import MXNetError, NotFingerprintableError
from ...lowering import Graph
from ...lowering._infer import InferenceResult
from .fingerprint import (
    environment_fingerprint,
    jax_settings,
    process_fingerprint,
    structure_fingerprint,
)

#: Changes with the layout of the files.
_FORMAT = 1


class DiskCache:
    """A directory of files that are named by the hash of a key.

    A file is a line of JSON (facts, and the sum of all) and compressed bytes. One that is
    damaged or of another layout is as if it were not there. Where JAX's setting
    ``jax_compilation_cache_max_size`` bounds its own cache, it bounds this one too: the files that
    were read longest ago go first.
    """

    def __init__(self, directory: str) -> None:
        self.path = Path(directory)
        self._told = False

    def read(self, name: str) -> tuple[dict[str, Any], bytes] | None:
        """The facts and bytes of a file, or None."""
        path = self.path / name
        try:
            head, _, packed = path.read_bytes().partition(b"\n")
            there = json.loads(head)
            if there["format"] != _FORMAT or there["sum"] != _sum(there["facts"], packed):
                return None
            os.utime(path)
            return there["facts"], zlib.decompress(packed)
        except (OSError, ValueError, LookupError, TypeError, zlib.error):
            return None

    def has(self, name: str) -> bool:
        """Whether there is such a file, whatever is in it."""
        return (self.path / name).exists()

    def write(self, name: str, facts: dict[str, Any], contents: bytes) -> None:
        """Writes a file, whole or not at all; says so once if that cannot be done."""
        packed = zlib.compress(contents, 1)
        head = {"format": _FORMAT, "sum": _sum(facts, packed), "facts": facts}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(
                os.fspath(self.path / name), (json.dumps(head).encode(), b"\n", packed)
            )
            self._bound()
        except (OSError, MXNetError) as error:
            if not self._told:
                warnings.warn(f"compiled programs are not kept: {error}", stacklevel=2)
            self._told = True

    def _bound(self) -> None:
        limit = getattr(jax.config, "jax_compilation_cache_max_size", -1)
        if limit < 0:
            return
        stats = [(path.stat(), path) for path in self.path.iterdir() if path.suffix != ".tmp"]
        total = 0
        for stat, path in sorted(stats, key=lambda s: s[0].st_mtime, reverse=True):
            total += stat.st_size
            if total > limit:
                path.unlink(missing_ok=True)


def digest(key: str) -> str:
    """The name of a file for a key."""
    return hashlib.blake2b(key.encode(), digest_size=24).hexdigest()


def _sum(facts: dict[str, Any], packed: bytes) -> str:
    return hashlib.blake2b(json.dumps(facts).encode() + packed, digest_size=16).hexdigest()


#: An option of the compiler that is a part of JAX's key, and that the CPU backend does not read.
_UNREAD = "xla_gpu_kernel_cache_file"


_place: DiskCache | None = None


def set_disk_cache(place: DiskCache | None) -> None:
    """Where programs are kept from now on; None for nowhere."""
    global _place
    _place = place


def disk_cache_enabled() -> bool:
    """Whether compiled programs are kept here and now."""
    return (
        _place is not None
        and jax.process_count() == 1
        and not getattr(jax.config, "jax_disable_jit", False)
        and jax.sharding.get_abstract_mesh().empty
    )


def cached_answer(question: Hashable, find: Callable[[], bool]) -> bool:
    """The answer to a question about this installation, kept between processes if programs are."""
    if _place is None:
        return find()
    name = f"{digest(repr((question, process_fingerprint())))}.answer"
    there = _place.read(name)
    if there is not None:
        return there[0]["answer"]
    answer = find()
    _place.write(name, {"answer": answer}, b"")
    return answer


class CachedExecutable:
    """One compiled function for arguments of certain shapes, as it is, or will be, in a file."""

    def __init__(self, place: DiskCache, name: str, device: Any, args: tuple[Any, ...]) -> None:
        self._place = place
        self._name = name
        self._device = device
        self._given = jax.tree.structure((args, {}))

    @staticmethod
    def of(
        fingerprint_of: Callable[[], str], what: Any, args: tuple[Any, ...]
    ) -> CachedExecutable | None:
        """``identity`` is the text of the function, ``what`` else it is compiled with. None if it
        cannot be kept."""
        leaves, structure = jax.tree.flatten(args)
        devices = devices_of(leaves)
        if _place is None or len(devices) != 1 or not disk_cache_enabled():
            return None
        (device,) = devices
        try:
            text = fingerprint_of()
        except (
            NotFingerprintableError,
            ValueError,
            RecursionError,
        ):  # such as cells that are empty
            return None
        shapes = [(x.shape, str(x.dtype), getattr(x, "weak_type", False)) for x in leaves]
        key = repr((what, str(structure), shapes, environment_fingerprint(device))) + text
        return CachedExecutable(_place, f"{digest(key)}.program", device, args)

    def load(self) -> jax.stages.Compiled | None:
        """The compiled function from its file; None if there is none, or it cannot be used."""
        found = self._place.read(self._name)
        if found is None:
            return None
        facts, executable = found
        try:
            return deserialize_and_load(
                executable,
                self._given,
                jax.tree.structure(_unpacked(facts["results"], _subtrees(self._given))),
                self._device.client,
                [self._device],
            )
        except Exception:  # whatever is wrong with a file, it is as if it were not there
            return None

    def compile(self, lowered: jax.stages.Lowered) -> jax.stages.Compiled:
        """Compiles, and writes the file if what is compiled may be loaded elsewhere."""
        if "custom_call" in lowered.as_text():
            return lowered.compile()
        _listen()
        hits = _cached.hits
        compiled = self._compile_anew(lowered)
        if _cached.hits != hits:
            # JAX's cache has it, though the file was gone: with an empty one it is not asked again.
            self._place.write(self._name, {}, b"")
            return compiled
        try:
            results = jax.tree.unflatten(compiled.out_tree, range(compiled.out_tree.num_leaves))
            facts = {"results": _packed(results, _subtrees(self._given))}
            executable, _, _ = serialize(compiled)
        except (
            NotFingerprintableError,
            ValueError,
            NotImplementedError,
            jax.errors.JaxRuntimeError,
        ):
            return compiled
        self._place.write(self._name, facts, executable)
        return compiled

    def _compile_anew(self, lowered: jax.stages.Lowered) -> jax.stages.Compiled:
        """Compiles so that JAX's own cache does not have it: what comes from there lacks its code
        once it is serialised again (XLA's CPU backend, JAX 0.10)."""
        if self._device.platform == "cpu":
            again = self._place.has(self._name)
            text = self._name + (os.urandom(8).hex() if again else "")
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                return lowered.compile({_UNREAD: text})
        return lowered.compile()


class _Cached(threading.local):
    """How often this thread has got a program from JAX's own cache."""

    hits = 0


_cached = _Cached()


def _count(event: str, **_: Any) -> None:
    if event == "/jax/compilation_cache/cache_hits":
        _cached.hits += 1


@lru_cache(maxsize=1)
def _listen() -> None:
    jax.monitoring.register_event_listener(_count)


def devices_of(leaves: list[Any]) -> frozenset[Any]:
    """The devices that arrays are on; host arrays, and shapes without devices, are on none."""
    found: set[Any] = set()
    for x in leaves:
        sharding = getattr(x, "sharding", None)
        if sharding is not None:
            found |= sharding.device_set
    return frozenset(found)


def _subtrees(structure: Any) -> list[Any]:
    """A structure and all that it consists of."""
    return [structure, *(sub for child in structure.children() for sub in _subtrees(child))]


def _packed(tree: Any, given: list[Any]) -> Any:
    """A tree of tuples, lists and dicts as JSON has it. Others have to have the structure of
    something in the arguments, whose number stands for it."""
    if tree is None or type(tree) is int:
        return tree
    if type(tree) in (tuple, list):
        return [type(tree).__name__, *(_packed(x, given) for x in tree)]
    if type(tree) is dict and all(type(k) is str for k in tree):
        return ["dict", *([k, _packed(v, given)] for k, v in tree.items())]
    structure = jax.tree.structure(tree)
    if structure not in given:
        raise NotFingerprintableError(f"results in a {type(tree).__name__}")
    return ["like", given.index(structure)]


def _unpacked(packed: Any, given: list[Any]) -> Any:
    if not isinstance(packed, list):
        return packed
    kind, *items = packed
    if kind == "like":
        structure = given[items[0]]
        return jax.tree.unflatten(structure, range(structure.num_leaves))
    if kind == "dict":
        return {k: _unpacked(v, given) for k, v in items}
    return {"tuple": tuple, "list": list}[kind](_unpacked(x, given) for x in items)


class InferenceDiskCache:
    """What has been inferred of graphs, in files.

    Graphs with operators of users, and those with loops and branches, whose bodies have variables
    of their own, are inferred each time.
    """

    def __init__(self, place: DiskCache) -> None:
        self._place = place

    def find(self, graph: Graph, given: Any) -> InferenceResult | None:
        """What an earlier process has inferred from this, or None."""
        name = self._name(graph, given)
        found = None if name is None else self._place.read(name)
        if found is None:
            return None
        lists: list[list[Any]] = json.loads(found[1])
        groups: list[Any] = [tuple(tuple(x) if type(x) is list else x for x in xs) for xs in lists]
        return InferenceResult(*groups)

    def keep(self, graph: Graph, given: Any, found: InferenceResult) -> None:
        """Writes what has been inferred."""
        name = self._name(graph, given)
        if name is not None:
            lists = [getattr(found, field.name) for field in fields(found)]
            self._place.write(name, {}, json.dumps(lists).encode())

    def _name(self, graph: Graph, given: Any) -> str | None:
        if graph.has_effects or any(node.subgraphs for node in graph.nodes):
            return None
        declared = [
            (node.name, node.attrs.get("__shape__"), node.attrs.get("__dtype__"))
            for node, _ in graph.variables
        ]
        try:
            from .._program import signature_of

            structure = structure_fingerprint(signature_of(graph).content)
        except NotFingerprintableError:
            return None
        return (
            digest(repr((given, declared, process_fingerprint(), jax_settings())) + structure)
            + ".shapes"
        )
