"""Plans: what they cover, inline, drop and share; estimates; threads."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import pjit
from jax._src.interpreters import ad
from jax.experimental import io_callback

from executorkit.jaxpr_interpreter import FlatJaxpr, GeneralPlan, Plan, flattened, plan
from executorkit.jaxpr_interpreter._loops_and_branches import Scan
from executorkit.jaxprs import SymbolicSizes

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def planned(function: Any, *args: Any) -> Plan:
    """The plan of a function for such arguments."""
    with jax.enable_x64(True):
        return plan(jax.make_jaxpr(function)(*args))


def test_all_that_is_missing_is_named_at_once():
    def function(x: Any) -> Any:
        y = jnp.linalg.eigvals(x @ x.T).real
        return lax.scan(lambda c, row: (c + lax.approx_max_k(row, 2)[0][0], None), y[0], x)[0]

    assert planned(function, X).uncovered == ("approx_top_k", "eig")


def test_effects_are_not_covered():
    def function(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x + 1

    assert planned(function, X).uncovered == ("debug_print",)


def test_functions_are_called_back_in_order_as_xla_calls_them():
    seen: list[Any] = []

    def note(x: Any) -> np.ndarray:
        seen.append((float(x), jnp.ones(1, float).dtype.name, np.geterr()["over"]))
        return np.asarray(x)

    def function(x: Any) -> Any:
        scalar = jax.ShapeDtypeStruct((), np.float32)
        return lax.fori_loop(0, 3, lambda i, y: io_callback(note, scalar, y) + 1, x[0, 1])

    (result,) = planned(function, X).run([X])
    assert (result, seen) == (4, [(n, "float32", "warn") for n in (1.0, 2.0, 3.0)])


def test_dead_equations_are_neither_planned_nor_missed():
    def function(x: Any) -> Any:
        jax.pure_callback(np.sin, x, x)
        jnp.exp(x)
        return x * 2

    kept = planned(function, X)
    assert (kept.uncovered, kept.equations) == ((), 1)


@pytest.mark.parametrize("length", [3, 7])
def test_equations_of_branches_and_of_the_bodies_of_loops_are_counted_once(length):
    def body(carry: Any, row: Any) -> Any:
        carry = jnp.sin(carry) + row
        return lax.cond(carry[0] > 0, jnp.exp, lambda y: jnp.cos(y) * 2, carry), None

    rows = np.ones((length, 4), np.float32)
    steps = planned(lambda x: lax.scan(body, jnp.ones(4), x)[0], rows)
    (loop,) = [step.kernel.plans[0] for step in steps.steps if isinstance(step.kernel, Scan)]
    assert steps.equations == 1
    assert steps.all_equations == 1 + loop.equations + 3


@pytest.mark.parametrize(
    ("function", "equations"),
    [
        (lambda x: jnp.maximum(x, 0), 1),
        (lambda x: x * lax.slice(x, (1, 0), (2, 4)), 2),
        (lambda x: x * lax.slice(x, (0, 1), (3, 2)), 2),
        (lambda x: jnp.sum(x, 1, keepdims=True).reshape(-1).reshape(3), 1),
        (lambda x: x + lax.full((2, 3, 4), 2, x.dtype)[:1].reshape(3, 4), 1),
        # One of both has to have the shape of the result.
        (lambda x: lax.broadcast(jnp.max(x, 0), (5,)) * lax.broadcast(jnp.min(x, 0), (5,)), 5),
        # NumPy broadcasts along leading axes by itself, not along the last one.
        (lambda x: x + lax.broadcast_in_dim(jnp.max(x, 1), (3, 4), (0,)), 3),
        (lambda x: lax.broadcast(x, (2,)), 1),
        # A product of matrices does not broadcast the axes that it sums.
        (lambda x: lax.broadcast(jnp.sum(x), (3, 3)) @ x, 3),
    ],
)
def test_what_numpy_does_by_itself_is_not_planned(function, equations):
    steps = planned(function, X)
    (y,) = steps.run([X])
    np.testing.assert_array_equal(y, np.asarray(function(jnp.asarray(X))))
    assert y.shape == function(jnp.asarray(X)).shape
    assert steps.equations == equations


def test_called_jaxprs_are_inlined():
    @jax.custom_vjp
    def own(x: Any) -> Any:
        return jnp.sin(x)

    own.defvjp(lambda x: (x, None), lambda _, g: (g,))
    inner = jax.jit(lambda x: jax.nn.relu(jax.checkpoint(jnp.cos)(own(x))))
    steps = planned(lambda x: inner(inner(x)), X)
    assert steps.equations == 6
    (y,) = steps.run([X])
    np.testing.assert_allclose(y, inner(inner(X)), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x.reshape(4, 3),
        lambda x: x[1:],
        lambda x: jnp.broadcast_to(x, (2, 3, 4)),
        lambda x: lax.stop_gradient(lax.optimization_barrier(x)),
        lambda x: lax.cond(x[0, 0] > -1, lambda x: x, lambda x: x + 1, x),
        lambda x: lax.scan(lambda c, _: (c, None), x, None, length=2)[0],
        lambda x: jax.lax.select(jnp.ones(x.shape, bool), x, x),
        lambda x: lax.convert_element_type(x, np.float32),
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1), (2, 1), "VALID"),
        lambda x: lax.integer_pow(x, 1),
        lambda x: lax.reduce_precision(x, 8, 23),
        lambda x: lax.concatenate([x], 0),
        lambda x: lax.pad(x, np.float32(0), ((0, 0, 0), (0, 0, 0))),
        lambda x: lax.gather(
            x,
            np.zeros(1, np.int32),
            lax.GatherDimensionNumbers((0, 1), (), (0,)),
            (3, 4),
            mode="promise_in_bounds",
        ),
        lambda x: lax.reduce_sum(x, ()),
    ],
)
def test_results_share_memory_with_no_argument(function):
    x = np.array(X)
    (y,) = planned(function, x).run([x])
    assert not np.shares_memory(x, y)
    assert y.flags.c_contiguous
    assert y.flags.writeable
    np.testing.assert_array_equal(y, function(X))


def test_results_share_memory_neither_with_constants_nor_with_each_other():
    constant = np.ones(5, np.float32)

    def function(x: Any) -> Any:
        y = x + 1
        return y, y, y.reshape(4, 3), jnp.asarray(constant), jnp.asarray(constant)

    again = planned(function, X)
    results = again.run([X])
    for x in results:
        x[...] = -1
    np.testing.assert_array_equal(again.run([X])[0], X + 1)
    np.testing.assert_array_equal(again.run([X])[3], constant)
    for i, x in enumerate(results):
        assert not any(np.shares_memory(x, y) for y in results[:i])


def test_memory_is_used_again_only_where_nobody_reads_it():
    large = np.random.default_rng(0).normal(size=(200, 100)).astype(np.float32)

    def function(x: Any) -> Any:
        a = x * 2
        b = a.T
        c = jnp.tanh(a) + 1
        d = c * a
        return d - b.T, jnp.maximum(c, 0.5), -x

    x = np.array(large)
    ours = planned(function, x).run([x])
    np.testing.assert_array_equal(x, large)
    for y, z in zip(ours, jax.jit(function)(large), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "reused"),
    [
        (lambda x: jnp.clip((x * 2).reshape(32, 512) + 1, 0, 6), True),
        (lambda x: (x * 2).T[:100] + 1, False),  # a result would hold on to all of it
        (lambda x: (lambda y: y.reshape(512, 32).T + y.reshape(32, 512))(x * 2), False),
        (lambda x: (lambda y: (y.reshape(32, 512) + 1, y))(x * 2), False),
    ],
)
def test_memory_is_used_again_through_views(function, reused):
    x = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    kept = planned(function, x)
    writing = [step for step in kept.steps if "out=" in _source(step.kernel)]
    assert bool(writing) == reused
    before = x.copy()
    results = kept.run([x])
    np.testing.assert_array_equal(x, before)
    for a, b in zip(results, jax.tree.leaves(function(x)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_numbers_are_clamped_and_written_anew():
    """NumPy's functions of arrays without axes give numbers, which nothing can be written into."""

    def function(x: Any) -> Any:
        total = x.sum() * 2
        return jnp.clip(total, 0, 1), lax.dynamic_update_slice(total + 1, x[0, 0] * 3, ())

    for a, b in zip(planned(function, X).run([X]), function(X), strict=True):
        np.testing.assert_array_equal(a, b)


