"""Deformable convolution, with and without factors."""

from __future__ import annotations

from ._case import Case, normal, uniform, values


def _case(name, modulated=False, kernel=(3, 3), groups=1, places=(5, 6), channels=4, data=None,
          offset=None, also=(), **attrs) -> Case:  # fmt: skip
    taps = kernel[0] * kernel[1] * groups
    filters, num_group = 4, attrs.get("num_group", 1)
    inputs = {
        "data": data or normal(2, channels, 5, 6),
        "offset": offset or uniform(2, 2 * taps, *places, low=-2.0, high=2.0),
    }
    if modulated:
        inputs["mask"] = uniform(2, taps, *places)
    inputs["weight"] = normal(filters, channels // num_group, *kernel)
    if not attrs.get("no_bias"):
        inputs["bias"] = normal(filters)
    attrs = {"kernel": kernel, "num_filter": filters, "num_deformable_group": groups, **attrs}
    op = (
        "_contrib_ModulatedDeformableConvolution" if modulated else "_contrib_DeformableConvolution"
    )
    reason = "MXNet has it on GPUs only" if modulated else None
    return Case(f"{op}_{name}", op, inputs, attrs, also=also, no_grad=reason)


ZERO = values([[[[0.0] * 6] * 5] * 18] * 2)

CASES = [
    case
    for modulated in (False, True)
    for case in (
        _case("plain", modulated, pad=(1, 1), also=("float64",)),
        _case("groups", modulated, pad=(1, 1), groups=2, num_group=2, no_bias=True),
        _case("strided", modulated, kernel=(3, 2), stride=(2, 1), dilate=(1, 2), pad=(1, 0),
              places=(3, 4)),
        _case("no_offset", modulated, pad=(1, 1), offset=ZERO),
        _case("one", modulated, kernel=(1, 1)),
    )
]  # fmt: skip
