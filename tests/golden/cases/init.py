"""Cases for operators that make constant arrays."""

from __future__ import annotations

from ._case import Case, normal

DTYPES = ("float16", "float64", "uint8", "int8", "int32", "int64")

CASES = [
    Case("_zeros", "_zeros", {}, {"shape": (2, 3)}),
    *(Case(f"_zeros-{d}", "_zeros", {}, {"shape": (2,), "dtype": d}) for d in DTYPES),
    Case("_zeros-placed", "_zeros", {}, {"shape": (1,), "ctx": "cpu(0)", "dtype": "float32"}),
    Case("_ones", "_ones", {}, {"shape": (2, 3)}),
    Case("_ones-int32", "_ones", {}, {"shape": 4, "dtype": "int32"}),
    Case("_full", "_full", {}, {"shape": (2, 3), "value": 2.5}),
    Case("_full-int32", "_full", {}, {"shape": (2,), "value": -2.5, "dtype": "int32"}),
    Case("_full-half", "_full", {}, {"shape": (2,), "value": 0.1, "dtype": "float16"}),
    Case("_eye", "_eye", {}, {"N": 3}),
    Case("_eye-wide", "_eye", {}, {"N": 3, "M": 4, "k": 1}),
    Case("_eye-int8", "_eye", {}, {"N": 4, "M": 2, "k": -1, "dtype": "int8"}),
    Case("_arange", "_arange", {}, {"start": 0, "stop": 5}),
    Case("_arange-stop_only", "_arange", {}, {"start": 4}),
    Case("_arange-none", "_arange", {}, {"start": 3, "stop": "None", "infer_range": False}),
    Case("_arange-fractions", "_arange", {}, {"start": 0, "stop": 1, "step": 0.3}),
    Case("_arange-down", "_arange", {}, {"start": 5, "stop": 0, "step": -2, "repeat": 2}),
    Case("_arange-float64", "_arange", {},
         {"start": 1, "stop": 2, "step": 0.1, "dtype": "float64"}),
    Case("_arange-int64", "_arange", {}, {"start": 2, "stop": 20, "step": 3, "dtype": "int64"}),
    Case("_arange-int32_fraction", "_arange", {},
         {"start": 0.5, "stop": 6, "step": 1.5, "dtype": "int32"}),
    Case("_linspace", "_linspace", {}, {"start": 0, "stop": 1, "num": 5}),
    Case("_linspace-open", "_linspace", {}, {"start": 0, "stop": 1, "num": 7, "endpoint": False}),
    Case("_linspace-float64", "_linspace", {},
         {"start": -2, "stop": 1, "num": 11, "dtype": "float64"}),
    Case("_linspace-int32", "_linspace", {}, {"start": 0, "stop": 7, "num": 5, "dtype": "int32"}),
    Case("_linspace-one", "_linspace", {}, {"start": 3, "stop": 7, "num": 1}),
    Case("zeros_like", "zeros_like", {"data": normal(2, 3)}, also=("float16", "float64", "int32")),
    Case("ones_like", "ones_like", {"data": normal(2, 3)}, also=("float16", "float64", "int32")),
    Case("shape_array", "shape_array", {"data": normal(2, 3, 1)}, also=("int32",)),
    Case("size_array", "size_array", {"data": normal(2, 3, 1)}, also=("float64",)),
    Case("arange_like", "_contrib_arange_like", {"data": normal(2, 3)},
         also=("float16", "float64", "int32")),
    Case("arange_like-all", "_contrib_arange_like", {"data": normal(2, 3)},
         {"start": 1.5, "step": -0.5, "repeat": 2}),
    Case("arange_like-axis", "_contrib_arange_like", {"data": normal(2, 6)},
         {"axis": -1, "repeat": 3}),
    Case("arange_like-half", "_contrib_arange_like", {"data": normal(8)},
         {"start": 2045.9, "step": 1.7}, dtype="float16"),
    *(Case(f"_eye-{d}", "_eye", {}, {"N": 2, "dtype": d}) for d in ("float16", "float64", "int32",
      "int64", "uint8")),
    *(Case(f"_full-{d}", "_full", {}, {"shape": 2, "value": 1.5, "dtype": d})
      for d in ("float64", "int64", "int8", "uint8", "bool")),
    *(Case(f"_linspace-{d}", "_linspace", {}, {"start": 0, "stop": 7, "num": 4, "dtype": d})
      for d in ("float16", "int64", "int8", "uint8")),
    *(Case(f"_ones-{d}", "_ones", {}, {"shape": 2, "dtype": d})
      for d in ("float16", "float64", "int64", "int8", "uint8", "bool")),
    Case("_zeros-bool", "_zeros", {}, {"shape": 2, "dtype": "bool"}),
    *(Case(f"_arange-{d}", "_arange", {}, {"start": 2, "stop": 9, "step": 3, "dtype": d})
      for d in ("float16", "int8", "uint8")),
]  # fmt: skip
