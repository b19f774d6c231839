"""Residual networks with normalisation behind each convolution: ResNet-18 (He et al. 2015, "Deep
residual learning for image recognition") and IResNet-18 of face recognition (Deng et al. 2019)."""

from __future__ import annotations

from typing import Any


def _conv_bn(mx: Any, x: Any, filters: int, size: int, stride: int, name: str) -> Any:
    x = mx.sym.Convolution(
        x,
        num_filter=filters,
        kernel=(size, size),
        stride=(stride, stride),
        pad=(size // 2, size // 2),
        no_bias=True,
        name=name,
    )
    return mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn")


def _basic(mx: Any, x: Any, filters: int, stride: int, widen: bool, name: str) -> Any:
    y = mx.sym.Activation(_conv_bn(mx, x, filters, 3, stride, f"{name}_1"), act_type="relu")
    y = _conv_bn(mx, y, filters, 3, 1, f"{name}_2")
    short = _conv_bn(mx, x, filters, 1, stride, f"{name}_sc") if widen else x
    return mx.sym.Activation(y + short, act_type="relu")


def resnet18(mx: Any, classes: int = 10, units: tuple[int, ...] = (2, 2, 2, 2)) -> Any:
    """ResNet-18 for images of at least 64x64."""
    x = _conv_bn(mx, mx.sym.Variable("data"), 64, 7, 2, "conv0")
    x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for stage, count in enumerate(units, start=1):
        for unit in range(1, count + 1):
            first = stage > 1 and unit == 1
            x = _basic(mx, x, 32 << stage, 2 if first else 1, first, f"stage{stage}_unit{unit}")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=classes, name="fc1")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _prelu(mx: Any, x: Any, name: str) -> Any:
    return mx.sym.LeakyReLU(x, act_type="prelu", name=name)


def _face_unit(mx: Any, x: Any, filters: int, stride: int, name: str) -> Any:
    y = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn0")
    y = _prelu(mx, _conv_bn(mx, y, filters, 3, 1, f"{name}_1"), f"{name}_relu")
    y = _conv_bn(mx, y, filters, 3, stride, f"{name}_2")
    return y + (x if stride == 1 else _conv_bn(mx, x, filters, 1, stride, f"{name}_sc"))


def iresnet18(mx: Any, classes: int = 512) -> Any:
    """IResNet-18 for faces of 112x112; ``classes`` is the length of the embedding."""
    x = (mx.sym.Variable("data") - 127.5) * 0.0078125
    x = _prelu(mx, _conv_bn(mx, x, 64, 3, 1, "conv0"), "relu0")
    for stage in range(1, 5):
        for unit in (1, 2):
            name = f"stage{stage}_unit{unit}"
            x = _face_unit(mx, x, 32 << stage, 2 if unit == 1 else 1, name)
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn1")
    x = mx.sym.FullyConnected(mx.sym.Dropout(x, p=0.4), num_hidden=classes, name="pre_fc1")
    return mx.sym.BatchNorm(x, fix_gamma=True, eps=2e-5, momentum=0.9, name="fc1")
