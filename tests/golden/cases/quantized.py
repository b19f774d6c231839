"""Layers on bytes."""

from __future__ import annotations

from ._case import Case, Spec, integers, uniform, values
from .quantize import NONE, ends


def i8(*shape: int) -> Spec:
    return integers(*shape, low=-128, high=128, dtype="int8")


def u8(*shape: int) -> Spec:
    return integers(*shape, low=0, high=256, dtype="uint8")


FLOATS = "MXNet adds up in floats: 24 bits of 32, and halves fall either way"


def _of(data: Spec) -> tuple[float, float]:
    return (0.0, 2.0) if data.dtype == "uint8" else (-1.0, 2.0)


def _product(op: str, name: str, data: Spec, weight: Spec, bias: bool = True, **attrs) -> Case:
    inputs = {"data": data, "weight": weight}
    if bias:
        inputs["bias"] = i8(weight.shape[0])
    inputs |= ends("", *_of(data), "data") | ends("", -3.0, 1.0, "weight")
    inputs |= ends("", -1.0, 2.0, "bias") if bias else {}
    op = f"_contrib_quantized_{op}"
    return Case(f"{op}_{name}", op, inputs, {"no_bias": not bias, **attrs}, no_grad=NONE)


def _same(op: str, name: str, data: Spec, **attrs) -> Case:
    op = f"_contrib_quantized_{op}"
    return Case(f"{op}_{name}", op, {"data": data, **ends("", *_of(data), "data")}, attrs,
                no_grad=NONE, train=False)  # fmt: skip


def _pair(op: str, name: str, lhs: Spec, rhs: Spec, **attrs) -> Case:
    inputs = {"lhs": lhs, "rhs": rhs}
    for side, data, scale in (("lhs", lhs, 1.0), ("rhs", rhs, 1.5)):
        low, high = _of(data)
        inputs[f"{side}_min"] = values([low * scale], dtype="float32")
        inputs[f"{side}_max"] = values([high * scale], dtype="float32")
    op = f"_contrib_quantized_{op}"
    return Case(f"{op}_{name}", op, inputs, attrs, no_grad=NONE,
                steps=1 if "min_calib_range" in attrs else 512, why=FLOATS)  # fmt: skip


def _concat(name: str, *parts: Spec, **attrs) -> Case:
    inputs = {f"arg{i}": part for i, part in enumerate(parts)}
    for i, part in enumerate(parts):
        low, high = _of(part)
        inputs[f"arg{i}_min"] = values([low / (i + 1)], dtype="float32")
        inputs[f"arg{i}_max"] = values([high / (i + 1)], dtype="float32")
    op = "_contrib_quantized_concat"
    return Case(f"{op}_{name}", op, inputs, {"num_args": len(parts), **attrs}, no_grad=NONE)


PLANE, WINDOW = (2, 3, 6, 7), {"kernel": (3, 3), "stride": (2, 2)}
PER_CHANNEL = {n: uniform(3, low=0.3, high=1.5, dtype="float32")
               for n in ("gamma", "beta", "moving_mean", "moving_var")}  # fmt: skip

CASES = [
    _product("conv", "plain", u8(2, 3, 5, 6), i8(4, 3, 3, 3), kernel=(3, 3), num_filter=4),
    _product("conv", "no_bias", u8(2, 3, 5, 6), i8(4, 3, 3, 3), bias=False, kernel=(3, 3),
             num_filter=4, pad=(1, 1), stride=(2, 2)),
    _product("conv", "deep", u8(1, 80, 3, 3), i8(2, 80, 3, 3), bias=False, kernel=(3, 3),
             num_filter=2),
    _product("fully_connected", "unsigned", u8(3, 2, 4), i8(5, 8), num_hidden=5),
    _product("fully_connected", "signed", i8(3, 8), i8(5, 8), num_hidden=5),
    _product("fully_connected", "no_bias", i8(3, 700), i8(2, 700), bias=False, num_hidden=2),
    _same("pooling", "max", i8(*PLANE), pool_type="max", **WINDOW),
    _same("pooling", "mean", u8(*PLANE), pool_type="avg", pad=(1, 1), **WINDOW),
    _same("pooling", "mean_signed", i8(*PLANE), pool_type="avg", pad=(1, 1),
          count_include_pad=False, **WINDOW),
    _same("pooling", "full", u8(*PLANE), pool_type="max", pooling_convention="full", **WINDOW),
    _same("pooling", "global", u8(*PLANE), pool_type="avg", kernel=(1, 1), global_pool=True,
          layout="NCHW"),
    _same("flatten", "plain", u8(2, 3, 4)),
    _same("act", "relu", i8(2, 3, 4), act_type="relu"),
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
    _pair("elemwise_mul", "plain", i8(3, 20), i8(3, 20)),
    _pair("elemwise_mul", "calibrated", i8(3, 20), i8(3, 20), min_calib_range=-8.0,
          max_calib_range=4.0),
    _pair("elemwise_mul", "real", i8(3, 20), i8(3, 20), enable_float_output=True),
    Case("_contrib_quantized_embedding_plain", "_contrib_quantized_embedding",
         {"data": values([[0, 2, 3], [1, 9, 0]], dtype="float32"), "weight": i8(4, 3),
          **ends("", -1.0, 2.0, "weight")},
         {"input_dim": 4, "output_dim": 3, "dtype": "int8"}, no_grad=NONE),
    Case("_contrib_quantized_batch_norm_plain", "_contrib_quantized_batch_norm",
         {"data": i8(2, 3, 4, 4), **PER_CHANNEL, **ends("", -1.0, 2.0, "data")},
         {"min_calib_range": -2.0, "max_calib_range": 3.0, "fix_gamma": False}, no_grad=NONE,
         steps=1, why=FLOATS),
    Case("_contrib_quantized_batch_norm_fixed", "_contrib_quantized_batch_norm",
         {"data": i8(2, 3, 4, 4), **PER_CHANNEL, **ends("", -1.0, 2.0, "data")},
         {"min_calib_range": -2.0, "max_calib_range": 3.0, "eps": 1e-5}, no_grad=NONE,
         steps=1, why=FLOATS),
]  # fmt: skip
