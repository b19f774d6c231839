"""MobileNet v1 (Howard et al. 2017)."""

from __future__ import annotations

from typing import Any

#: Filters and stride of each depthwise separable block.
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5,
          (1024, 2), (1024, 1))  # fmt: skip


def _conv(
    mx: Any, x: Any, filters: int, name: str, size: int = 3, stride: int = 1, groups: int = 1
) -> Any:
    x = mx.sym.Convolution(
        x,
        num_filter=filters,
        num_group=groups,
        kernel=(size, size),
        stride=(stride, stride),
        pad=(size // 2, size // 2),
        no_bias=True,
        name=name,
    )
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name=f"{name}_bn")
    return mx.sym.Activation(x, act_type="relu", name=f"{name}_relu")


def mobilenet(mx: Any, classes: int = 10) -> Any:
    """MobileNet for images of at least 32x32."""
    x = _conv(mx, mx.sym.Variable("data"), 32, "conv1", stride=2)
    before = 32
    for i, (filters, stride) in enumerate(BLOCKS, start=2):
        x = _conv(mx, x, before, f"conv{i}_dw", stride=stride, groups=before)
        x = _conv(mx, x, filters, f"conv{i}_pw", size=1)
        before = filters
    x = mx.sym.Pooling(x, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool")
    x = mx.sym.Convolution(x, num_filter=classes, kernel=(1, 1), name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.Flatten(x), name="softmax")


#: Expansion, filters, repetitions and stride of the first one, of each group of blocks of v2.
GROUPS_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
             (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip


def _conv_v2(
    mx: Any, x: Any, filters: int, name: str, size: int = 1, stride: int = 1, groups: int = 1,
    active: bool = True,
) -> Any:  # fmt: skip
    pad = (size // 2, size // 2)
    x = mx.sym.Convolution(
        x, num_filter=filters, num_group=groups, kernel=(size, size), stride=(stride, stride),
        pad=pad, no_bias=True, name=name,
    )  # fmt: skip
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name=f"{name}_bn")
    return mx.sym.clip(x, a_min=0, a_max=6, name=f"{name}_relu6") if active else x


def mobilenet_v2(mx: Any, classes: int = 10) -> Any:
    """MobileNet v2 (Sandler et al. 2018) for images of at least 32x32."""
    x = _conv_v2(mx, mx.sym.Variable("data"), 32, "conv1", 3, stride=2)
    before, number = 32, 0
    for expansion, filters, count, first_stride in GROUPS_V2:
        for unit in range(count):
            number += 1
            name, wide = f"block{number}", expansion * before
            stride = first_stride if unit == 0 else 1
            y = _conv_v2(mx, x, wide, f"{name}_expand") if expansion > 1 else x
            y = _conv_v2(mx, y, wide, f"{name}_dw", 3, stride, groups=wide)
            y = _conv_v2(mx, y, filters, f"{name}_project", active=False)
            x = x + y if stride == 1 and before == filters else y
            before = filters
    x = _conv_v2(mx, x, 1280, "conv_last")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool")
    x = mx.sym.Convolution(x, num_filter=classes, kernel=(1, 1), name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.Flatten(x), name="softmax")
