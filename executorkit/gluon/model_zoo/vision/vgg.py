"""VGG networks (Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image
Recognition, 2014)."""

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from ...._support.annotations import Attrs
from ....errors import ArgumentValueError, UnknownNameError
from ....initializer import Xavier
from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts
from ...nn import Activation, BatchNorm, Conv2D, Dense, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, sequence, with_parameters
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
    """Stages of 3 x 3 convolutions, for images (N, 3, 224, 224).

    layers
        The number of convolutions of each stage.
    filters
        The number of channels of each stage. Raises AssertionError (ArgumentValueError) unless it
        is as long as ``layers``.
    batch_norm
        Whether batch norm follows each convolution.
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            problem = f"there are {len(layers)} stages of layers, and filters of {len(filters)}"
            raise ArgumentValueError("VGG", problem)
        dense: Attrs = {"weight_initializer": "normal", "bias_initializer": "zeros"}
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
    num_layers: int, pretrained: bool = False, ctx: Contexts = CPU, root: str = ROOT, **kwargs: Any
) -> VGG:
    """Returns a new :class:`VGG` of 11, 13, 16 or 19 layers; ``pretrained`` reads parameters from a
    file in ``root``, to ``ctx``. Raises KeyError (UnknownNameError) for another number."""
    if num_layers not in vgg_spec:
        problem = f"there is none of {num_layers} layers"
        raise UnknownNameError("get_vgg", problem, hint=", ".join(map(str, vgg_spec)))
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return with_parameters(VGG(*vgg_spec[num_layers], **kwargs), name, pretrained, ctx, root)


def vgg11(**kwargs: Any) -> VGG:
    """Returns a new VGG of 11 layers; see :func:`get_vgg`."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """Returns a new VGG of 13 layers; see :func:`get_vgg`."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """Returns a new VGG of 16 layers; see :func:`get_vgg`."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """Returns a new VGG of 19 layers; see :func:`get_vgg`."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """Returns a new :class:`VGG` of 11 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """Returns a new :class:`VGG` of 13 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """Returns a new :class:`VGG` of 16 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """Returns a new :class:`VGG` of 19 layers with batch normalization; see :func:`get_vgg`."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
