"""Residual networks, version 1 (He et al.: Deep Residual Learning for Image Recognition, 2015) and
version 2 (He et al.: Identity Mappings in Deep Residual Networks, 2016)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Unpack

from ...._support.described_arguments import DescribesArguments
from ....errors import ArgumentValueError
from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts, Ops, Tensor
from ...nn import Activation, BatchNorm, Conv2D, Dense, Flatten, GlobalAvgPool2D, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, convolved, sequence, with_parameters


def _convolution(
    channels: int, kernel: int, stride: int, in_channels: int = 0, use_bias: bool = False
) -> Conv2D:
    return Conv2D(channels, kernel, stride, kernel // 2, use_bias=use_bias, in_channels=in_channels)


def _conv3x3(channels: int, stride: int, in_channels: int) -> Conv2D:
    return _convolution(channels, 3, stride, in_channels)


class _Residual(DescribesArguments, HybridBlock):
    """Base of residual blocks.

    channels
        The number of output channels.
    stride
        The stride of one of the convolutions.
    downsample
        Whether the input is convolved before the sum, because its shape is not the output's.
    in_channels
        The number of input channels. 0: taken from the first input.
    """

    _bottleneck: ClassVar[bool]

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._add_layers(channels, stride, in_channels)
        self.downsample = self._shortcut(channels, stride, in_channels) if downsample else None

    def _add_layers(self, channels: int, stride: int, in_channels: int) -> None:
        raise NotImplementedError

    def _shortcut(self, channels: int, stride: int, in_channels: int) -> HybridBlock:
        raise NotImplementedError


class _ResidualV1(_Residual):
    def _add_layers(self, channels: int, stride: int, in_channels: int) -> None:
        def layers() -> Iterable[HybridBlock]:
            for k, convolution in enumerate(self._convolutions(channels, stride, in_channels)):
                if k:
                    yield Activation("relu")
                yield _convolution(*convolution)
                yield BatchNorm()

        self.body = sequence(layers())

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> Iterable[Any]:
        if self._bottleneck:
            inner = channels // 4
            yield inner, 1, stride, 0, True
            yield inner, 3, 1, inner
            yield channels, 1, 1, 0, True
        else:
            yield channels, 3, stride, in_channels
            yield channels, 3, 1, channels

    def _shortcut(self, channels: int, stride: int, in_channels: int) -> HybridBlock:
        return sequence([_convolution(channels, 1, stride, in_channels), BatchNorm()])

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        residual, x = x, self.body(x)
        if self.downsample:
            residual = self.downsample(residual)
        total = x + residual if self._bottleneck else residual + x
        return F.Activation(total, act_type="relu")


class _ResidualV2(_Residual):
    def _add_layers(self, channels: int, stride: int, in_channels: int) -> None:
        for k, convolution in enumerate(self._convolutions(channels, stride, in_channels), 1):
            setattr(self, f"bn{k}", BatchNorm())
            setattr(self, f"conv{k}", _convolution(*convolution))

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> Iterable[Any]:
        if self._bottleneck:
            inner = channels // 4
            return (inner, 1, 1), (inner, 3, stride, inner), (channels, 1, 1)
        return (channels, 3, stride, in_channels), (channels, 3, 1, channels)

    def _shortcut(self, channels: int, stride: int, in_channels: int) -> HybridBlock:
        return _convolution(channels, 1, stride, in_channels)

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        residual = x
        for k in range(1, 4 if self._bottleneck else 3):
            x = F.Activation(getattr(self, f"bn{k}")(x), act_type="relu")
            if k == 1 and self.downsample:
                residual = self.downsample(x)
            x = getattr(self, f"conv{k}")(x)
        return x + residual


class BasicBlockV1(_ResidualV1):
    """Two 3 x 3 convolutions, each followed by batch norm. The base class describes the
    arguments."""

    _bottleneck = False


class BottleneckV1(_ResidualV1):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, each followed by batch norm; the inner ones have a
    fourth of the channels. The base class describes the arguments."""

    _bottleneck = True


class BasicBlockV2(_ResidualV2):
    """Two 3 x 3 convolutions, each after batch norm. The base class describes the arguments."""

    _bottleneck = False


