"""Settings of every test: eight CPU devices, quick compilation, a shared cache, markers.

XLA reads its flags when JAX starts, so they are set here, before any test imports it.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Nothing of an earlier run, or of the user's, is loaded; nothing is left in the home directory.
os.environ["EXECUTORKIT_CACHE_DIR"] = ""
# Quick compilation: machine code is not optimised, is generated in one piece, and without MLIR's
# passes for fusions. Single operators then compile in a third of the time, and results stay
# within the tests' tolerances.
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0 "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.jax_internals import differentiable, thread_differentiable, thread_mesh
from executorkit.ops.nn.conv_kernels import winograd

jax.config.update("jax_num_cpu_devices", 8)
# Programs compiled by one worker, or in an earlier run, are read by the others.
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

#: The number of parameters met of each test marked sampled.
_SAMPLED: Counter[str] = Counter()

#: Forms of programs that the environment asks for.
FORCED = {name: os.environ.get(name) for name in ("EXECUTORKIT_INTERPRET", "EXECUTORKIT_WINOGRAD")}


@pytest.fixture(autouse=True)
def _seeded_numpy() -> None:
    """Each test draws the same NumPy numbers, alone or in company."""
    np.random.seed(20)


@pytest.fixture(autouse=True)
def _state_of_the_thread_stays() -> Iterator[None]:
    """No test, least of all an interrupted one, leaves the thread in a context of JAX's."""
    before = thread_differentiable(), thread_mesh()
    yield
    assert differentiable.value
    assert (thread_differentiable(), thread_mesh()) == before


@pytest.fixture(autouse=True)
def _old_objects_are_frozen() -> None:
    """Collections look through the objects of the last tests, not of all tests before.

    Traces that JAX keeps are millions of objects in the end, seconds for each collection.
    """
    if gc.get_count()[2] > 5:
        gc.collect()
        gc.freeze()


@pytest.fixture
def fresh_programs() -> Iterator[None]:
    """The test has caches of compiled code of its own, so that its counts are its own."""
    with mx.program.fresh_caches():
        yield


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are compiled at their first call instead of being interpreted."""
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", "0")


@pytest.fixture
def one_way(request: pytest.FixtureRequest) -> None:
    """No call is computed in another way than an equal one before: all are compiled, unless the
    environment has them interpreted."""
    if not FORCED["EXECUTORKIT_INTERPRET"]:
        request.getfixturevalue("compiled")


@pytest.fixture
def automatic(monkeypatch: pytest.MonkeyPatch, fresh_programs: None) -> None:
    """First calls are interpreted as they are by default, whatever the environment says.

    In caches of its own: a program that was planned in another mode stays so.
    """
    monkeypatch.delenv("EXECUTORKIT_INTERPRET", raising=False)


@pytest.fixture(params=["interpreted", pytest.param("compiled", marks=pytest.mark.slow)])
def both_readings(request: pytest.FixtureRequest) -> Iterator[str]:
    """The test compares with MXNet what NumPy interprets, and in a slow second reading XLA's.

    What is interpreted is in caches of its own: a program that was planned so stays so.
    """
    with contextlib.ExitStack() as stack:
        if request.param == "interpreted":
            stack.enter_context(mx.program.fresh_caches())
        yield request.param


@pytest.fixture
def deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that compute the same are equal to the last bit."""
    monkeypatch.setenv("EXECUTORKIT_DETERMINISTIC", "1")


@pytest.fixture(autouse=True)
def _golden_programs_are_compiled(request: pytest.FixtureRequest) -> None:
    """What MXNet's results are compared with comes from XLA, but for an interpreted reading.

    What the environment says goes before: EXECUTORKIT_INTERPRET=1 has all of it interpreted, and
    with EXECUTORKIT_WINOGRAD Winograd's form is taken wherever it saves a multiplication.
    """
    if request.node.get_closest_marker("golden") is None:
        return
    patch = request.getfixturevalue("monkeypatch")
    if not FORCED["EXECUTORKIT_INTERPRET"]:
        interprets = (
            "both_readings" in request.fixturenames
            and request.getfixturevalue("both_readings") == "interpreted"
        )
        patch.setenv("EXECUTORKIT_INTERPRET", "1" if interprets else "0")
    if FORCED["EXECUTORKIT_WINOGRAD"]:
        patch.setattr(winograd, "_costs", winograd.Costs(0, 0, 0, 0, 0))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--soak``, and ``--rounds`` for its length."""
    group = parser.getgroup("executorkit")
    group.addoption("--soak", action="store_true", help="run the tests marked soak, and no others")
    group.addoption(
        "--rounds", type=int, default=None, help="rounds of each soak test; a seed per round"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Of a test marked sampled(n), every n-th of those that are not slow anyway stays so."""
    sampled = item.get_closest_marker("sampled")
    if sampled is not None and item.get_closest_marker("slow") is None:
        test = item.nodeid.partition("[")[0]
        if _SAMPLED[test] % sampled.args[0]:
            item.add_marker("slow")
        _SAMPLED[test] += 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects the tests marked soak, or the others; those marked first go first."""
    soak = config.getoption("--soak")
    chosen = [item for item in items if (item.get_closest_marker("soak") is not None) == soak]
    if len(chosen) < len(items):
        config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
        items[:] = chosen
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
