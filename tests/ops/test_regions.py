"""Regions of images beyond the golden answers: real sizes, gradients that MXNet lacks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit import ops


def run(name: str, arrays, **attrs):
    op = ops.lookup(name)
    assert op is not None
    return op.apply(op.parse(attrs), [jnp.asarray(a) for a in arrays])[0]


def lines(name: str, shapes, gradient: bool, **attrs) -> int:
    arrays = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]

    def total(*arrays):
        return run(name, arrays, **attrs).sum()

    with jax.enable_x64(True):
        traced = jax.jit(jax.grad(total) if gradient else total).lower(*arrays)
    return len(traced.as_text().splitlines())


DATA = (1, 8, 12, 12)


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize(
    ("name", "shapes", "attrs"),
    [
        ("_contrib_ROIAlign", lambda n: [DATA, (n, 5)],
         {"pooled_size": (7, 7), "spatial_scale": 1}),
        ("_contrib_RROIAlign", lambda n: [DATA, (n, 6)],
         {"pooled_size": (7, 7), "spatial_scale": 1, "sampling_ratio": 2}),
        ("ROIPooling", lambda n: [DATA, (n, 5)], {"pooled_size": (7, 7), "spatial_scale": 1}),
        ("Correlation", lambda n: [(1, 2, n // 10, 9)] * 2, {"pad_size": 4, "max_displacement": 4}),
        ("im2col", lambda n: [(1, 2, n // 10, 9)], {"kernel": (3, 3), "stride": (2, 2)}),
        ("LRN", lambda n: [(1, n, 3, 3)], {"nsize": 5}),
        ("sort", lambda n: [(3, n)], {"axis": 1}),
        ("_contrib_PSROIPooling", lambda n: [DATA, (n, 5)],
         {"pooled_size": 2, "spatial_scale": 1, "output_dim": 2}),
        ("_contrib_DeformablePSROIPooling", lambda n: [DATA, (n, 5), (n, 2, 2, 2)],
         {"pooled_size": 2, "spatial_scale": 1, "output_dim": 2, "group_size": 2}),
        ("_contrib_DeformableConvolution",
         lambda n: [(n, 4, 9, 9), (n, 18, 9, 9), (4, 4, 3, 3), (4,)],
         {"kernel": (3, 3), "pad": (1, 1), "num_filter": 4}),
        ("_contrib_bipartite_matching", lambda n: [(n, 30)], {"threshold": 0.1}),
        ("_contrib_Proposal", lambda n: [(1, 24, n // 10, 10), (1, 48, n // 10, 10), (1, 3)],
         {"rpn_pre_nms_top_n": 100}),
    ],
)  # fmt: skip
def test_program_does_not_grow_with_the_data(name, shapes, attrs, gradient):
    small, large = (lines(name, shapes(n), gradient, **attrs) for n in (50, 2000))
    assert abs(large - small) <= 2  # blocks that do not divide the regions are cut off at the end


@pytest.mark.parametrize("wanted", [0, 1, 2, 3])
def test_gradients_of_modulated_convolution_are_its_slopes(wanted):
    rng = np.random.default_rng(0)
    data, weight = rng.normal(size=(1, 2, 5, 5)), rng.normal(size=(3, 2, 3, 3))
    offset, mask = rng.uniform(0.1, 0.9, (1, 18, 5, 5)), rng.uniform(size=(1, 9, 5, 5))
    arrays = [data, offset, mask, weight, np.zeros(3)]
    head = rng.normal(size=(1, 3, 5, 5))

    def total(*arrays):
        out = run("_contrib_ModulatedDeformableConvolution", arrays, kernel=(3, 3), pad=(1, 1),
                  num_filter=3)  # fmt: skip
        return (out * head).sum()

    with jax.enable_x64(True):
        slope = jax.grad(total, wanted)(*arrays)
        direction = rng.normal(size=arrays[wanted].shape)
        moved = [list(arrays), list(arrays)]
        for sign, changed in zip((1, -1), moved, strict=True):
            changed[wanted] = changed[wanted] + sign * 1e-6 * direction
        difference = (total(*moved[0]) - total(*moved[1])) / 2e-6
        np.testing.assert_allclose((slope * direction).sum(), difference, rtol=1e-6)


def test_an_upright_rotated_region_is_a_region():
    data = np.random.default_rng(1).normal(size=(1, 3, 9, 9)).astype("f4")
    upright = run("_contrib_ROIAlign", [data, np.array([[0, 1, 2, 6, 8]], "f4")],
                  pooled_size=(3, 2), spatial_scale=1)  # fmt: skip
    rotated = run("_contrib_RROIAlign", [data, np.array([[0, 3.5, 5, 5, 6, 0]], "f4")],
                 pooled_size=(3, 2), spatial_scale=1)  # fmt: skip
    np.testing.assert_allclose(rotated, upright, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_gradient_of_rotated_regions_is_the_slope():
    rng = np.random.default_rng(2)
    rois = np.array([[0, 4, 4, 3, 5, 30], [1, 3, 4, 6, 2, -10]])
    head, direction = rng.normal(size=(2, 3, 2, 2)), rng.normal(size=(2, 3, 8, 7))

    def total(data):
        out = run("_contrib_RROIAlign", [data, rois], pooled_size=(2, 2), spatial_scale=1)
        return (out * head).sum()

    with jax.enable_x64(True):
        data = jnp.asarray(rng.normal(size=(2, 3, 8, 7)))
        slope = (jax.grad(total)(data) * direction).sum()
        np.testing.assert_allclose(slope, total(data + direction) - total(data), rtol=1e-9)


def test_regions_of_no_image_are_zeros():
    data = np.ones((1, 3, 9, 9), "f4")
    out = run("_contrib_ROIAlign", [data, np.array([[-1, 1, 2, 6, 8]], "f4")],
              pooled_size=(3, 2), spatial_scale=1)  # fmt: skip
    np.testing.assert_array_equal(out, np.zeros((1, 3, 3, 2)))


def test_only_what_a_bin_covers_enters_it():
    data = np.full((1, 4, 6, 6), np.nan, "f4")
    data[:, :, 1:5, 1:5] = np.arange(16).reshape(4, 4)
    head = np.ones((1, 1, 2, 2), "f4")
    roi = np.array([[0, 1, 1, 4, 4]], "f4")
    attrs = {"pooled_size": 2, "output_dim": 1, "spatial_scale": 1}
    with jax.enable_x64(True):
        out, back = jax.vjp(lambda x: run("_contrib_PSROIPooling", [x, roi], **attrs), data)
        (grad,) = back(head)
    np.testing.assert_array_equal(out, [[[[2.5, 4.5], [10.5, 12.5]]]])
    assert grad.sum() == 4
    assert grad[0, 3, 3:5, 3:5].sum() == 1


@pytest.mark.parametrize("kernel", [(3, 3), (6, 7)], ids=["written out", "gathered"])
def test_images_and_patches_are_each_others_gradients(kernel):
    rng = np.random.default_rng(3)
    attrs = {"kernel": kernel, "stride": (2, 3), "dilate": (2, 1), "pad": (6, 2)}
    with jax.enable_x64(True):
        image = jnp.asarray(rng.normal(size=(2, 3, 9, 8)))
        patches, back = jax.vjp(lambda x: run("im2col", [x], **attrs), image)
        head = rng.normal(size=patches.shape)
        (grad,) = back(head)
        np.testing.assert_allclose((grad * image).sum(), (head * patches).sum(), rtol=1e-12)
        added = run("col2im", [head], output_size=(9, 8), **attrs)
        np.testing.assert_array_equal(grad, added)
