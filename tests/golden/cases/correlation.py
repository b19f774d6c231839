"""Correlation of two images."""

from __future__ import annotations

from ._case import Case, normal


def _case(name: str, *shape: int, also=(), **attrs) -> Case:
    inputs = {"data1": normal(*shape), "data2": normal(*shape)}
    return Case(f"Correlation_{name}", "Correlation", inputs, attrs, also=also)


CASES = [
    _case("plain", 2, 3, 5, 6),
    _case("flownet", 1, 2, 8, 9, kernel_size=1, max_displacement=4, stride2=2, pad_size=4),
    _case("kernel", 2, 2, 9, 10, kernel_size=3, max_displacement=2, pad_size=1),
    _case("strides", 1, 3, 11, 12, kernel_size=3, max_displacement=3, stride1=2, stride2=2,
          pad_size=2),
    _case("difference", 2, 3, 6, 5, is_multiply=False, pad_size=1, also=("float64",)),
    _case("difference_kernel", 1, 2, 8, 9, is_multiply=False, kernel_size=3, stride1=3),
    _case("one", 1, 1, 1, 1, max_displacement=0),
]  # fmt: skip
