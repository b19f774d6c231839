"""Files that later processes find by the hash of what their contents follow from."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zlib
from pathlib import Path
from typing import Any

import jax

from .._files import write_atomically
from ..errors import MXNetError

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
