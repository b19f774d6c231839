"""Options of XLA's compiler."""

from __future__ import annotations

from typing import Any

import jax
import jaxlib.version
import pytest

import executorkit as mx
from executorkit.lowering import graph_of
from executorkit.program import _compiler_options

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="options of CPUs")


def convolved(**attrs: Any) -> mx.sym.Symbol:
    data = mx.sym.var("data")
    return mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=8, name="c", **attrs)


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
