"""VGG-16 (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from typing import Any

#: Convolutions and filters of each of the five stages.
STAGES = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))


def conv_relu(mx: Any, x: Any, filters: int, name: str, **options: Any) -> Any:
    """A 3x3 convolution (unless ``options`` say otherwise) and a relu."""
    options = {"kernel": (3, 3), "pad": (1, 1), **options}
    x = mx.sym.Convolution(x, num_filter=filters, name=f"conv{name}", **options)
    return mx.sym.Activation(x, act_type="relu", name=f"relu{name}")


def vgg16(mx: Any, classes: int = 10, width: float = 1.0) -> Any:
    """VGG-16 for images of at least 32x32; ``width`` scales the number of filters."""
    x = mx.sym.Variable("data")
    for stage, (count, filters) in enumerate(STAGES, start=1):
        for i in range(1, count + 1):
            x = conv_relu(mx, x, int(filters * width), f"{stage}_{i}")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{stage}")
    x = mx.sym.Flatten(x, name="flatten")
    for i in (6, 7):
        x = mx.sym.FullyConnected(x, num_hidden=int(4096 * width), name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.FullyConnected(x, num_hidden=classes, name="fc8")
    return mx.sym.SoftmaxOutput(x, name="softmax")
