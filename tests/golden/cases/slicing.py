"""Cases for cutting out boxes and writing into them."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal


def _slice(name: str, **attrs: Any) -> Case:
    return Case(f"slice-{name}", "slice", {"data": normal(3, 4, 5)}, attrs)


def _slice_axis(name: str, **attrs: Any) -> Case:
    return Case(f"slice_axis-{name}", "slice_axis", {"data": normal(3, 4, 5)}, attrs)


def _crop(name: str, inputs: dict[str, Spec], **attrs: Any) -> Case:
    return Case(f"Crop-{name}", "Crop", inputs, attrs)


ONE = {"arg0": normal(2, 2, 5, 6)}
TWO = {"arg0": normal(2, 2, 5, 6), "arg1": normal(1, 3, 2, 3)}
UNDEFINED = "MXNet has no gradient for it"

CASES = [
    Case(
        "slice",
        "slice",
        {"data": normal(3, 4)},
        {"begin": (0, 1), "end": (2, 3)},
        also=("float64", "float16", "int32", "uint8"),
    ),
    _slice("none", begin=(None, None, 2), end=(None, None, -2)),
    _slice("beyond", begin=(-9, 1, 0), end=(2, 9, 9)),
    _slice("fewer", begin=(1,), end=(None,)),
    _slice("step", begin=(0, None, 4), end=(3, None, None), step=(2, None, -2)),
    _slice("backwards", begin=(2, -1), end=(-9, None), step=(-1, -3)),
    _slice("backwards_beyond", begin=(5,), end=(None,), step=(-1,)),
    _slice_axis("plain", axis=1, begin=0, end=2),
    _slice_axis("negative", axis=-1, begin=-3, end=-1),
    _slice_axis("to_end", axis=0, begin=1, end=None),
    _slice_axis("one", axis=2, begin=4, end=5),
    Case("slice_like", "slice_like", {"data": normal(3, 4), "shape_like": normal(2, 4)}),
    Case(
        "slice_like-axes",
        "slice_like",
        {"data": normal(1, 2, 4, 5), "shape_like": normal(3, 1, 2, 3)},
        {"axes": (2, 3)},
        also=("float64",),
    ),
    Case(
        "slice_like-negative",
        "slice_like",
        {"data": normal(3, 4, 5), "shape_like": normal(2, 7, 2, dtype="int32")},
        {"axes": (-1, 0)},
    ),
    _crop("h_w", ONE, h_w=(3, 2)),
    _crop("offset", ONE, h_w=(3, 2), offset=(1, 4)),
    _crop("center", ONE, h_w=(2, 3), center_crop=True),
    _crop("center_beats_offset", ONE, h_w=(3, 2), center_crop=True, offset=(0, 1)),
    _crop("like", TWO),
    _crop("like_offset", TWO, offset=(1, 2), h_w=(1, 1)),
    _crop("like_center", TWO, center_crop=True),
    Case(
        "_slice_assign",
        "_slice_assign",
        {"lhs": normal(3, 4), "rhs": normal(2, 2)},
        {"begin": (0, 1), "end": (2, 3)},
        no_grad=UNDEFINED,
        also=("int32",),
    ),
    Case(
        "_slice_assign-step",
        "_slice_assign",
        {"lhs": normal(3, 4), "rhs": normal(2, 4)},
        {"begin": (2,), "end": (None,), "step": (-2,)},
        no_grad=UNDEFINED,
    ),
    Case(
        "_slice_assign_scalar",
        "_slice_assign_scalar",
        {"data": normal(3, 4)},
        {"scalar": 2.5, "begin": (0, 1), "end": (2, 3)},
        no_grad=UNDEFINED,
        also=("int32",),
    ),
    Case(
        "_slice_assign_scalar-step",
        "_slice_assign_scalar",
        {"data": normal(3, 4)},
        {"scalar": 2.5, "begin": (2, 0), "end": (None, 4), "step": (-2, 3)},
        no_grad=UNDEFINED,
    ),
]
