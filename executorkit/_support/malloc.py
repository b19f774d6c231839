"""Settings of the GNU C library's ``malloc``, and freed memory given back to the system."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

try:
    from numpy._core.multiarray import _set_madvise_hugepage as _ask_for_huge_pages  # pyright: ignore
except ImportError:
    _ask_for_huge_pages = bool

#: Numbers of ``mallopt``'s parameters.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -3, -4, -8


def set_malloc(settings: Mapping[int, int]) -> bool:
    """Returns whether the settings were made: not without the GNU C library, nor where the
    environment has settings of ``malloc``."""
    chosen_by_user = any(
        name.startswith("MALLOC_") or (name == "GLIBC_TUNABLES" and "malloc" in value)
        for name, value in os.environ.items()
    )
    mallopt = _function("mallopt")
    if chosen_by_user or mallopt is None:
        return False
    results = [mallopt(number, value) for number, value in settings.items()]
    return all(results)


#: True if NumPy asks for huge pages otherwise.
_asks_for_huge_pages = _ask_for_huge_pages(False)
_ask_for_huge_pages(_asks_for_huge_pages)


@contextmanager
def without_huge_pages() -> Iterator[None]:
    """Has NumPy ask for no huge pages. Where free memory is in pieces, the system makes room for
    each: a first step of a DeepLab, interpreted, took 9.6 s of processor time, 6.4 of them the
    system's, for 4.0."""
    _ask_for_huge_pages(False)
    try:
        yield
    finally:
        _ask_for_huge_pages(_asks_for_huge_pages)


def release_freed_memory() -> None:
    """Gives freed memory back to the system, where the GNU C library serves ``malloc``."""
    malloc_trim = _function("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def heap_end() -> int:
    """Returns the address where the heap of the process ends; 0 where that is not known."""
    sbrk = _function("sbrk")
    if sbrk is None:
        return 0
    sbrk.argtypes, sbrk.restype = [ctypes.c_ssize_t], ctypes.c_void_p
    return sbrk(0) or 0


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefghij"]


def bytes_in_use() -> int:
    """Returns the bytes of the heap's blocks that are in use; 0 where that is not known."""
    mallinfo = _function("mallinfo2")
    if mallinfo is None:
        return 0
    mallinfo.restype = _Mallinfo
    return mallinfo().h


def _function(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
