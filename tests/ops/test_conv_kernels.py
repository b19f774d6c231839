"""The convolution kernels for CPUs give what XLA's own convolutions give."""

from __future__ import annotations

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.jaxpr_interpreter import plan
from executorkit.ops.nn.conv import Layout, convolution, deconvolution
from executorkit.ops.nn.conv_kernels import ConvDims, columns, conv_transpose, convolve, input_grad
from executorkit.ops.nn.conv_kernels.dispatch import cpu_kernels, xla_conv
from executorkit.ops.nn.conv_kernels.winograd import Winograd
from executorkit.ops.tracing import this_process_only, without_derivatives

#: data, weight, stride, pad, dilation, groups
CASES = {
    "depthwise": ((2, 4, 6, 7), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    "depthwise_strides": ((2, 4, 7, 8), (4, 1, 3, 2), (2, 3), (1, 0), (1, 1), 4),
    "depthwise_stride_beyond_kernel": ((1, 3, 9, 8), (3, 1, 1, 2), (2, 3), (0, 1), (1, 1), 3),
    "depthwise_dilated": ((2, 3, 9, 9), (3, 1, 3, 3), (2, 1), (2, 2), (2, 2), 3),
    "depthwise_large_kernel": ((1, 3, 24, 24), (3, 1, 16, 16), (8, 8), (4, 4), (1, 1), 3),
    "depthwise_1d": ((2, 3, 9), (3, 1, 4), (2,), (1,), (1,), 3),
    "depthwise_3d": ((1, 2, 4, 5, 4), (2, 1, 3, 2, 2), (1, 2, 1), (1, 1, 0), (1, 1, 1), 2),
    "few_groups": ((2, 6, 6, 7), (8, 3, 3, 2), (2, 1), (1, 1), (1, 2), 2),
    "several_filters_per_channel": ((2, 3, 6, 6), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "many_groups": ((2, 20, 7, 6), (30, 2, 3, 3), (2, 1), (1, 0), (1, 2), 10),
    "many_groups_1d": ((2, 18, 9), (9, 2, 3), (1,), (0,), (2,), 9),
    "one_group": ((2, 3, 6, 7), (4, 3, 3, 3), (2, 2), (1, 0), (1, 1), 1),
}

#: One of each kind of kernel, which every run compares; the others are slow.
ALWAYS = {
    "depthwise_strides",
    "depthwise_dilated",
    "depthwise_large_kernel",
    "many_groups",
    "one_group",
}


def cases(prefix=""):
    """The cases whose names begin so."""
    return [
        case if case in ALWAYS else pytest.param(case, marks=pytest.mark.slow)
        for case in CASES
        if case.startswith(prefix)
    ]


def arrays(case):
    data, weight, strides, pads, dilation, groups = CASES[case]
    rng = np.random.RandomState(3)
    layout = ("NCW", "NCHW", "NCDHW")[len(strides) - 1]
    dims = ConvDims(strides, pads, dilation, groups, layout)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in (data, weight))
    g = jnp.asarray(rng.standard_normal(xla_conv(x, w, dims).shape), jnp.float32)
    return x, w, g, dims


def with_gradients(function, x, w, g):
    """The function of x and w, and its gradients, in one program: each operation by itself would be
    one more to compile."""

    @jax.jit
    def run(x, w, g):
        out, back = jax.vjp(function, x, w)
        return out, *back(g)

    return run(x, w, g)


def second_derivative(function, x):
    """The gradient of a function of the function's gradient."""

    def gradient(x):
        return jax.grad(lambda x: jnp.sum(jnp.tanh(function(x))))(x)

    return jax.jit(jax.grad(lambda x: jnp.sum(gradient(x) ** 2)))(x)


@pytest.mark.parametrize("case", cases())
def test_convolution_and_its_gradients(case):
    x, w, g, dims = arrays(case)
    expected = with_gradients(lambda x, w: xla_conv(x, w, dims), x, w, g)
    results = with_gradients(lambda x, w: convolve(x, w, dims), x, w, g)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", cases())
def test_transposed_convolution_and_its_gradients(case):
    x, w, g, dims = arrays(case)

    def expected(g, w):
        return jax.vjp(lambda x: xla_conv(x, w, dims), jnp.zeros_like(x))[1](g)[0]

    results = with_gradients(lambda g, w: conv_transpose(g, w, x.shape, dims), g, w, x)
    for a, b in zip(results, with_gradients(expected, g, w, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", cases())
def test_second_derivatives(case):
    x, w, _, dims = arrays(case)
    result = second_derivative(lambda x: convolve(x, w, dims), x)
    np.testing.assert_allclose(
        result, second_derivative(lambda x: xla_conv(x, w, dims), x), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", cases("depthwise"))
def test_second_derivatives_of_transposed_convolutions(case, channels_last):
    """Their gradient is a convolution that no rule of its own surrounds."""
    x, w, g, dims = arrays(case)

    def reference(g):
        return jax.vjp(lambda x: xla_conv(x, w, dims), x)[1](g)[0]

    expected, shape, own = second_derivative(reference, g), x.shape, (w, dims)
    if channels_last:
        g, expected, last = (jnp.moveaxis(a, 1, -1) for a in (g, expected, w))
        own = last, dims._replace(layout=dims.layout.replace("C", "") + "C")
        shape = (shape[0], *shape[2:], shape[1])
    result = second_derivative(lambda g: conv_transpose(g, own[0], shape, own[1]), g)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("case", cases("depthwise"))
def test_depth_wise_convolutions_channels_last(case):
    x, w, g, dims = arrays(case)
    layout = dims.layout
    expected = with_gradients(lambda x, w: xla_conv(x, w, dims), x, w, g)
    x, w, g = (jnp.moveaxis(a, 1, -1) for a in (x, w, g))
    last = dims._replace(layout=layout.replace("C", "") + "C")
    results = with_gradients(lambda x, w: convolve(x, w, last), x, w, g)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(jnp.moveaxis(a, -1, 1), b, rtol=1e-4, atol=1e-4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", cases("depthwise"))
def test_depth_wise_convolutions_interpreted_and_mapped(case, channels_last):
    x, w, _, dims = arrays(case)
    expected = xla_conv(x, w, dims)
    if channels_last:
        x, w, expected = (jnp.moveaxis(a, 1, -1) for a in (x, w, expected))
        dims = dims._replace(layout=dims.layout.replace("C", "") + "C")

    def convolution(x, w):
        return convolve(x, w, dims)

    np.testing.assert_allclose(jax.jit(convolution)(x, w), expected, rtol=1e-4, atol=1e-4)
    with this_process_only(), without_derivatives():
        jaxpr = jax.make_jaxpr(convolution)(x, w)
    names = [equation.primitive.name for equation in jaxpr.eqns]
    assert names.count("executorkit_shifted_products") == (case != "depthwise_large_kernel")
    (result,) = plan(jaxpr).run([np.asarray(x), np.asarray(w)])
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    for axes, args in (((0, None), (jnp.stack([x, -x]), w)), ((None, 0), (x, jnp.stack([w, -w])))):
        mapped = jax.vmap(convolution, axes)(*args)
        np.testing.assert_allclose(mapped, jnp.stack([expected, -expected]), rtol=1e-4, atol=1e-4)


def test_depth_wise_convolutions_of_float16_are_summed_in_float32():
    x, w, _, dims = arrays("depthwise")
    x, w = x.astype(jnp.float16), w.astype(jnp.float16)
    expected = xla_conv(x.astype(jnp.float32), w.astype(jnp.float32), dims)
    jaxpr = jax.make_jaxpr(lambda x, w: convolve(x, w, dims))(x, w)
    (result,) = plan(jaxpr).run([np.asarray(x), np.asarray(w)])
    np.testing.assert_array_equal(result, np.asarray(expected, np.float16))


def test_the_gradient_of_a_weight_traces_no_input_gradient():
    x, w = jnp.ones((2, 12, 12, 20)), jnp.ones((50, 5, 5, 20))
    dims = ConvDims((1, 1), (0, 0), (1, 1), 1, "NHWC")

    def loops(argnums):
        trace = jax.make_jaxpr(jax.grad(lambda x, w: convolve(x, w, dims).sum(), argnums))
        return str(trace(x, w)).count("scan[")

    assert (loops(0), loops(1), loops((0, 1))) == (1, 0, 1)


#: data, weight, stride, pad, dilation: channels last, with the algorithm of the weight gradient
WEIGHT_GRADIENTS = {
    "columns": ((2, 9, 7, 16), (24, 3, 3, 16), (1, 1), (1, 1), (1, 1), "_tiled"),
    "rows": ((1, 60, 41, 16), (4, 2, 3, 16), (1, 1), (0, 1), (1, 1), "_tiled"),
    "strided": ((1, 97, 12, 2), (5, 5, 4, 2), (2, 3), (2, 0), (1, 1), "_tiled"),
    "strided_dilated": ((3, 90, 41, 16), (2, 3, 3, 16), (2, 3), (2, 1), (2, 3), "_tiled"),
    "dilated": ((2, 64, 9, 2), (3, 2, 3, 2), (1, 1), (0, 2), (4, 2), "_tiled"),
    "single_columns": ((2, 9, 7, 3), (4, 5, 1, 3), (2, 1), (1, 0), (1, 1), "_tiled"),
    "single_rows_strided": ((2, 9, 7, 3), (4, 1, 3, 3), (2, 1), (1, 1), (3, 1), "_tiled"),
    "many_images": ((8, 8, 8, 16), (4, 3, 3, 16), (1, 1), (1, 1), (1, 1), None),
    "one_column": ((3, 9, 3, 3), (4, 3, 3, 3), (1, 1), (1, 0), (1, 1), None),
    "large_kernel": ((1, 12, 12, 16), (4, 7, 7, 16), (1, 1), (3, 3), (1, 1), "_tiled"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", WEIGHT_GRADIENTS)
def test_weight_gradients_channels_last(case):
    data, weight, strides, pads, dilation, algorithm = WEIGHT_GRADIENTS[case]
    dims = ConvDims(strides, pads, dilation, 1, "NHWC")
    rng = np.random.RandomState(3)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in (data, weight))
    forward, _, kernel = cpu_kernels(data, weight, dims, Winograd())
    assert kernel is None if algorithm is None else kernel.func.__name__ == algorithm
    expected, back = jax.vjp(lambda w: xla_conv(x, w, dims), w)
    g = jnp.asarray(rng.standard_normal(expected.shape), jnp.float32)
    out, result_back = jax.vjp(lambda w: convolve(x, w, dims), w)
    tolerance = 0 if forward is None else 1e-4
    np.testing.assert_allclose(out, expected, tolerance, tolerance)
    np.testing.assert_allclose(result_back(g)[0], back(g)[0], rtol=1e-4, atol=2e-3)


#: data, weight, stride, pad: channels last
COLUMNS = {
    "strided": ((2, 19, 16, 3), (4, 7, 7, 3), (2, 2), (3, 3)),
    "rest": ((2, 20, 18, 3), (4, 6, 7, 3), (2, 2), (1, 2)),
    "every_position": ((2, 6, 5, 1), (4, 3, 3, 1), (1, 1), (1, 1)),
    "stride_beyond_a_kernel_side": ((1, 40, 18, 2), (3, 36, 2, 2), (1, 4), (0, 0)),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_input_gradients_of_few_channels(case):
    data, weight, strides, pads = COLUMNS[case]
    dims = ConvDims(strides, pads, (1, 1), 1, "NHWC")
    rng = np.random.RandomState(3)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in (data, weight))
    out, back = jax.vjp(lambda x: xla_conv(x, w, dims), x)
    g = jnp.asarray(rng.standard_normal(out.shape), jnp.float32)
    columns = input_grad.column_input_grad(data, weight, dims)
    np.testing.assert_allclose(columns(g, w, data), back(g)[0], rtol=1e-4, atol=1e-4)
    result = jax.vjp(lambda x: convolve(x, w, dims), x)[1](g)[0]
    np.testing.assert_allclose(result, back(g)[0], rtol=1e-4, atol=1e-4)


def test_columns_are_for_few_channels_and_many_windows():
    dims = ConvDims((2, 2), (3, 3), (1, 1), 1, "NHWC")
    assert input_grad.column_input_grad((4, 32, 32, 8), (16, 7, 7, 8), dims) is None
    assert input_grad.column_input_grad((4, 32, 32, 3), (16, 3, 3, 3), dims) is None


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize(
    ("strides", "dilation"), [((2, 2), (1, 1)), ((1, 3), (2, 1)), ((1, 1), (1, 2))]
)
def test_convolutions_of_few_channels_are_products_or_a_sum(strides, dilation, prepared):
    data, weight = (2, 17, 14, 3), (5, 3, 2, 3)
    dims = ConvDims(strides, (1, 0), dilation, 1, "NHWC")
    rng = np.random.RandomState(4)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in (data, weight))
    forward = columns.few_channels(data, weight, dims, prepared)
    assert forward is not None
    np.testing.assert_allclose(forward(x, w), xla_conv(x, w, dims), rtol=1e-5, atol=1e-5)
    primitives = {str(e.primitive) for e in jax.make_jaxpr(forward)(x, w).eqns}
    assert "conv_general_dilated" not in primitives
    assert ("dot_general" in primitives) != (prepared and max(strides) > 1)


def test_other_convolutions_of_few_channels_are_left_to_xla():
    dims = ConvDims((2, 2), (1, 1), (1, 1), 1, "NHWC")
    for data, weight in (
        ((1, 224, 224, 16), (64, 3, 3, 16)),
        ((16, 224, 224, 3), (32, 3, 3, 3)),
        ((1, 224, 224, 3), (64, 7, 7, 3)),
    ):
        assert columns.few_channels(data, weight, dims, True) is None
    same_size = dims._replace(strides=(1, 1))
    assert columns.few_channels((1, 224, 224, 8), (64, 3, 3, 8), same_size, True) is None


#: data, weight, stride, pad, dilation: channels last, and whether shifted products are used
INPUT_GRADIENTS = {
    "inside": ((2, 6, 5, 3), (4, 3, 2, 3), (1, 1), (0, 0), (1, 1), True),
    "dilated": ((2, 9, 9, 3), (4, 3, 3, 3), (1, 1), (1, 0), (2, 3), True),
    "as_many_windows_as_positions": ((2, 6, 5, 3), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), False),
    "strided": ((2, 6, 5, 3), (4, 3, 2, 3), (2, 1), (0, 0), (1, 1), False),
}


@pytest.mark.parametrize("case", INPUT_GRADIENTS)
def test_input_gradients_channels_last(case):
    data, weight, strides, pads, dilation, shifted = INPUT_GRADIENTS[case]
    dims = ConvDims(strides, pads, dilation, 1, "NHWC")
    rng = np.random.RandomState(3)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in (data, weight))
    kernel = input_grad.shifted_matmul_input_grad(data, weight, dims)
    assert (kernel is not None) == shifted

    def input_gradient(function, x):
        out, back = jax.vjp(lambda x: function(x, w, dims), x)
        return back(jnp.tanh(out))[0]

    plain = input_gradient(xla_conv, x)
    np.testing.assert_allclose(input_gradient(convolve, x), plain, rtol=1e-4, atol=1e-4)
    if shifted:
        second, expected = (
            jax.grad(lambda x, f=f: jnp.sum(input_gradient(f, x) ** 2))(x)
            for f in (convolve, xla_conv)
        )
        np.testing.assert_allclose(second, expected, rtol=1e-3, atol=1e-3)


#: positions, channels, filters
PRODUCTS = [((3, 4, 5), 2, 7), ((30,), 8, 3)]


@pytest.mark.parametrize(("positions", "channels", "filters"), PRODUCTS)
def test_kernels_of_one_element_channels_last(positions, channels, filters):
    rng = np.random.RandomState(0)
    rank = len(positions)
    x, g = (jnp.asarray(rng.standard_normal((2, *positions, n))) for n in (channels, filters))
    w = jnp.asarray(rng.standard_normal((filters, *(1,) * rank, channels)))
    layouts: dict[int, Layout] = {1: "NWC", 2: "NHWC", 3: "NDHWC"}

    def function(x, w):
        return convolution(x, w, kernel=(1,) * rank, num_filter=filters, layout=layouts[rank])

    out, back = jax.vjp(function, x, w)
    plain, plain_back = jax.vjp(lambda x, w: x @ w.reshape(filters, -1).T, x, w)
    for a, b in zip((out, *back(g)), (plain, *plain_back(g)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def penalty(function):
        return jax.grad(lambda x: jnp.sum(jax.grad(lambda w: jnp.sum(function(x, w) ** 2))(w) ** 2))

    second = penalty(lambda x, w: x @ w.reshape(filters, -1).T)(x)
    # An element near zero is a difference of numbers as large as the largest.
    rounding = 1e-6 * float(jnp.max(jnp.abs(second)))
    np.testing.assert_allclose(penalty(function)(x), second, rtol=1e-3, atol=rounding)


def test_the_gradient_of_a_kernel_of_one_element_copies_no_data():
    """Not transposed, whichever side has more channels: only the weight's gradient is."""

    def gradients(x, w, g):
        out, back = jax.vjp(
            lambda x, w: convolution(x, w, kernel=(1, 1), num_filter=len(w), layout="NHWC"), x, w
        )
        return out, back(g * 2)

    for channels, filters in ((16, 64), (64, 16)):
        x, g = (jnp.ones((2, 8, 9, n), jnp.float32) for n in (channels, filters))
        w = jnp.ones((filters, 1, 1, channels), jnp.float32)
        text = jax.jit(gradients).lower(x, w, g).compile().as_text() or ""
        moved = re.findall(r"f32\[([\d,]+)\]\S* (?:transpose|copy)\(", text)
        assert max((math.prod(map(int, s.split(","))) for s in moved), default=0) <= w.size


def test_convolutions_with_cpu_kernels():
    has = {
        case: tuple(
            k is not None
            for k in cpu_kernels(x, w, ConvDims(*static, layout="NCHW"), Winograd((4, 2)))
        )
        for case, (x, w, *static) in CASES.items()
    }
    assert has["one_group"] == (False, False, False)
    assert has["few_groups"] == has["depthwise"] == (True, True, True)
    assert has["depthwise_large_kernel"] == (False, True, False)
    assert has["depthwise_dilated"] == (True, False, True)
    assert has["many_groups"] == (False, False, True)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("covered", [(5, 4), (5, 2), (2, 4)])
def test_axes_that_the_kernel_covers(covered, groups):
    """A kernel over a whole axis gives what the same kernel padded with zeros gives."""
    rng = np.random.RandomState(0)
    x = jnp.asarray(rng.standard_normal((2, 4, 5, 4)), jnp.float32)
    w = jnp.asarray(rng.standard_normal((6, 4 // groups, *covered)), jnp.float32)
    out = convolution(x, w, kernel=covered, num_filter=6, num_group=groups)
    expected = xla_conv(x, w, ConvDims((1, 1), (0, 0), (1, 1), groups, "NCHW"))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (3, 1)])
def test_transposed_axes_of_length_one(sizes, groups):
    rng = np.random.RandomState(0)
    x = jnp.asarray(rng.standard_normal((2, 4, *sizes)), jnp.float32)
    w = jnp.asarray(rng.standard_normal((4, 6 // groups, 3, 2)), jnp.float32)
    out = deconvolution(x, w, kernel=(3, 2), stride=(2, 2), num_filter=6, num_group=groups)
    shape = (2, 6, *(2 * (n - 1) + k for n, k in zip(sizes, (3, 2), strict=True)))
    expected = conv_transpose(x, w, shape, ConvDims((2, 2), (0, 0), (1, 1), groups, "NCHW"))
    assert out.shape == shape
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_weights_of_depth_wise_convolutions_lie_as_they_are_read():
    """No loop over channels fetches entries of the weight at distances of a kernel."""

    def gradients(x, w, g):
        out, back = jax.vjp(
            lambda x, w: convolve(x, w, ConvDims((1, 1), (1, 1), (1, 1), 16, "NHWC")), x, w
        )
        return out, back(g)[0]

    x, w = jnp.ones((1, 5, 5, 16), jnp.float32), jnp.ones((16, 3, 3, 1), jnp.float32)
    text = jax.jit(gradients).lower(x, w, x).compile().as_text() or ""
    loops = [c for c in re.split(r"\n(?=%\S+ \()", text) if "multiply(" in c]
    assert len(loops) == 2
    assert not any(re.search(r"f32\[16,3,3,1\]\S* parameter", loop) for loop in loops)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation"),
    [((2, 2), (3, 3), (1, 1), (1, 1)), ((1, 7), (3, 2), (1, 2), (1, 1)),
     ((4, 3), (2, 3), (1, 1), (1, 2))],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_kernels_larger_than_the_data_are_products(size, kernel, stride, dilation, dtype):
    """Channels last, where XLA has a loop over single numbers: forward and both gradients."""
    rng = np.random.RandomState(3)
    dims = ConvDims(stride, (1, 1), dilation, 1, "NHWC")
    x = jnp.asarray(rng.standard_normal((2, *size, 5)), dtype)
    w = jnp.asarray(rng.standard_normal((4, *kernel, 5)), dtype)
    forward, input_grad, _ = cpu_kernels(x.shape, w.shape, dims, Winograd())
    assert forward is not None
    assert input_grad is not None
    assert "conv_general_dilated" not in str(jax.make_jaxpr(forward)(x, w))
    expected, back = jax.vjp(lambda x, w: xla_conv(x, w, dims), x, w)
    out, result_back = jax.vjp(lambda x, w: convolve(x, w, dims), x, w)
    g = jnp.asarray(rng.standard_normal(out.shape), dtype)
    tolerance = 1e-4 if dtype == "float32" else 0.1
    for a, b in zip((out, *result_back(g)), (expected, *back(g)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(
            np.asarray(a, "float32"), np.asarray(b, "float32"), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("stride", [1, 2])
def test_few_windows_are_rows_of_a_matrix(stride):
    """Fewer windows than half the filters: all three parts are products, with XLA's results."""
    rng = np.random.RandomState(4)
    dims = ConvDims((stride, stride), (1, 1), (1, 1), 1, "NHWC")
    x = jnp.asarray(rng.standard_normal((2, 4, 4, 20)), "float32")
    w = jnp.asarray(rng.standard_normal((64, 3, 3, 20)), "float32")
    assert None not in cpu_kernels(x.shape, w.shape, dims, Winograd())
    assert cpu_kernels(x.shape, w.shape, dims, Winograd(prepared=True))[0] is None
    expected, back = jax.vjp(lambda x, w: xla_conv(x, w, dims), x, w)
    out, result_back = jax.vjp(lambda x, w: convolve(x, w, dims), x, w)
    g = jnp.asarray(rng.standard_normal(out.shape), "float32")
    for a, b in zip((out, *result_back(g)), (expected, *back(g)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("size", "kernel"), [((8, 8), (9, 9)), ((1, 100_000), (3, 3))], ids=["kernel", "data"]
)
def test_matrices_of_windows_are_bounded(size, kernel):
    """Each element of a kernel is a slice to compile, and a copy of the data."""
    dims = ConvDims((1, 1), tuple(k // 2 for k in kernel), (1, 1), 1, "NHWC")
    forward, *_ = cpu_kernels((2, *size, 32), (32, *kernel, 32), dims, Winograd())
    if forward is not None:
        x, w = (jax.ShapeDtypeStruct(s, "float32") for s in ((2, *size, 32), (32, *kernel, 32)))
        assert "concatenate" not in str(jax.make_jaxpr(forward)(x, w))
