"""Cases for reductions: axes, ties, NaN, zeros, narrow integers."""

from __future__ import annotations

from ._case import Case, distinct, integers, normal, uniform, values

NAN = float("nan")
SUMS = ["sum", "mean", "prod", "nansum", "nanprod", "max", "min"]
#: Values of axis, keepdims and exclude by the name of the case.
AXES = {
    "all": {},
    "none_named": {"axis": ()},
    "last": {"axis": -1},
    "two": {"axis": (0, 2), "keepdims": True},
    "unordered": {"axis": (2, 0)},
    "others": {"axis": 1, "exclude": True},
    "all_kept": {"keepdims": True},
    "no_axis": {"axis": (0, 1, 2), "exclude": True},
}
ODD = values([[3.0, NAN, 4.0, 2.0], [0.0, 5.0, 1.0, 5.0], [2.0, 2.0, 1.0, 1.0]])
TIES = values([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [-1.0, -1.0, 0.0]])

CASES = [
    *(
        Case(f"{op}-two", op, {"data": uniform(2, 3, 4, low=0.5, high=2)}, AXES["two"],
             also=("float16", "float64"))
        for op in SUMS
    ),
    *(Case(f"{op}-odd", op, {"data": ODD}, {"axis": 1}) for op in SUMS),
    *(Case(f"sum-{name}", "sum", {"data": normal(2, 3, 4)}, attrs)
      for name, attrs in AXES.items() if name != "two"),
    *(Case(f"{op}-all", op, {"data": uniform(2, 3, low=0.5, high=2)}) for op in SUMS[1:]),
    *(Case(f"{op}-others", op, {"data": distinct(2, 3, 2)}, AXES["others"])
      for op in ("mean", "max", "min")),
    *(Case(f"{op}-ties", op, {"data": TIES}, {"axis": (1,), "keepdims": 1})
      for op in ("max", "min")),
    *(Case(f"{op}_axis", f"{op}_axis", {"data": normal(2, 3)}, {"axis": 1})
      for op in ("sum", "max", "min")),
    *(Case(f"{op}-whole", op, {"data": integers(3, 4, low=-4)}, {"axis": 0}, dtype="int32",
           also=("int64",))
      for op in ("sum", "mean", "prod", "max", "min")),
    Case("sum-wraps", "sum", {"data": values([100, 101])}, dtype="int8"),
    Case("mean-wraps", "mean", {"data": values([200, 101])}, dtype="uint8"),
    Case("mean-towards_zero", "mean", {"data": values([-3, -4])}, dtype="int32"),
    Case("sum-long", "sum", {"data": uniform(3000)}, dtype="float32"),
    Case("norm", "norm", {"data": normal(3, 4)}, also=("float16", "float64")),
    Case("norm-axis", "norm", {"data": values([[0.0, 0.0], [3.0, 4.0]])}, {"axis": 1}),
    Case("norm-two_axes", "norm", {"data": normal(2, 3, 4)}, {"axis": (0, 2), "keepdims": True}),
    Case("norm-ord1", "norm", {"data": values([[0.0, -2.0], [3.0, 4.0]])}, {"ord": 1}),
    Case("norm-ord1_axis", "norm", {"data": normal(2, 3, 4)}, {"ord": 1, "axis": -1},
         also=("float64",)),
    Case("norm-typed", "norm", {"data": normal(2, 3)}, {"axis": 0, "out_dtype": "float32"}),
    Case("argmax", "argmax", {"data": distinct(3, 4)}, {"axis": 1},
         also=("float16", "float64", "int32")),
    Case("argmax-flat", "argmax", {"data": distinct(3, 4)}),
    Case("argmax-kept", "argmax", {"data": distinct(2, 3, 4)}, {"axis": -2, "keepdims": True}),
    Case("argmax-flat_kept", "argmax", {"data": distinct(3, 4)}, {"keepdims": True}),
    Case("argmax-vector", "argmax", {"data": distinct(5)}, {"axis": 0}),
    Case("argmax-ties", "argmax", {"data": TIES}, {"axis": 1}),
    Case("argmax-nan", "argmax", {"data": ODD}, {"axis": 1}),
    Case("argmin", "argmin", {"data": distinct(3, 4)}, {"axis": 1},
         also=("float16", "float64", "int32")),
    Case("argmin-flat", "argmin", {"data": distinct(3, 4)}),
    Case("argmin-nan", "argmin", {"data": ODD}, {"axis": 1, "keepdims": True}),
    Case("argmax_channel", "argmax_channel", {"data": distinct(3, 4)}, also=("float64",),
         no_grad="MXNet has none"),
    Case("argmax_channel-image", "argmax_channel", {"data": distinct(2, 3, 4)},
         no_grad="MXNet has none"),
    Case("moments", "moments", {"data": normal(3, 4)}, {"axes": (0, 1)},
         also=("float16", "float64"), rtol16=8e-3, why="sums in another order"),
    Case("moments-axes", "moments", {"data": normal(2, 3, 4)}, {"axes": (0, 2)}),
    Case("moments-kept", "moments", {"data": normal(2, 3, 4)}, {"axes": (-1,), "keepdims": True}),
    Case("moments-one", "moments", {"data": normal(1)}, {"axes": (0,)}),
    *(Case(f"{op}-exclude", op, {"data": normal(2, 3, 2)}, {"axis": 1, "exclude": True})
      for op in ("prod", "nansum", "nanprod")),
]  # fmt: skip
