"""Freed memory stays with the process, so that each step does not fetch its memory anew.

A compiled program takes its working memory from C's ``malloc`` at every call and gives it back. The
GNU C library hands blocks above 32 MiB, and those of all threads but the first, back to the system,
which then has to clear every page again: that was a quarter of the processor time of a training
step of MobileNet (four images of 224 x 224) and a seventh of ResNet-50's. So where that library
runs, importing executorkit asks it to take blocks of up to an eighth of the machine's memory, 2 GiB
at most, from one heap for all threads, and to give that back only where more than this is free at
its end. It holds for the whole process, as NumPy's own setting for large arrays does. It costs
memory: holes between blocks stay (training processes of these two were larger by a tenth and a
quarter); and a lock, which threads that share a step of half a millisecond feel (a twentieth).

``EXECUTORKIT_KEEP_MEMORY`` in the environment is the number of bytes to keep instead; 0 leaves
``malloc`` alone. So does any setting of the library's own (``MALLOC_...``, or ``GLIBC_TUNABLES``
that name malloc).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping

#: Parameters of ``mallopt`` by their number in malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
#: ``mallopt`` takes an int.
_MOST = 2**31 - 1


def bytes_to_keep(environ: Mapping[str, str], physical: int) -> int:
    """How many bytes of freed memory to keep, given the environment and the bytes that the machine
    has; 0 for leaving ``malloc`` as it is. ValueError if ``EXECUTORKIT_KEEP_MEMORY`` is no number
    of bytes."""
    asked = environ.get("EXECUTORKIT_KEEP_MEMORY")
    if asked is not None:
        if not asked.isdecimal():
            raise ValueError(
                f"EXECUTORKIT_KEEP_MEMORY={asked!r} in the environment is no number of bytes; set "
                "it to 0 to leave malloc alone, or unset it"
            )
        return min(int(asked), _MOST)
    if any(name.startswith("MALLOC_") for name in environ):
        return 0
    if "malloc" in environ.get("GLIBC_TUNABLES", ""):
        return 0
    return min(physical // 8, _MOST)


def keep_memory() -> int:
    """Asks the GNU C library to keep freed memory. Returns how many bytes; 0 where nothing was
    changed: another system or C library, or the environment says so."""
    if not sys.platform.startswith("linux"):
        return 0
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kept = bytes_to_keep(os.environ, physical)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if not kept or mallopt is None:
        return 0
    done = [mallopt(_ARENA_MAX, 1), mallopt(_MMAP_THRESHOLD, kept), mallopt(_TRIM_THRESHOLD, kept)]
    return kept if all(done) else 0
