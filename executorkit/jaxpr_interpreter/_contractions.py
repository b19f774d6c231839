"""Matrix products, by BLAS."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._rules import Call, Kernel, is_small_float, rule


def product_dtype(dtype: Any, other: Any, result: Any, terms: int) -> np.dtype[Any]:
    """The dtype in which BLAS computes sums of ``terms`` products exactly enough.

    Small floats are multiplied in float32, as XLA does. Products of small integers are exact in
    float32 or float64; sums that neither holds have the dtype of the result.
    """
    if is_small_float(dtype) or is_small_float(other):
        wide = np.dtype(np.float32)
        return np.result_type(wide, result) if result.itemsize > 4 else wide
    if dtype.kind not in "iu":
        return np.result_type(dtype, other, result)
    bound = terms * float(2 ** (8 * (dtype.itemsize + other.itemsize) - 2))
    if bound <= 2.0**24:
        return np.dtype(np.float32)
    return np.dtype(np.float64) if bound <= 2.0**53 else result


@rule("dot_general", fresh=True)
def _dot_general(call: Call) -> Kernel | None:
    (left_sum, right_sum), (left_batch, right_batch) = call.params["dimension_numbers"]
    left, right = call.ins
    left_free = [i for i in range(len(left.shape)) if i not in left_sum and i not in left_batch]
    right_free = [i for i in range(len(right.shape)) if i not in right_sum and i not in right_batch]
    batch = [left.shape[i] for i in left_batch]
    terms = math.prod(left.shape[i] for i in left_sum)
    rows = math.prod(left.shape[i] for i in left_free)
    columns = math.prod(right.shape[i] for i in right_free)
    lead = [math.prod(batch)] if batch else []
    left_order = (*left_batch, *left_free, *left_sum)
    right_order = (*right_batch, *right_sum, *right_free)
    left_shape, right_shape = (*lead, rows, terms), (*lead, terms, columns)
    shape, dtype = call.shape, call.dtype
    wide = product_dtype(left.dtype, right.dtype, dtype, terms)
    plain = wide == left.dtype == right.dtype == dtype and not batch
    if plain and len(left.shape) == len(right.shape) == 2:
        return _matrices(left_order != (0, 1), right_order != (0, 1))

    def multiply(x: Any, y: Any) -> Any:
        x = x.transpose(left_order).reshape(left_shape).astype(wide, copy=False)
        y = y.transpose(right_order).reshape(right_shape).astype(wide, copy=False)
        return np.matmul(x, y).astype(dtype, copy=False).reshape(shape)

    return multiply


def _matrices(turn_left: bool, turn_right: bool) -> Kernel:
    """The product of two matrices, each perhaps transposed."""
    if turn_left:
        return (lambda x, y: x.T @ y.T) if turn_right else (lambda x, y: x.T @ y)
    return (lambda x, y: x @ y.T) if turn_right else np.matmul
