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
