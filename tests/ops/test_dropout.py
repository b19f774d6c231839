"""Randomness of Dropout and rrelu: shares, factors, shared draws, gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.errors import AttributeValueError
from executorkit.ops import lookup
from executorkit.ops.schema.inference import ShapeFacts

SHAPE = (200, 300)


def run(op_name: str, data: np.ndarray, train: bool = True, **attrs: Any) -> tuple[Any, ...]:
    """All outputs, then the gradient of the first output's sum with respect to data."""
    op = lookup(op_name)
    assert op is not None
    p = op.parse(attrs)

    @jax.jit
    def program(x: jax.Array) -> Any:
        outs, vjp = jax.vjp(lambda x: op.apply(p, [x], key=jax.random.key(3), train=train), x)
        heads = (jnp.ones_like(outs[0]), *map(jnp.zeros_like, outs[1:]))
        return (*outs, vjp(heads)[0])

    with jax.enable_x64(True):
        return tuple(np.asarray(a) for a in program(jnp.asarray(data)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.7])
def test_share_of_zeros_and_factor(p, dtype):
    out, mask, grad = run("Dropout", np.ones(SHAPE, dtype), p=p)
    assert out.dtype == mask.dtype == grad.dtype == dtype
    deviation = (p * (1 - p) / out.size) ** 0.5
    assert abs(np.mean(out == 0) - p) < 4 * deviation
    np.testing.assert_allclose(
        out[out != 0], 1 / (1 - p), rtol=1e-3 if dtype == "float16" else 1e-6
    )
    np.testing.assert_array_equal(out, mask)
    np.testing.assert_array_equal(grad, mask)


def test_rows_and_columns_are_independent():
    out, *_ = run("Dropout", np.ones(SHAPE, "float32"), p=0.5)
    zero = (out == 0).astype(float)
    assert np.abs(zero.mean(0) - 0.5).max() < 6 * 0.5 / SHAPE[0] ** 0.5
    assert np.abs(zero.mean(1) - 0.5).max() < 6 * 0.5 / SHAPE[1] ** 0.5
    neighbours = np.corrcoef(zero[:, :-1].ravel(), zero[:, 1:].ravel())[0, 1]
    assert abs(neighbours) < 4 / zero.size**0.5


def test_axes_share_one_draw():
    out, mask, _ = run("Dropout", np.ones((64, 5, 7), "float32"), p=0.5, axes=(1, 2))
    assert mask.shape == (64, 1, 1)
    np.testing.assert_array_equal(out, np.broadcast_to(mask, out.shape))
    assert 0 < np.count_nonzero(mask) < 64


def test_training_only_unless_always():
    data = np.ones(SHAPE, "float32")
    np.testing.assert_array_equal(run("Dropout", data, train=False)[0], data)
    out = run("Dropout", data, train=False, mode="always")[0]
    assert abs(np.mean(out == 0) - 0.5) < 0.01


@pytest.mark.parametrize("axes", [(), (0,)])
def test_p_1_gives_nan(axes):
    out, _, grad = run("Dropout", np.ones((3, 4), "float32"), p=1.0, axes=axes)
    assert np.isnan(out).all()
    assert np.isnan(grad).all()


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_p_must_be_a_probability(p):
    op = lookup("Dropout")
    assert op is not None
    assert op.infer_shape is not None
    with pytest.raises(
        AttributeValueError, match=rf"p={p}, expected a probability between 0 and 1"
    ):
        op.infer_shape(ShapeFacts("Dropout", {"data": (2, 3), "out0": None}), op.parse({"p": p}))


class TestRrelu:
    """In training MXNet's own rrelu does not return on CPUs, so there are no golden values."""

    def test_slopes_are_uniform_in_training(self):
        out, mask, grad = run(
            "LeakyReLU", -np.ones(SHAPE, "float32"), act_type="rrelu", lower_bound=0.2,
            upper_bound=0.6,
        )  # fmt: skip
        np.testing.assert_array_equal(out, -mask)
        np.testing.assert_array_equal(grad, mask)
        assert mask.min() >= 0.2
        assert mask.max() < 0.6
        assert abs(mask.mean() - 0.4) < 4 * 0.4 / 12**0.5 / mask.size**0.5
        assert abs(mask.std() - 0.4 / 12**0.5) < 2e-3

    def test_positive_numbers_pass(self):
        data = np.arange(1, 7, dtype="float32").reshape(2, 3)
        out, _, grad = run("LeakyReLU", data, act_type="rrelu")
        np.testing.assert_array_equal(out, data)
        np.testing.assert_array_equal(grad, np.ones_like(data))

    def test_mean_slope_in_inference(self):
        data = np.array([-1.0, 0.0, 2.0], "float32")
        out, _, grad = run("LeakyReLU", data, train=False, act_type="rrelu")
        # as MXNet's: -0.2295, 0, 2
        np.testing.assert_allclose(out, [-0.2295, 0, 2], rtol=1e-6)
        np.testing.assert_allclose(grad, [0.2295, 0.2295, 1], rtol=1e-6)
