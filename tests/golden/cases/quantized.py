"""Bytes pooled, joined, added, multiplied."""

from __future__ import annotations

from ._case import Case, Spec, integers, values
from .quantize import NONE, ends


def i8(*shape: int) -> Spec:
    return integers(*shape, low=-128, high=128, dtype="int8")


def u8(*shape: int) -> Spec:
    return integers(*shape, low=0, high=256, dtype="uint8")


FLOATS = "MXNet adds up in floats: 24 bits of 32, and halves fall either way"


def covered(data: Spec) -> tuple[float, float]:
    """A range for bytes of this type."""
    return (0.0, 2.0) if data.dtype == "uint8" else (-1.0, 2.0)


def _same(op: str, name: str, data: Spec, **attrs) -> Case:
    op = f"_contrib_quantized_{op}"
    return Case(f"{op}_{name}", op, {"data": data, **ends("", *covered(data), "data")}, attrs,
                no_grad=NONE, train=False)  # fmt: skip


def _pair(op: str, name: str, lhs: Spec, rhs: Spec, **attrs) -> Case:
    inputs = {"lhs": lhs, "rhs": rhs}
    for side, data, scale in (("lhs", lhs, 1.0), ("rhs", rhs, 1.5)):
        low, high = covered(data)
        inputs[f"{side}_min"] = values([low * scale], dtype="float32")
        inputs[f"{side}_max"] = values([high * scale], dtype="float32")
    op = f"_contrib_quantized_{op}"
    return Case(f"{op}_{name}", op, inputs, attrs, no_grad=NONE,
                steps=1 if "min_calib_range" in attrs else 512, why=FLOATS)  # fmt: skip


def _concat(name: str, *parts: Spec, **attrs) -> Case:
    inputs = {f"arg{i}": part for i, part in enumerate(parts)}
    for i, part in enumerate(parts):
        low, high = covered(part)
        inputs[f"arg{i}_min"] = values([low / (i + 1)], dtype="float32")
        inputs[f"arg{i}_max"] = values([high / (i + 1)], dtype="float32")
    op = "_contrib_quantized_concat"
    return Case(f"{op}_{name}", op, inputs, {"num_args": len(parts), **attrs}, no_grad=NONE)


PLANE, WINDOW = (2, 3, 6, 7), {"kernel": (3, 3), "stride": (2, 2)}

CASES = [
    _same("pooling", "max", i8(*PLANE), pool_type="max", **WINDOW),
    _same("pooling", "mean", u8(*PLANE), pool_type="avg", pad=(1, 1), **WINDOW),
    _same("pooling", "mean_signed", i8(*PLANE), pool_type="avg", pad=(1, 1),
          count_include_pad=False, **WINDOW),
    _same("pooling", "full", u8(*PLANE), pool_type="max", pooling_convention="full", **WINDOW),
    _same("pooling", "global", u8(*PLANE), pool_type="avg", kernel=(1, 1), global_pool=True,
          layout="NCHW"),
    _same("pooling", "mean_full", u8(*PLANE), pool_type="avg", pooling_convention="full", **WINDOW),
    _same("pooling", "mean_full_padded", i8(*PLANE), pool_type="avg", pooling_convention="full",
          pad=(1, 1), **WINDOW),
    _same("pooling", "mean_full_inside", i8(*PLANE), pool_type="avg", pooling_convention="full",
          pad=(1, 1), count_include_pad=False, **WINDOW),
    _same("flatten", "plain", u8(2, 3, 4)),
    _same("act", "relu", i8(2, 3, 4), act_type="relu"),
    _same("act", "relu_unsigned", u8(2, 3, 4), act_type="relu"),
    _concat("signed", i8(2, 3), i8(2, 4), i8(2, 1)),
    _concat("unsigned", u8(2, 3, 2), u8(2, 3, 2), dim=2),
    _concat("mixed", u8(2, 3), i8(2, 4)),
    _pair("elemwise_add", "signed", i8(3, 20), i8(3, 20)),
    _pair("elemwise_add", "unsigned", u8(3, 20), u8(3, 20)),
    _pair("elemwise_add", "calibrated", i8(3, 20), i8(3, 20), min_calib_range=-2.0,
          max_calib_range=4.0),
    _pair("elemwise_add", "calibrated_unsigned", u8(3, 20), u8(3, 20), min_calib_range=0.0,
          max_calib_range=4.0),
    _pair("elemwise_add", "calibrated_mixed", u8(3, 20), i8(3, 20), min_calib_range=-1.0,
          max_calib_range=4.0),
    _pair("elemwise_add", "mixed", i8(3, 20), u8(3, 20)),
    _pair("elemwise_add", "calibrated_narrow", i8(3, 20), u8(3, 20), min_calib_range=-1.0,
          max_calib_range=1.5),
    _pair("elemwise_mul", "plain", i8(3, 20), i8(3, 20)),
    _pair("elemwise_mul", "calibrated", i8(3, 20), i8(3, 20), min_calib_range=-8.0,
          max_calib_range=4.0),
    _pair("elemwise_mul", "real", i8(3, 20), i8(3, 20), enable_float_output=True),
    _same("pooling", "mean_padded", u8(*PLANE), pool_type="avg", pad=(1, 1), count_include_pad=True,
          layout="NCHW", **WINDOW),
]  # fmt: skip
