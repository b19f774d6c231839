"""The files of the disk cache, and the switch that enables it."""

import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Callable, Hashable
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from ..._files import write_atomically
from ...errors import MXNetError, NotFingerprintableError
from ...lowering import Graph, InferenceResult, set_inference_cache
from .fingerprint import jax_settings, process_fingerprint, structure_fingerprint

#: The environment variable that names a directory to be used from the start.
_VARIABLE = "EXECUTORKIT_CACHE_DIR"
#: Version of the files' layout.
_FORMAT = 1


class DiskCache:
    """A directory of files named by the digest of a key.

    A file is a line of JSON (facts, and a checksum) and compressed bytes. One that is damaged or
    of another layout counts as missing. JAX's setting ``jax_compilation_cache_max_size``, which
    bounds its own cache, bounds this one too: the files that were read longest ago go first.
    """

    def __init__(self, directory: str) -> None:
        self.path = Path(directory)
        self._warned = False

    def read(self, name: str) -> tuple[dict[str, Any], bytes] | None:
        """The facts and bytes of a file, or None."""
        path = self.path / name
        try:
            line, _, packed = path.read_bytes().partition(b"\n")
            header = json.loads(line)
            if header["format"] != _FORMAT or header["sum"] != _checksum(header["facts"], packed):
                return None
            os.utime(path)
            return header["facts"], zlib.decompress(packed)
        except (OSError, ValueError, LookupError, TypeError, zlib.error):
            return None

    def has(self, name: str) -> bool:
        """True if there is such a file, damaged or not."""
        return (self.path / name).exists()

    def write(self, name: str, facts: dict[str, Any], contents: bytes) -> None:
        """Writes a file, whole or not at all; warns once if that fails."""
        packed = zlib.compress(contents, 1)
        header = {"format": _FORMAT, "sum": _checksum(facts, packed), "facts": facts}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            chunks = json.dumps(header).encode(), b"\n", packed
            write_atomically(self.path / name, chunks, durable=False)
            self._remove_oldest()
        except (OSError, MXNetError) as error:
            if not self._warned:
                warnings.warn(f"the disk cache cannot be written: {error}", stacklevel=2)
            self._warned = True

    def _remove_oldest(self) -> None:
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
    """The file name for a key."""
    return hashlib.blake2b(key.encode(), digest_size=24).hexdigest()


def _checksum(facts: dict[str, Any], packed: bytes) -> str:
    return hashlib.blake2b(json.dumps(facts).encode() + packed, digest_size=16).hexdigest()


class InferenceDiskCache:
    """Results of shape inference on disk: a later process need not trace operators for them.

    Graphs with operators of users, and those with loops and branches, whose bodies have variables
    of their own, are inferred each time.
    """

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    def get(self, graph: Graph, key: Hashable) -> InferenceResult | None:
        """The stored result for a graph and its given shapes and dtypes, or None."""
        name = self._name(graph, key)
        entry = None if name is None else self._files.read(name)
        if entry is None:
            return None
        lists: list[list[Any]] = json.loads(entry[1])
        groups: list[Any] = [tuple(tuple(x) if type(x) is list else x for x in xs) for xs in lists]
        return InferenceResult(*groups)

    def put(self, graph: Graph, key: Hashable, inferred: InferenceResult) -> None:
        """Stores a result."""
        name = self._name(graph, key)
        if name is not None:
            lists = [getattr(inferred, field.name) for field in fields(inferred)]
            self._files.write(name, {}, json.dumps(lists).encode())

    def _name(self, graph: Graph, key: Hashable) -> str | None:
        if graph.has_effects or any(node.subgraphs for node in graph.nodes):
            return None
        declared = [
            (node.name, node.attrs.get("__shape__"), node.attrs.get("__dtype__"))
            for node, _ in graph.variables
        ]
        try:
            structure = structure_fingerprint(graph.structure)
        except NotFingerprintableError:
            return None
        facts = key, declared, process_fingerprint(), jax_settings()
        return digest(repr(facts) + structure) + ".shapes"


#: The cache in use; None while disabled.
_files: DiskCache | None = None


def set_disk_cache(files: DiskCache | None) -> None:
    """Uses these files from now on; None disables the cache."""
    global _files
    _files = files


def active_disk_cache() -> DiskCache | None:
    """The cache in use."""
    return _files


def disk_cache_enabled() -> bool:
    """True if executables can be stored on disk, in this thread as it is now."""
    return (
        _files is not None
        and jax.process_count() == 1
        and not getattr(jax.config, "jax_disable_jit", False)
        and jax.sharding.get_abstract_mesh().empty
    )


def cached_answer(question: Hashable, find: Callable[[], bool]) -> bool:
    """The answer to a question about this installation; stored while the cache is enabled."""
    if _files is None:
        return find()
    name = f"{digest(repr((question, process_fingerprint())))}.answer"
    entry = _files.read(name)
    if entry is not None:
        return entry[0]["answer"]
    answer = find()
    _files.write(name, {"answer": answer}, b"")
    return answer


def enable_from_environment() -> None:
    """:func:`enable_disk_cache` for the directory that the environment names, if it names one."""
    directory = os.environ.get(_VARIABLE)
    if directory:
        enable_disk_cache(os.path.expanduser(directory))


def enable_disk_cache(directory: str | os.PathLike[str] | None) -> None:
    """Keeps compiled programs in a directory, where later processes find them; None ends that.

    The environment variable ``EXECUTORKIT_CACHE_DIR`` does the same for a script that is not to be
    changed: with ``EXECUTORKIT_CACHE_DIR=~/.cache/executorkit`` its second start is quick.

    A switch of the whole process, for everything compiled from now on, however small: JAX's
    persistent compilation cache, and beside it, in a folder ``executorkit``, executables of
    inference and of training steps, and inferred shapes. A later process neither traces nor lowers
    these: they are found by all that they depend on (graph, shapes, gradients, update, options,
    configuration, processor, versions of JAX and of this package), and loaded in the background
    from bind on. Programs that depend on Python code of the user's (operators, optimizers,
    schedules) are traced each time, as are the two halves that run where outputs are read between
    forward and backward.

    A file that is damaged, or that this process cannot use, counts as missing. Where JAX's
    ``jax_compilation_cache_max_size`` is set, each of the two folders stays below that number of
    bytes; without it nothing removes old files.

    On CPUs such programs take their working memory in one block, which the system clears at every
    call where it is above 32 MiB (others take it in pieces, which XLA cannot write to files): an
    eighth of a training step of ResNet-50, a quarter of MobileNet's. With
    ``GLIBC_TUNABLES=glibc.malloc.hugetlb=1`` in the environment from the start that costs little.

    Users who can write to the directory can have code run by those who read it: it needs to be
    trusted as much as a directory that modules are imported from.
    """
    root = None if directory is None else os.fspath(directory)
    jax.config.update("jax_compilation_cache_dir", root)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0 if root else 1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1 if root else 0)
    compilation_cache.reset_cache()
    files = None if root is None else DiskCache(os.path.join(root, "executorkit"))
    set_disk_cache(files)
    set_inference_cache(None if files is None else InferenceDiskCache(files))
    if root is not None:
        process_fingerprint()
