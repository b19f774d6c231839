"""SqueezeNet 1.1 (Iandola et al. 2016)."""

from __future__ import annotations

from typing import Any


def _conv(mx: Any, x: Any, filters: int, size: int, name: str, stride: int = 1) -> Any:
    pad = size // 2 if stride == 1 else 0
    x = mx.sym.Convolution(
        x,
        num_filter=filters,
        kernel=(size, size),
        stride=(stride, stride),
        pad=(pad, pad),
        name=name,
    )
    return mx.sym.Activation(x, act_type="relu", name=f"{name}_relu")


def _fire(mx: Any, x: Any, squeeze: int, expand: int, name: str) -> Any:
    x = _conv(mx, x, squeeze, 1, f"{name}_squeeze")
    branches = (_conv(mx, x, expand, size, f"{name}_expand{size}") for size in (1, 3))
    return mx.sym.Concat(*branches, dim=1, name=name)


def _pool(mx: Any, x: Any) -> Any:
    return mx.sym.Pooling(
        x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full"
    )


def squeezenet(mx: Any, classes: int = 10) -> Any:
    """SqueezeNet for images of at least 64x64."""
    x = _pool(mx, _conv(mx, mx.sym.Variable("data"), 64, 3, "conv1", stride=2))
    for i, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128)), start=2):
        x = _fire(mx, x, squeeze, expand, f"fire{i}")
        x = _pool(mx, x) if i in (3, 5) else x
    for i, (squeeze, expand) in enumerate(((48, 192), (48, 192), (64, 256), (64, 256)), start=6):
        x = _fire(mx, x, squeeze, expand, f"fire{i}")
    x = _conv(mx, mx.sym.Dropout(x), classes, 1, "conv10")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(13, 13), pool_type="avg", name="pool10")
    return mx.sym.SoftmaxOutput(mx.sym.Flatten(x), name="softmax")
