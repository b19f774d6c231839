"""Convolutions of training and their gradients by the kernel in C, beside XLA's in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from executorkit.ops.nn.conv_kernels import (
    ConvDims,
    convolve,
    native,
    pointwise_matmul,
    use_winograd,
)
from executorkit.ops.tracing import this_process_only

needs_compiler = pytest.mark.skipif(not native.available(), reason="there is no compiler")

#: data (samples, height, width, channels), filters, kernel, strides, padding, dilation; the
#: computations that the kernel has: (f)orward, gradient of the (d)ata, of the (w)eight.
CASES: dict[str, tuple[Any, ...]] = {
    "3 x 3": ((2, 9, 13, 20), 32, (3, 3), (1, 1), (1, 1), (1, 1), "fdw"),
    "no padding": ((2, 9, 13, 33), 17, (3, 3), (1, 1), (0, 0), (1, 1), "fdw"),
    "5 vectors": ((1, 8, 9, 80), 40, (3, 3), (1, 1), (1, 1), (1, 1), "fdw"),
    "1 x 7": ((2, 7, 17, 48), 64, (1, 7), (1, 1), (0, 3), (1, 1), "fdw"),
    "7 x 1, few filters": ((1, 17, 7, 100), 16, (7, 1), (1, 1), (3, 0), (1, 1), "fdw"),
    "5 x 5": ((1, 11, 10, 16), 24, (5, 5), (1, 1), (2, 2), (1, 1), "fdw"),
    "stride": ((2, 12, 11, 24), 40, (3, 3), (2, 2), (1, 1), (1, 1), "fw"),
    "dilation": ((1, 14, 15, 16), 32, (3, 3), (1, 1), (2, 1), (2, 2), "fdw"),
    "first layer": ((2, 32, 31, 3), 64, (7, 7), (2, 2), (3, 3), (1, 1), "f"),
    "few filters": ((2, 9, 9, 20), 8, (3, 3), (1, 1), (1, 1), (1, 1), "d"),
    "much padding": ((2, 8, 8, 16), 16, (3, 3), (1, 1), (3, 2), (1, 1), "fw"),
    "many pixels": ((3, 90, 70, 16), 16, (3, 3), (1, 1), (1, 1), (1, 1), "fdw"),
    "large window": ((1, 12, 12, 16), 16, (8, 8), (1, 1), (4, 4), (1, 1), "fd"),
    "few windows": ((1, 3, 3, 64), 64, (3, 3), (1, 1), (1, 1), (1, 1), ""),
}  # fmt: skip


def _natively(function: Callable[..., Any]) -> Callable[..., Any]:
    def traced(*arrays: Any) -> Any:
        with this_process_only(native="packing"), use_winograd("exact"):
            return function(*arrays)

    return jax.jit(traced)


def _with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    def all_three(a: Any, b: Any, head: Any) -> Any:
        result, vjp = jax.vjp(function, a, b)
        return result, *vjp(head)

    return all_three


def _arrays(*shapes: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def _assert_equal(results: Any, expected: Any) -> None:
    for ours, exact in zip(results, expected, strict=True):
        bound = 3e-6 * np.abs(exact).max()
        np.testing.assert_allclose(ours, exact, rtol=0, atol=bound)


def _count(function: Callable[..., Any], *arrays: Any) -> int:
    return function.lower(*arrays).as_text().count("stablehlo.custom_call @executorkit")


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_a_convolution_and_its_gradients(case: str) -> None:
    shape, filters, kernel, strides, pads, dilation, native_ones = CASES[case]
    dims = ConvDims(strides, pads, dilation, 1, "NHWC")
    sizes = dims.output_sizes(shape[1:3], kernel)
    data, stored, head = _arrays(
        shape, (filters, shape[3], *kernel), (shape[0], *sizes, filters)
    )  # fmt: skip

    def ours(data: Any, stored: Any) -> Any:
        return convolve(data, lax.transpose(stored, (0, 2, 3, 1)), dims)

    def plain(data: Any, stored: Any) -> Any:
        return lax.conv_general_dilated(
            data, stored, strides, [(p, p) for p in pads], rhs_dilation=dilation,
            dimension_numbers=("NHWC", "OIHW", "NHWC"),
        )  # fmt: skip

    run = _natively(_with_gradients(ours))
    with jax.enable_x64(True):
        expected = _with_gradients(plain)(*(x.astype(np.float64) for x in (data, stored, head)))
    _assert_equal(run(data, stored, head), expected)
    assert _count(run, data, stored, head) == len(native_ones)


@needs_compiler
@pytest.mark.parametrize(
    ("positions", "channels", "filters"), [(100, 40, 24), (7, 16, 100), (9000, 33, 17)]
)
def test_a_product_of_pixels(positions: int, channels: int, filters: int) -> None:
    arrays = _arrays((positions, channels), (filters, channels), (positions, filters))
    run = _natively(_with_gradients(pointwise_matmul))
    with jax.enable_x64(True):
        wide = (x.astype(np.float64) for x in arrays)
        expected = _with_gradients(lambda data, weight: data @ weight.T)(*wide)
    _assert_equal(run(*arrays), expected)
    assert _count(run, *arrays) == 3


@needs_compiler
def test_equal_calls_have_equal_results() -> None:
    """Sums are divided among threads in one way, whichever of them is first."""
    arrays = _arrays((9000, 33), (17, 33), (9000, 17))
    run = _natively(_with_gradients(pointwise_matmul))
    first = run(*arrays)
    for _ in range(20):
        for a, b in zip(first, run(*arrays), strict=True):
            np.testing.assert_array_equal(a, b)


@needs_compiler
def test_second_derivatives_batches_and_other_dtypes_have_the_plain_form() -> None:
    dims = ConvDims((1, 1), (1, 1), (1, 1), 1, "NHWC")
    data, weight = map(jnp.asarray, _arrays((2, 6, 6, 16), (16, 3, 3, 16)))

    def gradient_norm(data: Any, weight: Any) -> Any:
        def loss(data: Any, weight: Any) -> Any:
            return jnp.sum(jnp.tanh(convolve(data, weight, dims)))

        return jnp.sum(jax.grad(loss)(data, weight) ** 2)

    plain = jax.grad(gradient_norm, argnums=1)(data, weight)
    ours = _natively(jax.grad(gradient_norm, argnums=1))(data, weight)
    np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-4)
    mapped = jax.vmap(lambda x: convolve(x[None], weight, dims)[0])
    np.testing.assert_allclose(_natively(mapped)(data), mapped(data), rtol=1e-5, atol=1e-4)
    halves = [jnp.asarray(x, jnp.bfloat16) for x in (data, weight)]
    assert _count(_natively(lambda x, w: convolve(x, w, dims)), *halves) == 0
