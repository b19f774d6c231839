"""Compiled code is bounded by number and bytes; what is dropped is freed at once."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections import Counter
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.program import (
    CodeCache,
    CompiledFunction,
    cache_info,
    cached_code,
    set_cache_limit,
    small_jit,
)

pytestmark = pytest.mark.usefixtures("compiled", "fresh_programs")


def _executables(name):
    """The number of executables of that name that XLA holds."""
    client = mx.cpu().device.client
    return Counter(e.hlo_modules()[0].name for e in client.live_executables())[f"jit_{name}"]


def _executor(number, rows=1):
    symbol = mx.sym.var("data") * number
    return symbol.simple_bind(mx.cpu(), grad_req="null", data=(rows, 2))


def _used(number):
    """The program of a graph whose executor has run and is gone."""
    executor = _executor(number)
    executor.forward()[0].wait_to_read()
    return weakref.ref(executor.program), weakref.ref(executor)


def test_programs_beyond_the_limit_are_freed():
    before = _executables("infer")
    set_cache_limit(2)
    for number in range(2, 7):
        _used(number)
        gc.collect()
    assert cache_info().programs == 2
    assert _executables("infer") - before <= 3


def test_a_program_in_use_stays_and_is_shared_when_the_cache_drops_it():
    set_cache_limit(1)
    executors = [_executor(number) for number in (2, 3, 4)]
    for executor in executors:
        executor.forward()[0].wait_to_read()
    assert cache_info().programs == 1
    traces = cache_info().traces
    again = [_executor(number) for number in (2, 3, 4)]
    for executor, other in zip(executors, again, strict=True):
        assert executor.program is other.program
        executor.forward()[0].wait_to_read()
        other.forward()[0].wait_to_read()
    assert cache_info().traces == traces


def test_bytes_are_those_of_the_executables_and_are_bounded():
    references = [_used(number)[0] for number in range(2, 8)]
    info = cache_info()
    assert info.bytes == sum(reference().code_bytes for reference in references)
    assert 6 * 1_500_000 < info.bytes < 6 * 1_700_000
    gc.collect()
    before = _executables("infer")
    set_cache_limit(bytes=2 * 5_000_000)
    assert cache_info().limit_bytes == 5_000_000
    assert cache_info().bytes <= 5_000_000
    assert cache_info().programs == 3
    assert before - _executables("infer") == 3


def test_what_was_used_longest_ago_goes_first():
    references = [_used(number)[0] for number in (2, 3, 4)]
    assert _executor(2).program is references[0]()
    gc.collect()
    set_cache_limit(2)
    gc.collect()
    assert [reference() is None for reference in references] == [False, True, False]


def test_a_dropped_program_works_again():
    executor = _executor(2)
    program = executor.program
    program.clear()
    assert program.code_bytes == 0
    executor.arg_dict["data"][:] = 3
    assert executor.forward()[0].asnumpy().tolist() == [[6, 6]]
    assert program.code_bytes > 0


def test_reshapes_to_many_shapes_keep_few_executables():
    before = _executables("infer")
    set_cache_limit(bytes=40_000_000)
    executor = _executor(2, 40)
    for rows in range(1, 31):
        executor.reshape(data=(rows, 2)).forward()[0].wait_to_read()
        assert executor.program.code_bytes <= 12_000_000
    assert _executables("infer") - before <= 7
    assert executor.program.traces == 30


def test_eager_calls_of_many_shapes_keep_few_executables():
    mx.nd.eager_cache_info()
    set_cache_limit(bytes=40_000_000)
    for n in range(1, 16):
        mx.nd.arctanh(mx.nd.zeros(n))
        mx.nd.arcsinh(mx.nd.zeros(n))
    info = cache_info().kinds["eager"]
    assert info.bytes <= info.limit_bytes == 7_200_000
    assert _executables("arctanh") + _executables("arcsinh") <= 4
    assert mx.nd.arctanh(mx.nd.zeros(3)).asnumpy().tolist() == [0, 0, 0]


def test_a_function_of_arrays_forgets_its_shapes():
    @small_jit(static_argnums=1)
    def repeated(value, times):
        return jax.numpy.tile(value, times)

    set_cache_limit(bytes=40_000_000)
    for times in range(1, 12):
        assert repeated(np.ones(1), times).shape == (times,)
    info = cache_info().kinds["arrays"]
    assert info.bytes <= info.limit_bytes == 4_800_000
    assert _executables("repeated") <= 3


def test_an_evicted_function_and_its_executables_are_garbage_without_a_collection():
    cache = CodeCache("test", 2, 0.01)
    gc.disable()
    try:
        references = []
        for n in range(5):
            jitted = CompiledFunction(lambda x, n=n: x + n, "evicted")
            assert cache.get_or_make(n, lambda jitted=jitted: jitted) is jitted
            jitted(np.ones(2))
            references.append(weakref.ref(jitted.function))
            del jitted
        assert _executables("evicted") == 2
        assert [len(cache.values()), cache.info().misses] == [2, 5]
        cache.clear()
        assert _executables("evicted") == 0
    finally:
        gc.enable()
    gc.collect()
    assert [reference() for reference in references] == [None] * 5


def test_code_that_a_decorated_function_makes_is_cached():
    @cached_code("decorated", 2, 0.01)
    def doubled(number):
        return small_jit(lambda x: x * number)

    assert doubled(2) is doubled(2)
    assert doubled(3).function(2) == 6
    assert doubled(4) is not doubled(3)
    info = doubled.cache_info()
    assert (info.hits, info.misses, info.size) == (2, 3, 2)
    doubled.cache_clear()
    assert doubled.cache_info().size == 0


def _unchanged(weights, grads, state, hyperparams, key_data):
    return weights, state


def test_the_training_steps_of_a_program_are_bounded():
    executor = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1).simple_bind(
        mx.cpu(), data=(1, 1)
    )
    program = executor.program
    for n in range(40):
        update = mx.program.UpdateSpec((0,), _unchanged, n)
        program.step_function(True, mx.program.StepSpec((update,), False))
    assert len(program.train_steps(True)) == 32


def test_the_limit_of_bytes_is_read_from_the_environment():
    code = """
import os
import executorkit as mx
for text in ("many", "0", "3000000"):
    os.environ["EXECUTORKIT_CACHE_BYTES"] = text
    try:
        print(mx.program.cache_info().limit_bytes)
    except ValueError as error:
        print(error)
mx.program.set_cache_limit(bytes=1000)
print(mx.program.cache_info().limit_bytes)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wrong = "EXECUTORKIT_CACHE_BYTES: {!r}, expected a number of bytes above 0"
    assert run.stdout.splitlines() == [wrong.format("many"), wrong.format("0"), "1500000", "500"]


def test_limits_below_one_are_refused():
    with pytest.raises(mx.errors.ArgumentValueError, match="bytes: 0, expected at least 1"):
        set_cache_limit(bytes=0)


def test_unread_work_is_bounded():
    """XLA starts at most 32 programs ahead of the last that has ended."""
    x = mx.nd.ones((300, 300))
    results = [mx.nd.dot(x, x) for _ in range(100)]
    arrays: list[Any] = [result.jax for result in results]
    waiting = sum(not array.is_ready() for array in arrays)
    assert waiting <= 40
    mx.nd.waitall()
