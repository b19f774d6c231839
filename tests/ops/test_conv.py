"""Convolutions where MXNet has no answer on CPUs (channels last), and their refusals."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.errors import AttributeValueError, ShapeError
from executorkit.ops import lookup
from executorkit.ops.nn.conv import convolution, deconvolution
from executorkit.ops.schema.inference import ShapeFacts

LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("fn", "data", "kernel", "attrs"),
    [
        (convolution, (2, 4, 6, 7), (3, 2), {"num_group": 2, "stride": (2, 1), "pad": (1, 0)}),
        (convolution, (2, 4, 6, 7), (1, 1), {}),
        (convolution, (2, 4, 7), (3,), {"num_group": 2, "dilate": (2,)}),
        (convolution, (2, 4, 4, 5, 3), (2, 2, 2), {}),
        (deconvolution, (2, 4, 3, 5), (3, 2), {"num_group": 2, "stride": (2, 1), "pad": (1, 0)}),
        (deconvolution, (2, 4, 7), (3,), {"stride": (2,), "target_shape": (14,)}),
        (deconvolution, (2, 4, 2, 3, 3), (2, 2, 2), {"stride": (2, 1, 1)}),
    ],
)
def test_channels_last_is_channels_first_transposed(fn, data, kernel, attrs):
    groups, filters = attrs.get("num_group", 1), 6
    pair = (filters, data[1]) if fn is convolution else (data[1], filters)
    attrs = {**attrs, "kernel": kernel, "num_filter": filters, "no_bias": False}
    rng = np.random.default_rng(0)

    def last(a: jax.Array) -> jax.Array:
        return jnp.moveaxis(a, 1, -1)

    def channels_last(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        out = fn(last(x), last(w), b, layout=LAST[len(kernel)], **attrs)
        return jnp.moveaxis(out, -1, 1)

    with jax.enable_x64(True):
        shapes = (data, (pair[0], pair[1] // groups, *kernel), (filters,))
        arrays = [jnp.asarray(rng.standard_normal(s)) for s in shapes]
        first_out, first_vjp = jax.vjp(lambda x, w, b: fn(x, w, b, **attrs), *arrays)
        last_out, last_vjp = jax.vjp(channels_last, *arrays)
        head = jnp.asarray(rng.standard_normal(first_out.shape))
        np.testing.assert_allclose(last_out, first_out, rtol=1e-12, atol=1e-12)
        for ours, theirs in zip(last_vjp(head), first_vjp(head), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def infer(op_name: str, data: Any, out: Any = None, **attrs: Any) -> ShapeFacts:
    """The shapes after the operator's rule has added what it infers."""
    op = lookup(op_name)
    assert op is not None
    assert op.infer_shape is not None
    p = op.parse(attrs)
    shapes = ShapeFacts(op_name, {**dict.fromkeys(op.inputs(p)), "data": data, "out0": out})
    op.infer_shape(shapes, p)
    return shapes


def test_batch_and_unstrided_sizes_are_inferred_backwards():
    inferred = infer("Convolution", (0, 4, 0, 0), (5, 6, 7, 7), kernel=(3, 3), num_filter=6,
                  stride=(2, 1), pad=(1, 1), dilate=(2, 2))  # fmt: skip
    assert inferred["data"] == (5, 4, 0, 9)
    assert inferred["weight"] == (6, 4, 3, 3)


def test_unknown_data_says_nothing():
    inferred = infer("Convolution", None, (5, 6, 7, 7), kernel=(3, 3), num_filter=6)
    assert (inferred["data"], inferred["weight"], inferred["bias"]) == (None, None, None)


@pytest.mark.parametrize(
    ("op", "attrs", "problem"),
    [
        ("Convolution", {"kernel": (3, 9)}, "the kernel spans 9 on axis 3 of data, which has only"),
        ("Convolution", {"kernel": (3, 3), "num_group": 3}, "4 channels cannot be divided into 3"),
        ("Convolution", {"kernel": (3,)}, r"'data' is \(1, 4, 5, 6\), expected \(\?, \?, \?\)"),
        ("Deconvolution", {"kernel": (3, 3), "adj": (1, 0)}, "adj 1 on spatial axis 0, expected"),
        ("Deconvolution", {"kernel": (3, 3), "target_shape": (9, 9)}, "target_shape=.* too large"),
        ("Pooling", {"kernel": (6, 6)}, "the kernel spans 6 on axis 2 of data, which has only 5"),
    ],
)
def test_shapes_that_do_not_fit(op, attrs, problem):
    filters = {} if op == "Pooling" else {"num_filter": 6}
    with pytest.raises(ShapeError, match=problem):
        infer(op, (1, 4, 5, 6), **attrs, **filters)


def test_stride_needs_as_many_entries_as_kernel():
    with pytest.raises(AttributeValueError, match=r"'stride': .* has 1 entries, expected 2"):
        infer("Convolution", (1, 4, 5, 6), kernel=(3, 3), stride=(1,), num_filter=2)


def test_lp_pooling_needs_its_power():
    with pytest.raises(AttributeValueError, match="pool_type='lp' needs p_value"):
        infer("Pooling", (1, 4, 5, 6), kernel=(2, 2), pool_type="lp")
