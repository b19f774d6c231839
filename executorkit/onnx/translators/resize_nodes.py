"""Images in another size."""

from __future__ import annotations

import math

import numpy as np

from .._draft import Value
from .._node_writer import NodeWriter, Operand
from .._translators import translates


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
    if w["multi_input_mode"] == "sum":
        return w.op("Sum", *images)
    return w.concat(images, 1)


def _enlarged(w: NodeWriter, image: Value, scale: int) -> str:
    """An image with every pixel repeated, ``scale`` times the size of the first input."""
    factors = [scale, scale]
    if image is not w.data:
        pairs = zip(w.data.sizes[2:], image.sizes[2:], strict=True)
        factors = [scale * n // m for n, m in pairs]
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
    """Images of a size that varies, made larger or smaller by a factor or as another input."""
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
