"""Cases for broadcasting: which axes are stretched, and how gradients are summed back."""

from __future__ import annotations

from ._case import Case, integers, normal, uniform, values

OPS = [
    "broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_mod",
    "broadcast_power", "broadcast_hypot", "broadcast_maximum", "broadcast_minimum",
    "broadcast_equal", "broadcast_not_equal", "broadcast_greater", "broadcast_greater_equal",
    "broadcast_lesser", "broadcast_lesser_equal", "broadcast_logical_and", "broadcast_logical_or",
    "broadcast_logical_xor",
]  # fmt: skip
#: Whole numbers in floating dtypes: ties and zeros are common.
LEFT = values([[[0.0, 1.0, 2.0]], [[-1.0, 3.0, 1.5]]])
RIGHT = values([[[1.0], [2.0], [-3.0], [0.0]]])

CASES = [
    *(Case(op, op, {"lhs": LEFT, "rhs": RIGHT}, also=("float64",)) for op in OPS),
    *(
        Case(f"broadcast_{op}", f"broadcast_{op}", {"lhs": normal(2, 3), "rhs": normal(2, 1)})
        for op in ("plus", "minus")
    ),
    *(
        Case(
            f"{op}-whole",
            op,
            {"lhs": integers(3, 1, low=-5), "rhs": integers(1, 4, low=1)},
            dtype="int32",
        )
        for op in (*OPS[:5], "broadcast_maximum", "broadcast_equal")
    ),
    Case("broadcast_add-equal_shapes", "broadcast_add", {"lhs": normal(2, 3), "rhs": normal(2, 3)}),
    Case("broadcast_add-channels", "broadcast_add",
         {"lhs": normal(2, 3, 2, 2), "rhs": normal(1, 3, 1, 1)}, also=("float16",)),
    Case("broadcast_mul-fewer_axes", "broadcast_mul", {"lhs": normal(3), "rhs": normal(4, 3)}),
    Case("broadcast_div-one", "broadcast_div",
         {"lhs": normal(2, 3, 4), "rhs": uniform(1, low=1.0, high=2.0)}),
    Case("broadcast_sub-right_stretched", "broadcast_sub",
         {"lhs": normal(5, 1, 3), "rhs": normal(1, 2, 1)}),
    Case("broadcast_to", "broadcast_to", {"data": normal(3, 1)}, {"shape": (3, 4)},
         also=("float16", "float64", "int32")),
    Case("broadcast_to-keeps_zero", "broadcast_to", {"data": normal(1, 3, 1)},
         {"shape": (2, 0, 4)}),
    Case("broadcast_axis", "broadcast_axis", {"data": normal(1, 2, 1)},
         {"axis": (2, 0), "size": (3, 4)}, also=("float64", "int32")),
    Case("broadcast_axis-number", "broadcast_axis", {"data": normal(1, 2, 1)},
         {"axis": 0, "size": 5}),
    Case("broadcast_axes", "broadcast_axes", {"data": normal(2, 1)}, {"axis": (1,), "size": (3,)}),
    Case("broadcast_like", "broadcast_like", {"lhs": normal(1, 3, 1), "rhs": normal(2, 3, 4)},
         also=("float64",)),
    Case("broadcast_like-axes", "broadcast_like", {"lhs": normal(1, 3, 1), "rhs": normal(5, 4)},
         {"lhs_axes": (0, -1), "rhs_axes": (1, -2)}),
    Case("broadcast_like-other_dtype", "broadcast_like",
         {"lhs": normal(1), "rhs": integers(4, dtype="int32")}),
]  # fmt: skip
