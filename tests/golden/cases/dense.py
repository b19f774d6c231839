"""Cases for fully connected layers."""

from __future__ import annotations

from ._case import Case, normal

CASES = [
    Case(
        "FullyConnected",
        "FullyConnected",
        {"data": normal(3, 5), "weight": normal(4, 5), "bias": normal(4)},
        {"num_hidden": 4},
        also=("float64",),
    ),
    Case(
        "FullyConnected-flattens",
        "FullyConnected",
        {"data": normal(2, 3, 2, 4), "weight": normal(7, 24), "bias": normal(7)},
        {"num_hidden": 7},
    ),
    Case(
        "FullyConnected-no_bias",
        "FullyConnected",
        {"data": normal(1, 6), "weight": normal(1, 6)},
        {"num_hidden": 1, "no_bias": True},
    ),
    Case(
        "FullyConnected-keeps_axes",
        "FullyConnected",
        {"data": normal(2, 3, 5), "weight": normal(4, 5), "bias": normal(4)},
        {"num_hidden": 4, "flatten": False},
    ),
]
