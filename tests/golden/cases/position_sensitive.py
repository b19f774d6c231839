"""Position-sensitive pooling of regions, its bins in place or moved."""

from __future__ import annotations

from ._case import Case, normal, uniform, values
from .roi_align import ROIS


def _plain(name: str, dim=2, groups=2, rois=ROIS, also=(), **attrs) -> Case:
    inputs = {"data": normal(2, dim * groups**2, 8, 7), "rois": rois}
    attrs = {"spatial_scale": 1.0, "output_dim": dim, "pooled_size": groups, **attrs}
    return Case(f"_contrib_PSROIPooling_{name}", "_contrib_PSROIPooling", inputs, attrs, also=also)


def _moved(name: str, dim=4, groups=2, kinds=2, parts=2, also=(), **attrs) -> Case:
    op = "_contrib_DeformablePSROIPooling"
    inputs = {"data": normal(2, dim * groups**2, 8, 7), "rois": ROIS}
    if kinds:
        inputs["trans"] = uniform(7, 2 * kinds, parts, parts, low=-1.0)
    attrs = {"spatial_scale": 1.0, "output_dim": dim, "group_size": groups, "pooled_size": groups,
             "no_trans": not kinds, **attrs}  # fmt: skip
    return Case(f"{op}_{name}", op, inputs, attrs, also=also, rtol64=1e-6 if also else None,
                why="MXNet keeps trans_std in single precision" if also else None)  # fmt: skip


CASES = [
    _plain("plain", also=("float64",)),
    _plain("scaled", dim=3, groups=3, spatial_scale=0.37),
    _plain("groups", groups=2, group_size=2, pooled_size=5),
    _plain("outside", rois=values([[0, -9, -9, -4, -4], [1, 20, 1, 30, 4]])),
    _moved("plain", trans_std=0.1, sample_per_part=2, also=("float64",)),
    _moved("parts", trans_std=0.3, part_size=3, parts=3, sample_per_part=3, pooled_size=4),
    _moved("one_kind", kinds=1, trans_std=0.2, spatial_scale=0.6, sample_per_part=4),
    _moved("no_trans", kinds=0, sample_per_part=2, pooled_size=3),
]
