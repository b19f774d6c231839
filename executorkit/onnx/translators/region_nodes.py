"""Regions of interest, and images sampled at positions of a grid."""

from __future__ import annotations

import numpy as np

from .._node_writer import NodeWriter, Operand
from .._translators import translates


@translates("_contrib_ROIAlign")
def _roi_align(w: NodeWriter) -> str:
    if w["position_sensitive"]:
        w.refuse("position_sensitive=True")
    rois = w.inputs[1]
    image = w.squeeze(w.slice(rois, [1], [0], [1]), 1)
    height, width = w["pooled_size"]
    return w.op(
        "RoiAlign", w.data, w.slice(rois, [1], [1], [5]), w.cast(image, "int64"),
        mode="avg", output_height=height, output_width=width,
        sampling_ratio=max(w["sample_ratio"], 0), spatial_scale=w["spatial_scale"],
        coordinate_transformation_mode="half_pixel" if w["aligned"] else "output_half_pixel",
    )  # fmt: skip


def _affine_grid(w: NodeWriter, theta: Operand, dtype: str) -> str:
    """Source coordinates (N, 2, H, W) of affine maps (N, 6)."""
    height, width = w["target_shape"]
    x, y = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    points = np.stack([x, y, np.ones_like(x)]).reshape(3, -1).astype(dtype)
    rows = w.op("Reshape", theta, w.ints(-1, 2, 3))
    product = w.op("MatMul", rows, w.array(points))
    return w.op("Reshape", product, w.ints(-1, 2, height, width))


def _sampled(w: NodeWriter, images: Operand, grid: Operand) -> str:
    mode = "linear" if w.opset >= 20 else "bilinear"
    return w.op(
        "GridSample", images, w.transpose(grid, [0, 2, 3, 1]), mode=mode,
        padding_mode="zeros", align_corners=1,
    )  # fmt: skip


@translates("GridGenerator")
def _grid_generator(w: NodeWriter) -> str:
    if w["transform_type"] == "affine":
        return _affine_grid(w, w.data, w.data.dtype)
    height, width = w.data.shape[2:]
    if height is None or width is None:
        w.refuse("a flow of a size that varies")
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    half = np.array([(width - 1) / 2, (height - 1) / 2]).reshape(2, 1, 1)
    moved = w.op("Add", w.data, w.array(np.stack([x, y]).astype(w.data.dtype)))
    scaled = w.op("Div", moved, w.array(half.astype(w.data.dtype)))
    return w.op("Sub", scaled, w.scalar(1))


@translates("BilinearSampler")
def _bilinear_sampler(w: NodeWriter) -> str:
    return _sampled(w, *w.inputs)


@translates("SpatialTransformer")
def _spatial_transformer(w: NodeWriter) -> str:
    return _sampled(w, w.data, _affine_grid(w, w.inputs[1], w.data.dtype))
