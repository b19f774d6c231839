"""DenseNet-121 (Huang et al. 2017)."""

from __future__ import annotations

from typing import Any


def _bn_relu_conv(mx: Any, x: Any, filters: int, size: int, name: str) -> Any:
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name=f"{name}_bn")
    x = mx.sym.Activation(x, act_type="relu", name=f"{name}_relu")
    return mx.sym.Convolution(
        x,
        num_filter=filters,
        kernel=(size, size),
        pad=(size // 2, size // 2),
        no_bias=True,
        name=f"{name}_conv",
    )


def densenet121(
    mx: Any, classes: int = 10, growth: int = 32, blocks: tuple[int, ...] = (6, 12, 24, 16)
) -> Any:
    """DenseNet-121 for images of at least 64x64."""
    x = mx.sym.Convolution(
        mx.sym.Variable("data"),
        num_filter=64,
        kernel=(7, 7),
        stride=(2, 2),
        pad=(3, 3),
        no_bias=True,
        name="conv0",
    )
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name="bn0")
    x = mx.sym.Activation(x, act_type="relu", name="relu0")
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    channels = 64
    for block, count in enumerate(blocks, start=1):
        for layer in range(count):
            name = f"block{block}_layer{layer}"
            new = _bn_relu_conv(mx, x, 4 * growth, 1, f"{name}_a")
            new = _bn_relu_conv(mx, new, growth, 3, f"{name}_b")
            x = mx.sym.Concat(x, new, dim=1, name=f"{name}_concat")
            channels += growth
        if block < len(blocks):
            channels //= 2
            x = _bn_relu_conv(mx, x, channels, 1, f"transition{block}")
            x = mx.sym.Pooling(
                x, kernel=(2, 2), stride=(2, 2), pool_type="avg", name=f"transition{block}_pool"
            )
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name="bn_last")
    x = mx.sym.Activation(x, act_type="relu", name="relu_last")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool_last")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=classes, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")
