"""Inception v3 (Szegedy et al.: Rethinking the Inception Architecture for Computer Vision, 2015).

A table names a convolution by channels, kernel, stride and padding, a list of successive layers,
a tuple of such lists whose outputs are concatenated, and pools.
"""

from collections.abc import Iterable
from typing import Any, Unpack

from ..._block import BlockOptions
from ..._hybrid_block import HybridBlock
from ..._types import Contexts
from ...contrib.nn import HybridConcurrent
from ...nn import AvgPool2D, Dense, Dropout, MaxPool2D
from ..model_store import ROOT
from ._builder import CPU, FeatureNetwork, convolved, filled, sequence, with_parameters

_WIDE, _HIGH = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
_FORK = [(384, (1, 3), 1, (0, 1))], [(384, (3, 1), 1, (1, 0))]

_STEM: list[Any] = [(32, 3, 2), (32, 3), (64, 3, 1, 1), "max", (80, 1), (192, 3), "max"]


def _a(pooled: int) -> tuple[Any, ...]:
    return (
        [(64, 1)],
        [(48, 1), (64, 5, 1, 2)],
        [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)],
        ["average", (pooled, 1)],
    )


def _c(inner: int) -> tuple[Any, ...]:
    return (
        [(192, 1)],
        [(inner, 1), (inner, *_WIDE), (192, *_HIGH)],
        [(inner, 1), (inner, *_HIGH), (inner, *_WIDE), (inner, *_HIGH), (192, *_WIDE)],
        ["average", (192, 1)],
    )


_E = ([(320, 1)], [[(384, 1)], _FORK], [[(448, 1), (384, 3, 1, 1)], _FORK], ["average", (192, 1)])
#: The branches of each module, by the prefix of its names.
_MODULES: dict[str, tuple[Any, ...]] = {
    **{f"A{k}_": _a(pooled) for k, pooled in enumerate((32, 64, 64), 1)},
    "B_": ([(384, 3, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 2)], ["max"]),
    **{f"C{k}_": _c(inner) for k, inner in enumerate((128, 160, 160, 192), 1)},
    "D_": ([(192, 1), (320, 3, 2)], [(192, 1), (192, *_WIDE), (192, *_HIGH), (192, 3, 2)], ["max"]),
    "E1_": _E,
    "E2_": _E,
}


class Inception3(FeatureNetwork):
    """Inception v3 with ``classes`` outputs, for images (N, 3, 299, 299)."""

    def __init__(self, classes: int = 1000, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = sequence(_features())
            self.output = Dense(classes)


def _features() -> Iterable[HybridBlock]:
    yield from map(_block, _STEM)
    for prefix, branches in _MODULES.items():
        yield _concurrent(branches, prefix)
    yield AvgPool2D(8)
    yield Dropout(0.5)


def _block(layer: Any) -> HybridBlock:
    if layer == "max":
        return MaxPool2D(3, 2)
    if layer == "average":
        return AvgPool2D(3, 1, 1)
    if isinstance(layer, list):
        return sequence(map(_block, layer))
    if isinstance(layer[0], list):
        return _concurrent(layer, "")
    return sequence(convolved(*layer, epsilon=0.001))


def _concurrent(branches: Iterable[Any], prefix: str) -> HybridConcurrent:
    return filled(HybridConcurrent(axis=1, prefix=prefix), map(_block, branches))


def inception_v3(
    pretrained: bool = False, ctx: Contexts = CPU, root: str = ROOT, **kwargs: Any
) -> Inception3:
    """Returns an :class:`Inception3`; ``pretrained`` reads parameters from ``root``, to ``ctx``."""
    return with_parameters(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)
