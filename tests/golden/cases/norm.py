"""Layer, instance and group normalisation, L2Normalization, LRN."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal, uniform, values

MORE = ("float16", "float64")


def _scaled(name: str, data: Spec, size: int, also: tuple[str, ...] = (), **attrs: Any) -> Case:
    inputs = {"data": data, "gamma": uniform(size, low=0.5, high=2.0), "beta": normal(size)}
    return Case(name, name.split("__")[0], inputs, attrs, also=also)


IMAGE = normal(2, 4, 3, 5)

CASES = [
    _scaled("LayerNorm__last", normal(3, 4, 6), 6, MORE),
    _scaled("LayerNorm__axis_1", IMAGE, 4, axis=1),
    _scaled("LayerNorm__axis_0", normal(5, 3), 5, axis=0, eps=1e-3),
    _scaled("LayerNorm__mean_std", normal(3, 4, 5), 5, axis=2, output_mean_var=True),
    _scaled("LayerNorm__mean_std_axis_1", IMAGE, 4, axis=1, output_mean_var=True),
    _scaled("LayerNorm__one_element", normal(2, 1), 1),
    _scaled("InstanceNorm__image", IMAGE, 4),
    _scaled("InstanceNorm__sequence", normal(2, 3, 7), 3, eps=1e-5),
    _scaled("GroupNorm__one_group", IMAGE, 1, ("float64",)),
    _scaled("GroupNorm__groups", IMAGE, 2, num_groups=2),
    _scaled("GroupNorm__channels", normal(2, 3, 5), 3, num_groups=3, eps=1e-3),
    _scaled("GroupNorm__mean_std", IMAGE, 2, num_groups=2, output_mean_var=True),
    *(
        Case(f"L2Normalization_{mode}", "L2Normalization", {"data": IMAGE}, {"mode": mode},
             also=MORE)
        for mode in ("instance", "channel", "spatial")
    ),
    Case("L2Normalization_matrix", "L2Normalization", {"data": normal(3, 5)}, {"eps": 1e-5}),
    Case("L2Normalization_sequence", "L2Normalization", {"data": normal(2, 3, 4)},
         {"eps": 1e-5, "mode": "channel"}),
    Case("L2Normalization_zero", "L2Normalization", {"data": values([[0.0, 0.0], [3.0, 4.0]])}),
    Case("LRN", "LRN", {"data": normal(2, 6, 3, 2)}, {"nsize": 3}),
    Case("LRN_strong", "LRN", {"data": normal(1, 7, 2, 2)},
         {"nsize": 5, "alpha": 0.5, "beta": 0.6, "knorm": 1.0}),
    Case("LRN_even", "LRN", {"data": normal(1, 7, 2, 2)}, {"nsize": 4, "alpha": 0.5}),
    Case("LRN_all", "LRN", {"data": normal(1, 2, 2, 3)}, {"nsize": 1, "alpha": 0.1}),
]  # fmt: skip
