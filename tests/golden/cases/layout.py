"""Cases for new, dropped and permuted axes, and blocks."""

from __future__ import annotations

from ._case import Case, normal

CASES = [
    Case("expand_dims", "expand_dims", {"data": normal(2, 3)}, {"axis": 1}, also=("int32",)),
    Case("expand_dims-last", "expand_dims", {"data": normal(2, 3)}, {"axis": -1}),
    Case("expand_dims-first", "expand_dims", {"data": normal(2, 3)}, {"axis": -3}),
    Case("squeeze", "squeeze", {"data": normal(2, 1, 3, 1)}, also=("float64", "int32")),
    Case("squeeze-axis", "squeeze", {"data": normal(2, 1, 3, 1)}, {"axis": 1}),
    Case("squeeze-axes", "squeeze", {"data": normal(2, 1, 3, 1)}, {"axis": (1, -1)}),
    Case("squeeze-no_axes", "squeeze", {"data": normal(2, 1, 3)}, {"axis": ()}),
    Case("squeeze-all", "squeeze", {"data": normal(1, 1)}),
    Case("squeeze-all_named", "squeeze", {"data": normal(1, 1)}, {"axis": (0, 1)}),
    Case("transpose", "transpose", {"data": normal(2, 3, 4)}, also=("float16", "uint8")),
    Case("transpose-matrix", "transpose", {"data": normal(3, 2)}, {"axes": (1, 0)}),
    Case("transpose-nhwc", "transpose", {"data": normal(2, 3, 4, 5)}, {"axes": (0, 2, 3, 1)}),
    Case("transpose-back", "transpose", {"data": normal(2, 3, 4, 5)}, {"axes": (3, 0, 1, 2)}),
    Case(
        "transpose-six",
        "transpose",
        {"data": normal(1, 2, 3, 2, 3, 2)},
        {"axes": (0, 1, 4, 2, 5, 3)},
    ),
    Case("SwapAxis", "SwapAxis", {"data": normal(2, 3, 4)}, {"dim1": 0, "dim2": 2}, also=("int8",)),
    Case("SwapAxis-negative", "SwapAxis", {"data": normal(2, 3, 4)}, {"dim1": -1, "dim2": 1}),
    Case("SwapAxis-same", "SwapAxis", {"data": normal(2, 3)}),
    Case("depth_to_space", "depth_to_space", {"data": normal(2, 8, 3, 2)}, {"block_size": 2}),
    Case(
        "depth_to_space-3",
        "depth_to_space",
        {"data": normal(1, 9, 1, 2)},
        {"block_size": 3},
        also=("float64",),
    ),
    Case("space_to_depth", "space_to_depth", {"data": normal(2, 2, 4, 6)}, {"block_size": 2}),
    Case(
        "space_to_depth-3",
        "space_to_depth",
        {"data": normal(1, 1, 3, 6)},
        {"block_size": 3},
        also=("int32",),
    ),
]
