"""The switch of the disk cache: its directory, if any, and the contents."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import jax

from .directory import default_directory, make_directory, refusal
from .store import DiskCache, digest

#: The environment variable that names a directory; empty, it switches the cache off.
_VARIABLE = "EXECUTORKIT_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class _Choice:
    """The files in use, if any; the directory that was considered; and why."""

    files: DiskCache | None
    directory: Path | None
    reason: str


#: None until the first use.
_choice: _Choice | None = None
_lock = threading.RLock()


def set_disk_cache(files: DiskCache | None) -> None:
    global _choice
    directory = None if files is None else files.path
    _choice = _Choice(files, directory, "set_disk_cache")


def active_disk_cache() -> DiskCache | None:
    return _present().files


def disk_cache_enabled() -> bool:
    """Tells whether executables can be stored on disk, in this thread as it is now."""
    return (
        _present().files is not None
        and jax.process_count() == 1
        and not getattr(jax.config, "jax_disable_jit", False)
        and jax.sharding.get_abstract_mesh().empty
    )


def remembered(question: Hashable, find: Callable[[], Any]) -> Any:
    """Answers a question in JSON's types; stored while the cache is enabled."""
    files = active_disk_cache()
    if files is None:
        return find()
    name = f"{digest(repr(question))}.answer"
    entry = files.read(name)
    if entry is not None:
        return entry[0]["answer"]
    answer = find()
    files.write(name, {"answer": answer}, b"")
    return answer


def _present() -> _Choice:
    global _choice
    if _choice is None:
        with _lock:
            if _choice is None:
                _choice = _from_environment()
    return _choice


def _from_environment() -> _Choice:
    named = os.environ.get(_VARIABLE)
    if named == "":
        return _Choice(None, None, f"{_VARIABLE} is empty")
    if named is not None:
        return _checked(Path(os.path.expanduser(named)), f"{_VARIABLE} names it", True)
    directory = default_directory()
    if directory is None:
        return _Choice(None, None, "a home directory is missing")
    return _checked(directory, "by default", False)


def _checked(directory: Path, reason: str, is_named: bool) -> _Choice:
    """Makes a directory; has no files, but a warning, where code should not be loaded from it."""
    directory = Path(os.path.abspath(directory))
    problem = None
    try:
        make_directory(directory)
        problem = refusal(directory)
        refused = problem is not None
    except OSError as error:
        problem, refused = str(error), is_named
    if problem is None:
        return _Choice(DiskCache(directory, warns=is_named), directory, reason)
    if refused:
        advice = f"{_VARIABLE} names another directory, or, empty, none"
        warnings.warn(
            f"compiled programs are not kept in {directory}: {problem}; {advice}", stacklevel=5
        )
    return _Choice(None, directory, problem)


def enable_disk_cache(directory: str | os.PathLike[str] | None = None) -> None:
    """Keeps compiled programs in a directory, where later processes find them.

    It is on by default, in ``executorkit`` in the user's cache directory: that is
    ``XDG_CACHE_HOME``, else ``~/.cache`` (``~/Library/Caches`` on macOS), which is also meant by
    None. The environment variable ``EXECUTORKIT_CACHE_DIR`` names another one, or switches it off
    where it is empty; so does :func:`disable_disk_cache`.

    Stored in the background are programs of inference and of training steps, and the jaxprs by
    which their first calls are interpreted. A later process loads them instead of tracing and
    compiling. They are found by all that they depend on: graph, shapes, gradients, update, options,
    configuration, processor, versions of JAX and of this package. No result depends on it: the
    calls that are interpreted are the same. Programs that depend on Python code of the user's
    (operators, optimizers, schedules) are compiled each time, as are the two halves that run where
    outputs are read between forward and backward. JAX's settings stay as they are: what a script
    compiles by ``jax.jit`` is not stored here, and where it has set ``jax_compilation_cache_dir``,
    JAX keeps programs there as well.

    The directory is made for its owner alone. One that belongs to another user, that others can
    write to, or that is a link is not used, which a warning says: programs that are loaded are
    code. All files together take at most 1 GiB; the least recently used go first. A damaged file
    counts as missing. Where nothing can be written, nothing is stored.
    """
    global _choice
    if directory is None:
        default = default_directory()
        reason = "a home directory is missing"
        _choice = (
            _Choice(None, None, reason)
            if default is None
            else _checked(default, "enable_disk_cache()", False)
        )
    else:
        path = Path(os.path.expanduser(os.fspath(directory)))
        _choice = _checked(path, "enable_disk_cache names it", True)


def disable_disk_cache() -> None:
    """Stops storing compiled programs and looking for stored ones."""
    global _choice
    _choice = _Choice(None, None, "disable_disk_cache()")


@dataclass(frozen=True, slots=True)
class DiskCacheInfo:
    """The contents of the disk cache.

    directory
        where it is; None if there is none.
    enabled, reason
        whether it is used, and why, or why not.
    programs, bytes
        number of compiled programs, and the size of all files on the disk.
    max_bytes
        the bound of that size.
    oldest, newest
        the times at which a program was last used; None where there is none.
    """

    directory: str | None
    enabled: bool
    reason: str
    programs: int = 0
    bytes: int = 0
    max_bytes: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None


def disk_cache_info() -> DiskCacheInfo:
    """Returns the directory of the disk cache, whether it is used and why, and its contents."""
    choice = _present()
    directory = None if choice.directory is None else str(choice.directory)
    if choice.files is None:
        return DiskCacheInfo(directory, False, choice.reason)
    files = list(choice.files.files())
    programs = sorted(file.used for file in files if file.path.suffix == ".program")
    uses = [datetime.fromtimestamp(used) for used in programs]
    problem = choice.files.why_not_written()
    reason = choice.reason if problem is None else f"{choice.reason}; nothing is stored: {problem}"
    return DiskCacheInfo(
        directory,
        True,
        reason,
        programs=len(programs),
        bytes=sum(file.size for file in files),
        max_bytes=choice.files.max_bytes,
        oldest=uses[0] if uses else None,
        newest=uses[-1] if uses else None,
    )


def clear_disk_cache() -> int:
    """Deletes all files of the disk cache; returns the number of programs among them."""
    files = active_disk_cache()
    return 0 if files is None else files.clear()
