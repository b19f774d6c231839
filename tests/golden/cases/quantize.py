"""From real numbers to eight bits and back."""

from __future__ import annotations

from ._case import Case, Spec, integers, normal, uniform, values

NONE = "bytes have no gradient"
LARGE = 2**31 - 1


def ends(prefix: str, low: float, high: float, suffix: str = "range") -> dict[str, Spec]:
    """The two arrays that say what range a quantised array covers."""
    return {f"min_{prefix}{suffix}": values([low], dtype="float32"),
            f"max_{prefix}{suffix}": values([high], dtype="float32")}  # fmt: skip


def _case(op: str, name: str, data: Spec, value_range=None, **attrs) -> Case:
    inputs = {"data": data, **(ends("", *value_range) if value_range else {})}
    return Case(f"_contrib_{op}_{name}", f"_contrib_{op}", inputs, attrs, no_grad=NONE)


X = uniform(5, 40, low=-3.0, high=3.0)
POSITIVE = uniform(5, 40, high=3.0)
I8 = integers(4, 50, low=-128, high=128, dtype="int8")
U8 = integers(4, 50, low=0, high=256, dtype="uint8")
I32 = integers(4, 50, low=-LARGE, high=LARGE, dtype="int32")
SMALL = integers(4, 50, low=-30000, high=30000, dtype="int32")

CASES = [
    _case("quantize", "uint8", POSITIVE, (0.0, 2.5)),
    _case("quantize", "uint8_low", X, (-1.0, 2.5)),
    _case("quantize", "int8", X, (-2.5, 2.0), out_type="int8"),
    _case("quantize_v2", "int8", X),
    _case("quantize_v2", "uint8", POSITIVE, out_type="uint8"),
    _case("quantize_v2", "auto", normal(3, 3), out_type="auto"),
    _case("quantize_v2", "calibrated", X, min_calib_range=-2.0, max_calib_range=1.5),
    _case("quantize_v2", "auto_unsigned", POSITIVE, out_type="auto", min_calib_range=0.0,
          max_calib_range=2.640000),
    _case("quantize_v2", "auto_signed", X, out_type="auto", min_calib_range=-2.117904,
          max_calib_range=2.578136),
    _case("quantize_v2", "again", I8),
    _case("quantize_v2", "again_unsigned", U8, out_type="uint8"),
    _case("quantize_v2", "read_as_int8", U8),
    _case("quantize_v2", "read_as_uint8", I8, out_type="uint8"),
    _case("quantize_v2", "again_calibrated", I8, out_type="auto", min_calib_range=0.0,
          max_calib_range=5.0),
    _case("dequantize", "int8", I8, (-1.0, 2.0)),
    _case("dequantize", "uint8", U8, (0.0, 2.0)),
    _case("dequantize", "uint8_low", U8, (-3.0, 2.0)),
    _case("requantize", "free", SMALL, (-100.0, 200.0)),
    _case("requantize", "int8", I32, (-1.0, 2.0), min_calib_range=-0.5, max_calib_range=1.6),
    _case("requantize", "uint8", I32, (-1.0, 2.0), out_type="uint8", min_calib_range=0.0,
          max_calib_range=1.6),
    _case("requantize", "auto", I32, (-1.0, 2.0), out_type="auto", min_calib_range=0.0,
          max_calib_range=1.6),
    _case("requantize", "free_uint8", SMALL, (-100.0, 200.0), out_type="uint8"),
    _case("requantize", "uint8_low", I32, (-1.0, 2.0), out_type="uint8", min_calib_range=-0.7,
          max_calib_range=0.3),
    _case("requantize", "auto_positive", I32, (-3.0, 2.0), out_type="auto", min_calib_range=0.5,
          max_calib_range=1.6),
    _case("quantize_v2", "one", values([[0.7]])),
]  # fmt: skip
