"""AlexNet (Krizhevsky, Sutskever, Hinton: ImageNet Classification with Deep Convolutional Neural
Networks, 2012), in the form of one device."""

from collections.abc import Iterable
from typing import Any, Unpack

from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts
from ...nn import Conv2D, Dense, Dropout, Flatten, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, sequence, with_parameters

#: Channels, kernel, stride and padding of each convolution; None is a maximum over 3 x 3, stride 2.
_LAYERS = (
    (64, 11, 4, 2), None, (192, 5, 1, 2), None, (384, 3, 1, 1), (256, 3, 1, 1), (256, 3, 1, 1), None
)  # fmt: skip


def hidden_layers(**initializers: Any) -> Iterable[HybridBlock]:
    """Yields two dense layers of 4,096 units with ReLU and dropout."""
    for _ in range(2):
        yield Dense(4096, activation="relu", **initializers)
        yield Dropout(0.5)


class AlexNet(FeatureNetwork):
    """AlexNet with ``classes`` outputs, for images (N, 3, 224, 224)."""

    def __init__(self, classes: int = 1000, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = sequence(_layers())
            self.output = Dense(classes)


def _layers() -> Iterable[HybridBlock]:
    for convolution in _LAYERS:
        yield Conv2D(*convolution, activation="relu") if convolution else MaxPool2D(3, 2)
    yield Flatten()
    yield from hidden_layers()


def alexnet(
    pretrained: bool = False, ctx: Contexts = CPU, root: str = ROOT, **kwargs: Any
) -> AlexNet:
    """Returns an :class:`AlexNet`; ``pretrained`` reads parameters from ``root``, to ``ctx``."""
    return with_parameters(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
