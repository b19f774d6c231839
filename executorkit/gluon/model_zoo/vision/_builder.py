"""Parts that the networks share: layers by tables, features with an output, trained parameters.

A table is a list of layers in the order of the network. :func:`sequence` takes generators, whose
layers are created within the name scope of their container.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ....context import cpu
from ..._hybrid_block import HybridBlock
from ...nn import Activation, BatchNorm, Conv2D, HybridSequential
from ..model_store import get_model_file

#: Device of the parameters unless another one is named.
CPU = cpu()

C = TypeVar("C", bound=HybridSequential)
N = TypeVar("N", bound=HybridBlock)


class FeatureNetwork(HybridBlock):
    """A network of ``features``, and an ``output`` of classes, which may be replaced."""

    features: HybridBlock
    output: HybridBlock

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


def filled(container: C, layers: Iterable[HybridBlock]) -> C:
    """A container with layers, which a generator creates within its name scope."""
    with container.name_scope():
        container.add(*layers)
    return container


def sequence(layers: Iterable[HybridBlock], prefix: str = "") -> HybridSequential:
    """Layers one after another; with a prefix of their names, or none."""
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
    """A convolution without bias, its normalization, and its activation if there is one."""
    yield Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False)
    yield BatchNorm(epsilon=epsilon)
    if activation is not None:
        yield activation()


def with_parameters(network: N, name: str, pretrained: bool, ctx: Any, root: str) -> N:
    """A network; ``pretrained``: with the parameters of the file of that name."""
    if pretrained:
        network.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return network


def variant(name: str, build: Callable[..., Any], *args: Any, **fixed: Any) -> Callable[..., Any]:
    """The function ``name(**kwargs)`` that calls ``build`` with arguments given beforehand."""

    def function(**kwargs: Any) -> Any:
        return build(*args, **{**kwargs, **fixed})

    arguments = [*map(repr, args), *(f"{key}={value!r}" for key, value in fixed.items())]
    call = f"{build.__name__}({', '.join([*arguments, '**kwargs'])})"
    function.__name__ = function.__qualname__ = name
    function.__module__ = build.__module__
    function.__doc__ = f"A new network, that of :func:`{call} <{build.__name__}>`."
    return function
