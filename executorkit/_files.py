"""Reading and atomic writing of files, with errors that name the file."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from .errors import FileAccessError, explain


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file. Raises :class:`FileAccessError` if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise FileAccessError(explain(os.fspath(path), problem)) from None


def write_atomically(path: str, parts: Iterable[bytes]) -> None:
    """Writes ``parts`` to a temporary file beside ``path``, which is then renamed.

    A reader finds either the old contents or the new ones, even after a crash. A killed process may
    leave ``<path>.<process>.<thread>.tmp`` behind, which nothing reads and which may be deleted.
    Links are followed; a path that is not an ordinary file (``/dev/stdout``) is written directly.
    Raises :class:`FileAccessError` if writing fails; the old file is then unchanged.
    """
    target = os.path.realpath(path)
    replaceable = not os.path.exists(target) or os.path.isfile(target)
    temporary = f"{target}.{os.getpid()}.{threading.get_ident()}.tmp" if replaceable else target
    try:
        with open(temporary, "wb") as file:
            file.writelines(parts)
        if replaceable:
            os.replace(temporary, target)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise FileAccessError(explain(path, problem)) from None
    finally:
        if replaceable and os.path.exists(temporary):
            os.remove(temporary)
