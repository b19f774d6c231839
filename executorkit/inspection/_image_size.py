"""The size of the images that a network's parameters were made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import MXNetError
from ..lowering import graph_of, infer
from ..symbol import Symbol

#: A shape; 0 is an unknown size.
Shape = tuple[int, ...]

#: Heights of images that are tried first; a network that accepts two successive ones accepts any.
_TRIED = (224, 320, 640)
#: Heights that networks are made for.
_USUAL = (28, 32, 64, 96, 112, 128, 160, 192, 224, 227, 256, 299, 300, 320, 331, 384, 416, 448, 512)
#: The largest height that is looked for, and how much larger than the least one that fits a usual
#: one may be.
_LARGEST, _ROUNDING = 2048, 1.3


@dataclass(frozen=True, slots=True)
class ImageSize:
    """The height and width of square images.

    size
        one that fits; None if none does.
    determined
        True if the parameters do not fit other sizes: a fully connected layer follows.
    conflict
        the parameter that no size fits, if ``size`` is None.
    """

    size: int | None
    determined: bool = False
    conflict: str | None = None


def image_size(
    symbol: Symbol, weights: Mapping[str, Shape], inputs: Mapping[str, Shape], images: Sequence[str]
) -> ImageSize:
    """The size of the ``images`` among the inputs, whose other sizes are known.

    The lengths of the rows of weights grow with the size of the image, so it is found by bisection.
    """
    search = _Search(symbol, weights, inputs, images)
    orders = [search.order(size) for size in _TRIED]
    if orders[1] == 0 and 0 in (orders[0], orders[2]):
        usual = _TRIED[0] if orders[0] == 0 else next(s for s in (300, 320) if not search.order(s))
        return ImageSize(usual)
    if orders[0] == 0:
        return ImageSize(_TRIED[0], determined=True)
    low, high = 0, _LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        if search.order(middle) < 0:
            low = middle
        else:
            high = middle
    if search.order(high) != 0:
        return ImageSize(None, conflict=search.conflict)
    rounded = [s for s in _USUAL if high < s < high * _ROUNDING and search.order(s) == 0]
    is_usual = high in _USUAL or not rounded
    return ImageSize(high if is_usual else rounded[0], determined=True)


class _Search:
    """Tries sizes. ``conflict`` is the parameter that the last one did not fit."""

    def __init__(
        self,
        symbol: Symbol,
        weights: Mapping[str, Shape],
        inputs: Mapping[str, Shape],
        images: Sequence[str],
    ) -> None:
        self.conflict: str | None = None
        self._graph = graph_of(symbol.heads)
        self._weights = weights
        self._inputs = inputs
        self._images = images

    def order(self, size: int) -> int:
        """0 for a size that fits, -1 for one that is too small, 1 for one that is too large."""
        shapes = {
            name: tuple(d or size for d in shape) if name in self._images else shape
            for name, shape in self._inputs.items()
        }
        try:
            result = infer(self._graph, shapes)
        except MXNetError:
            return -1  # nothing is left of the image
        names = (*self._graph.arg_names, *self._graph.aux_names)
        for name, shape in zip(names, (*result.arg_shapes, *result.aux_shapes), strict=True):
            stored = self._weights.get(name)
            if stored is None or shape is None or len(shape) != len(stored):
                continue
            for ours, theirs in zip(shape, stored, strict=True):
                if ours and ours != theirs:
                    self.conflict = name
                    return 1 if ours > theirs else -1
        return 0
