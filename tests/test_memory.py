"""Freed memory stays with the process, unless its environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from executorkit._memory import bytes_to_keep

MACHINE = 24 * 2**30

#: Computes with working memory of 64 MiB in one of the backend's threads, and prints how many pages
#: the system had to give: the fewest of some calls, since what the last one used may not be free yet.
FAULTS = """
import resource
import executorkit as mx
a = mx.nd.ones((8, 2**21))
product = mx.sym.sort(mx.sym.var("a") * 2, axis=0).sum().bind(mx.cpu(), {"a": a})
found = []
for _ in range(6):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    product.forward()[0].asnumpy()
    found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(found))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the GNU C library")
@pytest.mark.parametrize(("asked", "faults"), [("0", True), (str(2**30), False)])
def test_working_memory_is_fetched_once(asked: str, faults: bool) -> None:
    pages = 64 * 2**20 // 4096
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
