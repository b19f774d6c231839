"""Freed memory that is retained for large programs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import executorkit as mx
from executorkit.program import _retained_memory as retained
x = mx.sym.Variable("data")
for _ in range(2):
    x = mx.sym.Activation(x, act_type="tanh")
executor = x.simple_bind(mx.cpu(), data=({rows}, 1024))
print(retained._set_malloc.cache_info().currsize, retained._set_malloc())
"""


def _settings(rows: int, **environment: str) -> list[str]:
    env = {n: v for n, v in os.environ.items() if not n.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", SCRIPT.format(rows=rows)]
    result = subprocess.run(
        command, env={**env, **environment}, capture_output=True, text=True, check=True
    )
    return result.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="settings of the GNU C library")
def test_a_large_graph_sets_malloc_and_a_small_one_does_not() -> None:
    assert _settings(3072) == ["1", "True"]
    assert _settings(16)[0] == "0"


@pytest.mark.skipif(sys.platform != "linux", reason="settings of the GNU C library")
@pytest.mark.slow
def test_the_environment_goes_first() -> None:
    assert _settings(3072, EXECUTORKIT_RETAIN_MEMORY="0")[0] == "0"
    assert _settings(16, EXECUTORKIT_RETAIN_MEMORY="1") == ["1", "True"]
    assert _settings(3072, MALLOC_TOP_PAD_="131072") == ["1", "False"]
