"""SqueezeNet (Iandola et al.: SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and
<0.5MB model size, 2016)."""

from collections.abc import Iterable
from typing import Any, Unpack

from ....errors import ArgumentValueError
from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts
from ...contrib.nn import HybridConcurrent
from ...nn import Activation, AvgPool2D, Conv2D, Dropout, Flatten, HybridSequential, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, filled, sequence, with_parameters

#: For each version the first convolution, and the squeezed channels of each fire module; their
#: outputs are eight times as many. None is a maximum over 3 x 3, stride 2.
_VERSIONS: dict[str, tuple[tuple[int, int], tuple[int | None, ...]]] = {
    "1.0": ((96, 7), (None, 16, 16, 32, None, 32, 48, 48, 64, None, 64)),
    "1.1": ((64, 3), (None, 16, 16, None, 32, 32, None, 48, 48, 64, 64)),
}


class SqueezeNet(FeatureNetwork):
    """SqueezeNet of ``version`` '1.0' or '1.1', for images (N, 3, 224, 224). Raises AssertionError
    (ArgumentValueError) for another version."""

    def __init__(self, version: str, classes: int = 1000, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        if version not in _VERSIONS:
            problem = f"version {version} does not exist"
            raise ArgumentValueError("SqueezeNet", problem, hint=" or ".join(_VERSIONS))
        with self.name_scope():
            self.features = sequence(_features(version))
            self.output = sequence(_output(classes))


def _features(version: str) -> Iterable[HybridBlock]:
    first, modules = _VERSIONS[version]
    yield Conv2D(*first, strides=2)
    yield Activation("relu")
    for channels in modules:
        yield MaxPool2D(3, 2, ceil_mode=True) if channels is None else _fire(channels)
    yield Dropout(0.5)


def _output(classes: int) -> Iterable[HybridBlock]:
    yield from (Conv2D(classes, 1), Activation("relu"), AvgPool2D(13), Flatten())


def _fire(channels: int) -> HybridSequential:
    squeezed = _activated(channels, 1)
    expanded = (_activated(4 * channels, kernel) for kernel in (1, 3))
    return sequence([squeezed, filled(HybridConcurrent(axis=1, prefix=""), expanded)])


def _activated(channels: int, kernel: int) -> HybridSequential:
    return sequence([Conv2D(channels, kernel, padding=kernel // 2), Activation("relu")])


def get_squeezenet(
    version: str, pretrained: bool = False, ctx: Contexts = CPU, root: str = ROOT, **kwargs: Any
) -> SqueezeNet:
    """Returns a :class:`SqueezeNet`; ``pretrained`` reads parameters from ``root``, to ``ctx``."""
    network = SqueezeNet(version, **kwargs)
    return with_parameters(network, f"squeezenet{version}", pretrained, ctx, root)


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """Returns a new SqueezeNet, version 1.0; see :func:`get_squeezenet`."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """Returns a new SqueezeNet, version 1.1; see :func:`get_squeezenet`."""
    return get_squeezenet("1.1", **kwargs)
