"""softmax, log_softmax, softmin and SoftmaxActivation."""

from __future__ import annotations

from ._case import Case, normal, values

MORE = ("float16", "float64")
NAMES = ("softmax", "log_softmax", "softmin")
LENGTHS = values([[1, 4, 0], [2, 3, 4]], dtype="int32")

CASES = [
    *(Case(name, name, {"data": normal(3, 5)}, also=MORE) for name in NAMES),
    *(Case(f"{name}_axis_1", name, {"data": normal(2, 4, 3)}, {"axis": 1}) for name in NAMES),
    *(
        Case(f"{name}_temperature", name, {"data": normal(3, 4)}, {"temperature": 2.5})
        for name in NAMES
    ),
    *(
        Case(f"{name}_dtype", name, {"data": normal(3, 4)}, {"dtype": "float64"},
             rtol64=1e-5, why="MXNet sums in float32")
        for name in NAMES
    ),
    Case("softmax_half_to_single", "softmax", {"data": normal(3, 4, dtype="float16")},
         {"dtype": "float32"}, rtol=2e-3, why="the gradient is of float16"),
    Case("softmax_large", "softmax", {"data": values([[1000.0, 0.0, -1000.0], [3.0, 3.0, 3.0]])}),
    Case("log_softmax_large", "log_softmax", {"data": values([[1000.0, 0.0, -1000.0]])}),
    Case("softmax_axis_0", "softmax", {"data": normal(4, 3)}, {"axis": 0}),
    Case("softmax_one_element", "softmax", {"data": normal(1)}),
    Case("softmax_length", "softmax", {"data": normal(2, 3, 4), "length": LENGTHS},
         {"use_length": True}, grad=("data",)),
    Case("softmax_length_axis_1", "softmax", {"data": normal(2, 4, 3), "length": LENGTHS},
         {"use_length": True, "axis": 1, "temperature": 0.5}, grad=("data",)),
    Case("SoftmaxActivation", "SoftmaxActivation", {"data": normal(3, 5)}),
    Case("SoftmaxActivation_channel", "SoftmaxActivation", {"data": normal(2, 3, 4, 2)},
         {"mode": "channel"}),
    Case("SoftmaxActivation_sequence", "SoftmaxActivation", {"data": normal(2, 3, 4)},
         no_grad="MXNet's is that of another axis"),
    Case("log_softmax_half_to_single", "log_softmax", {"data": normal(3, 4)},
         {"dtype": "float32"}),
    Case("softmin_single", "softmin", {"data": normal(3, 4)}, {"dtype": "float32"}),
    *(Case(f"{name}_to_half", name, {"data": normal(3, 4)}, {"dtype": "float16"}, rtol=2e-3,
           why="a half precision result and gradient") for name in NAMES),
]  # fmt: skip
