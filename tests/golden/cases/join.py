"""Cases for joining and splitting."""

from __future__ import annotations

from ._case import Case, normal

CASES = [
    Case(
        "Concat",
        "Concat",
        {"arg0": normal(2, 3), "arg1": normal(2, 1), "arg2": normal(2, 4)},
        also=("float64", "float16", "int32", "uint8"),
    ),
    Case("Concat-dim_0", "Concat", {"arg0": normal(2), "arg1": normal(1)}, {"dim": 0}),
    Case(
        "Concat-dim_last", "Concat", {"arg0": normal(2, 3, 1), "arg1": normal(2, 3, 2)}, {"dim": -1}
    ),
    Case(
        "Concat-dim_2",
        "Concat",
        {"arg0": normal(1, 2, 3, 2), "arg1": normal(1, 2, 1, 2)},
        {"dim": 2},
    ),
    Case("Concat-one", "Concat", {"arg0": normal(2, 3)}),
    Case(
        "_rnn_param_concat",
        "_rnn_param_concat",
        {"arg0": normal(2), "arg1": normal(5), "arg2": normal(1)},
        {"dim": 0},
    ),
    Case("stack", "stack", {"arg0": normal(2, 3), "arg1": normal(2, 3)}, also=("float16", "int32")),
    Case("stack-axis_1", "stack", {f"arg{i}": normal(2, 3) for i in range(3)}, {"axis": 1}),
    Case("stack-last", "stack", {f"arg{i}": normal(2, 3) for i in range(3)}, {"axis": -1}),
    Case("stack-one", "stack", {"arg0": normal(1)}),
    Case(
        "SliceChannel",
        "SliceChannel",
        {"data": normal(2, 6, 2)},
        {"num_outputs": 3},
        also=("float64", "float16", "int32"),
    ),
    Case(
        "SliceChannel-axis_0", "SliceChannel", {"data": normal(4, 3)}, {"num_outputs": 2, "axis": 0}
    ),
    Case(
        "SliceChannel-last", "SliceChannel", {"data": normal(2, 4)}, {"num_outputs": 4, "axis": -1}
    ),
    Case(
        "SliceChannel-squeeze",
        "SliceChannel",
        {"data": normal(2, 3, 2)},
        {"num_outputs": 3, "axis": 1, "squeeze_axis": True},
    ),
    Case(
        "SliceChannel-squeeze_3",
        "SliceChannel",
        {"data": normal(1, 2, 2, 2)},
        {"num_outputs": 2, "axis": 3, "squeeze_axis": 1},
    ),
    Case("SliceChannel-one", "SliceChannel", {"data": normal(2, 3)}, {"num_outputs": 1}),
    Case(
        "SliceChannel-one_squeezed",
        "SliceChannel",
        {"data": normal(2, 1)},
        {"num_outputs": 1, "squeeze_axis": True},
    ),
    Case("_split_v2", "_split_v2", {"data": normal(2, 5)}, {"indices": (0, 1, 3)}, also=("int32",)),
    Case(
        "_split_v2-sections",
        "_split_v2",
        {"data": normal(5, 2)},
        {"indices": (), "axis": 0, "sections": 3},
    ),
    Case(
        "_split_v2-squeeze",
        "_split_v2",
        {"data": normal(2, 3, 2)},
        {"indices": (0, 1), "axis": -1, "squeeze_axis": True},
    ),
    Case("_split_v2-one", "_split_v2", {"data": normal(2, 3)}, {"indices": (0,)}),
]
