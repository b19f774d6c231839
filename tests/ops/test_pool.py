"""Pooling where MXNet has no answer: the "same" convention, integers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.errors import AttributeValueError
from executorkit.ops.nn.pool import pooling
from executorkit.ops.vision.spatial_transformer import grid_generator


@pytest.mark.parametrize(("stride", "expected"), [(1, [2, 5, 5, 4, 4]), (2, [2, 5, 4])])
def test_same_gives_one_window_per_stride(stride, expected):
    data = jnp.array([[[1.0, 2, 5, 3, 4]]])
    out = pooling(data, kernel=(2,), stride=(stride,), pooling_convention="same")
    np.testing.assert_array_equal(out[0, 0], expected)


@pytest.mark.parametrize("pad", [(2, 0), (-1, 0)])
def test_padding_is_smaller_than_the_kernel(pad):
    with pytest.raises(AttributeValueError, match="less than kernel"):
        pooling(jnp.ones((1, 1, 4, 4)), kernel=(2, 2), pad=pad)


def test_affine_grid_needs_a_target_shape():
    with pytest.raises(AttributeValueError, match="target_shape=\\(0, 0\\)"):
        grid_generator(jnp.ones((1, 6)), transform_type="affine")


def test_integer_maximum():
    data = jnp.array([[[1, -7, 5, 3]]], "int8")
    out = pooling(data, kernel=(2,), stride=(2,))
    assert out.dtype == "int8"
    np.testing.assert_array_equal(out[0, 0], [1, 5])


def test_written_out_gradient_is_that_of_select_and_scatter():
    data = jax.random.normal(jax.random.key(0), (2, 3, 9, 8))

    def plain(x: jax.Array) -> jax.Array:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 2), (1, 1, 2, 1), "VALID")

    ours, vjp = jax.vjp(lambda x: pooling(x, kernel=(3, 2), stride=(2, 1)), data)
    theirs, plain_vjp = jax.vjp(plain, data)
    head = jax.random.normal(jax.random.key(1), ours.shape)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(vjp(head)[0], plain_vjp(head)[0], rtol=1e-6, atol=1e-7)
