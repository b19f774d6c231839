"""Options of XLA's compiler: working memory is split into pieces where all values fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import jaxlib.version
import pytest

import executorkit as mx
from executorkit.lowering import graph_of
from executorkit.program import _compiler_options

PIECES = "xla_multiheap_size_constraint_per_heap"

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="options of CPUs")


@pytest.fixture
def no_disk_cache() -> Iterator[None]:
    """Disables JAX's cache of compiled programs (the tests have one)."""
    directory = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", directory)


def convolved(**attrs: Any) -> mx.sym.Symbol:
    data = mx.sym.var("data")
    return mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=8, name="c", **attrs)


def splits_buffers(
    symbol: mx.sym.Symbol, dtype: str = "float32", **shapes: tuple[int, ...]
) -> bool:
    types = dict.fromkeys(symbol.list_arguments(), dtype)
    program: Any = symbol.simple_bind(mx.cpu(), type_dict=types, **shapes).program
    return PIECES in program.compiler_options


@pytest.mark.usefixtures("no_disk_cache")
class TestSplitTempBuffers:
    def test_if_all_values_fit(self) -> None:
        assert splits_buffers(convolved(), data=(4, 3, 400, 400))

    def test_not_if_one_is_larger(self) -> None:
        assert not splits_buffers(convolved(), data=(4, 3, 512, 512))
        assert not splits_buffers(convolved(), "float64", data=(4, 3, 400, 400))

    def test_iterations_of_a_recurrence_count_together(self) -> None:
        outputs, _ = mx.rnn.LSTMCell(64, prefix="l_").unroll(8, mx.sym.var("data"))
        assert splits_buffers(mx.sym.Group(list(outputs)), data=(256, 8, 64))
        assert not splits_buffers(mx.sym.Group(list(outputs)), data=(4096, 8, 64))

    def test_not_with_loops_of_an_operator(self) -> None:
        rnn = mx.sym.RNN(mx.sym.var("data"), state_size=4, num_layers=1, mode="gru", name="r")
        assert not splits_buffers(rnn, data=(3, 2, 4))

    def test_executors_of_other_sizes_have_programs_of_their_own(self) -> None:
        small = convolved().simple_bind(mx.cpu(), data=(1, 3, 8, 8))
        assert small.reshape(data=(2, 3, 8, 8), allow_up_sizing=True).program is small.program
        large = small.reshape(data=(4, 3, 512, 512), allow_up_sizing=True)
        assert large.program is not small.program


@pytest.mark.usefixtures("no_disk_cache")
def test_the_answer_for_a_graph_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    symbol = convolved()
    assert splits_buffers(symbol, data=(1, 3, 8, 8))
    monkeypatch.setattr(_compiler_options, "_all_fit", None)
    assert splits_buffers(symbol, data=(1, 3, 8, 8))


@pytest.mark.usefixtures("no_disk_cache")
def test_other_backends_have_one_program_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    small = convolved().simple_bind(mx.cpu(), data=(1, 3, 8, 8))
    large = small.reshape(data=(4, 3, 512, 512), allow_up_sizing=True)
    assert large.program is small.program


def test_not_with_a_disk_cache() -> None:
    assert not splits_buffers(convolved(), data=(1, 3, 8, 8))


#: A training step whose working memory takes several pieces, with and without splitting it.
STEP = """
import json
from unittest import mock
import numpy as np
import executorkit as mx
from executorkit.program import _compiler_options

def network():
    x = mx.sym.var("data")
    for i in range(3):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=24, name=f"c{i}")
        x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"b{i}")
        x = mx.sym.Activation(x, act_type="relu")
    return mx.sym.MakeLoss(mx.sym.mean(x))

gradients, options = [], []
for fits in (True, False):
    with mock.patch.object(_compiler_options, "_all_fit", lambda *_: fits):
        executor = network().simple_bind(mx.cpu(), data=(4, 3, 160, 160))
    options.append("xla_multiheap_size_constraint_per_heap" in executor.program.compiler_options)
    rng = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape)
    executor.forward(is_train=True)
    executor.backward()
    gradients.append([g.asnumpy() for g in executor.grad_arrays])
    memory = executor.program.memory()["temporaries"]
assert options == [True, False]
same = all(np.allclose(a, b, 1e-3, 1e-6) for a, b in zip(*gradients))
print(json.dumps([same, memory]))
"""


@pytest.mark.slow
def test_split_buffers_give_the_same_gradients() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", STEP],
        capture_output=True, text=True, check=True, env=environment | {"JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    same, memory = json.loads(done.stdout)
    assert same
    assert memory > 2**25
    assert "per-heap" not in done.stderr


#: The gradient of a convolution whose padded input is larger than a piece, while no value is.
PADDED = """
import executorkit as mx
x = mx.sym.var("data")
for i in range(2):
    x = mx.sym.Convolution(x, kernel=(7, 7), pad=(3, 3), num_filter=64, name=f"c{i}")
executor = x.simple_bind(mx.cpu(), data=(7, 64, 128, 128))
executor.forward(is_train=True)
executor.backward([executor.outputs[0]])
mx.nd.waitall()
assert "xla_multiheap_size_constraint_per_heap" in executor.program.compiler_options
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "level", "warns"),
    [("executorkit", None, False), ("jax", None, False), ("executorkit", "0", True)],
)
def test_no_warning_of_larger_values_unless_asked_for(
    first: str, level: str | None, warns: bool
) -> None:
    unset = ("JAX_COMPILATION_CACHE_DIR", "TF_CPP_MIN_LOG_LEVEL")
    environment = {k: v for k, v in os.environ.items() if k not in unset}
    environment |= {"EXECUTORKIT_INTERPRET": "0"}
    environment |= {} if level is None else {"TF_CPP_MIN_LOG_LEVEL": level}
    done = subprocess.run(
        [sys.executable, "-c", f"import {first}\n{PADDED}"],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert ("per-heap" in done.stderr) == warns
    assert warns or not done.stderr


def test_options_of_convolutions_are_for_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(convolved().heads)
    assert _compiler_options.compiler_options(graph)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not _compiler_options.compiler_options(graph)


def test_versions_that_are_said_to_take_all_options_do() -> None:
    options = tuple(_compiler_options.EVERY_OPTION.items())
    listed = jaxlib.version.__version__ in _compiler_options._VERSIONS_THAT_TAKE_ALL
    assert _compiler_options._compiles_with(options) or not listed


def test_options_that_the_compiler_does_not_know_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = graph_of(convolved().heads)
    unknown = {"xla_cpu_no_such_option": "1"}
    monkeypatch.setattr(_compiler_options, "_CONVOLUTIONS_ON_CPU", unknown)
    expected = _compiler_options._BARRIERS_ON_CPU
    assert _compiler_options.compiler_options(graph) == expected
