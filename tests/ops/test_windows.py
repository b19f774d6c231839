"""Maxima and sums over windows by slices, against XLA's reduce_window and its gradients."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

from executorkit.ops.nn.windows import reduce_windows, window_maximum

CASES = {
    "one axis": ((2, 3, 11), (2,), (3,), (2,), [(1, 1)]),
    "two axes": ((2, 3, 9, 8), (2, 3), (3, 2), (2, 3), [(1, 2), (0, 1)]),
    "channels last": ((2, 9, 8, 3), (1, 2), (3, 3), (1, 1), [(1, 1), (1, 1)]),
    "gaps": ((1, 2, 11, 10), (2, 3), (2, 1), (4, 3), [(0, 0), (0, 0)]),
    "three axes": ((1, 2, 5, 6, 4), (2, 3, 4), (2, 3, 2), (2, 1, 1), [(0, 0)] * 3),
    "one window": ((2, 2, 4, 5), (2, 3), (4, 5), (1, 1), [(0, 0)] * 2),
    "no images": ((0, 2, 4, 5), (2, 3), (2, 2), (2, 2), [(0, 0)] * 2),
}


def _xla(x: Any, maximum: bool, axes: Any, kernel: Any, stride: Any, pads: Any) -> Any:
    sizes, steps, padding = [1] * x.ndim, [1] * x.ndim, [(0, 0)] * x.ndim
    for axis, k, s, pad in zip(axes, kernel, stride, pads, strict=True):
        sizes[axis], steps[axis], padding[axis] = k, s, pad
    if maximum:
        return lax.reduce_window(x, -np.inf, lax.max, sizes, steps, padding)
    return lax.reduce_window(x, 0.0, lax.add, sizes, steps, padding)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_windows_are_those_of_xla(name: str, dtype: str) -> None:
    shape, *windows = CASES[name]
    x: Any = np.random.RandomState(0).randn(*shape).astype(dtype)
    for maximum in (False, True):
        expected, vjp = jax.vjp(lambda x, m=maximum: _xla(x, m, *windows), x)
        out = reduce_windows(x, maximum, *windows)
        np.testing.assert_array_equal(out, expected)
        head = np.random.RandomState(1).randn(*expected.shape).astype(dtype)
        if not maximum:
            gradient = jax.vjp(lambda x: reduce_windows(x, False, *windows), x)[1](head)[0]
            np.testing.assert_allclose(gradient, vjp(head)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_the_first_maximum_of_a_window_gets_its_gradient(name: str) -> None:
    shape, axes, kernel, stride, _ = CASES[name]
    x = np.random.RandomState(0).randint(0, 3, shape).astype("float32")  # with equal maxima
    none = [(0, 0)] * len(axes)
    expected, vjp = jax.vjp(lambda x: _xla(x, True, axes, kernel, stride, none), x)
    out, ours = jax.vjp(lambda x: window_maximum(x, axes, kernel, stride, True), x)
    head = np.random.RandomState(1).randn(*expected.shape).astype("float32")
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_allclose(ours(head)[0], vjp(head)[0], rtol=1e-5, atol=1e-6)


def test_whole_numbers_are_summed() -> None:
    x: Any = np.arange(24, dtype="int32").reshape(1, 4, 6)
    windows = ((1, 2), (2, 3), (2, 3), [(0, 0)] * 2)
    np.testing.assert_array_equal(reduce_windows(x, False, *windows), [[[24, 42], [96, 114]]])


def test_a_window_with_nan_passes_no_gradient() -> None:
    x = np.array([[1.0, np.nan, 2.0, 3.0]], "float32")
    out, vjp = jax.vjp(lambda x: window_maximum(x, (1,), (2,), (2,), True), x)
    np.testing.assert_array_equal(out, [[np.nan, 3.0]])
    np.testing.assert_array_equal(vjp(np.ones_like(out))[0], [[0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("shape", ["n, 8, 8, 3", "n, h, 8, 3"])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 3)])
def test_gradients_of_sums_are_exported_with_unknown_sizes(shape: str, kernel: Any) -> None:
    def sums(x: Any) -> Any:
        return reduce_windows(x, False, (1, 2), kernel, (2, 2), [(0, 0), (0, 0)])

    gradient = jax.jit(jax.grad(lambda x: (sums(x) ** 2).sum()))
    x = np.random.RandomState(0).randn(2, 8, 8, 3).astype("float32")
    aval = jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape), "float32")
    exported = jax.export.export(gradient)(aval)
    np.testing.assert_allclose(exported.call(x), gradient(x), rtol=1e-5, atol=1e-5)