def _source(kernel: Any) -> str:
    return inspect.getsource(kernel) if inspect.isfunction(kernel) else ""


def test_slices_are_written_in_place_only_where_nobody_reads_the_old_array():
    def function(x: Any) -> Any:
        a = x * 2
        b = lax.dynamic_update_slice(a, x[:1], (1, 0))
        c = lax.dynamic_update_slice(b, x[:1] + 1, (0, 0))
        return b.sum(), lax.dynamic_update_slice(c, c[:, :2], (0, 2)), c + b

    for y, z in zip(planned(function, X).run([X]), function(X), strict=True):
        np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "bool"])
def test_choices_of_large_arrays(dtype):
    x, y = np.random.default_rng(0).normal(size=(2, 100, 90)).astype(dtype)
    x.flat[:3] = y.flat[2:5] = 0 if dtype in {"int32", "bool"} else np.nan

    def function(x: Any, y: Any) -> Any:
        chosen = x > y
        return jnp.where(chosen, x, y), jnp.where(chosen, y.T.T, x[0, 0]), jnp.where(chosen, x, 0)

    with jax.enable_x64(True):
        expected = function(x, y)
    for ours, theirs in zip(planned(function, x, y).run([x, y]), expected, strict=True):
        assert ours.tobytes() == np.asarray(theirs).tobytes()


