"""The size of the images that a network's parameters were made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import MXNetError
from ..lowering import graph_of, infer
from ..ops.schema.inference import is_fully_known
from ..symbol import Symbol

#: A shape; 0 is an unknown size.
Shape = tuple[int, ...]

#: Heights that are tried first.
_COMMON = (224, 300, 512)
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
    if search.is_free():
        return ImageSize(next((size for size in _COMMON if search.order(size) == 0), None))
    if search.order(_COMMON[0]) == 0:
        return ImageSize(_COMMON[0], determined=True)
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

    def is_free(self) -> bool:
        """True if all weights have the same shapes whatever the size is."""
        try:
            result = infer(self._graph, self._inputs)
        except MXNetError:
            return False
        names = (*self._graph.arg_names, *self._graph.aux_names)
        shapes = zip(names, (*result.arg_shapes, *result.aux_shapes), strict=True)
        return all(is_fully_known(shape) for name, shape in shapes if name in self._weights)

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
