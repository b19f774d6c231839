"""Freed memory stays with the process, unless its environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from executorkit._memory import bytes_to_keep

MACHINE = 24 * 2**30

#: Takes 64 MiB of memory in a thread, writes to it and gives it back, and prints how many pages the
#: system had to give for it when that is done again.
FAULTS = """
import ctypes, resource, threading
import executorkit
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
def work():
    block = ctypes.c_void_p(c.malloc(2**26))
    c.memset(block, 1, 2**26)
    c.free(block)
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the GNU C library")
@pytest.mark.parametrize(("asked", "faults"), [("0", True), (str(2**30), False)])
def test_threads_get_their_memory_back(asked: str, faults: bool) -> None:
    pages = 2**26 // 4096
    done = subprocess.run(
        [sys.executable, "-c", FAULTS],
        capture_output=True, text=True, check=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "EXECUTORKIT_KEEP_MEMORY": asked},
    )  # fmt: skip
    found = int(done.stdout)
    assert (found > pages / 2) == faults


@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({}, 2**31 - 1),
        ({"EXECUTORKIT_KEEP_MEMORY": "1000"}, 1000),
        ({"EXECUTORKIT_KEEP_MEMORY": "0"}, 0),
        ({"EXECUTORKIT_KEEP_MEMORY": str(2**40)}, 2**31 - 1),
        ({"MALLOC_ARENA_MAX": "4"}, 0),
        ({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, 0),
        ({"GLIBC_TUNABLES": "glibc.rtld.nns=4"}, 2**31 - 1),
        ({"MALLOC_ARENA_MAX": "4", "EXECUTORKIT_KEEP_MEMORY": "1000"}, 1000),
    ],
)
def test_the_environment_decides(environment: dict[str, str], kept: int) -> None:
    assert bytes_to_keep(environment, MACHINE) == kept


def test_an_eighth_of_a_small_machine() -> None:
    assert bytes_to_keep({}, 2**30) == 2**27


@pytest.mark.parametrize("asked", ["", "-1", "1 GiB"])
def test_what_is_no_number_of_bytes_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match="EXECUTORKIT_KEEP_MEMORY") as caught:
        bytes_to_keep({"EXECUTORKIT_KEEP_MEMORY": asked}, MACHINE)
    assert "0 to leave malloc alone" in str(caught.value)
