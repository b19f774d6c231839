"""Files that the program holds open: their paths, and whether it may write to them."""

import contextlib
import fcntl
import os

#: The arguments of Python's ``open``: paths, and numbers of open files.
AnyPath = str | bytes | os.PathLike[str] | int


def path_text(path: AnyPath) -> str:
    """Returns a path as text: ``/dev/fd/3`` for the number of an open file."""
    return f"/dev/fd/{path}" if isinstance(path, int) else os.fsdecode(path)


def is_open_for_writing(path: str) -> bool:
    """Returns True if the program holds a file open and may write to it; False where the system
    does not tell which files are open."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        # A thread that has just renamed its temporary file to this one holds the exclusive lock.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        status = os.fstat(file.fileno())
        return any(_may_write(int(number), status) for number in os.listdir("/dev/fd"))
    return False


def _may_write(descriptor: int, status: os.stat_result) -> bool:
    with contextlib.suppress(OSError):  # it was closed in the meantime
        if os.path.samestat(os.fstat(descriptor), status):
            access = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
            # Another thread may have closed it, and opened another file by the same number.
            return access != os.O_RDONLY and os.path.samestat(os.fstat(descriptor), status)
    return False
