"""The forms of grouped convolution that CPUs run give what XLA's own give."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.ops._convolve import Windows, _on_cpu, _xla, convolve, transposed
from executorkit.ops.conv import convolution
from executorkit.ops.deconv import deconvolution

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


def arrays(case):
    data, weight, steps, pads, dilation, groups = CASES[case]
    rng = np.random.RandomState(3)
    letters = ("NCW", "NCHW", "NCDHW")[len(steps) - 1]
    windows = Windows(steps, pads, dilation, groups, letters)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in (data, weight))
    g = jnp.asarray(rng.standard_normal(_xla(x, w, windows).shape), jnp.float32)
    return x, w, g, windows


@pytest.mark.parametrize("case", CASES)
def test_convolution_and_its_gradients(case):
    x, w, g, windows = arrays(case)
    expected, back = jax.vjp(lambda x, w: _xla(x, w, windows), x, w)
    out, own_back = jax.vjp(lambda x, w: convolve(x, w, windows), x, w)
    for a, b in zip((out, *own_back(g)), (expected, *back(g)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_transposed_convolution_and_its_gradients(case):
    x, w, g, windows = arrays(case)

    def expected(g, w):
        return jax.vjp(lambda x: _xla(x, w, windows), jnp.zeros_like(x))[1](g)[0]

    out, back = jax.vjp(expected, g, w)
    own, own_back = jax.vjp(lambda g, w: transposed(g, w, x.shape, windows), g, w)
    for a, b in zip((own, *own_back(x)), (out, *back(x)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_second_derivatives(case):
    x, w, _, windows = arrays(case)

    def penalty(function):
        gradient = jax.grad(lambda x: jnp.sum(jnp.tanh(function(x, w, windows))))
        return jax.grad(lambda x: jnp.sum(gradient(x) ** 2))(x)

    np.testing.assert_allclose(penalty(convolve), penalty(_xla), rtol=1e-3, atol=1e-3)


def test_which_convolutions_have_forms_of_their_own():
    has = {
        case: tuple(form is not None for form in _on_cpu(x, w, Windows(*rest, "NCHW")))
        for case, (x, w, *rest) in CASES.items()
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
    expected = _xla(x, w, Windows((1, 1), (0, 0), (1, 1), groups, "NCHW"))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (3, 1)])
def test_transposed_axes_of_length_one(sizes, groups):
    rng = np.random.RandomState(0)
    x = jnp.asarray(rng.standard_normal((2, 4, *sizes)), jnp.float32)
    w = jnp.asarray(rng.standard_normal((4, 6 // groups, 3, 2)), jnp.float32)
    out = deconvolution(x, w, kernel=(3, 2), stride=(2, 2), num_filter=6, num_group=groups)
    shape = (2, 6, *(2 * (n - 1) + k for n, k in zip(sizes, (3, 2), strict=True)))
    expected = transposed(x, w, shape, Windows((2, 2), (0, 0), (1, 1), groups, "NCHW"))
    assert out.shape == shape
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
