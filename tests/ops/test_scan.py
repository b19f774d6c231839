"""``scan_with_vjp`` gives what ``lax.scan`` gives, with less stored and computed per iteration."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from executorkit.ops.recurrence import ScanBody, ScanProduct, scan_with_vjp
from executorkit.ops.recurrence.scan_vjp import deduplicated_scan

ROWS, SIZE = 4, 3


def _multiply(constants: Any, x: Any) -> Any:
    weight = constants[~0].T if ~0 in constants else constants[0]
    return x @ weight.T + constants[1]


def _call(constants: Any, carry: Any, xs: Any, product: Any) -> Any:
    """A cell that counts its iterations, and reads its bias and a scale outside of products too."""
    h, count = carry
    x, chosen = xs
    h = jnp.tanh(product(0, h) + x) * constants[2] + constants[1] * chosen
    return (h, count + 1), [h, count, jnp.where(h > 0, h, 0)]


BODY = ScanBody(_call, [ScanProduct(_multiply, (0, 1))], [1, 2])


def _arrays(length: int) -> Any:
    rng = np.random.default_rng(0)
    constants = {0: rng.normal(size=(SIZE, SIZE)), 1: rng.normal(size=SIZE), 2: np.array(0.7)}
    init = rng.normal(size=(ROWS, SIZE)), np.int32(0)
    xs = rng.normal(size=(length, ROWS, SIZE)), np.arange(length, dtype=np.int32) % 2
    return jax.tree.map(lambda x: jnp.asarray(x, "i4" if x.dtype == "i4" else "f4"),
                        (constants, init, xs))  # fmt: skip


def _losses(length: int, reverse: bool) -> list[Any]:
    def ours(constants: Any, init: Any, xs: Any) -> Any:
        return scan_with_vjp(BODY, constants, init, xs, length, reverse, weights=[0])

    def plain(constants: Any, init: Any, xs: Any) -> Any:
        def iteration(carry: Any, x: Any) -> Any:
            return BODY.plain(constants, carry, x)

        return lax.scan(iteration, init, xs, reverse=reverse)

    def loss_of(run: Any) -> Any:
        def loss(floating: Any, integers: Any) -> Any:
            (constants, h, x), (count, chosen) = floating, integers
            (end, _), (states, counts, positive) = run(constants, (h, count), (x, chosen))
            weights = jnp.arange(1, length + 1)[:, None, None]
            return (end**2).sum() + (states * weights).sum() + (positive * counts[0]).sum()

        return loss

    return [loss_of(ours), loss_of(plain)]


@pytest.mark.parametrize(("length", "reverse"), [(1, False), (5, True), (16, False), (21, True)])
def test_values_and_gradients_are_those_of_lax_scan(length, reverse):
    constants, (h, count), (x, chosen) = _arrays(length)
    results = [
        jax.jit(jax.value_and_grad(loss))((constants, h, x), (count, chosen))
        for loss in _losses(length, reverse)
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 2e-4, 1e-5), *results)


def test_gradients_have_gradients():
    constants, (h, count), (x, chosen) = _arrays(4)

    def steepness(loss: Any) -> Any:
        def steep(x: Any) -> Any:
            slope = jax.grad(loss)((constants, h, x), (count, chosen))
            return sum((g**2).sum() for g in jax.tree.leaves(slope))

        return jax.jit(jax.grad(steep))(x)

    ours, expected = map(steepness, _losses(4, False))
    np.testing.assert_allclose(ours, expected, 1e-3, 1e-4)


def test_constants_are_neither_stacked_nor_their_gradients_summed_per_iteration():
    constants, (h, count), (x, chosen) = _arrays(9)
    loss, _ = _losses(9, False)
    jaxpr = jax.make_jaxpr(jax.grad(loss))((constants, h, x), (count, chosen))
    forward, backward = (e for e in jaxpr.jaxpr.eqns if e.primitive.name == "scan")
    stacks = [v.aval.shape for v in forward.outvars if v.aval.ndim > 2]
    assert stacks.count((9, ROWS, SIZE)) <= 5  # ys: 2; residuals: h, tanh and h > 0
    assert (9, SIZE, SIZE) not in stacks
    carry = [v.aval.shape for v in backward.outvars[: backward.params["num_carry"]]]
    assert (SIZE, SIZE) not in carry


def test_equal_results_of_an_iteration_are_stacked_once():
    def body(carry: Any, x: Any) -> Any:
        y = jax.jit(jnp.sin)(x)
        return carry + y, [y, x * 2, jax.jit(lambda y: y)(y)]

    last, (one, two, three) = deduplicated_scan(body, jnp.float32(0), jnp.arange(3.0), 3, False)
    assert one is three
    np.testing.assert_allclose(one, np.sin(np.arange(3)), 1e-6)
    np.testing.assert_allclose(two, [0, 2, 4])
    np.testing.assert_allclose(last, np.sin(np.arange(3)).sum(), 1e-6)
