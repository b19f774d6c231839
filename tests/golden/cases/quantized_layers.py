"""Layers of parameters on bytes."""

from __future__ import annotations

from ._case import Case, Spec, uniform, values
from .quantize import NONE, ends
from .quantized import FLOATS, covered, i8, u8


def _product(op: str, name: str, data: Spec, weight: Spec, bias: bool = True, **attrs) -> Case:
    inputs = {"data": data, "weight": weight}
    if bias:
        inputs["bias"] = i8(weight.shape[0])
    inputs |= ends("", *covered(data), "data") | ends("", -3.0, 1.0, "weight")
    inputs |= ends("", -1.0, 2.0, "bias") if bias else {}
    op = f"_contrib_quantized_{op}"
    return Case(f"{op}_{name}", op, inputs, {"no_bias": not bias, **attrs}, no_grad=NONE)


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
    Case("_contrib_quantized_batch_norm_wide_eps", "_contrib_quantized_batch_norm",
         {"data": i8(2, 3, 4, 4), **PER_CHANNEL, **ends("", -1.0, 2.0, "data")},
         {"min_calib_range": -2.0, "max_calib_range": 3.0, "eps": 0.25}, no_grad=NONE,
         steps=1, why=FLOATS),
    _product("conv", "dilate", u8(1, 2, 5, 6), i8(2, 2, 2, 2), bias=False, kernel=(2, 2),
             num_filter=2, dilate=(2, 2), layout="NCHW"),
    _product("fully_connected", "rows", i8(3, 2, 4), i8(5, 4), bias=False, num_hidden=5,
             flatten=False),
    Case("_contrib_quantized_batch_norm_global", "_contrib_quantized_batch_norm",
         {"data": i8(2, 3, 4, 4), **PER_CHANNEL, **ends("", -1.0, 2.0, "data")},
         {"min_calib_range": -2.0, "max_calib_range": 3.0, "use_global_stats": True,
          "momentum": 0.5, "axis": 1}, no_grad=NONE, steps=1, why=FLOATS),
]  # fmt: skip