def test_typed_keys_are_passed_as_their_data():
    def function(key: Any) -> Any:
        return jax.random.split(key, 2), jax.random.bits(key, (3,), "uint32")

    key = jax.random.key(7)
    keys, bits = planned(function, key).run([np.asarray(jax.random.key_data(key))])
    expected = function(key)
    np.testing.assert_array_equal(keys, jax.random.key_data(expected[0]))
    np.testing.assert_array_equal(bits, expected[1])


def test_other_generators_are_not_covered():
    key = jax.random.key(0, impl="rbg")
    (name,) = planned(lambda key: jax.random.key_data(key), key).uncovered
    assert "rbg" in name


def test_estimates_grow_with_the_work():
    small = planned(jnp.dot, np.ones((8, 8), np.float32), np.ones((8, 8), np.float32))
    large = planned(jnp.dot, np.ones((512, 512), np.float32), np.ones((512, 512), np.float32))
    assert 0 < small.estimate < 1e-5 < large.estimate < 1
    once = planned(lambda x: x @ x, X[:3, :3])
    loop = planned(lambda x: lax.fori_loop(0, 100, lambda _, x: x @ x, x), X[:3, :3])
    assert loop.estimate >= 100 * once.estimate


def test_products_with_the_zeros_of_a_dilated_input_take_no_time():
    def convolved(dilation: int) -> Plan:
        x, w = np.ones((1, 16, 80, 80), np.float32), np.ones((16, 16, 3, 3), np.float32)
        size = 80 // dilation
        return planned(
            lambda x: lax.conv_general_dilated(
                x, jnp.asarray(w), (1, 1), [(0, 0)] * 2, lhs_dilation=(dilation, dilation)
            ),
            x[:, :, :size, :size],
        )

    assert convolved(2).estimate < convolved(1).estimate / 2


@pytest.mark.parametrize("update", [False, True])
def test_rows_of_a_large_table_take_the_time_of_the_rows(update):
    def function(table: Any, rows: Any) -> Any:
        return table.at[rows].add(1.0) if update else table[rows]

    rows = np.arange(20)
    small, large = (planned(function, np.ones((n, 64), np.float32), rows) for n in (100, 10000))
    assert large.estimate < 100 * small.estimate / (4 if update else 90)


def test_equal_views_and_exact_conversions_are_planned_once():
    def function(x: Any) -> Any:
        return x.T.reshape(-1) + lax.reduce_precision(x, 8, 23).T.reshape(-1) * 2

    steps = planned(function, X)
    assert steps.equations == 4
    np.testing.assert_array_equal(steps.run([X])[0], X.T.reshape(-1) * 3)


def test_a_choice_between_other_platforms_is_not_covered():
    def function(x: Any) -> Any:
        return lax.platform_dependent(x, cuda=jnp.sin, tpu=jnp.cos)

    assert planned(function, X).uncovered == ("platform_index",)


@pytest.mark.parametrize(
    ("function", "any_shape"),
    [
        (lambda x, y: (x + y) * 2, True),
        (lambda x, y: jax.nn.relu(x) - jnp.tanh(y), True),
        (lambda x, y: x.astype("int32"), True),
        (lambda x, y: x + np.arange(3, dtype="float32"), False),
        (lambda x, y: x.sum(0), False),
        (lambda x, y: x.T, False),
        (lambda x, y: x[:1] + y, False),
        (lambda x, y: jnp.where(x > 0, x, y), False),
        (lambda x, y: lax.cond(x[0, 0] > 0, lambda: x, lambda: y), False),
    ],
)
def test_a_plan_of_elementwise_steps_is_one_for_any_shape(function, any_shape):
    first = [np.ones((2, 3), np.float32)] * 2
    made = plan(jax.make_jaxpr(function)(*first))
    assert made.any_shape == any_shape
    if not any_shape:
        return
    rng = np.random.default_rng(0)
    others = [rng.standard_normal((5, 70)).astype("float32") for _ in range(2)]
    resized = made.for_shapes([(5, 70)])
    assert resized.any_shape
    (result,) = resized.run(others)
    expected = function(*map(jnp.asarray, others))
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(result, expected, 1e-6)
    (again,) = made.run(first)
    assert again.shape == (2, 3)
    assert made.estimate < resized.estimate < made.for_shapes([(500, 700)]).estimate
    assert made.for_shapes([(1, 1)]).estimate == pytest.approx(made.estimate)


