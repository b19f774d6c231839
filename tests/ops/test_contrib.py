"""Operators that MXNet's CPU build or graphs cannot run, compared with NumPy and themselves."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit import cpu, nd, sym
from executorkit.errors import AttributeValueError, DTypeError, MXNetError
from executorkit.ops import lookup

RNG = np.random.default_rng(0)


def run(name, *arrays, **attrs):
    op = lookup(name)
    assert op is not None
    p = op.parse(attrs)
    with jax.enable_x64(True):
        return jax.jit(lambda *xs: op.apply(p, xs)[0])(*map(jnp.asarray, arrays))


def gradient(name, head, *arrays, **attrs):
    """Gradient of the first input."""
    op = lookup(name)
    assert op is not None
    p = op.parse(attrs)
    with jax.enable_x64(True):
        _, vjp = jax.vjp(lambda x: op.apply(p, (x, *arrays[1:]))[0], jnp.asarray(arrays[0]))
        return np.asarray(vjp(jnp.asarray(head))[0])


def test_hawkes_processes_are_floating():
    whole = [np.ones(shape, "int32") for shape in ((1, 2), 2, 2, (1, 2), (1, 3), (1, 3), 1, 1)]
    with pytest.raises(DTypeError, match="'lda' is int32, expected a floating type"):
        run("_contrib_hawkesll", *whole)


def test_bounds_beyond_float16_are_infinite():
    out = run("clip", np.array([1, 2, 65000], np.float16), a_min=1.5, a_max=1e6)
    np.testing.assert_array_equal(out, np.array([1.5, 2, 65000], np.float16))


class TestFourier:
    x = RNG.standard_normal((2, 3, 5))

    def test_forward(self):
        out = np.asarray(run("_contrib_fft", self.x)).reshape(2, 3, 5, 2)
        expected = np.fft.fft(self.x)
        np.testing.assert_allclose(out[..., 0], expected.real, atol=1e-12)
        np.testing.assert_allclose(out[..., 1], expected.imag, atol=1e-12)

    def test_inverse_is_not_divided_by_the_length(self):
        back = run("_contrib_ifft", run("_contrib_fft", self.x))
        np.testing.assert_allclose(back, 5 * self.x, atol=1e-12)

    def test_each_is_the_gradient_of_the_other(self):
        head = RNG.standard_normal((2, 3, 10))
        np.testing.assert_allclose(
            gradient("_contrib_fft", head, self.x), run("_contrib_ifft", head), atol=1e-12
        )
        pairs = RNG.standard_normal((2, 3, 10))
        np.testing.assert_allclose(
            gradient("_contrib_ifft", self.x, pairs), run("_contrib_fft", self.x), atol=1e-12
        )

    def test_results_have_the_inputs_dtype(self):
        assert run("_contrib_fft", self.x.astype("float32")).dtype == np.float32
        assert run("_contrib_ifft", np.ones((1, 4), "float32")).dtype == np.float32


def test_count_sketch():
    data = RNG.standard_normal((3, 6))
    h = np.array([[0, 2, 1, 2, 0, 3]], "float64")
    s = np.array([[1, -1, 1, 1, -1, 1]], "float64")
    projection = np.zeros((6, 5))
    projection[np.arange(6), h[0].astype(int)] = s[0]
    out = run("_contrib_count_sketch", data, h, s, out_dim=5)
    np.testing.assert_allclose(out, data @ projection, atol=1e-12)
    head = RNG.standard_normal((3, 5))
    np.testing.assert_allclose(
        gradient("_contrib_count_sketch", head, data, h, s, out_dim=5),
        head @ projection.T,
        atol=1e-12,
    )


def test_square_sum():
    x = RNG.standard_normal((3, 4))
    np.testing.assert_allclose(run("_square_sum", x, axis=(1,)), (x**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(gradient("_square_sum", np.ones(1), x), 2 * x, rtol=1e-12)


class TestPatches:
    """In one and three dimensions MXNet reads beyond the shape."""

    def test_one_dimension_is_a_row_of_two(self):
        x = RNG.standard_normal((2, 3, 9))
        window = {"kernel": (3,), "stride": (2,), "dilate": (2,), "pad": (1,)}
        flat = {"kernel": (1, 3), "stride": (1, 2), "dilate": (1, 2), "pad": (0, 1)}
        columns = run("im2col", x, **window)
        np.testing.assert_array_equal(columns, run("im2col", x[:, :, None], **flat))
        image = run("col2im", columns, output_size=(9,), **window)
        expected = run("col2im", columns, output_size=(1, 9), **flat)
        np.testing.assert_array_equal(image, expected[:, :, 0])

    def test_three_dimensions_give_a_convolution(self):
        x, weight = RNG.standard_normal((2, 3, 4, 5, 6)), RNG.standard_normal((7, 3, 2, 1, 3))
        window = {"stride": (1, 2, 2), "pad": (0, 1, 1)}
        columns = run("im2col", x, kernel=(2, 1, 3), **window)
        expected = run("Convolution", x, weight, kernel=(2, 1, 3), num_filter=7, no_bias=True,
                       **window)  # fmt: skip
        product = np.einsum("fk,nkp->nfp", weight.reshape(7, -1), columns)
        np.testing.assert_allclose(product.reshape(expected.shape), expected, atol=1e-12)


class TestBooleanMask:
    def test_graphs_are_refused_with_the_reason(self):
        net = sym.contrib.boolean_mask(sym.Variable("data"), sym.Variable("index"))
        arrays = {"data": nd.ones((3, 2)), "index": nd.array([1, 0, 1])}
        with pytest.raises(MXNetError, match="depends on the values of index"):
            net.bind(cpu(), arrays).forward()

    def test_nothing_chosen(self):
        out = nd.contrib.boolean_mask(nd.ones((3, 2)), nd.zeros((3,)))
        assert out.shape == (0, 2)

    def test_other_axes(self):
        x = nd.array(np.arange(6).reshape(2, 3))
        out = nd.contrib.boolean_mask(x, nd.array([0, 1, 1]), axis=1)
        np.testing.assert_array_equal(out.asnumpy(), [[1, 2], [4, 5]])


def test_getnnz_says_why_not():
    with pytest.raises(MXNetError, match="stored elements of a CSR matrix"):
        nd.contrib.getnnz(nd.ones((2, 2)))


def test_copyto():
    target = nd.zeros((2,))
    nd._internal._copyto(nd.array([1, 2]), out=target)
    np.testing.assert_array_equal(target.asnumpy(), [1, 2])


@pytest.mark.parametrize("name", ["all_finite", "multi_all_finite"])
def test_earlier_flags_are_not_combined(name):
    with pytest.raises(AttributeValueError, match="init_output=False"):
        getattr(nd, name)(nd.ones((2,)), init_output=False)


def test_sparse_storage_is_refused():
    with pytest.raises(AttributeValueError, match="stype='csr' is sparse, expected 'default'"):
        nd.cast_storage(nd.ones((2,)), stype="csr")
