"""Reading of files, with errors that name the file."""

from __future__ import annotations

import os
from typing import BinaryIO

from ..errors import FileAccessError, explain
from ._atomic_file import remove_leftovers


def open_to_read(path: str | os.PathLike[str]) -> BinaryIO:
    """An open file, to be read as bytes.

    Temporary files of killed processes that were writing it are deleted. Raises
    :class:`FileAccessError` if it cannot be opened.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileAccessError(explain(os.fspath(path), f"cannot be read: {reason}")) from None
    remove_leftovers(path)
    return file


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file. Raises :class:`FileAccessError` if it cannot be read."""
    with open_to_read(path) as file:
        try:
            return file.read()
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise FileAccessError(explain(os.fspath(path), problem)) from None
