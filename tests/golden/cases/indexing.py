"""Cases for choosing entries by index arrays."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, integers, normal, values

SINGLE = "MXNet has no gradient for it"


def _take(name: str, a: Spec, indices: Spec, **attrs: Any) -> Case:
    return Case(f"take-{name}", "take", {"a": a, "indices": indices}, attrs)


def _pick(name: str, data: Spec, index: Spec, **attrs: Any) -> Case:
    return Case(f"pick-{name}", "pick", {"data": data, "index": index}, attrs)


def _one_hot(name: str, indices: Spec, **attrs: Any) -> Case:
    return Case(f"one_hot-{name}", "one_hot", {"indices": indices}, attrs)


def _embedding(name: str, data: Spec, weight: str | None = None, **attrs: Any) -> Case:
    return Case(
        f"Embedding-{name}",
        "Embedding",
        {"data": data, "weight": normal(4, 3, dtype=weight)},
        {"input_dim": 4, "output_dim": 3, **attrs},
        grad=("weight",),
    )


SIGNS = [[0, 1, 2], [-1, 0, 0.5]]
OUTSIDE = [0, 2, -1, 5, 1.7, -0.5, -4]

CASES = [
    Case(
        "where",
        "where",
        {"condition": values(SIGNS), "x": normal(2, 3), "y": normal(2, 3)},
        also=("float64", "float16", "int32"),
    ),
    Case(
        "where-types",
        "where",
        {"condition": integers(2, 3, high=2, dtype="uint8"), "x": normal(2, 3), "y": normal(2, 3)},
    ),
    Case(
        "where-vector",
        "where",
        {"condition": values([1, 0, 2]), "x": normal(3, 2, 2), "y": normal(3, 2, 2)},
    ),
    Case(
        "where-nan",
        "where",
        {"condition": values([float("nan"), 0]), "x": normal(2), "y": normal(2)},
    ),
    Case(
        "take",
        "take",
        {"a": normal(4, 3), "indices": integers(5, high=4, dtype="int32")},
        also=("float64", "float16", "int32"),
    ),
    _take("clip", normal(3, 2), values(OUTSIDE)),
    _take("clip_axis", normal(2, 3, 2), values(OUTSIDE), axis=1),
    _take("wrap", normal(3, 2), values(OUTSIDE), mode="wrap"),
    _take("wrap_last", normal(2, 3), values(OUTSIDE), mode="wrap", axis=-1),
    _take("raise", normal(3, 2), values([0, 2, 2]), mode="raise"),
    _take("matrix", normal(2, 3), values([[0, 2], [1, 1]], "int64"), axis=-1),
    _take("vector", normal(3), values([[[2, 0]]], "uint8")),
    Case(
        "batch_take",
        "batch_take",
        {"a": normal(3, 4), "indices": values([0, -1, 9], "int32")},
        no_grad=SINGLE,
        also=("float64",),
    ),
    Case(
        "pick",
        "pick",
        {"data": normal(3, 4), "index": values([0, 3, 1])},
        also=("float64", "float16"),
    ),
    _pick("clip", normal(3, 4), values([-2, 7.5, 1.9])),
    _pick("wrap", normal(3, 4), values([-2, 7, -9]), mode="wrap"),
    _pick("axis", normal(3, 4), values([2, 0, 1, 1], "int32"), axis=0),
    _pick("middle", normal(2, 3, 2), values([[2, 0], [1, 1]]), axis=1, keepdims=True),
    _pick("kept_index", normal(2, 3), values([[2], [0]])),
    _pick("vector", normal(4), values([2])),
    _pick("vector_kept", normal(4), values([2]), keepdims=True),
    _pick("kept_both", normal(2, 3), values([[2], [0]]), keepdims=True),
    Case(
        "choose_element_0index",
        "choose_element_0index",
        {"data": normal(2, 3), "index": values([2, 0])},
    ),
    _one_hot("plain", values([0, 2, 1]), depth=3),
    _one_hot("outside", values(OUTSIDE), depth=3),
    _one_hot("values", values([[0, 2], [1, 3]], "int32"), depth=4, on_value=2.5, off_value=-1),
    _one_hot("int32", values([0, 2]), depth=3, on_value=2.5, off_value=-1.5, dtype="int32"),
    _one_hot("uint8", values([0, 2], "int64"), depth=3, on_value=300, dtype="uint8"),
    _one_hot("int64", values([0, 2]), depth=3, dtype="int64"),
    _one_hot("int8", values([0, 2]), depth=3, off_value=-1, dtype="int8"),
    _one_hot("float16", values([0, 2]), depth=3, on_value=0.1, dtype="float16"),
    _one_hot("float64", values([1]), depth=2, on_value=0.1, dtype="float64"),
    _embedding("plain", values([[0, 3], [3, 1]])),
    _embedding("clip", values([0, 3, -1, 9, 1.7])),
    _embedding("int32", values([[2]], "int32")),
    _embedding("float64", values([1, 2], "int32"), "float64", dtype="float64"),
    _embedding("weight_decides", values([1, 2], "int32"), "float64"),
    _embedding("float16", values([1, 2, 2], "float16"), "float16", dtype="float16"),
    Case(
        "_contrib_SparseEmbedding",
        "_contrib_SparseEmbedding",
        {"data": values([0, 3, 3]), "weight": normal(4, 3)},
        {"input_dim": 4, "output_dim": 3},
        no_grad="MXNet gives a row-sparse gradient only",
    ),
    *(
        Case(
            f"{op}-of_{d}",
            op,
            {"data": values([0, 3, 3]), "weight": integers(4, 2, dtype=d)},
            {"input_dim": 4, "output_dim": 2, "dtype": d},
            no_grad="weights without derivatives",
        )
        for op, dtypes in (
            ("Embedding", ("int32", "int64", "int8", "uint8")),
            ("_contrib_SparseEmbedding", ("float64", "int32")),
        )
        for d in dtypes
    ),
]
