"""Products by one thread each: the number of OpenBLAS's threads while plans run.

OpenBLAS divides a product among all cores and waits, busily, for the slowest. Where another thread
has a core, such as the compiler of the same program, products of microseconds take the scheduler's
milliseconds: with one busy process on two cores an LSTM's step took 1100 ms instead of 7. The
setting is the process's, so other threads' products are single-threaded while a plan runs.
"""

import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: Names of OpenBLAS's functions: as they are, and in the wheels of NumPy.
_PREFIXES, _SUFFIXES = ("", "scipy_"), ("", "64_", "_64")
#: Seconds after which a lock that is held for microseconds counts as lost.
_LOST_AFTER = 1.0


class BlasLibrary(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], object]


def loaded_libraries() -> Iterator[BlasLibrary]:
    """Returns every OpenBLAS in the process; none where the system has no list of loaded files."""
    try:
        mapped = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return
    paths = {line.split(maxsplit=5)[5] for line in mapped.splitlines() if "openblas" in line}
    for path in sorted(paths):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
                put = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                if get is not None and put is not None:
                    yield BlasLibrary(get, put)


class SingleThreadedProducts:
    """A context in which OpenBLAS uses one thread; several threads may be in it at once. After an
    interrupt inside ``__enter__`` or ``__exit__`` the thread's next context restores the number."""

    def __init__(self, libraries: Callable[[], Iterable[BlasLibrary]] = loaded_libraries) -> None:
        self._find = libraries
        self._lock = threading.RLock()
        #: Threads that are in the context.
        self._inside: set[int] = set()
        #: The libraries, and their numbers of threads outside of the context.
        self._libraries: list[BlasLibrary] | None = None
        self._counts: dict[int, int] = {}

    def __enter__(self) -> None:
        lock = self._acquired_lock()
        try:
            if self._libraries is None:
                self._libraries = list(self._find())
            self._inside.add(threading.get_ident())
            for i, library in enumerate(self._libraries):
                count = library.get()
                if count > 1:
                    self._counts[i] = count
                    library.set(1)
        finally:
            lock.release()

    def __exit__(self, *exception: object) -> None:
        lock = self._acquired_lock()
        try:
            self._inside.discard(threading.get_ident())
            if not self._inside:
                for i, count in self._counts.items():
                    self._libraries[i].set(count)  # pyright: ignore[reportOptionalSubscript]
                self._counts.clear()
        finally:
            lock.release()

    def _acquired_lock(self) -> Any:
        """Acquires the lock, or replaces one that this thread lost to an exception in between."""
        while True:
            lock = self._lock
            if lock.acquire(timeout=_LOST_AFTER):
                return lock
            if self._lock is lock:
                self._lock = threading.RLock()


single_threaded_products = SingleThreadedProducts()
