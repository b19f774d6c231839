"""Gradients of integers are MXNet's, in integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import executorkit as mx

#: Head gradients are 2; the numbers are MXNet's.
LHS, RHS = [7, -5, 9, 3], [3, 2, -4, 3]


def _gradients(symbol: Any, dtype: str, **shapes: tuple[int, ...]) -> dict[str, Any]:
    executor = symbol.simple_bind(mx.cpu(), type_dict=dict.fromkeys(shapes, dtype), **shapes)
    for name, values in (("lhs", LHS), ("rhs", RHS)):
        if name in shapes:
            executor.arg_dict[name][:] = np.resize(values, shapes[name]).astype(dtype)
    (output,) = executor.forward(is_train=True)
    executor.backward([mx.nd.full(output.shape, 2, dtype=output.dtype)])
    return {name: grad.asnumpy().tolist() for name, grad in executor.grad_dict.items()}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize(
    "mod",
    [
        lambda lhs, rhs: lhs % rhs,
        lambda lhs, rhs: mx.sym.broadcast_mod(lhs, rhs),
        lambda lhs, rhs: (lhs % 3) + (rhs % 3),
        lambda lhs, rhs: (10 % lhs) + (10 % rhs),
    ],
    ids=["elementwise", "broadcasting", "scalar divisor", "scalar dividend"],
)
def test_the_gradient_of_an_integer_remainder_is_zero(mod: Callable[[Any, Any], Any], dtype: str):
    symbol = mod(mx.sym.var("lhs"), mx.sym.var("rhs"))
    gradients = _gradients(symbol, dtype, lhs=(4,), rhs=(4,))
    assert gradients == {"lhs": [0] * 4, "rhs": [0] * 4}


def test_the_gradient_beside_an_integer_remainder_stays():
    lhs, rhs = mx.sym.var("lhs"), mx.sym.var("rhs")
    gradients = _gradients(lhs % rhs * lhs, "int32", lhs=(4,), rhs=(4,))
    assert gradients == {"lhs": [2, 2, -6, 0], "rhs": [0] * 4}


def test_no_gradient_passes_an_integer_remainder_of_floating_numbers():
    lhs, rhs = (mx.sym.cast(mx.sym.var(name), "int32") for name in ("lhs", "rhs"))
    gradients = _gradients(mx.sym.cast(lhs % rhs, "float32"), "float32", lhs=(4,), rhs=(4,))
    assert gradients == {"lhs": [0] * 4, "rhs": [0] * 4}


def test_floating_remainders_have_gradients():
    gradients = _gradients(mx.sym.var("lhs") % mx.sym.var("rhs"), "float32", lhs=(4,), rhs=(4,))
    assert gradients == {"lhs": [2] * 4, "rhs": [-4, 6, 6, -2]}