def test_runs_repeat_bit_for_bit_in_threads():
    x = np.random.default_rng(0).normal(size=(64, 300)).astype(np.float32)
    again = planned(lambda x: jnp.tanh(x @ x.T).sum(0), x)
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(again.run([x])[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({y.tobytes() for y in results}) == 1


def test_plans_of_all_orders_of_magnitude_have_the_numbers_of_fixed_ones():
    def function(x: Any, w: Any) -> Any:
        y = jnp.exp(x @ w - lax.reduce_max(x, (1,))[:, None])
        carry, rows = lax.scan(lambda c, row: (c + row, c * row), w[0], y)
        return y.sum(0), (y * 2 + 1).T, y[:, ::2] + carry[::2], rows, x.mean()

    w = np.linspace(-1, 1, 400, dtype=np.float32).reshape(20, 20)
    sizes = SymbolicSizes.of((0, None, None, None), (3, 20, 20, 20))
    shapes = [jax.ShapeDtypeStruct(s, np.float32) for s in (sizes.sizes[:2], (20, 20))]
    with jax.enable_x64(True):
        general = GeneralPlan(flattened(jax.make_jaxpr(function)(*shapes)), sizes)
    for n in (3, 2, 9, 50, 300, 4, 900, 20_000, 301, 50):
        x = np.linspace(-1, 1, n * 20, dtype=np.float32).reshape(n, 20)
        fixed, ours = planned(function, x, w), general.at((n,))
        assert ours.estimate == pytest.approx(fixed.estimate, rel=0.6)
        for a, b in zip(ours.run([x, w]), fixed.run([x, w]), strict=True):
            assert (a.shape, a.tobytes()) == (b.shape, b.tobytes())


@pytest.mark.parametrize("function", [jnp.matmul, lambda x, y: lax.sort(x) + y])
def test_plans_of_small_sizes_know_large_products_and_their_time(function):
    sizes = SymbolicSizes.of((None, 1, 1, None, 1, 1), (2, 3, 3, 2, 3, 3))
    shapes = [jax.ShapeDtypeStruct(sizes.sizes[:3], np.float32)] * 2
    general = GeneralPlan(flattened(jax.make_jaxpr(function)(*shapes)), sizes)
    for n in (3, 22, 5):
        fixed, ours = planned(function, *np.ones((2, 2, n, n), np.float32)), general.at((n,))
        assert ours.large_products == fixed.large_products == (n == 22)
        assert ours.estimate == pytest.approx(fixed.estimate, rel=0.6)


def test_equal_equations_are_computed_once():
    steps = planned(lambda x: jnp.exp(x) * 2 + jnp.exp(x), X)
    assert steps.equations == 3
    np.testing.assert_allclose(steps.run([X])[0], np.exp(X) * 3, 1e-6)


def test_tangents_by_rules_are_those_of_jax(monkeypatch):
    def function(x: Any, y: Any) -> Any:
        z = lax.concatenate([x @ y - x, jnp.log(jnp.exp(-x) + 2) / 3], 0)
        z = lax.pad(z, np.float32(0), [(1, 1, 0), (1, 1, 0)])
        image = lax.conv(z.reshape(1, 1, 10, 6), y.T[None, None] * 2, (1, 1), "SAME")
        sums = image.sum(1).squeeze(0)[1:5, 2:] / (1 + y)
        return sums.sum() * x.astype("float16").sum() * (x[0] / 2).mean()

    def jaxpr() -> str:
        x = np.ones((4, 4), np.float32)
        return str(jax.make_jaxpr(lambda *args: jax.grad(function, (0, 1))(*args))(x, x))

    ours = jaxpr()
    monkeypatch.setattr(ad, "primitive_linearizations", {pjit.jit_p: pjit._pjit_linearize})
    jax.clear_caches()
    assert ours == jaxpr()


def test_a_constant_with_equal_rows_is_stored_as_one_row():
    rows, x = np.broadcast_to(np.arange(3, dtype="f4"), (4096, 3)), np.ones((1, 3), np.float32)
    jaxpr = jax.make_jaxpr(lambda x: lax.concatenate([x, jnp.broadcast_to(rows[0], rows.shape)], 0))
    contents = flattened(jaxpr(x)).to_bytes()
    assert len(contents) < 4096
    (result,) = plan(FlatJaxpr.from_bytes(contents)).run([x])
    np.testing.assert_array_equal(result, [*x, *rows])