class BottleneckV2(_ResidualV2):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, each after batch norm; the inner ones have a fourth of
    the channels."""

    _bottleneck = True


class _ResNet(DescribesArguments, FeatureNetwork):
    """Stages of residual blocks.

    block
        The class of the blocks.
    layers
        The number of blocks of each stage.
    channels
        The number of channels of the first convolution and of each stage. Raises AssertionError
        (ArgumentValueError) unless it is one longer than ``layers``.
    classes
        The number of outputs.
    thumbnail
        Whether images are small: the first convolution is 3 x 3, and no pixels are skipped.
    """

    def __init__(
        self, block: Any, layers: Sequence[int], channels: Sequence[int], classes: int = 1000,
        thumbnail: bool = False, **kwargs: Unpack[BlockOptions],
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if len(channels) != len(layers) + 1:
            problem = f"there are {len(layers)} stages, and {len(channels)} numbers of channels"
            raise ArgumentValueError(type(self).__name__, problem)

        def features() -> Iterable[HybridBlock]:
            yield from self._before()
            if thumbnail:
                yield _convolution(channels[0], 3, 1)
            else:
                yield from (*convolved(channels[0], 7, 2, 3), MaxPool2D(3, 2, 1))
            for stage, count in enumerate(layers):
                before, after = channels[stage : stage + 2]
                blocks = _stage(block, count, before, after, 2 if stage else 1)
                yield sequence(blocks, prefix=f"stage{stage + 1}_")
            yield from self._behind()

        with self.name_scope():
            self.features = sequence(features())
            self.output = Dense(classes, in_units=channels[-1])

    def _before(self) -> Iterable[HybridBlock]:
        return ()

    def _behind(self) -> Iterable[HybridBlock]:
        yield GlobalAvgPool2D()


def _stage(block: Any, count: int, before: int, channels: int, stride: int) -> Iterable[Any]:
    yield block(channels, stride, channels != before, in_channels=before, prefix="")
    for _ in range(count - 1):
        yield block(channels, 1, False, in_channels=channels, prefix="")


class ResNetV1(_ResNet):
    """A residual network, version 1, for images (N, 3, 224, 224). The base class describes the
    arguments."""


class ResNetV2(_ResNet):
    """A residual network, version 2, for images (N, 3, 224, 224), which it normalizes first.
    The base class describes the arguments."""

    def _before(self) -> Iterable[HybridBlock]:
        yield BatchNorm(scale=False, center=False)

    def _behind(self) -> Iterable[HybridBlock]:
        yield from (BatchNorm(), Activation("relu"), GlobalAvgPool2D(), Flatten())


_BASIC, _WIDE = [64, 64, 128, 256, 512], [64, 256, 512, 1024, 2048]
#: For each number of layers the kind of block, the blocks of each stage, and the channels.
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], _BASIC),
    34: ("basic_block", [3, 4, 6, 3], _BASIC),
    50: ("bottle_neck", [3, 4, 6, 3], _WIDE),
    101: ("bottle_neck", [3, 4, 23, 3], _WIDE),
    152: ("bottle_neck", [3, 8, 36, 3], _WIDE),
}
#: The networks, and their blocks, of both versions.
resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx: Contexts = CPU, root: str = ROOT,
    **kwargs: Any,
) -> ResNetV1 | ResNetV2:  # fmt: skip
    """Returns a new :class:`ResNetV1` or :class:`ResNetV2` of 18, 34, 50, 101 or 152 layers;
    ``pretrained`` reads parameters from a file in ``root``, to ``ctx``. Raises AssertionError
    (ArgumentValueError) for other numbers."""
    for what, value, allowed in (
        ("version", version, (1, 2)), ("number of layers", num_layers, resnet_spec)
    ):  # fmt: skip
        if value not in allowed:
            hint = ", ".join(map(str, allowed))
            raise ArgumentValueError("get_resnet", f"{what} {value} does not exist", hint=hint)
    kind, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][kind]
    network = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return with_parameters(network, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def resnet18_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v1 of 18 layers; see :func:`get_resnet`."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v1 of 34 layers; see :func:`get_resnet`."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v1 of 50 layers; see :func:`get_resnet`."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v1 of 101 layers; see :func:`get_resnet`."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v1 of 152 layers; see :func:`get_resnet`."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v2 of 18 layers; see :func:`get_resnet`."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v2 of 34 layers; see :func:`get_resnet`."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v2 of 50 layers; see :func:`get_resnet`."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v2 of 101 layers; see :func:`get_resnet`."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a new ResNet v2 of 152 layers; see :func:`get_resnet`."""
    return get_resnet(2, 152, **kwargs)
