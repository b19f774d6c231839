"""Element-wise equations in blocks: the results are those of whole arrays, to the last bit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from executorkit.jaxpr_interpreter import (
    GeneralPlan,
    Plan,
    _elementwise_runs,
    _helper_threads,
    _planner,
    flattened,
    plan,
)
from executorkit.jaxprs import SymbolicSizes

RNG = np.random.default_rng(0)


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Plan]:
    """Plans whose large arrays are divided into many blocks, by two threads."""
    for module, name, value in (
        (_planner, "LEAST_DIVIDED", 2),
        (_elementwise_runs, "_BLOCK", 40),
        (_elementwise_runs, "THREADS", 2),
        (_helper_threads, "THREADS", 2),
        (_helper_threads, "MIN_MULTIPLICATIONS", 0),
        (_planner, "REUSE_BYTES", 0),
    ):
        monkeypatch.setattr(module, name, value)
    return planned


def planned(function: Any, *args: Any) -> Plan:
    """The plan of a function for such arguments."""
    with jax.enable_x64(True):
        return plan(jax.make_jaxpr(function)(*args))


def in_blocks(steps: Plan) -> int:
    """The number of steps that are computed in blocks."""
    return sum(getattr(s.kernel, "func", None) is not None for s in steps.steps)


def statistics(x: Any, mean: Any, scale: Any) -> Any:
    """A normalisation with statistics along the last axis, and its choice of elements."""
    y = (x - mean) * lax.rsqrt(scale + 1) + mean.reshape(1, 1, 1, -1)
    return jnp.where(y > 0, y, jax.nn.sigmoid(y) * x), y > 0, (y * 2).astype("int32")


def views(x: Any, _: object, __: object) -> Any:
    """Results in the place of operands that are read through several views."""
    y = x * 2
    z = jnp.tanh(y) + y.transpose(1, 0, 2, 3)[::-1].transpose(1, 0, 2, 3) * 3
    turned = y.transpose(0, 3, 1, 2)
    return z - y, jnp.exp(turned) + 1, jnp.clip(turned * 2, 0, 1)


def between(x: Any, mean: Any, _: object) -> Any:
    """Equations of two shapes by turns, and reductions in between."""
    a, b = x + 1, mean * 3
    c, d = a * x, b - mean
    total = (c * a).sum(0)
    return jnp.sqrt(abs(c)) + d, d * 2, total + a, lax.dynamic_update_slice(c, x[:1], (1, 0, 0, 0))


@pytest.mark.parametrize("function", [statistics, views, between])
@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 3, 1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_blocks_give_the_results_of_whole_arrays(divided, function, layout, dtype):
    x = RNG.standard_normal((3, 6, 7, 6)).astype(dtype)
    rows = [abs(RNG.standard_normal(6)).astype(dtype) for _ in range(2)]

    def of_layout(x: Any, *rows: Any) -> Any:
        return function(x.transpose(layout)[..., :6], *rows)

    if layout != (0, 1, 2, 3):
        x = x[:, :6, :6]
    blocks = divided(of_layout, x, *rows)
    assert in_blocks(blocks) >= 2
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_planner, "LEAST_DIVIDED", 1 << 40)
        whole = planned(of_layout, x, *rows)
    assert in_blocks(whole) == 0
    before = x.copy()
    for ours, theirs in zip(blocks.run([x, *rows]), whole.run([x, *rows]), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        # Sums are rounded by the order of memory.
        rtol = 0 if function is not between else 1e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(ours, theirs, rtol, rtol)
        assert ours.flags.c_contiguous
        assert not np.shares_memory(ours, x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("shape", [(0, 5), (1,), (2,), (1, 1, 3, 50), (70, 1), (41,), (5, 1, 90)])
def test_blocks_of_any_shape(divided, shape):
    x = RNG.standard_normal(shape).astype("float32")
    row = RNG.standard_normal(shape[-1:]).astype("float32")
    (y,) = divided(lambda x, row: jnp.maximum(x * row, x[:1]) - 2, x, row).run([x, row])
    np.testing.assert_array_equal(y, np.maximum(x * row, x[:1]) - 2)


def test_sizes_in_symbols_are_divided_as_numbers_are(divided):
    def function(x: Any, row: Any) -> Any:
        y = jnp.tanh(x * row) + x
        return y * jnp.sum(y, 0), jnp.where(y > 0, y, 1.0)

    sizes = SymbolicSizes.of((0, None, None), (4, 30, 30))
    row = RNG.standard_normal(30).astype("float32")
    symbolic = jax.ShapeDtypeStruct(sizes.sizes[:2], np.float32)
    general = GeneralPlan(flattened(jax.make_jaxpr(function)(symbolic, row)), sizes)
    for n in (2, 3, 17):
        x = RNG.standard_normal((n, 30)).astype("float32")
        fixed = divided(function, x, row)
        assert in_blocks(general.at((n,))) == in_blocks(fixed) > 0
        for a, b in zip(general.at((n,)).run([x, row]), fixed.run([x, row]), strict=True):
            assert a.tobytes() == b.tobytes()


def test_an_error_in_a_block_is_raised_and_the_next_run_is_as_any(divided, monkeypatch):
    x = RNG.standard_normal((30, 30)).astype("float32")
    steps = divided(lambda x: jax.nn.sigmoid(x) * x, x)
    (before,) = steps.run([x])
    with monkeypatch.context() as patched:
        patched.setattr(np, "exp", lambda x: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            steps.run([x])
    np.testing.assert_array_equal(steps.run([x])[0], before)


def test_threads_run_the_blocks_of_one_plan_at_once(divided):
    x = RNG.standard_normal((60, 60)).astype("float32")
    steps = divided(lambda x: jnp.tanh(x * 2) + (x - 1).T, x)
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: results.append(steps.run([x])[0].tobytes()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert len(set(results)) == 1


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(divided, seed):
    rng = np.random.default_rng(seed)
    choices = rng.integers(0, 1 << 30, 40)

    def program(x: Any, y: Any) -> Any:
        values = [x, y, x + y.T]
        for choice in choices:
            a, b = values[choice % len(values)], values[choice // 64 % len(values)]
            new = [
                lambda a, b: a + b, lambda a, b: a * b, lambda a, b: jnp.tanh(a) - b,
                lambda a, b: jnp.where(a > b, a, 0.5), lambda a, b: a.T.reshape(a.shape) * b,
                lambda a, b: a - jnp.sum(b, 0), lambda a, b: jnp.maximum(a, 0) * b[:1],
                lambda a, b: a + jnp.roll(b, 1, 1), lambda a, b: (a @ b) / 9,
            ][choice // 4096 % 9]  # fmt: skip
            values.append(new(a, b))
        return values[-6:]

    x, y = rng.standard_normal((2, 17, 17)).astype("float32")
    blocks = divided(program, x, y)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_planner, "LEAST_DIVIDED", 1 << 40)
        patched.setattr(_planner, "REUSE_BYTES", 1 << 40)
        whole = planned(program, x, y)
    assert in_blocks(blocks)
    for ours, theirs in zip(blocks.run([x, y]), whole.run([x, y]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * abs(theirs).max())
