"""ResNet with pre-activation (He et al. 2016, "Identity mappings in deep residual networks")."""

from __future__ import annotations

from typing import Any


def _bn_relu(mx: Any, x: Any, name: str) -> Any:
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name=name)
    return mx.sym.Activation(x, act_type="relu", name=f"{name}_relu")


def _conv(mx: Any, x: Any, filters: int, size: int, stride: int, name: str) -> Any:
    return mx.sym.Convolution(
        x,
        num_filter=filters,
        kernel=(size, size),
        stride=(stride, stride),
        pad=(size // 2, size // 2),
        no_bias=True,
        workspace=256,
        name=name,
    )


def _bottleneck(mx: Any, x: Any, filters: int, stride: int, widen: bool, name: str) -> Any:
    before = _bn_relu(mx, x, f"{name}_bn1")
    short = _conv(mx, before, filters, 1, stride, f"{name}_sc") if widen else x
    y = _conv(mx, before, filters // 4, 1, 1, f"{name}_conv1")
    y = _conv(mx, _bn_relu(mx, y, f"{name}_bn2"), filters // 4, 3, stride, f"{name}_conv2")
    y = _conv(mx, _bn_relu(mx, y, f"{name}_bn3"), filters, 1, 1, f"{name}_conv3")
    return y + short


def resnet50(
    mx: Any, classes: int = 10, units: tuple[int, ...] = (3, 4, 6, 3), width: float = 1.0
) -> Any:
    """ResNet-50 for images of at least 64x64; ``width`` scales the number of filters."""
    x = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    x = _bn_relu(mx, _conv(mx, x, int(64 * width), 7, 2, "conv0"), "bn0")
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for stage, count in enumerate(units, start=1):
        for unit in range(1, count + 1):
            stride = 2 if stage > 1 and unit == 1 else 1
            name = f"stage{stage}_unit{unit}"
            x = _bottleneck(mx, x, int((128 << stage) * width), stride, unit == 1, name)
    x = _bn_relu(mx, x, "bn1")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=classes, name="fc1")
    return mx.sym.SoftmaxOutput(x, name="softmax")
