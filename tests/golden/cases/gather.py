"""Cases for gathering and scattering by index tuples."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal, values


def _gather(name: str, data: Spec, indices: Spec, **kwargs: Any) -> Case:
    return Case(f"gather_nd-{name}", "gather_nd", {"data": data, "indices": indices}, **kwargs)


def _scatter(name: str, data: Spec, indices: Spec, shape: tuple[int, ...]) -> Case:
    inputs = {"data": data, "indices": indices}
    return Case(f"scatter_nd-{name}", "scatter_nd", inputs, {"shape": shape})


UNSAFE = "MXNet writes the gradient of negative indices out of bounds"

CASES = [
    Case(
        "gather_nd",
        "gather_nd",
        {"data": normal(2, 3), "indices": values([[0, 1, 1], [2, 0, 0]])},
        also=("float64", "float16"),
    ),
    _gather("rows", normal(3, 2), values([[0, 2, 2]], "int32")),
    _gather("negative", normal(2, 3), values([[0, -1], [-3, -1]], "int32"), no_grad=UNSAFE),
    _gather("fractions", normal(3, 2), values([[-0.5, -0.99, -1.5, 1.5, -2.01]]), no_grad=UNSAFE),
    _gather("matrix", normal(2, 3, 2), values([[[0, 1]], [[1, 2]]])),
    Case(
        "scatter_nd",
        "scatter_nd",
        {"data": normal(3), "indices": values([[1, 1, 0], [0, 1, 1]], "int32")},
        {"shape": (2, 2)},
        also=("float64", "float16"),
    ),
    _scatter("rows", normal(2, 3), values([[2, 0]]), (3, 3)),
    _scatter("matrix", normal(1, 2, 2), values([[[0, 1]], [[1, 2]]], "int64"), (2, 3, 2)),
    *(
        Case(f"_backward_{name}", "_backward_gather_nd", {"data": data, "indices": i}, {"shape": s})
        for name, data, i, s in (
            ("gather_nd", normal(3), values([[1, 1, 0], [0, 0, 2]]), (2, 3)),
            ("gather_nd-rows", normal(2, 3), values([[1, 1]], "int32"), (2, 3)),
        )
    ),
    Case(
        "_ravel_multi_index",
        "_ravel_multi_index",
        {"data": values([[1, 0, 2], [1, 2, 0]])},
        {"shape": (3, 4)},
        also=("int32", "int64"),
    ),
    Case(
        "_ravel_multi_index-first_open",
        "_ravel_multi_index",
        {"data": values([[1, 9], [1, 2], [0, 1]], "int32")},
        {"shape": (-1, 4, 2)},
    ),
    Case(
        "_unravel_index",
        "_unravel_index",
        {"data": values([5, 11, 0, 13, -1])},
        {"shape": (3, 4)},
        also=("int32", "int64"),
    ),
    Case("_unravel_index-three", "_unravel_index", {"data": values([23, 7])}, {"shape": (2, 3, 4)}),
    Case(
        "_contrib_index_copy",
        "_contrib_index_copy",
        {
            "old_tensor": normal(4, 2),
            "index_vector": values([3, 0], "int32"),
            "new_tensor": normal(2, 2),
        },
        also=("float64",),
    ),
    Case("_contrib_index_array", "_contrib_index_array", {"data": normal(2, 3)}),
    Case(
        "_contrib_index_array-axes",
        "_contrib_index_array",
        {"data": normal(2, 3)},
        {"axes": (1, 0)},
    ),
]
