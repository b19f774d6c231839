"""Running sums over each axis, and histograms with both kinds of bins."""

from __future__ import annotations

from ._case import Case, integers, normal, values

ALSO = ("float16", "float64")
NONE = "MXNet has none"
X = values([-1.0, -0.1, 0.0, 0.3, 0.5, 1.0, 1.2, 2.0, 2.5, 0.5, 0.999])

CASES = [
    Case("cumsum", "cumsum", {"a": normal(2, 3)}, also=ALSO, rtol16=1e-2,
         why="sums are rounded in another order"),
    Case("cumsum_axis", "cumsum", {"a": normal(2, 3, 4)}, {"axis": 1}),
    Case("cumsum_dtype", "cumsum", {"a": integers(5)}, {"dtype": "float64"}, dtype="int32"),
    Case("cumsum_whole", "cumsum", {"a": integers(2, 3)}, {"axis": 0}, dtype="int32",
         also=("int64",)),
    Case("cumsum_one", "cumsum", {"a": normal(1)}),
    Case("histogram", "_histogram", {"data": X, "bins": values([0.0, 0.5, 0.75, 2.0])},
         also=("float64",), no_grad=NONE),
    Case("histogram_whole", "_histogram",
         {"data": integers(4, 5), "bins": values([1, 2, 5, 8])}, dtype="int32",
         also=("int64",), no_grad=NONE),
    Case("histogram_even", "_histogram", {"data": X}, {"bin_cnt": 4, "range": (0.0, 2.0)},
         also=("float64",), no_grad=NONE),
    Case("histogram_thirds", "_histogram", {"data": normal(3, 4)},
         {"bin_cnt": 3, "range": (-1.0, 1.0)}, no_grad=NONE),
    Case("histogram_bytes", "_histogram", {"data": integers(30, high=128)},
         {"bin_cnt": 4, "range": (0.0, 255.0)}, dtype="int8", also=("uint8",), no_grad=NONE),
    Case("histogram_bytes_below", "_histogram", {"data": integers(30)},
         {"bin_cnt": 4, "range": (-3.0, 7.5)}, dtype="uint8", also=("int8", "int64", "float64"),
         no_grad=NONE),
    *(Case(f"cumsum-to_{d}", "_np_cumsum", {"a": integers(2, 3)}, {"axis": 1, "dtype": d},
           no_grad="whole numbers", dtype="float32" if "int" in d else "int32")
      for d in ("float16", "float32", "int32", "int64", "int8")),
]  # fmt: skip
