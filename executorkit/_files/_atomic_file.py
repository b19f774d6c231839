"""Atomic writing: to a temporary file in the same folder, which is then renamed.

A writer holds a lock (``flock``) on its temporary file, which the system releases however the
process ends; a file that can be locked has no owner. Process numbers, which are reused and differ
between containers, decide nothing.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, BinaryIO

from ..errors import FileAccessError
from ._open_files import AnyPath, is_open_for_writing, path_text

#: Maximum length of a file's name in bytes, on all common file systems.
_MAX_NAME = 255
#: Seconds for which the temporary file of another machine stays: locks may not reach over networks.
_FOREIGN_AGE = 24 * 3600


def write_atomically(
    path: AnyPath, parts: Iterable[Any] | Callable[[BinaryIO], object], *, durable: bool = True
) -> None:
    """Writes ``parts`` (bytes, buffers, or a function that writes to the open file) to a temporary
    file beside ``path``, which is renamed.

    A reader finds either the old contents or the new ones: after any exception (an interrupt too),
    after a kill, and with ``durable`` after a loss of power. A killed process leaves
    ``<path>.<machine>-<process>-<number>.tmp`` behind, which the next writing or reading of
    ``path`` deletes. Permissions of an existing file are kept; a write-protected one is refused.
    Links are followed. Written directly, so that the file stays the same one, are a path of another
    kind (a pipe, ``/dev/stdout``), and a file that the program holds open for writing, such as a
    ``NamedTemporaryFile``.

    Raises :class:`FileAccessError` if writing fails; the old file is then unchanged, unless it is
    written directly.
    """
    path = path_text(path)
    if "\0" in path:
        raise FileAccessError(path, "cannot be written: a null character")
    target = os.path.realpath(path)
    try:
        if os.path.exists(path) and (not os.path.isfile(target) or is_open_for_writing(target)):
            with open(path, "wb") as file:
                _write(file, parts)
            return
        remove_leftovers(target)
        _write_and_rename(target, parts, durable)
    except OSError as error:
        folder = os.path.dirname(target)
        missing = isinstance(error, FileNotFoundError) and not os.path.isdir(folder)
        because = f"the folder {folder} does not exist" if missing else None
        problem = f"cannot be written: {error.strerror or error}"
        raise FileAccessError(path, problem, because=because) from None


def _write(file: BinaryIO, parts: Iterable[Any] | Callable[[BinaryIO], object]) -> None:
    if callable(parts):
        parts(file)
    else:
        file.writelines(parts)


def write_private(path: str, parts: Iterable[object]) -> None:
    """Writes as :func:`write_atomically` for a cache of many files: readable by the owner only, not
    durable. Temporary files of killed processes are left to :func:`remove_leftovers_in`. Raises
    OSError if writing fails."""
    _write_and_rename(path, parts, durable=False, mode=0o600)


def _write_and_rename(
    target: str,
    parts: Iterable[Any] | Callable[[BinaryIO], object],
    durable: bool,
    mode: int = 0o666,
) -> None:
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(13, "it is write-protected")
    temporary = _stem(target) + f".{_machine()}-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            # A file system without locks has no leftovers deleted either.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                _fill(file, target, parts, durable)
                os.replace(temporary, target)
                written = True
            else:
                written = False  # deleted as a leftover before it was locked
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise
    if not written:
        _write_and_rename(target, parts, durable, mode)
    elif durable:
        with contextlib.suppress(OSError):
            descriptor = os.open(os.path.dirname(target), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _fill(
    file: BinaryIO, target: str, parts: Iterable[Any] | Callable[[BinaryIO], object], durable: bool
) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
    _write(file, parts)
    file.flush()
    if durable:
        os.fsync(file.fileno())


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Deletes the temporary files of killed processes that were writing ``path``, and after a day
    those from other machines. Raises nothing if the folder cannot be read or changed."""
    folder, stem = os.path.split(_stem(os.path.realpath(path)))
    _remove_matching(folder, re.escape(stem))


def remove_leftovers_in(folder: str | os.PathLike[str]) -> None:
    """Deletes such files of all paths in a folder; see :func:`remove_leftovers`."""
    _remove_matching(os.fspath(folder), ".*")


def _remove_matching(folder: str, stem: str) -> None:
    with contextlib.suppress(OSError):
        for leftover in _leftovers(folder, stem):
            with contextlib.suppress(OSError):  # BlockingIOError: its writer is alive
                # Not for writing: the file may be renamed meanwhile, and look as if the program
                # held it.
                descriptor = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    os.remove(leftover)
                finally:
                    os.close(descriptor)


def _leftovers(folder: str, stem: str) -> Iterator[str]:
    pattern = re.compile(stem + r"\.([0-9a-f]{8})-\d+-[0-9a-f]{8}\.tmp", re.DOTALL)
    with os.scandir(folder) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            if match is None or not entry.is_file(follow_symlinks=False):
                continue
            age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if match[1] == _machine() or age > _FOREIGN_AGE:
                yield entry.path


def _stem(target: str) -> str:
    folder, name = os.path.split(target)
    encoded = os.fsencode(name)
    if len(encoded) + 40 > _MAX_NAME:
        name = hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return os.path.join(folder, name)


@lru_cache(maxsize=1)
def _machine() -> str:
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()
