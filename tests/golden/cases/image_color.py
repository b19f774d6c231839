"""Changes of colour whose random factor can take only one value."""

from __future__ import annotations

from ._case import Case, integers

PHOTO = integers(4, 5, 3, high=256)
GRAY = integers(4, 5, 1, high=256)
NONE = "MXNet has none"


def sure(stem: str, factor: float, *also: str, suffix: str = "", data=PHOTO) -> Case:
    factors = {"min_factor": factor, "max_factor": factor}
    return Case(f"{stem}{suffix}", f"_image_random_{stem}", {"data": data}, factors, also=also,
                no_grad=NONE, rtol64=1e-6, why="MXNet's factors are float32")  # fmt: skip


CASES = [
    sure("brightness", 0.5, "uint8", "float64"),
    sure("brightness", 1.5, "uint8", suffix="_more"),
    sure("contrast", 0.5, "uint8", "float64"),
    sure("contrast", 1.5, "uint8", suffix="_more"),
    sure("contrast", 0.5, suffix="_gray", data=GRAY),
    sure("saturation", 0.5, "uint8", "float64"),
    sure("saturation", 1.5, "uint8", suffix="_more"),
    sure("saturation", 0.5, suffix="_gray", data=GRAY),
    sure("hue", 0.5, "float64"),
    sure("hue", 0.1, suffix="_little"),
    sure("hue", 0.7, suffix="_back"),
    Case("adjust_lighting", "_image_adjust_lighting", {"data": PHOTO}, {"alpha": (0.1, -2.0, 3.0)},
         also=("uint8", "float64"), no_grad=NONE, rtol64=1e-6, why="MXNet adds in float32"),
    Case("random_lighting", "_image_random_lighting", {"data": PHOTO}, {"alpha_std": 0.0},
         also=("uint8",), no_grad=NONE),
]  # fmt: skip
