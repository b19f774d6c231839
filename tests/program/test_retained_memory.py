"""Freed memory that is retained for large programs."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from executorkit.program import _retained_memory as retained

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


STEPS = """
import resource
import executorkit as mx

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

x = mx.sym.Variable("data")
for i in range(6):
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=24, name=f"c{i}")
    x = mx.sym.Activation(x, act_type="relu")
executor = mx.sym.MakeLoss(mx.sym.mean(x)).simple_bind(mx.cpu(), data=(4, 3, 160, 160))
counts = []
for _ in range(8):
    before = faults()
    executor.forward(is_train=True)
    executor.backward()
    mx.nd.waitall()
    counts.append(faults() - before)
print(min(counts))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="settings of the GNU C library")
def test_steps_fetch_no_memory_again() -> None:
    env = {n: v for n, v in os.environ.items() if not n.startswith(("MALLOC_", "GLIBC_"))}
    env |= {"EXECUTORKIT_INTERPRET": "0"}

    def faults(choice: str) -> int:
        environment = env | {"EXECUTORKIT_RETAIN_MEMORY": choice}
        command = [sys.executable, "-c", STEPS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert faults("1") < 500
    assert faults("0") > 5000


GROWTH = """
import numpy as np
from executorkit.program import _retained_memory as retained

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) >> 8

def fill_and_free(mebibytes):
    block = np.ones(mebibytes << 17)
    guard = np.ones(1 << 14)
    del block
    return guard

retained._set_malloc()
sizes, guards = [], []
settle = lambda: retained.settle((), 1 << 28)
for give_back, mebibytes in ((int, 128), (retained.trim, 128), (settle, 128), (settle, 256)):
    guards.append(fill_and_free(mebibytes))
    before = resident()
    give_back()
    sizes.append(before - resident())
print(*sizes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="settings of the GNU C library")
def test_freed_memory_is_given_back_where_the_heap_has_grown() -> None:
    env = {n: v for n, v in os.environ.items() if not n.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", GROWTH]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    retained, after_a_compilation, without_growth, with_growth = map(int, done.stdout.split())
    assert retained == 0
    assert after_a_compilation > 100
    assert without_growth == 0
    assert with_growth > 100


def test_calls_with_random_keys_settle() -> None:
    retained.settle((jax.random.key(0), jnp.ones(2)), retained._WAITED_FOR)
