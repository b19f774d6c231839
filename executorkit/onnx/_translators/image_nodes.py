"""Images in another size, their regions of interest, and images sampled at positions of a grid."""

import math

import numpy as np

from .._draft import Value
from .._node_writer import NodeWriter, Operand, translates


@translates("UpSampling")
def _up_sampling(w: NodeWriter) -> str:
    scale = w["scale"]
    if w["sample_type"] == "bilinear":
        channels = w.data.shape[1]
        if channels is None:
            w.refuse("a number of channels that varies")
        size, pad = 2 * scale - scale % 2, math.ceil((scale - 1) / 2)
        return w.op(
            "ConvTranspose", *w.inputs, kernel_shape=[size] * 2, strides=[scale] * 2,
            pads=[pad] * 4, group=channels,
        )  # fmt: skip
    images = [_enlarged(w, image, scale) for image in w.inputs]
    if len(images) == 1:
        return images[0]
    return w.op("Sum", *images) if w["multi_input_mode"] == "sum" else w.concat(images, 1)


def _enlarged(w: NodeWriter, image: Value, scale: int) -> str:
    factors = [scale, scale]
    if image is not w.data:
        factors = [scale * n // m for n, m in zip(w.data.sizes[2:], image.sizes[2:], strict=True)]
    scales = w.array(np.array([1, 1, *factors], np.float32), "scales")
    return w.op(
        "Resize", image, "", scales, mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip


@translates("_contrib_BilinearResize2D")
def _bilinear_resize(w: NodeWriter) -> str:
    sizes = w.output.sizes[2:]
    if None in w.output.shape[2:]:
        return _scaled(w)
    target = w.length_list([w.length(w.data, 0), w.length(w.data, 1), *sizes])
    return w.op("Resize", w.data, "", "", target, **_coordinates(w))


def _coordinates(w: NodeWriter) -> dict[str, str]:
    mode = "align_corners" if w["align_corners"] else "half_pixel"
    return {"mode": "linear", "coordinate_transformation_mode": mode}


def _scaled(w: NodeWriter) -> str:
    sizes: list[Operand]
    if w["mode"] == "like":
        sizes = [w.op("Shape", w.inputs[1])]
    elif w["mode"] == "size" and w["scale_height"] is not None:
        factors = np.array([w["scale_height"], w["scale_width"]], np.float32)
        old = w.op("Cast", w.slice(w.op("Shape", w.data), [0], [2], [4]), to=1)
        sizes = [w.op("Cast", w.op("Floor", w.op("Mul", old, w.array(factors))), to=7)]
    else:
        w.refuse(f"mode={w['mode']!r} with images of a size that varies")
    front = w.slice(w.op("Shape", w.data), [0], [0], [2])
    back = w.slice(sizes[0], [0], [2], [4]) if w["mode"] == "like" else sizes[0]
    return w.op("Resize", w.data, "", "", w.concat([front, back], 0), **_coordinates(w))


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
    height, width = w["target_shape"]
    x, y = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    points = np.stack([x, y, np.ones_like(x)]).reshape(3, -1).astype(dtype)
    product = w.op("MatMul", w.op("Reshape", theta, w.ints(-1, 2, 3)), w.array(points))
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
    return w.op("Sub", w.op("Div", moved, w.array(half.astype(w.data.dtype))), w.scalar(1))


translates("BilinearSampler")(lambda w: _sampled(w, *w.inputs))
translates("SpatialTransformer")(
    lambda w: _sampled(w, w.data, _affine_grid(w, w.inputs[1], w.data.dtype))
)
