"""What XLA's compiler is asked for: working memory in pieces, where it can be had in pieces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import pytest

import executorkit as mx
from executorkit.program import _compiler_options as _compiling

PIECES = "xla_multiheap_size_constraint_per_heap"

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="options of CPUs")


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """Without a directory of compiled programs (the tests have one)."""
    place = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", place)


def convolved(**attrs: Any) -> mx.sym.Symbol:
    data = mx.sym.var("data")
    return mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=8, name="c", **attrs)


def in_pieces(symbol: mx.sym.Symbol, dtype: str = "float32", **shapes: tuple[int, ...]) -> bool:
    types = dict.fromkeys(symbol.list_arguments(), dtype)
    executor = symbol.simple_bind(mx.cpu(), type_dict=types, **shapes)
    return PIECES in executor.program.compiler_options


@pytest.mark.usefixtures("nothing_kept")
class TestPieces:
    def test_where_all_values_fit(self) -> None:
        assert in_pieces(convolved(), data=(4, 3, 400, 400))

    def test_not_where_one_is_larger(self) -> None:
        assert not in_pieces(convolved(), data=(4, 3, 512, 512))
        assert not in_pieces(convolved(), "float64", data=(4, 3, 400, 400))

    def test_turns_of_a_recurrence_count_together(self) -> None:
        outputs, _ = mx.rnn.LSTMCell(64, prefix="l_").unroll(8, mx.sym.var("data"))
        assert in_pieces(mx.sym.Group(list(outputs)), data=(256, 8, 64))
        assert not in_pieces(mx.sym.Group(list(outputs)), data=(4096, 8, 64))

    def test_not_with_loops_of_an_operator(self) -> None:
        rnn = mx.sym.RNN(mx.sym.var("data"), state_size=4, num_layers=1, mode="gru", name="r")
        assert not in_pieces(rnn, data=(3, 2, 4))

    def test_executors_of_other_sizes_have_programs_of_their_own(self) -> None:
        small = convolved().simple_bind(mx.cpu(), data=(1, 3, 8, 8))
        assert small.reshape(data=(2, 3, 8, 8), allow_up_sizing=True).program is small.program
        large = small.reshape(data=(4, 3, 512, 512), allow_up_sizing=True)
        assert large.program is not small.program


@pytest.mark.usefixtures("nothing_kept")
def test_a_known_graph_is_not_gone_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    symbol = convolved()
    assert in_pieces(symbol, data=(1, 3, 8, 8))
    monkeypatch.setattr(_compiling, "_all_fit", None)
    assert in_pieces(symbol, data=(1, 3, 8, 8))


@pytest.mark.usefixtures("nothing_kept")
def test_other_backends_have_one_program_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    small = convolved().simple_bind(mx.cpu(), data=(1, 3, 8, 8))
    large = small.reshape(data=(4, 3, 512, 512), allow_up_sizing=True)
    assert large.program is small.program


def test_not_where_programs_are_kept() -> None:
    assert not in_pieces(convolved(), data=(1, 3, 8, 8))


#: A training step with working memory of several pieces, with and without these.
STEP = """
import json, os
from unittest import mock
import numpy as np
import executorkit as mx
from executorkit.executor import _bound
x = mx.sym.var("data")
for i in range(3):
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=24, name=f"c{i}")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name=f"b{i}"), act_type="relu")
net = mx.sym.MakeLoss(mx.sym.mean(x))
found = []
for pieces in (True, False):
    with mock.patch.object(_bound, "fits_in_pieces", lambda *_: pieces):
        executor = net.simple_bind(mx.cpu(), data=(4, 3, 160, 160))
    rng = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape)
    executor.forward(is_train=True)
    executor.backward()
    found.append([g.asnumpy() for g in executor.grad_arrays])
    memory = executor.program.memory()["temporaries"]
same = all(np.allclose(a, b, 1e-3, 1e-6) for a, b in zip(*found))
print(json.dumps([same, memory]))
"""


def test_pieces_compute_the_same() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", STEP],
        capture_output=True, text=True, check=True, env=environment | {"JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    same, memory = json.loads(done.stdout)
    assert same
    assert memory > 2**25
    assert "per-heap" not in done.stderr
