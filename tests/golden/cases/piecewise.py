"""Cases for functions put together from pieces: at, inside and outside every bound."""

from __future__ import annotations

from ._case import Case, values

X = values([-3.0, -2.5, -1.0, -0.25, 0.0, 0.1, 0.25, 1.0, 2.5, 3.0, float("nan")])
WHOLE = values([-3, -1, 0, 1, 2])
BYTES = values([0, 1, 99, 100, 101, 127])

CASES = [
    Case("hard_sigmoid", "hard_sigmoid", {"data": X}, also=("float16", "float64"), rtol64=1e-7,
         why="MXNet keeps alpha in single precision"),
    Case("hard_sigmoid-steep", "hard_sigmoid", {"data": X}, {"alpha": 2.0, "beta": 0.25}),
    Case("clip", "clip", {"data": X}, {"a_min": -1.0, "a_max": 2.5}, also=("float16", "float64")),
    Case("clip-relu6", "clip", {"data": X}, {"a_min": 0.0, "a_max": 6.0}),
    Case("clip-whole", "clip", {"data": WHOLE}, {"a_min": -1.5, "a_max": 1.7}, dtype="int32"),
    Case("clip-bytes", "clip", {"data": BYTES}, {"a_min": -1.0, "a_max": 100.7}, dtype="uint8",
         also=("int8",)),
    Case("clip-wide", "clip", {"data": BYTES}, {"a_min": -300.0, "a_max": 300.0}, dtype="int8",
         also=("uint8",)),
    Case("clip-crossed", "clip", {"data": X}, {"a_min": 1.0, "a_max": 0.1},
         also=("float64",)),
    Case("smooth_l1", "smooth_l1", {"data": X}, {"scalar": 1.0}, also=("float16", "float64")),
    Case("smooth_l1-default", "smooth_l1", {"data": X}),
    Case("smooth_l1-narrow", "smooth_l1", {"data": X}, {"scalar": 2.0}),
    Case("smooth_l1-everywhere_square", "smooth_l1", {"data": X}, {"scalar": 0.0}),
    Case("smooth_l1-whole", "smooth_l1", {"data": WHOLE}, {"scalar": 2.0}, dtype="int32"),
    Case("quadratic", "_contrib_quadratic", {"data": X}, {"a": 0.5, "b": -1.5, "c": 0.25},
         also=("float16", "float64")),
    Case("quadratic-default", "_contrib_quadratic", {"data": WHOLE}),
    Case("quadratic-whole", "_contrib_quadratic", {"data": WHOLE}, {"a": 1.0, "b": 2.0, "c": 3.0},
         dtype="int32"),
    Case("quadratic-whole_by_parts", "_contrib_quadratic", {"data": WHOLE}, {"a": 0.5, "b": -1.5},
         dtype="int32"),
]  # fmt: skip
