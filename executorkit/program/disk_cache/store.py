"""The files of the disk cache."""

import contextlib
import hashlib
import json
import os
import re
import threading
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..._files import remove_leftovers_in, write_private
from ..._support.annotations import Attrs
from .directory import make_directory, open_own_file, refusal

#: Maximum size of all files in bytes. Beyond it the least recently used go.
MAX_BYTES = 1 << 30
#: Version of the files' layout.
_FORMAT = 2
#: The name of a file: the digest of its key, and the kind of its contents.
_NAMES = re.compile(r"[0-9a-f]{48}\.(program|jaxpr|answer)")
#: Size of a block of the file system in bytes: a small file takes one.
_BLOCK = 4096


class File(NamedTuple):
    """A file of the cache: path, size in bytes on the disk, last use in seconds since 1970."""

    path: Path
    size: int
    used: float


class DiskCache:
    """A directory of files named by the digest of a key.

    A file is a line of JSON (facts, and a checksum) and compressed bytes. One that is damaged, of
    another layout or not this user's counts as missing. Several processes may use a directory at a
    time: a file is written under a temporary name and renamed, and one that is deleted while it is
    read stays whole for its reader.

    Nothing here raises: a file that cannot be written is not stored, and ``problem`` says why. The
    files take at most ``max_bytes`` together; they are counted whenever a 256th of it was written.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, warns: bool = False) -> None:
        self.path = path
        self.max_bytes = max_bytes
        #: The reason for which nothing is stored any more.
        self.problem: str | None = None
        self._warns = warns
        self._lock = threading.Lock()
        self._written: float = max_bytes

    def read(self, name: str) -> tuple[dict[str, Any], bytes] | None:
        """Returns the facts and bytes of a file, or None. A damaged one is deleted."""
        path = self.path / name
        try:
            with os.fdopen(open_own_file(path), "rb") as file:
                line, _, packed = file.read().partition(b"\n")
                with contextlib.suppress(OSError):
                    os.utime(file.fileno())
        except OSError:
            return None
        try:
            header = json.loads(line)
            facts = header["facts"]
            if header["format"] == _FORMAT and header["sum"] == _checksum(name, facts, packed):
                return facts, zlib.decompress(packed)
        except (ValueError, LookupError, TypeError, zlib.error):
            pass
        self.drop(name)
        return None

    def has(self, name: str) -> bool:
        return os.path.exists(self.path / name)

    def drop(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.remove(self.path / name)

    def write(self, name: str, facts: Attrs, contents: bytes) -> None:
        """Writes a file, whole or not at all."""
        if self.problem is not None:
            return
        packed = zlib.compress(contents, 1)
        header = {"format": _FORMAT, "sum": _checksum(name, facts, packed), "facts": facts}
        line = json.dumps(header).encode()
        size = _on_disk(len(line) + len(packed))
        if size > self.max_bytes // 2:
            return
        try:
            make_directory(self.path)
            reason = refusal(self.path)
            if reason is None:
                write_private(os.path.join(self.path, name), (line, b"\n", packed))
                self._count(size)
        except OSError as error:
            reason = str(error)
        if reason is not None:
            with self._lock:
                is_first, self.problem = self.problem is None, reason
            if is_first and self._warns:
                warnings.warn(f"the disk cache cannot be written: {reason}", stacklevel=2)

    def why_not_written(self) -> str | None:
        return self.problem or (None if os.access(self.path, os.W_OK) else "it is write-protected")

    def _count(self, size: int) -> None:
        with self._lock:
            self._written += size
            if self._written < self.max_bytes / 256:
                return
            self._written = 0
        self.trim()

    def trim(self) -> None:
        """Deletes leftovers, then the least recently used files until a sixteenth is free."""
        remove_leftovers_in(self.path)
        total, limit = 0, self.max_bytes - self.max_bytes // 16
        for file in sorted(self.files(), key=lambda file: file.used, reverse=True):
            total += file.size
            if total > limit:
                self.drop(file.path.name)

    def files(self) -> Iterator[File]:
        with contextlib.suppress(OSError), os.scandir(self.path) as entries:
            for entry in entries:
                if _NAMES.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        yield File(Path(entry.path), _on_disk(status.st_size), status.st_mtime)

    def clear(self) -> int:
        """Deletes all files of the cache; returns the number of programs among them."""
        remove_leftovers_in(self.path)
        names = [file.path.name for file in self.files()]
        for name in names:
            self.drop(name)
        return sum(name.endswith(".program") and not self.has(name) for name in names)


def digest(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=24).hexdigest()


def _checksum(name: str, facts: Attrs, packed: bytes) -> str:
    named = json.dumps([name, facts]).encode()
    return hashlib.blake2b(named + packed, digest_size=16).hexdigest()


def _on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK
