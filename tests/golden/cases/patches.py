"""Patches of images in one to three dimensions, with every attribute."""

from __future__ import annotations

from ._case import Case, normal

WINDOW = {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 2)}

CASES = [
    Case("im2col", "im2col", {"data": normal(2, 3, 5, 4)}, {"kernel": (2, 3)},
         also=("float16", "float64")),
    Case("im2col_all", "im2col", {"data": normal(2, 3, 5, 6)}, WINDOW),
    Case("im2col_one", "im2col", {"data": normal(1, 1, 1, 1)}, {"kernel": (1, 1)}),
    Case("col2im", "col2im", {"data": normal(2, 18, 6)}, {"output_size": (4, 4), "kernel": (3, 2)},
         also=("float16", "float64"), rtol16=1e-2, why="sums in another order"),
    Case("col2im_all", "col2im", {"data": normal(2, 18, 24)},
         {"output_size": (5, 6), **WINDOW}),
]  # fmt: skip
