"""Resizing: smaller, larger, both, by every method and every way to say the size."""

from __future__ import annotations

from ._case import Case, integers

PHOTO = integers(7, 9, 3, high=256)
NONE = "MXNet has none"
WHY = "OpenCV's weights are float32"


def case(name: str, attrs: dict, *also: str, data=PHOTO) -> Case:
    return Case(name, "_image_resize", {"data": data}, attrs, also=also, no_grad=NONE,
                rtol64=1e-6, why=WHY)  # fmt: skip


METHODS = {0: "nearest", 1: "bilinear", 2: "bicubic", 3: "area", 4: "lanczos"}
SIZES = {"smaller": (5, 3), "larger": (13, 8), "mixed": (4, 11)}
CASES = [
    case(f"{method}_{which}", {"size": size, "interp": interp}, "uint8", "float64")
    for interp, method in METHODS.items()
    for which, size in SIZES.items()
] + [
    case("square", {"size": (4,)}, "uint8"),
    case("ratio_wide", {"size": (4,), "keep_ratio": True}),
    case("ratio_high", {"size": (4,), "keep_ratio": True}, data=integers(9, 7, 1, high=256)),
    case("batch", {"size": (4, 3)}, data=integers(2, 5, 6, 3, high=256)),
    case("half", {"size": (3, 4), "interp": 3}, "uint8", data=integers(8, 6, 3, high=256)),
    case("third", {"size": (2, 3), "interp": 3}, "uint8", data=integers(9, 6, 3, high=256)),
    case(
        "whole_nearest",
        {"size": (5, 3), "interp": 0},
        "int8",
        "int32",
        data=integers(7, 9, 3, low=-100, high=100),
    ),
    case("same", {"size": (9, 7)}, "uint8"),
]
