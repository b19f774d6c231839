"""Parts that the networks share. Their layers are generators, so that layers are created within the
name scope of their container."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ....context import cpu
from ..._hybrid_block import HybridBlock
from ..._types import Contexts, Ops, Tensor
from ...nn import Activation, BatchNorm, Conv2D, HybridSequential
from ..model_store import get_model_file

#: Device of the parameters unless another one is named.
CPU = cpu()

C = TypeVar("C", bound=HybridSequential)
N = TypeVar("N", bound=HybridBlock)


class FeatureNetwork(HybridBlock):
    """A network of ``features`` and an ``output`` of classes, which may be replaced."""

    features: HybridSequential
    output: HybridBlock

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return self.output(self.features(x))


def filled(container: C, layers: Iterable[HybridBlock]) -> C:
    with container.name_scope():
        container.add(*layers)
    return container


def sequence(layers: Iterable[HybridBlock], prefix: str = "") -> HybridSequential:
    return filled(HybridSequential(prefix=prefix), layers)


def convolved(
    channels: int,
    kernel: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    groups: int = 1,
    activation: Callable[[], HybridBlock] | None = lambda: Activation("relu"),
    epsilon: float = 1e-5,
) -> Iterable[HybridBlock]:
    """Yields a convolution without bias, its normalization, and its activation if any."""
    yield Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False)
    yield BatchNorm(epsilon=epsilon)
    if activation is not None:
        yield activation()


def with_parameters(network: N, name: str, pretrained: bool, ctx: Contexts, root: str) -> N:
    if pretrained:
        network.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return network
