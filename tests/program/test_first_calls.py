"""First calls are interpreted; compiled programs take over at a fixed count of calls.

Training has a rule of its own: ``test_first_steps.py``.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.program import CompiledFunction, _first_calls, clear_cache, small_jit
from executorkit.program._background_tasks import join_workers
from executorkit.program._first_calls import InterpretedFunction

#: The call that is the first to run the compiled form of a small program.
TAKES_OVER = 48

pytestmark = pytest.mark.usefixtures("automatic")


def _network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=7, name="fc")
    return mx.sym.softmax(mx.sym.Activation(net, act_type="tanh"))


def _executor(rows: int, **options) -> mx.executor.Executor:
    with mx.program.options(**options):
        executor = _network().simple_bind(mx.cpu(), grad_req="null", data=(rows, 5))
    executor.arg_dict["fc_weight"][:] = np.linspace(-1, 1, 35).reshape(7, 5)
    return executor


def _python_calls_of_jax(function) -> int:
    calls = 0

    def seen(frame, event: str, arg) -> None:
        nonlocal calls
        calls += event == "call" and "cache_miss" in frame.f_code.co_name

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def test_new_shapes_compile_nothing(compilations):
    for n in range(2, 30):
        x = mx.nd.ones((n, 3)) * 2 + mx.nd.ones((n, 3))
        assert mx.nd.dot(x, x, transpose_a=True).shape == (3, 3)
        assert x[1:].sum().asscalar() == 9 * (n - 1)
    assert compilations == []


def test_gamma_numbers_of_new_shapes_compile_nothing(compilations):
    mx.nd.random.uniform(shape=(2,))  # compiles what makes keys
    compilations.clear()
    for n in range(2, 9):
        a = mx.nd.full(n, 2)
        draws = mx.nd.random.gamma(2, shape=n), mx.np.random.gamma(2, size=(400, n))
        draws += mx.nd.random.negative_binomial(2, 0.5, n), mx.nd.sample_gamma(a, a, shape=90)
        assert all((x >= 0).asnumpy().all() for x in draws)
    assert compilations == []


def test_constants_are_not_compiled(compilations):
    zeros = small_jit(lambda: jax.numpy.zeros(3))
    assert [np.asarray(zeros()).tolist() for _ in range(3)] == [[0, 0, 0]] * 3
    assert compilations == []


def test_jax_is_not_asked_for_programs_of_new_shapes():
    device = mx.cpu().device
    first, second, third = (jax.device_put(np.ones(n, np.float32), device) for n in (2, 3, 4))
    function = small_jit(jax.lax.neg)
    # Nothing tells that calls are interpreted until one was.
    assert _python_calls_of_jax(lambda: function(first)) == 1
    assert _python_calls_of_jax(lambda: function(second)) == 0
    compiled = small_jit(jax.lax.neg)
    with mx.program.options(interpret=False):
        compiled(second)
    compiled(first)
    # Compiled programs are found; whether this is one, only JAX knows.
    assert _python_calls_of_jax(lambda: compiled(second)) == 0
    assert _python_calls_of_jax(lambda: compiled(third)) == 1


_SMALL = {
    "two arrays": lambda x, y: x + y,
    "numbers": lambda x, y: 2 - x * 3,
    "a product": lambda x, y: mx.nd.dot(x, y, transpose_b=True),
    "a layer": lambda x, y: mx.nd.FullyConnected(x, y, num_hidden=12, no_bias=True),
    "a sum": lambda x, y: mx.nd.sum(x, axis=1),
    "a function": lambda x, y: mx.nd.relu(x - y),
    "into an array": lambda x, y: mx.nd.broadcast_mul(x, y, out=mx.nd.zeros((12, 12))),
    "into the first": lambda x, y: mx.nd.elemwise_add(x.copy(), y, out=x.copy()),
}


@pytest.mark.parametrize("name", _SMALL)
def test_small_calls_of_operators_stay_on_the_host(name, compilations):
    function = _SMALL[name]
    x, y = (mx.nd.array(np.random.default_rng(k).normal(size=(12, 12))) for k in range(2))
    first = function(x, y)
    results = [function(x, y) for _ in range(TAKES_OVER + 1)]
    assert compilations == []
    assert all(r.storage.current is None for r in results)
    assert all((r.asnumpy() == first.asnumpy()).all() for r in results)
    with mx.program.options(interpret=False):
        compiled = function(x, y)
    assert compilations != []
    assert compiled.storage.current is not None
    np.testing.assert_allclose(compiled.asnumpy(), first.asnumpy(), rtol=1e-5, atol=1e-6)
    assert results[0].storage.current is None
    assert results[0].jax.tolist() == first.asnumpy().tolist()


def test_larger_calls_of_operators_are_compiled(compilations):
    x = mx.nd.ones((2000, 100))
    for _ in range(TAKES_OVER + 1):
        y = x + x
    assert y.storage.current is not None
    assert compilations.count("broadcast_add") == 1


def test_small_calls_are_seen_by_the_debugger_of_numbers():
    x = mx.nd.array([-1, 4])
    assert np.isnan(mx.nd.sqrt(x).asnumpy()[0])
    assert np.isnan(mx.nd.sqrt(x).asnumpy()[0])
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        mx.nd.sqrt(x)


def test_arrays_on_the_host_are_written_viewed_and_moved():
    x = mx.nd.ones((2, 3))
    for _ in range(3):
        y = x + 1
    y[0] = 7
    assert y.asnumpy().tolist() == [[7] * 3, [2] * 3]
    z = x + y
    flat = z.reshape((6,))
    z += 1
    flat[5] = 0
    assert flat[2:].asnumpy().tolist() == [9, 4, 4, 0]
    moved = mx.nd.elemwise_add(x, x).as_in_context(mx.cpu(1))
    assert moved.jax.devices() == {mx.cpu(1).device}
    total = moved + moved
    total = moved + moved
    assert total.context == mx.cpu(1)
    assert total.jax.devices() == {mx.cpu(1).device}
    out = mx.nd.zeros((4, 3))
    for _ in range(2):
        mx.nd.elemwise_add(x, x, out=out[1:3])
        with pytest.raises(mx.base.MXNetError, match="expected"):
            mx.nd.elemwise_add(x, x, out=out)
    assert out.asnumpy()[:, 0].tolist() == [0, 2, 2, 0]


def test_a_program_takes_over_at_a_fixed_call(compilations):
    executor = _executor(4)
    data = np.random.randn(4, 5)
    outputs = [executor.forward(data=data)[0].asnumpy() for _ in range(TAKES_OVER - 1)]
    assert all((outputs[0] == x).all() for x in outputs)
    last = executor.forward(data=data)[0].asnumpy()
    function: Any = executor.program.infer[False]
    assert function.traces == 1
    assert compilations.count("infer") <= 1
    np.testing.assert_allclose(last, outputs[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("estimate", "begins", "takes_over"), [(0.5, 2, 2), (0.125, 7, 7), (0.0625, 14, 21)]
)
def test_longer_calls_are_interpreted_less_often(
    estimate, begins, takes_over, monkeypatch, compilations
):
    """Together they take 2.5 times as long as compiling, which begins at two thirds of them, and
    which calls of more than 0.1 s wait for."""
    monkeypatch.setattr(InterpretedFunction, "estimate", estimate)
    monkeypatch.setattr(_first_calls, "_COMPILE_SECONDS", 0.48 / 2)
    monkeypatch.setattr(_first_calls, "_COMPILE_SECONDS_EACH", 0.02 / 4)
    function = CompiledFunction(lambda x: jax.numpy.tanh(x @ x.T) / 3, "longer")
    x = jax.device_put(np.linspace(-1, 1, 60, dtype=np.float32).reshape(6, 10))
    results = []
    for number in range(1, takes_over + 1):
        results.append(np.asarray(function(x)).tobytes())
        join_workers()
        assert compilations.count("longer") == (number >= begins)
    assert len(set(results[:-1])) == 1


def test_a_program_that_took_over_is_called_from_c():
    function = CompiledFunction(lambda x: x * 2 + 1, "doubled")
    x = jax.device_put(np.ones(3, np.float32), mx.cpu().device)
    for _ in range(TAKES_OVER + 1):
        function(x)
    assert _python_calls_of_jax(lambda: function(x)) == 0
    small = small_jit(lambda x: x * 2 + 1)
    for _ in range(TAKES_OVER + 1):
        small(x)
    assert _python_calls_of_jax(lambda: small(x)) == 0
    assert small.executables == 1


@pytest.mark.parametrize(("choice", "expected"), [(False, 1), (True, 0)])
def test_the_option_forbids_or_forces(choice, expected, compilations):
    executor = _executor(3, interpret=choice)
    for _ in range(TAKES_OVER + 3):
        executor.forward(data=np.ones((3, 5)))[0].asnumpy()
    assert compilations.count("infer") == expected


def test_the_environment_forbids_or_forces(monkeypatch, compilations):
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", "0")
    (mx.nd.ones((4, 9)) + 1).wait_to_read()
    assert len(compilations) == 1
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", "1")
    for _ in range(TAKES_OVER + 3):
        (mx.nd.ones((4, 11)) + 1).wait_to_read()
    assert len(compilations) == 1
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", "perhaps")
    with pytest.raises(ValueError, match=r"EXECUTORKIT_INTERPRET: 'perhaps', expected"):
        _ = mx.nd.ones((4, 12)) + 1
    with pytest.raises(ValueError, match="interpret"):
        mx.program.options(interpret="never").__enter__()


def test_results_are_on_the_device_of_the_arguments():
    for number in (0, 2, 0):
        context = mx.cpu(number)
        x = mx.nd.ones((2, 3), ctx=context)
        assert (x + x).jax.devices() == {context.device}
        assert mx.nd.arange(7, ctx=context).jax.devices() == {context.device}


def test_results_share_no_memory():
    function = small_jit(lambda x: (x, x.reshape(-1), x))
    host = np.arange(6.0).reshape(2, 3)
    results = [np.asarray(x) for x in function(host)]
    host[:] = -1
    assert all(x.sum() == 15 for x in results)


def test_keys_checks_and_errors():
    mx.random.seed(3)
    first = mx.nd.random.uniform(shape=(5,)).asnumpy()
    with mx.program.options(interpret=False):
        mx.random.seed(3)
        np.testing.assert_array_equal(mx.nd.random.uniform(shape=(5,)).asnumpy(), first)
    with pytest.raises(mx.MXNetError):
        mx.nd.take(mx.nd.ones((2, 2)), mx.nd.array([5]), mode="raise").asnumpy()
    with pytest.raises(mx.MXNetError) as error:
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    assert error.value.__context__ is None or "NotCompiled" not in repr(error.value.__context__)


def test_large_work_is_compiled_at_once(compilations):
    x = mx.nd.ones((1500, 1500))
    mx.nd.dot(x, x).wait_to_read()
    assert len(compilations) == 1


def test_a_function_of_many_shapes_begins_anew(monkeypatch):
    monkeypatch.setattr("executorkit.program._first_calls.MAX_LISTED_SHAPES", 3)
    small = small_jit(lambda x: x + len(range(x.shape[0])))
    references = set()
    for n in range(1, 8):
        small(np.ones(n))
        references.add(id(small._first_calls))
        assert len(small._first_calls.counted) <= 3
    assert len(references) > 1
    assert small(np.ones(1)).tolist() == [2]


def test_a_function_of_any_sizes_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr("executorkit.program._first_calls.MAX_LISTED_SHAPES", 4)
    small = small_jit(lambda x: x + 1)
    first_calls = small._first_calls
    for n in range(2, 12):
        assert small(np.ones(n)).tolist() == [2] * n
        assert len(small._first_calls.counted) <= 4
    assert small._first_calls is first_calls
    assert small.traces == 2


def test_an_operator_that_changes_nothing_serves_any_sizes():
    for n in (2, 5, 7, 16, 12):
        assert mx.nd.reshape(mx.nd.arange(n), shape=-1).asnumpy().tolist() == list(range(n))


def test_a_run_repeats_to_the_last_bit():
    """The count of calls decides, not the clock."""

    def run() -> bytes:
        clear_cache()
        function = CompiledFunction(lambda x: jax.numpy.tanh(x @ x.T) / 3, "run")
        x = jax.device_put(np.linspace(-1, 1, 60, dtype=np.float32).reshape(6, 10))
        return b"".join(np.asarray(function(x)).tobytes() for _ in range(TAKES_OVER + 4))

    assert run() == run()


@pytest.mark.first
def test_a_profile_has_the_nodes_of_first_calls(tmp_path):
    executor = _executor(5)
    filename = str(tmp_path / "profile.json")
    mx.profiler.set_config(filename=filename, profile_all=True, aggregate_stats=True)
    executor.forward(data=np.ones((5, 5)))[0].wait_to_read()
    mx.profiler.set_state("run")
    try:
        executor.forward(data=np.ones((5, 5)))[0].wait_to_read()
    finally:
        mx.profiler.set_state("stop")
    assert "fc" in mx.profiler.dumps(reset=True)
    assert not mx.profiler.is_recording()
