"""Regions of interest by bilinear interpolation."""

from __future__ import annotations

from ._case import Case, normal, values

ROIS = values([
    [0, 0, 0, 7, 7], [1, 2, 1, 5, 9], [1, 3, 3, 3, 3], [0, 4.5, 2.5, 30, 30], [0, 6, 6, 2, 2],
    [1, 0.5, 1.5, 2.5, 13.0], [0, -3, -2.5, 4, 5],
])  # fmt: skip
POSITIVE = values([r for r in ROIS.options[0] if r[3] > r[1] and r[4] > r[2]])
TURNED = values([
    [0, 4, 4, 3, 5, 30], [1, 3, 4, 6, 2, -10], [1, 0.5, 1, 7, 7, 90], [0, 5, 3, 0.5, 0.2, 145],
])  # fmt: skip


def _case(name: str, rois=ROIS, channels=3, also=(), op="_contrib_ROIAlign", no_grad=None, **attrs):
    attrs = {"spatial_scale": 1.0, "pooled_size": (2, 3), **attrs}
    inputs = {"data": normal(2, channels, 8, 7), "rois": rois}
    return Case(f"{op}_{name}", op, inputs, attrs, also=also, no_grad=no_grad)


def _rotated(name: str, **kwargs) -> Case:
    reason = "MXNet has no gradient of it"
    return _case(name, TURNED, op="_contrib_RROIAlign", no_grad=reason, **kwargs)


CASES = [
    _case("plain", also=("float64",)),
    _case("ratio", sample_ratio=2, spatial_scale=0.5),
    _case("aligned", POSITIVE, aligned=True, spatial_scale=0.7),
    _case("aligned_ratio", POSITIVE, aligned=True, sample_ratio=3),
    _case("many_bins", pooled_size=(7, 7), spatial_scale=0.0625),
    _case("sensitive", channels=8, pooled_size=(2, 2), position_sensitive=True),
    _case("sensitive_unequal", channels=12, position_sensitive=True),
    _case("sensitive_row", channels=8, pooled_size=(1, 4), position_sensitive=True, sample_ratio=2),
    _case("nothing", rois=values([[0, -9, -9, -4, -4], [1, 1, 1, 4, 4]])),
    _rotated("plain", also=("float64",)),
    _rotated("ratio", sampling_ratio=2, spatial_scale=0.5),
    _rotated("bins", pooled_size=(3, 4), sampling_ratio=1),
]
