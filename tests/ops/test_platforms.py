"""Forms of operators for other devices are left out where nothing but CPUs can run them."""

from __future__ import annotations

from typing import Any

import jax
import pytest

import executorkit as mx
from executorkit.executor import PrecompileSpec, bound_avals
from executorkit.ops.tracing import for_platform, this_process_only


def _traced(function: Any) -> str:
    return str(jax.make_jaxpr(function)(1.0))


def test_the_context_decides():
    def both(x: Any) -> Any:
        return for_platform(x, cpu=jax.numpy.sin, default=jax.numpy.cos)

    assert all(name in _traced(both) for name in ("sin", "cos", "platform_index"))
    with this_process_only():
        inside = _traced(lambda x: both(x))
    assert "sin" in inside
    assert "cos" not in inside


def test_a_process_with_other_devices_traces_all_forms(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with this_process_only():
        text = _traced(lambda x: for_platform(x, cpu=jax.numpy.sin, default=jax.numpy.cos))
    assert "cos" in text


def test_programs_that_run_here_have_the_forms_of_cpus_alone():
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=32, name="conv")
    net = mx.sym.Pooling(net, kernel=(3, 3), pool_type="avg", stride=(2, 2))
    executor = mx.sym.sum(net).simple_bind(mx.cpu(), data=(2, 16, 12, 12))
    ((function, avals),) = PrecompileSpec(True).calls(executor, *bound_avals(executor))
    program: Any = function
    assert "platform_index" not in str(program.trace(*avals).jaxpr)
    assert "platform_index" in str(program.jaxpr(*avals))
