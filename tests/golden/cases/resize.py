"""UpSampling, BilinearResize2D and AdaptiveAvgPooling2D."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal

OLD = normal(1, 2, 4, 5)


def _up(name: str, *data: Spec, **attrs: Any) -> Case:
    attrs = {"sample_type": "nearest", **attrs}
    return Case(f"UpSampling_{name}", "UpSampling", {f"arg{i}": d for i, d in enumerate(data)},
                attrs)  # fmt: skip


def _resize(name: str, data: Spec, also: tuple[str, ...] = (), **attrs: Any) -> Case:
    op = "_contrib_BilinearResize2D"
    inputs = {"data": data}
    if attrs.get("mode") == "like":
        inputs["like"] = normal(1, 1, 6, 7)
    return Case(f"{op}_{name}", op, inputs, attrs, also=also)


def _adaptive(name: str, data: Spec, **attrs: Any) -> Case:
    op = "_contrib_AdaptiveAvgPooling2D"
    return Case(f"{op}_{name}", op, {"data": data}, attrs)


CASES = [
    _up("nearest", normal(2, 3, 2, 3), scale=2),
    _up("nearest_3", normal(1, 2, 3, 2), scale=3, workspace=256),
    _up("nearest_1", normal(1, 2, 3, 2), scale=1),
    _up("concat", normal(1, 2, 2, 3), normal(1, 3, 4, 6), normal(1, 1, 2, 3), scale=2),
    _up("sum", normal(1, 2, 2, 3), normal(1, 2, 4, 6), scale=2, multi_input_mode="sum"),
    *(
        Case(f"UpSampling_bilinear_{scale}", "UpSampling",
             {"data": normal(2, 3, 3, 4), "weight": normal(3, 1, size, size)},
             {"scale": scale, "num_filter": 3, "sample_type": "bilinear", "num_args": 2})
        for scale, size in ((1, 1), (2, 4), (3, 5), (4, 8))
    ),
    _resize("size", OLD, ("float64",), height=8, width=9),
    _resize("smaller", normal(2, 1, 9, 8), height=4, width=3),
    _resize("centres", OLD, height=8, width=9, align_corners=False),
    _resize("centres_smaller", normal(1, 1, 9, 8), height=4, width=3, align_corners=False),
    _resize("same", OLD, height=4, width=5),
    _resize("one_pixel", OLD, height=1, width=1),
    _resize("from_one_pixel", normal(1, 2, 1, 1), height=3, width=2),
    _resize("scale", OLD, scale_height=1.5, scale_width=0.5),
    _resize("like", OLD, mode="like"),
    _resize("odd_scale", OLD, mode="odd_scale", scale_height=2.0, scale_width=1.5),
    *(
        _resize(mode, OLD, mode=mode)
        for mode in ("to_even_up", "to_even_down", "to_odd_up", "to_odd_down")
    ),
    _adaptive("default", OLD),
    _adaptive("one_number", OLD, output_size=3),
    _adaptive("two_numbers", normal(2, 2, 7, 6), output_size=(3, 4)),
    _adaptive("divisible", normal(1, 2, 6, 4), output_size=(3, 2)),
    _adaptive("larger", normal(1, 1, 3, 2), output_size=(5, 4)),
    _adaptive("row", normal(1, 2, 5, 6), output_size=(1, 4)),
]  # fmt: skip
