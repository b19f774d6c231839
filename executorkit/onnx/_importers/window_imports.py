"""Pooling, images in another size, regions of interest."""

from typing import Any

import numpy as np

from ... import symbol as sym
from ...symbol import Symbol
from .._node_reader import NodeReader, imports
from .layer_imports import window
from .shape_imports import padded

_POOL_TYPES = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}


@imports(*_POOL_TYPES)
def _pool(r: NodeReader) -> Symbol:
    kernel = tuple(r.get("kernel_shape"))
    at = window(r, len(kernel), kernel)
    if any(d != 1 for d in at["dilate"]):
        r.refuse("windows with dilations")
    if r.n_outputs > 1 or r.get("storage_order", 0):
        r.refuse("positions of maxima, or another storage_order")
    kind = _POOL_TYPES[r.op_type]
    options: dict[str, Any] = {
        "kernel": kernel,
        "stride": at["stride"],
        "pooling_convention": "full" if r.get("ceil_mode", 0) else "valid",
        "pool_type": kind,
    }
    if kind == "lp":
        options["p_value"] = r.get("p", 2)
    elif kind == "avg":
        options["count_include_pad"] = bool(r.get("count_include_pad", 0))
    data = r[0]
    if options["pool_type"] == "lp" and options["p_value"] % 2:
        data = sym.abs(data)
    surplus = _surplus(r, at, options)
    name = r.name if surplus is None else None
    if at["before"] == at["after"]:
        result = sym.Pooling(data, pad=at["before"], name=name, **options)
    else:
        result = _uneven(data, at, options, name)
    return result if surplus is None else sym.slice(result, name=r.name, **surplus)


