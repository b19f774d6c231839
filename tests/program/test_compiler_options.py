"""Options of XLA's compiler."""

from __future__ import annotations

from typing import Any

import jax
import jaxlib.version
import pytest
from jax._src import compiler

import executorkit as mx
from executorkit.lowering import graph_of
from executorkit.program import _compiler_options

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="options of CPUs")


def convolved(**attrs: Any) -> mx.sym.Symbol:
    data = mx.sym.var("data")
    return mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=8, name="c", **attrs)


def test_options_of_convolutions_are_for_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = [step.op for step in graph_of(convolved().heads).steps]
    inference = _compiler_options.compiler_options(ops, trains=False)
    training = _compiler_options.compiler_options(ops)
    assert training == inference | _compiler_options._FEWER_PASSES_ON_CPU != inference
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not _compiler_options.compiler_options(ops)


def test_versions_that_are_said_to_take_all_options_do() -> None:
    options = tuple(_compiler_options.EVERY_OPTION.items())
    listed = jaxlib.version.__version__ in _compiler_options._VERSIONS_THAT_TAKE_ALL
    assert _compiler_options._compiles_with(options) or not listed


def test_options_that_the_compiler_does_not_know_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ops = [step.op for step in graph_of(convolved().heads).steps]
    unknown = {"xla_cpu_no_such_option": "1"}
    monkeypatch.setattr(_compiler_options, "_CONVOLUTIONS_ON_CPU", unknown)
    expected = _compiler_options._BARRIERS_ON_CPU | _compiler_options._FEWER_PASSES_ON_CPU
    assert _compiler_options.compiler_options(ops) == expected


def test_options_of_the_cpu_backend_are_those_of_one_compilation() -> None:
    names = "xla_cpu_disable_tiled_emitter,xla_cpu_disable_loop_unrolling"
    options = {"xla_backend_extra_options": names, "xla_disable_hlo_passes": "dce"}
    made = compiler.get_compile_options(1, 1, env_options_overrides=options)
    text = str(made.executable_build_options.debug_options)
    others = compiler.get_compile_options(1, 1)
    without = str(others.executable_build_options.debug_options)
    assert made.env_option_overrides == [("xla_disable_hlo_passes", "dce")]
    for name in names.split(","):
        entry = f'xla_backend_extra_options {{\n  key: "{name}"\n  value: "1"\n}}\n'
        assert entry in text
        text = text.replace(entry, "")
    assert text == without
    assert "xla_backend_extra_options" not in without
