"""Operators that read images at computed places, at the sizes of R-FCN, Faster R-CNN, deformable
ConvNets, FlowNet and spatial transformers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._operators import Case, both


def _rois(rng: np.random.RandomState, count: int, width: int, height: int) -> np.ndarray:
    """Regions of the one image, in its pixels."""
    size = rng.uniform(0.05, 0.6, (count, 2)) * (width, height)
    corner = rng.uniform(0, 1, (count, 2)) * ((width, height) - size)
    return np.concatenate([np.zeros((count, 1)), corner, corner + size], axis=1)


def cases(mx: Any) -> Iterator[Case]:
    """Each operator forward, and forward with backward."""
    rng, var, contrib = np.random.RandomState(0), mx.sym.Variable, mx.sym.contrib
    rois = _rois(rng, 300, 1000, 600)
    maps = rng.randn(1, 21 * 49, 38, 63)
    yield from both(
        "PSROIPooling, 21 x 49 x 38 x 63, 300 regions",
        contrib.PSROIPooling(
            var("data"), var("rois"), spatial_scale=1 / 16, output_dim=21, pooled_size=7
        ),
        {"data": maps, "rois": rois},
        "data",
    )
    yield from both(
        "DeformablePSROIPooling, as before, 4 x 4 samples",
        contrib.DeformablePSROIPooling(
            var("data"), var("rois"), var("trans"), spatial_scale=1 / 16, output_dim=21,
            group_size=7, pooled_size=7, part_size=7, sample_per_part=4, trans_std=0.1,
        ),
        {"data": maps, "rois": rois, "trans": rng.randn(300, 2, 7, 7)},
        "data", "trans",
    )  # fmt: skip
    features = rng.randn(1, 512, 38, 63)
    yield from both(
        "ROIPooling, 512 x 38 x 63, 300 regions",
        mx.sym.ROIPooling(var("data"), var("rois"), spatial_scale=1 / 16, pooled_size=(7, 7)),
        {"data": features, "rois": rois},
        "data",
    )
    yield from both(
        "ROIAlign, 256 x 38 x 63, 300 regions, 2 x 2 samples",
        contrib.ROIAlign(
            var("data"), var("rois"), spatial_scale=1 / 16, pooled_size=(7, 7), sample_ratio=2
        ),
        {"data": features[:, :256], "rois": rois},
        "data",
    )
    middle, extent = (rois[:, 1:3] + rois[:, 3:]) / 2, rois[:, 3:] - rois[:, 1:3]
    angle = rng.uniform(-90, 90, (300, 1))
    rotated_rois = np.concatenate([rois[:, :1], middle, extent, angle], axis=1)
    yield Case(
        "RROIAlign, as before, forward",
        contrib.RROIAlign(
            var("data"), var("rois"), spatial_scale=1 / 16, pooled_size=(7, 7), sampling_ratio=2
        ),
        {"data": features[:, :256], "rois": rotated_rois},
    )
    yield from both(
        "DeformableConvolution, 256 x 38 x 63, 3 x 3",
        contrib.DeformableConvolution(
            var("data"), var("offset"), var("weight"), kernel=(3, 3), pad=(2, 2), dilate=(2, 2),
            num_filter=256, num_deformable_group=4, no_bias=True,
        ),
        {
            "data": features[:, :256],
            "offset": rng.randn(1, 72, 38, 63),
            "weight": rng.randn(256, 256, 3, 3) * 0.02,
        },
        "data", "offset", "weight",
    )  # fmt: skip
    images = rng.randn(2, 256, 40, 48)
    for is_multiply in (True, False):
        yield from both(
            f"Correlation, 256 x 40 x 48, 21 x 21 {'products' if is_multiply else 'differences'}",
            mx.sym.Correlation(
                var("data"), var("other"), max_displacement=20, stride2=2, pad_size=20,
                is_multiply=is_multiply,
            ),
            {"data": images[:1], "other": images[1:]},
            "data", "other",
        )  # fmt: skip
    yield from both(
        "BilinearSampler, 8 x 64 x 64 x 64",
        mx.sym.BilinearSampler(var("data"), var("grid")),
        {"data": rng.randn(8, 64, 64, 64), "grid": rng.uniform(-1.1, 1.1, (8, 2, 64, 64))},
        "data", "grid",
    )  # fmt: skip
    yield from both(
        "SpatialTransformer, 32 x 3 x 128 x 128",
        mx.sym.SpatialTransformer(
            var("data"), var("loc"), target_shape=(128, 128), transform_type="affine",
            sampler_type="bilinear",
        ),
        {
            "data": rng.randn(32, 3, 128, 128),
            "loc": np.float32([1, 0.1, 0, -0.1, 1, 0]) + rng.randn(32, 6) * 0.1,
        },
        "data", "loc",
    )  # fmt: skip