def _surplus(r: NodeReader, at: dict[str, Any], options: dict[str, Any]) -> dict[str, Any] | None:
    # MXNet has windows that begin beyond the data, ONNX has not.
    shape, output = r.shapes[0], r.output_shape
    if options["pooling_convention"] == "valid" or shape is None or output is None:
        return None
    if None in shape[2:] or None in output[2:]:
        return None
    counts = [
        -(-(n + b + a - k) // s) + 1
        for n, b, a, k, s in zip(
            shape[2:], at["before"], at["after"], options["kernel"], options["stride"], strict=True
        )
    ]
    if tuple(counts) == output[2:]:
        return None
    return {"begin": (None,) * len(shape), "end": (None, None, *output[2:])}


def _uneven(data: Symbol, at: dict[str, Any], options: dict[str, Any], name: str | None) -> Symbol:
    # Other padding before than behind becomes part of the data.
    before, after = (0, 0, *at["before"]), (0, 0, *at["after"])
    lowest = float(np.finfo(np.float32).min) if options["pool_type"] == "max" else 0.0
    wide = padded(data, before, after, lowest, None)
    if options.get("count_include_pad", True):
        return sym.Pooling(wide, name=name, **options)
    # Averages over entries without padding: both sums are divided by the whole window.
    options["count_include_pad"] = True
    ones = padded(sym.ones_like(data), before, after, 0.0, None)
    total, share = (sym.Pooling(x, **options) for x in (wide, ones))
    return sym.broadcast_div(total, share, name=name)


@imports(*(f"Global{name}" for name in _POOL_TYPES))
def _global_pool(r: NodeReader) -> Symbol:
    kind: Any = _POOL_TYPES[r.op_type.removeprefix("Global")]
    rank = r.rank(0) - 2 if r.shapes[0] is not None else 2
    options = {"p_value": r.get("p", 2)} if kind == "lp" else {}
    return sym.Pooling(
        r[0], kernel=(1,) * rank, global_pool=True, pool_type=kind, name=r.name, **options
    )


@imports("Resize", "Upsample")
def _resize(r: NodeReader) -> Symbol:
    factors, sizes = _target(r)
    mode = r.get("mode", "nearest")
    default = "asymmetric" if r.op_type == "Upsample" or r.opset < 11 else "half_pixel"
    place = r.get("coordinate_transformation_mode", default)
    if mode == "nearest":
        return _nearest(r, factors, place)
    if mode not in ("linear", "bilinear"):
        r.refuse(f"mode={mode!r}")
    if place not in ("align_corners", "half_pixel", "pytorch_half_pixel"):
        r.refuse(f"coordinate_transformation_mode={place!r}")
    if r.get("antialias", 0):
        r.refuse("antialias=1")
    size: dict[str, Any]
    if sizes is not None:
        if place == "pytorch_half_pixel" and 1 in sizes:
            r.refuse("a side of one pixel with pytorch_half_pixel")
        size = {"height": sizes[0], "width": sizes[1]}
    else:
        lengths = r.shapes[0][2:] if r.shapes[0] is not None else (None, None)
        if any(f * (n or 1) % 1 > 1e-5 for f, n in zip(factors, lengths, strict=True)):
            r.refuse("a factor that gives no whole number of pixels")
        size = {"scale_height": factors[0], "scale_width": factors[1]}
    aligned = place == "align_corners"
    return sym.contrib.BilinearResize2D(r[0], **size, align_corners=aligned, name=r.name)


def _target(r: NodeReader) -> tuple[list[float], list[int] | None]:
    if r.get("axes") is not None or r.rank(0) != 4:
        r.refuse("anything but images (N, C, H, W)")
    if "scales" in r.attrs:
        scales = r.attrs["scales"]
    else:
        scales = r.optional(1 if r.op_type == "Upsample" or r.opset < 11 else 2)
    if scales is not None and len(scales):
        if any(abs(s - 1) > 1e-6 for s in scales[:2]):
            r.refuse("a change of batch or channels")
        return [float(s) for s in scales[2:]], None
    if r.output_shape is None or None in r.output_shape[2:]:
        r.refuse("a size that is computed from sizes of inputs")
    new = [int(n) for n in r.output_shape[2:] if n is not None]
    return [n / m if m else 0.0 for n, m in zip(new, (r.shapes[0] or ())[2:], strict=True)], new


def _nearest(r: NodeReader, factors: list[float], place: str) -> Symbol:
    whole = [round(f) for f in factors]
    if any(abs(f - n) > 1e-6 or n < 1 for f, n in zip(factors, whole, strict=True)):
        r.refuse("nearest pixels for a factor that is not a whole number")
    older = r.op_type == "Upsample" or r.opset < 11
    rounding = "floor" if older else r.get("nearest_mode", "round_prefer_floor")
    repeats = place in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round_prefer")
    repeats |= place == "asymmetric" and (
        rounding == "floor" or (rounding == "round_prefer_floor" and max(whole) <= 2)
    )
    if not repeats:
        r.refuse(f"nearest pixels with {place} and {rounding}")
    if whole[0] == whole[1]:
        return sym.UpSampling(r[0], scale=whole[0], sample_type="nearest", name=r.name)
    rows = sym.repeat(r[0], repeats=whole[0], axis=2)
    return sym.repeat(rows, repeats=whole[1], axis=3, name=r.name)


@imports("RoiAlign")
def _roi_align(r: NodeReader) -> Symbol:
    r.only("mode", "avg")
    place = r.get(
        "coordinate_transformation_mode", "half_pixel" if r.opset >= 16 else "output_half_pixel"
    )
    images = sym.cast(sym.expand_dims(r[2], axis=1), dtype="float32")
    return sym.contrib.ROIAlign(
        r[0], sym.concat(images, r[1], dim=1), spatial_scale=r.get("spatial_scale", 1.0),
        pooled_size=(r.get("output_height", 1), r.get("output_width", 1)),
        sample_ratio=r.get("sampling_ratio", 0) or -1, aligned=place == "half_pixel", name=r.name,
    )  # fmt: skip


@imports("GridSample")
def _grid_sample(r: NodeReader) -> Symbol:
    mode = r.get("mode", "bilinear")
    if mode not in ("bilinear", "linear") or r.get("padding_mode", "zeros") != "zeros":
        r.refuse("anything but bilinear samples with zeros outside")
    if not r.get("align_corners", 0) or r.rank(0) != 4:
        r.refuse("align_corners=0, or anything but images (N, C, H, W)")
    return sym.BilinearSampler(r[0], sym.transpose(r[1], axes=(0, 3, 1, 2)), name=r.name)
