"""Cases for sorting."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, distinct, values

TIES = [[2, 2, 1, 2, 1, 1]]
FAILS = "MXNet's gradient fails unless axis is given"


def _topk(name: str, data: Spec | None = None, **attrs: Any) -> Case:
    return Case(f"topk-{name}", "topk", {"data": data or distinct(3, 5)}, attrs)


def _by_kind(kind: str) -> list[Case]:
    return [
        _topk(kind, ret_typ=kind),
        _topk(f"{kind}-3", ret_typ=kind, k=3),
        _topk(f"{kind}-ascend", ret_typ=kind, k=2, is_ascend=True),
        _topk(f"{kind}-axis_0", ret_typ=kind, k=2, axis=0),
        _topk(f"{kind}-flat", ret_typ=kind, k=4, axis=None),
    ]


CASES = [
    *(case for kind in ("value", "indices", "mask", "both") for case in _by_kind(kind)),
    _topk("all", distinct(2, 2, 3), ret_typ="both", k=0, axis=1),
    _topk("int32", k=2, dtype="int32"),
    _topk("both-int64", k=2, dtype="int64", ret_typ="both", axis=-2),
    _topk("uint8", k=2, dtype="uint8"),
    _topk("ties", values(TIES), k=4),
    _topk("ties-ascend", values(TIES), k=4, is_ascend=True),
    _topk("one", values([3]), ret_typ="both"),
    Case(
        "topk-dtypes",
        "topk",
        {"data": values([[0, 7, 3, 100], [9, 1, 255, 2]])},
        {"k": 2, "ret_typ": "both", "is_ascend": True},
        dtype="float64",
        also=("float16", "int32", "uint8", "int64"),
    ),
    Case("sort", "sort", {"data": distinct(3, 4)}, no_grad=FAILS, also=("int32", "uint8")),
    Case("sort-descend", "sort", {"data": distinct(3, 4)}, {"is_ascend": False, "axis": 1}),
    Case("sort-axis_0", "sort", {"data": distinct(3, 4)}, {"axis": 0}, also=("float64",)),
    Case("sort-flat", "sort", {"data": distinct(3, 4)}, {"axis": None}),
    Case("sort-middle", "sort", {"data": distinct(2, 3, 2)}, {"axis": -2, "is_ascend": False}),
    Case("argsort", "argsort", {"data": distinct(3, 4)}, also=("float64", "int32", "uint8")),
    Case("argsort-descend", "argsort", {"data": distinct(3, 4)}, {"is_ascend": False}),
    Case("argsort-axis_0", "argsort", {"data": distinct(3, 4)}, {"axis": 0, "dtype": "int32"}),
    Case("argsort-flat", "argsort", {"data": distinct(3, 4)}, {"axis": None, "dtype": "uint8"}),
    Case("argsort-ties", "argsort", {"data": values(TIES)}, {"is_ascend": False, "dtype": "int64"}),
    Case("argsort-one", "argsort", {"data": values([2])}),
    *(
        Case(f"{op}-{d}", op, {"data": distinct(3, 4)}, {"dtype": d}, no_grad="indices")
        for op in ("argsort", "topk")
        for d in ("float16", "float64")
    ),
]
