"""Regions and warps of images: ROIPooling, grids, samplers, spatial transformers."""

from __future__ import annotations

from ._case import Case, distinct, normal, uniform, values

ROIS = values([
    [0, 0, 0, 7, 7], [1, 2, 1, 5, 9], [1, 3, 3, 3, 3], [0, 4.5, 2.5, 30, 30], [0, 6, 6, 2, 2],
    [1, 0.5, 1.5, 2.5, 13.0],
])  # fmt: skip
TINY_ROI = values([[0, 0, 0, 0, 0]])
NAN, INF = float("nan"), float("inf")
HOLES = values([
    [[[1, NAN, 3, -INF], [NAN, NAN, 2, 2], [-INF, -INF, 5, NAN], [-INF, -INF, INF, 0]]],
    [[[NAN, 1, 2, 3], [NAN, NAN, 0, 0], [NAN, -INF, -1, -2], [-INF, NAN, -3, NAN]]],
])  # fmt: skip
THETA = values([[1.0, 0.1, 0.2, -0.1, 0.8, 0.05], [0.5, 0.3, -0.4, 0.2, 1.4, 0.1]])


def _roi(name: str, pooled: tuple[int, int], scale: float, rois=ROIS, also=(), data=None) -> Case:
    inputs = {"data": data or distinct(2, 3, 8, 6), "rois": rois}
    attrs = {"pooled_size": pooled, "spatial_scale": scale}
    return Case(f"ROIPooling_{name}", "ROIPooling", inputs, attrs, also=also)


CASES = [
    _roi("plain", (2, 3), 1.0, also=("float64",)),
    _roi("scaled", (3, 3), 0.5),
    _roi("many_bins", (7, 7), 0.0625),
    _roi("odd_bins", (7, 7), 1.0, rois=values([[0, 1, 0, 31, 30]]), data=distinct(1, 1, 31, 32)),
    _roi("one", (1, 1), 1.0, rois=TINY_ROI, data=normal(1, 1, 1, 1)),
    _roi("ties", (2, 2), 1.0, data=values([[[[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]]] * 2)),
    _roi("negative", (2, 2), 0.5, rois=values([[0, -4, -3, 5, 5], [1, -9, -9, -7, -7]])),
    _roi("not_a_number", (3, 2), 1.0, data=HOLES, rois=values([[0, 0, 0, 3, 3], [1, 0, 1, 3, 3]]),
         also=("float64",)),
    Case("GridGenerator_affine", "GridGenerator", {"data": THETA},
         {"transform_type": "affine", "target_shape": (3, 4)}),
    Case("GridGenerator_warp", "GridGenerator", {"data": normal(2, 2, 3, 5)},
         {"transform_type": "warp"}),
    Case("BilinearSampler_plain", "BilinearSampler",
         {"data": normal(2, 3, 4, 5), "grid": uniform(2, 2, 3, 6, low=-0.98, high=0.98)},
         also=("float64",)),
    Case("BilinearSampler_outside", "BilinearSampler",
         {"data": normal(2, 2, 4, 5), "grid": uniform(2, 2, 6, 6, low=-2.0, high=2.0)}),
    Case("BilinearSampler_corners", "BilinearSampler",
         {"data": normal(1, 2, 3, 3),
          "grid": values([[[[-1.0, 0.0, 1.0]], [[-1.0, 1.0, 1.0]]]])}),
    Case("SpatialTransformer_plain", "SpatialTransformer",
         {"data": normal(2, 3, 4, 5), "loc": THETA},
         {"target_shape": (3, 4), "transform_type": "affine", "sampler_type": "bilinear"},
         also=("float64",)),
    Case("SpatialTransformer_zoom", "SpatialTransformer",
         {"data": normal(1, 1, 5, 5), "loc": values([[0.55, 0.0, 0.1, 0.0, 0.45, 0.05]])},
         {"target_shape": (6, 3), "transform_type": "affine", "sampler_type": "bilinear"}),
]  # fmt: skip
