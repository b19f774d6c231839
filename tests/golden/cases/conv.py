"""Convolution and Deconvolution: 1 to 3 axes, groups, strides, padding, dilation."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal

OTHERS = ("float64",)  # MXNet has no float16 matrix product on CPUs


def _conv(
    name: str,
    data: tuple[int, ...],
    kernel: tuple[int, ...],
    filters: int,
    op: str = "Convolution",
    also: tuple[str, ...] = (),
    **attrs: Any,
) -> Case:
    channels = data[1] // attrs.get("num_group", 1)
    inputs: dict[str, Spec] = {
        "data": normal(*data),
        "weight": normal(filters, channels, *kernel),
        "bias": normal(filters),
    }
    if attrs.get("no_bias"):
        del inputs["bias"]
    return Case(name, op, inputs, {"kernel": kernel, "num_filter": filters, **attrs}, also=also)


def _deconv(
    name: str,
    data: tuple[int, ...],
    kernel: tuple[int, ...],
    filters: int,
    also: tuple[str, ...] = (),
    dtype: str = "float32",
    **attrs: Any,
) -> Case:
    inputs: dict[str, Spec] = {
        "data": normal(*data),
        "weight": normal(data[1], filters // attrs.get("num_group", 1), *kernel),
    }
    if attrs.get("no_bias") is False:
        inputs["bias"] = normal(filters)
    attrs = {"kernel": kernel, "num_filter": filters, **attrs}
    return Case(name, "Deconvolution", inputs, attrs, also=also, dtype=dtype)


CASES = [
    _conv("Convolution", (2, 3, 6, 7), (3, 3), 4, also=OTHERS),
    _conv("Convolution_pad_stride", (2, 3, 7, 8), (3, 3), 4, pad=(1, 1), stride=(2, 2)),
    _conv("Convolution_no_bias", (1, 3, 5, 5), (3, 3), 4, no_bias=True, also=OTHERS),
    _conv("Convolution_1x1", (2, 5, 4, 3), (1, 1), 3, also=OTHERS),
    _conv("Convolution_1x1_wide", (2, 6, 2, 3), (1, 1), 8),
    _conv("Convolution_1x1_volume", (2, 2, 2, 3, 2), (1, 1, 1), 3),
    _conv("Convolution_1x1_stride", (2, 5, 4, 5), (1, 1), 3, stride=(2, 2), no_bias=True),
    _conv("Convolution_1x1_groups", (2, 4, 4, 3), (1, 1), 6, num_group=2),
    _conv("Convolution_uneven", (1, 2, 9, 8), (5, 2), 3, stride=(1, 3), pad=(2, 1)),
    _conv("Convolution_dilate", (1, 2, 9, 10), (3, 3), 3, dilate=(2, 3), pad=(2, 2)),
    _conv("Convolution_groups", (2, 4, 5, 5), (3, 3), 6, num_group=2, pad=(1, 1)),
    _conv("Convolution_depthwise", (2, 4, 6, 6), (3, 3), 4, num_group=4, pad=(1, 1), stride=(2, 2)),
    _conv("Convolution_depthwise_multiplier", (1, 3, 5, 5), (3, 3), 6, num_group=3, no_bias=True),
    _conv("Convolution_large_stride", (1, 3, 19, 19), (11, 11), 2, stride=(4, 4), pad=(2, 2)),
    _conv("Convolution_whole", (2, 3, 4, 4), (4, 4), 5),
    _conv("Convolution_one_element", (1, 1, 1, 1), (1, 1), 1),
    _conv("Convolution_tuning", (1, 2, 4, 4), (3, 3), 2, workspace=512, cudnn_tune="off",
          cudnn_off=True, layout="NCHW"),
    _conv("Convolution_1d", (2, 3, 9), (3,), 4, stride=(2,), pad=(1,), dilate=(2,)),
    _conv("Convolution_1d_layout", (2, 4, 7), (2,), 4, num_group=2, layout="NCW"),
    _conv("Convolution_3d", (1, 2, 4, 5, 6), (2, 3, 3), 3, pad=(1, 1, 0), stride=(1, 2, 2)),
    _conv("Convolution_3d_groups", (1, 4, 3, 4, 4), (2, 2, 2), 4, num_group=2, layout="NCDHW"),
    _conv("Convolution_v1", (2, 3, 6, 7), (3, 3), 4, op="Convolution_v1", pad=(1, 0)),
    _conv("Convolution_v1_groups", (1, 4, 5, 5), (3, 3), 4, op="Convolution_v1", num_group=2,
          no_bias=True, dilate=(2, 2)),
    _deconv("Deconvolution", (2, 3, 4, 5), (3, 3), 4, also=OTHERS),
    _deconv("Deconvolution_bias", (2, 3, 4, 5), (3, 3), 4, no_bias=False),
    _deconv("Deconvolution_upsample", (1, 3, 4, 4), (4, 4), 2, stride=(2, 2), pad=(1, 1)),
    _deconv("Deconvolution_adj", (1, 2, 4, 4), (3, 3), 2, stride=(2, 3), pad=(1, 0), adj=(1, 2)),
    # in float32, MXNet's CPU build refuses target_shape
    _deconv("Deconvolution_target", (1, 2, 4, 4), (4, 4), 2, dtype="float64", stride=(2, 2),
            target_shape=(8, 8)),
    _deconv("Deconvolution_target_odd", (1, 2, 4, 5), (4, 4), 2, dtype="float64", stride=(2, 2),
            target_shape=(7, 9), pad=(1, 1), adj=(1, 1)),
    _deconv("Deconvolution_groups", (1, 4, 4, 3), (3, 2), 6, num_group=2, stride=(2, 1)),
    _deconv("Deconvolution_depthwise", (1, 3, 3, 3), (4, 4), 3, num_group=3, stride=(2, 2),
            pad=(1, 1)),
    _deconv("Deconvolution_dilate", (1, 2, 4, 4), (3, 3), 2, dilate=(2, 2), pad=(1, 1)),
    _deconv("Deconvolution_large_pad", (1, 2, 5, 5), (2, 2), 2, stride=(3, 3), pad=(3, 3)),
    # XLA's simplifier ended the process for such a pair of axes.
    _deconv("Deconvolution_two_rows", (1, 2, 5, 2), (2, 4), 3, also=OTHERS, stride=(2, 2),
            pad=(1, 1)),
    _deconv("Deconvolution_1d", (2, 3, 5), (4,), 2, stride=(2,), pad=(1,)),
    _deconv("Deconvolution_3d", (1, 2, 3, 3, 2), (2, 3, 2), 3, stride=(2, 1, 2), pad=(0, 1, 0)),
    _conv("Convolution_v1_stride", (1, 2, 6, 5), (2, 2), 2, op="Convolution_v1", stride=(2, 1),
          layout="NCHW"),
    _deconv("Deconvolution_layout", (1, 2, 3, 3), (2, 2), 2, layout="NCHW"),
    _deconv("Deconvolution_layout_1d", (1, 2, 4), (2,), 2, layout="NCW"),
    _deconv("Deconvolution_layout_3d", (1, 2, 2, 3, 2), (2, 2, 1), 2, layout="NCDHW"),
]  # fmt: skip
