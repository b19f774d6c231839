"""Reading of files, with errors that name the file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

from ..errors import FileAccessError, FileFormatError, MXNetError
from ._atomic_file import remove_leftovers
from ._file_formats import HEAD, FileKind, describe_misfit
from ._open_files import AnyPath, path_text

#: Maximum number of similar files that an error names.
_NAMES = 5


def open_to_read(path: AnyPath) -> BufferedReader:
    """Opens a file to read bytes, and deletes temporary files of killed processes that were writing
    it. Raises :class:`FileAccessError` if it cannot be opened."""
    path = path_text(path)
    try:
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = _longer_names(path) if isinstance(error, FileNotFoundError) else None
        raise FileAccessError(path, f"cannot be read: {reason}", hint=hint) from None
    remove_leftovers(path)
    return file


def _longer_names(path: str) -> str | None:
    folder, name = os.path.split(path)
    try:
        names = sorted(n for n in os.listdir(folder or ".") if name and n.startswith(name))
    except (OSError, ValueError):
        return None
    return ", ".join(os.path.join(folder, n) for n in names) if 0 < len(names) <= _NAMES else None


@contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Puts the path of a file before this package's errors in the block."""
    try:
        yield
    except MXNetError as error:
        if not str(error).startswith(path_text(path)):
            error.args = (f"{path_text(path)}: {error}",)
        raise


def read_bytes(path: AnyPath, kind: FileKind) -> bytes:
    """Returns the contents of a file of a kind. Raises :class:`FileAccessError` if it cannot be
    read, and :class:`FileFormatError`, after its first bytes, if they belong to another kind."""
    with open_to_read(path) as file:
        try:
            return read_kind(file, path_text(path), kind)
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise FileAccessError(path_text(path), problem) from None


def read_kind(file: BufferedReader, path: str | os.PathLike[str], kind: FileKind) -> bytes:
    misfit = describe_misfit(os.fspath(path), file.peek(HEAD)[:HEAD], kind)
    if misfit is not None:
        raise FileFormatError(misfit)
    return file.read()
