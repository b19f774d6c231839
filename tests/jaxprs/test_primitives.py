"""The table of primitives: traits that imply each other, and operation counts."""

from __future__ import annotations

import gc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive

from executorkit.jaxprs import COUNTED, Trait, flops, primitives_with

X = np.ones((4, 6), np.float32)
IMAGES, KERNEL = np.ones((2, 3, 8, 8), np.float32), np.ones((5, 3, 3, 3), np.float32)


def _operations(function: Any, *args: Any) -> float:
    """The operations of the primitive of a function that has most."""
    counts = []
    for equation in jax.make_jaxpr(function)(*args).jaxpr.eqns:
        ins, outs = ([v.aval for v in side] for side in (equation.invars, equation.outvars))
        counts.append(flops(equation.primitive.name, equation.params, ins, outs))
    return max(counts)


def _convolved(padding: Any = "SAME", **options: Any) -> Any:
    return lambda x, w: lax.conv_general_dilated(x, w, (1, 1), padding, **options)


@pytest.mark.parametrize(
    ("function", "args", "operations"),
    [
        (lambda x: x.T, (X,), 0),
        (lambda x: x.reshape(-1), (X,), 0),
        (lambda x: lax.slice(x, (0, 0), (2, 2)), (X,), 0),
        (lambda x: x.astype("int32"), (X,), 0),
        (lax.exp, (X,), 24),
        (lambda x: x + x, (X,), 24),
        (lambda x: lax.reduce_sum(x, (0, 1)), (X,), 24),
        (lambda x: lax.cumsum(x), (X,), 24),
        (lambda x: lax.argmax(x, 0, np.int32), (X,), 24),
        (lax.dot, (X, X.T), 2 * 4 * 4 * 6),
        (_convolved(), (IMAGES, KERNEL), 2 * 2 * 5 * 64 * 27),
        # The zeros between the elements of a dilated input are not multiplied.
        (
            _convolved(lhs_dilation=(2, 2), padding=[(0, 0)] * 2),
            (IMAGES, KERNEL),
            2 * 2 * 5 * 13 * 13 * 27 / 4,
        ),
        (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), "VALID"), (X,), 6 * 4),
        (lax.sort, (np.ones(8, np.float32),), 8 * 3),
        (lambda x: jnp.zeros(6).at[np.array([[1], [2]])].add(x), (np.ones((2, 1), "f4"),), 2),
        (lax.linalg.cholesky, (np.eye(6, dtype=np.float32),), 6**3 / 3),
    ],
)
def test_operations_of_one_primitive(function: Any, args: Any, operations: float) -> None:
    assert _operations(function, *args) == pytest.approx(operations)


def test_the_tables_name_primitives_of_jax() -> None:
    gc.unfreeze()  # what is frozen is not listed
    names = {x.name for x in gc.get_objects() if isinstance(x, Primitive)}
    gc.freeze()
    listed = {name for trait in Trait for name in primitives_with(trait)}
    assert listed | COUNTED <= names


def test_traits_imply_each_other() -> None:
    moves, free = primitives_with(Trait.MOVES), primitives_with(Trait.FREE)
    assert moves > free
    assert moves > primitives_with(Trait.IDENTITY) | primitives_with(Trait.PART)
    assert free > primitives_with(Trait.KEEPS_ORDER)
    assert primitives_with(Trait.PRODUCT) == {"conv_general_dilated", "dot_general"}
    assert primitives_with(Trait.OPAQUE).isdisjoint(COUNTED)
