"""Cases for copies, gradient stops and conversions."""

from __future__ import annotations

from ._case import Case, normal, values

NUMBERS = values([-300.5, -1.7, -0.5, 0.0, 0.5, 1.7, 300.0])
WHOLE = values([-129, -1, 0, 1, 127, 255, 300])
BEYOND = values([float("nan"), float("inf"), -1e30, 3e9, -3.5, 2.5e18])
TIES = values([-300.7, -2.5, -1.5, -0.5, 0.5, 1.7, 2.5, 127.6, 200.0, 1000.0])
DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")

CASES = [
    Case("_copy", "_copy", {"data": normal(2, 3)}, also=("float16", "float64")),
    Case("identity", "identity", {"data": WHOLE}, dtype="int32"),
    Case("_identity_with_attr_like_rhs", "_identity_with_attr_like_rhs",
         {"lhs": normal(2, 3), "rhs": normal(2, 3)}),
    Case("BlockGrad", "BlockGrad", {"data": normal(2, 3)}, also=("float64",)),
    Case("stop_gradient", "stop_gradient", {"data": normal(1)}),
    *(
        Case(f"Cast-to_{d}", "Cast", {"data": NUMBERS}, {"dtype": d},
             no_grad=None if "float" in d else "JAX has no gradients of integers")
        for d in DTYPES
    ),
    *(
        Case(f"Cast-whole_to_{d}", "Cast", {"data": WHOLE}, {"dtype": d}, dtype="int32")
        for d in DTYPES
    ),
    Case("Cast-double_to_half", "Cast", {"data": normal(2, 3)}, {"dtype": "float16"},
         dtype="float64"),
    Case("cast", "cast", {"data": normal(1)}, {"dtype": "float64"}),
    Case("cast_storage", "cast_storage", {"data": normal(2, 3)}, {"stype": "default"},
         also=("float16", "int32")),
    Case("amp_cast", "amp_cast", {"data": normal(2, 3)}, {"dtype": "float16"}),
    Case("amp_cast-widens", "amp_cast", {"data": normal(2, 3)}, {"dtype": "float32"},
         dtype="float16"),
    Case("amp_cast-whole", "amp_cast", {"data": WHOLE}, {"dtype": "float16"}, dtype="int32"),
    Case("amp_multicast", "amp_multicast", {"data_0": normal(2), "data_1": normal(1, 3)},
         {"num_outputs": 2}),
    *(Case(f"amp_cast-to_{d}", "amp_cast", {"data": values([0, 1, 127])}, {"dtype": d},
           no_grad="whole numbers")
      for d in ("int32", "int8", "uint8")),
    *(Case(f"amp_cast-rounds_to_{d}", "amp_cast", {"data": TIES}, {"dtype": d}, also=("float16",),
           no_grad="whole numbers")
      for d in ("int32", "int8", "uint8")),
    Case("Cast-beyond_int32", "Cast", {"data": BEYOND}, {"dtype": "int32"}, no_grad="edges"),
    Case("Cast-beyond_int64", "Cast", {"data": BEYOND}, {"dtype": "int64"}, no_grad="edges"),
    Case("Cast-beyond_uint8", "Cast", {"data": BEYOND}, {"dtype": "uint8"}, no_grad="edges"),
]  # fmt: skip
