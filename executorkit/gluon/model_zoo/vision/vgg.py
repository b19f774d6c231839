"""VGG networks (Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image
Recognition, 2014)."""

from collections.abc import Iterable, Sequence
from typing import Any

from ....errors import ArgumentValueError, UnknownNameError
from ....initializer import Xavier
from ..._hybrid_block import HybridBlock
from ...nn import Activation, BatchNorm, Conv2D, Dense, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, sequence, variant, with_parameters
from .alexnet import hidden_layers

_FILTERS = [64, 128, 256, 512, 512]
#: For each number of layers the convolutions of each stage, and their channels.
vgg_spec = {
    11: ([1, 1, 2, 2, 2], _FILTERS),
    13: ([2, 2, 2, 2, 2], _FILTERS),
    16: ([2, 2, 3, 3, 3], _FILTERS),
    19: ([2, 2, 4, 4, 4], _FILTERS),
}


class VGG(FeatureNetwork):
    """Stages of convolutions over 3 x 3, for pictures (N, 3, 224, 224).

    layers, filters
        number of convolutions, and of their channels, for each stage.
    batch_norm
        whether convolutions are normalized.

    AssertionError (ArgumentValueError) if ``layers`` and ``filters`` differ in length.
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            problem = f"there are {len(layers)} stages of layers, and filters of {len(filters)}"
            raise ArgumentValueError("VGG", problem)
        dense: dict[str, Any] = {"weight_initializer": "normal", "bias_initializer": "zeros"}
        with self.name_scope():
            self.features = sequence(_stages(layers, filters, batch_norm))
            self.features.add(*hidden_layers(**dense))
            self.output = Dense(classes, **dense)


def _stages(
    layers: Sequence[int], filters: Sequence[int], batch_norm: bool
) -> Iterable[HybridBlock]:
    normal = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
    for count, channels in zip(layers, filters, strict=True):
        for _ in range(count):
            yield Conv2D(channels, 3, padding=1, weight_initializer=normal)
            if batch_norm:
                yield BatchNorm()
            yield Activation("relu")
        yield MaxPool2D(strides=2)


def get_vgg(
    num_layers: int, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any
) -> VGG:
    """:class:`VGG` of 11, 13, 16 or 19 layers; ``pretrained``: with parameters from a file in
    ``root``, on ``ctx``. KeyError (UnknownNameError) for another number."""
    if num_layers not in vgg_spec:
        problem = f"there is none of {num_layers} layers"
        raise UnknownNameError("get_vgg", problem, hint=", ".join(map(str, vgg_spec)))
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return with_parameters(VGG(*vgg_spec[num_layers], **kwargs), name, pretrained, ctx, root)


vgg11 = variant("vgg11", get_vgg, 11)
vgg13 = variant("vgg13", get_vgg, 13)
vgg16 = variant("vgg16", get_vgg, 16)
vgg19 = variant("vgg19", get_vgg, 19)
vgg11_bn = variant("vgg11_bn", get_vgg, 11, batch_norm=True)
vgg13_bn = variant("vgg13_bn", get_vgg, 13, batch_norm=True)
vgg16_bn = variant("vgg16_bn", get_vgg, 16, batch_norm=True)
vgg19_bn = variant("vgg19_bn", get_vgg, 19, batch_norm=True)
