"""MobileNet (Howard et al.: MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
Applications, 2017) and MobileNetV2 (Sandler et al.: MobileNetV2: Inverted Residuals and Linear
Bottlenecks, 2018)."""

from collections.abc import Iterable
from typing import Any, Unpack

from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts, Ops, Tensor
from ...nn import Conv2D, Dense, Flatten, GlobalAvgPool2D, HybridSequential
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, convolved, sequence, with_parameters

#: Output channels and stride of each separable convolution of version 1.
_SEPARABLE = [
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)
]  # fmt: skip
#: Expansion, output channels, number and first stride of the bottlenecks of version 2.
_BOTTLENECKS = [
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
]  # fmt: skip


class RELU6(HybridBlock):
    """``min(max(x, 0), 6)``."""

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.clip(x, 0, 6, name="relu6")


class LinearBottleneck(HybridBlock):
    """Inverted residual: ``t`` times the channels, a depthwise convolution, and ``channels``
    without activation; the input is added if the shapes are equal."""

    def __init__(
        self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Unpack[BlockOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = HybridSequential()
            self.out.add(*convolved(wide, activation=RELU6))
            self.out.add(*convolved(wide, 3, stride, 1, wide, RELU6))
            self.out.add(*convolved(channels, activation=None))

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(FeatureNetwork):
    """MobileNet with ``multiplier`` times the channels, for pictures (N, 3, 224, 224)."""

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Unpack[BlockOptions]
    ) -> None:
        super().__init__(**kwargs)

        def features() -> Iterable[HybridBlock]:
            width = int(32 * multiplier)
            yield from convolved(width, 3, 2, 1)
            for channels, stride in _SEPARABLE:
                yield from convolved(width, 3, stride, 1, width)
                width = int(channels * multiplier)
                yield from convolved(width)
            yield from (GlobalAvgPool2D(), Flatten())

        with self.name_scope():
            self.features = sequence(features())
            self.output = Dense(classes)


class MobileNetV2(FeatureNetwork):
    """MobileNetV2 with ``multiplier`` times the channels, for pictures (N, 3, 224, 224)."""

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Unpack[BlockOptions]
    ) -> None:
        super().__init__(**kwargs)

        def features() -> Iterable[HybridBlock]:
            width = int(32 * multiplier)
            yield from convolved(width, 3, 2, 1, activation=RELU6)
            for expansion, channels, count, stride in _BOTTLENECKS:
                for k in range(count):
                    before, width = width, int(channels * multiplier)
                    yield LinearBottleneck(before, width, expansion, 1 if k else stride)
            yield from convolved(int(1280 * max(multiplier, 1.0)), activation=RELU6)
            yield GlobalAvgPool2D()

        def output() -> Iterable[HybridBlock]:
            yield Conv2D(classes, 1, use_bias=False, prefix="pred_")
            yield Flatten()

        with self.name_scope():
            self.features = sequence(features(), prefix="features_")
            self.output = sequence(output(), prefix="output_")


def _suffix(multiplier: float) -> str:
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: str = ROOT,
    **kwargs: Any,
) -> MobileNet:
    """Returns a :class:`MobileNet` with ``multiplier`` of its channels; ``pretrained`` reads
    parameters from ``root`` to ``ctx``."""
    name = f"mobilenet{_suffix(multiplier)}"
    return with_parameters(MobileNet(multiplier, **kwargs), name, pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    ctx: Contexts = CPU,
    root: str = ROOT,
    **kwargs: Any,
) -> MobileNetV2:
    """Returns a :class:`MobileNetV2` with ``multiplier`` of its channels; ``pretrained`` reads
    parameters from ``root`` to ``ctx``."""
    name = f"mobilenetv2_{_suffix(multiplier)}"
    return with_parameters(MobileNetV2(multiplier, **kwargs), name, pretrained, ctx, root)


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """Returns a new MobileNet with 1.0 of its channels; see :func:`get_mobilenet`."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """Returns a new MobileNet with 0.75 of its channels; see :func:`get_mobilenet`."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """Returns a new MobileNet with 0.5 of its channels; see :func:`get_mobilenet`."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """Returns a new MobileNet with 0.25 of its channels; see :func:`get_mobilenet`."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """Returns a new MobileNet v2 with 1.0 of its channels; see :func:`get_mobilenet_v2`."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """Returns a new MobileNet v2 with 0.75 of its channels; see :func:`get_mobilenet_v2`."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """Returns a new MobileNet v2 with 0.5 of its channels; see :func:`get_mobilenet_v2`."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """Returns a new MobileNet v2 with 0.25 of its channels; see :func:`get_mobilenet_v2`."""
    return get_mobilenet_v2(0.25, **kwargs)
