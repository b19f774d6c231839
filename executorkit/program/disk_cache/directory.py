"""The directory of the disk cache, and the rules for one that code is loaded from."""

import os
import stat
import sys
from pathlib import Path

#: The name of the directory beside other programs' directories.
_NAME = "executorkit"
_OWN_MODE = 0o700


def default_directory() -> Path | None:
    """Returns ``executorkit`` in the user's cache directory; None without a home directory."""
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA", "")
    else:
        ours = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
        parent = os.environ.get("XDG_CACHE_HOME", "")
        # A relative path counts as none: the specification of the variable says so.
        parent = parent if os.path.isabs(parent) else os.path.expanduser(ours)
    return Path(parent, _NAME) if os.path.isabs(parent) else None


def make_directory(path: Path) -> None:
    """Makes a directory and its missing parents for its owner alone. OSError if that fails."""
    missing = [path]
    while not os.path.lexists(missing[-1]):
        missing.append(missing[-1].parent)
    for folder in reversed(missing[:-1]):
        try:
            folder.mkdir(_OWN_MODE)
        except FileExistsError:  # another process was quicker
            continue


def refusal(path: Path) -> str | None:
    """Says why not to load code from a directory; None if this user alone can write to it."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    return _refusal_of_owner(status)


def open_own_file(path: Path) -> int:
    """Opens a file that this user alone can write; PermissionError for another one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    reason = _refusal_of_owner(status) if stat.S_ISREG(status.st_mode) else "it is not a file"
    if reason is not None:
        os.close(descriptor)
        raise PermissionError(f"{path}: {reason}")
    return descriptor


def _refusal_of_owner(status: os.stat_result) -> str | None:
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    others = stat.S_IWGRP | stat.S_IWOTH
    return "other users can write to it" if status.st_mode & others else None
