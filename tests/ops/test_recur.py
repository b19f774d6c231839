"""Recurrences are what ``lax.scan`` makes of them, with less in their turns."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from executorkit.ops.recurrence.jaxpr_dedup import deduplicated_scan
from executorkit.ops.recurrence.scan import scan_with_vjp
from executorkit.ops.recurrence.scan_body import ScanBody, ScanProduct

ROWS, SIZE = 4, 3


def _multiply(constants: Any, x: Any) -> Any:
    weight = constants[~0].T if ~0 in constants else constants[0]
    return x @ weight.T + constants[1]


def _call(constants: Any, carry: Any, now: Any, perturb: Any) -> Any:
    """A cell that counts its turns, and reads its bias and a scale beside the product too."""
    h, count = carry
    x, chosen = now
    h = jnp.tanh(perturb(0, h) + x) * constants[2] + constants[1] * chosen
    return (h, count + 1), [h, count, jnp.where(h > 0, h, 0)]


TURN = ScanBody(_call, [ScanProduct(_multiply, (0, 1))], [1, 2])


def _arrays(turns: int) -> Any:
    rng = np.random.default_rng(0)
    constants = {0: rng.normal(size=(SIZE, SIZE)), 1: rng.normal(size=SIZE), 2: np.array(0.7)}
    start = rng.normal(size=(ROWS, SIZE)), np.int32(0)
    now = rng.normal(size=(turns, ROWS, SIZE)), np.arange(turns, dtype=np.int32) % 2
    return jax.tree.map(lambda x: jnp.asarray(x, "i4" if x.dtype == "i4" else "f4"),
                        (constants, start, now))  # fmt: skip


def _losses(turns: int, reverse: bool) -> list[Any]:
    def ours(constants: Any, start: Any, now: Any) -> Any:
        return scan_with_vjp(TURN, constants, start, now, turns, reverse, weights=[0])

    def plain(constants: Any, start: Any, now: Any) -> Any:
        def one(carry: Any, now: Any) -> Any:
            return TURN.plain(constants, carry, now)

        return lax.scan(one, start, now, reverse=reverse)

    def loss_of(run: Any) -> Any:
        def loss(floating: Any, whole: Any) -> Any:
            (constants, h, x), (count, chosen) = floating, whole
            (end, _), (shown, counts, positive) = run(constants, (h, count), (x, chosen))
            weights = jnp.arange(1, turns + 1)[:, None, None]
            return (end**2).sum() + (shown * weights).sum() + (positive * counts[0]).sum()

        return loss

    return [loss_of(ours), loss_of(plain)]


@pytest.mark.parametrize(("turns", "reverse"), [(1, False), (5, True), (16, False), (21, True)])
def test_values_and_gradients_are_those_of_scan(turns, reverse):
    constants, (h, count), (x, chosen) = _arrays(turns)
    found = [
        jax.jit(jax.value_and_grad(loss))((constants, h, x), (count, chosen))
        for loss in _losses(turns, reverse)
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 2e-4, 1e-5), *found)


def test_gradients_have_gradients():
    constants, (h, count), (x, chosen) = _arrays(4)

    def steepness(loss: Any) -> Any:
        def steep(x: Any) -> Any:
            slope = jax.grad(loss)((constants, h, x), (count, chosen))
            return sum((g**2).sum() for g in jax.tree.leaves(slope))

        return jax.jit(jax.grad(steep))(x)

    ours, expected = map(steepness, _losses(4, False))
    np.testing.assert_allclose(ours, expected, 1e-3, 1e-4)


def test_what_turns_share_is_neither_stacked_nor_summed_up():
    constants, (h, count), (x, chosen) = _arrays(9)
    loss, _ = _losses(9, False)
    jaxpr = jax.make_jaxpr(jax.grad(loss))((constants, h, x), (count, chosen))
    there, back = (e for e in jaxpr.jaxpr.eqns if e.primitive.name == "scan")
    stacks = [v.aval.shape for v in there.outvars if v.aval.ndim > 2]
    assert stacks.count((9, ROWS, SIZE)) <= 5  # shown: 2; kept: h, tanh and whether h > 0
    assert (9, SIZE, SIZE) not in stacks
    carried = [v.aval.shape for v in back.outvars[: back.params["num_carry"]]]
    assert (SIZE, SIZE) not in carried


def test_what_is_the_same_in_every_turn_is_stacked_once():
    def turn(carry: Any, x: Any) -> Any:
        y = jax.jit(jnp.sin)(x)
        return carry + y, [y, x * 2, jax.jit(lambda y: y)(y)]

    last, (one, two, three) = deduplicated_scan(turn, jnp.float32(0), jnp.arange(3.0), 3, False)
    assert one is three
    np.testing.assert_allclose(one, np.sin(np.arange(3)), 1e-6)
    np.testing.assert_allclose(two, [0, 2, 4])
    np.testing.assert_allclose(last, np.sin(np.arange(3)).sum(), 1e-6)
