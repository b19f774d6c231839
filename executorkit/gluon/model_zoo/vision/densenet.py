"""DenseNet (Huang et al.: Densely Connected Convolutional Networks, 2016)."""

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from ....errors import UnknownNameError
from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts
from ...contrib.nn import HybridConcurrent, Identity
from ...nn import Activation, AvgPool2D, BatchNorm, Conv2D, Dense, Dropout, Flatten, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, convolved, filled, sequence, with_parameters

#: For each number of layers the channels of the first one, the channels that a layer adds, and the
#: number of layers of each stage.
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


class DenseNet(FeatureNetwork):
    """Stages of layers that all get the outputs of the layers before, for images (N, 3, 224, 224).

    num_init_features
        The number of channels of the first convolution.
    growth_rate
        The number of channels that each layer adds.
    block_config
        The number of layers of each stage.
    bn_size
        The number of channels within a layer, as a multiple of ``growth_rate``.
    dropout
        The fraction of a layer's outputs that is dropped in training.
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)

        def features() -> Iterable[HybridBlock]:
            yield from convolved(num_init_features, 7, 2, 3)
            yield MaxPool2D(3, 2, 1)
            channels = num_init_features
            for stage, count in enumerate(block_config, 1):
                layers = (_layer(growth_rate, bn_size, dropout) for _ in range(count))
                yield sequence(layers, prefix=f"stage{stage}_")
                channels += count * growth_rate
                if stage < len(block_config):
                    channels //= 2
                    yield sequence([*_activated(channels, 1), AvgPool2D(2, 2)])
            yield from (BatchNorm(), Activation("relu"), AvgPool2D(7), Flatten())

        with self.name_scope():
            self.features = sequence(features())
            self.output = Dense(classes)


def _activated(channels: int, kernel: int) -> Iterable[HybridBlock]:
    yield BatchNorm()
    yield Activation("relu")
    yield Conv2D(channels, kernel, padding=kernel // 2, use_bias=False)


def _layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    added = sequence([*_activated(bn_size * growth_rate, 1), *_activated(growth_rate, 3)])
    if dropout:
        added.add(Dropout(dropout))
    return filled(HybridConcurrent(axis=1, prefix=""), [Identity(), added])


def get_densenet(
    num_layers: int, pretrained: bool = False, ctx: Contexts = CPU, root: str = ROOT, **kwargs: Any
) -> DenseNet:
    """Returns a new :class:`DenseNet` of 121, 161, 169 or 201 layers; ``pretrained`` reads
    parameters from ``root``, to ``ctx``. KeyError (UnknownNameError) for another number."""
    if num_layers not in densenet_spec:
        problem = f"there is none of {num_layers} layers"
        raise UnknownNameError("get_densenet", problem, hint=", ".join(map(str, densenet_spec)))
    network = DenseNet(*densenet_spec[num_layers], **kwargs)
    return with_parameters(network, f"densenet{num_layers}", pretrained, ctx, root)


def densenet121(**kwargs: Any) -> DenseNet:
    """Returns a new DenseNet of 121 layers; see :func:`get_densenet`."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """Returns a new DenseNet of 161 layers; see :func:`get_densenet`."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """Returns a new DenseNet of 169 layers; see :func:`get_densenet`."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """Returns a new DenseNet of 201 layers; see :func:`get_densenet`."""
    return get_densenet(201, **kwargs)
