"""The packed parameter vector of fused recurrent layers, gate by gate: names, shapes, length."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, Self

from ..errors import AttributeValueError, ParameterShapeError, explain
from ._packed import GATE_NAMES, Mode, PackedSizes

_NAMES = {
    "input": "i2h{}_weight",
    "recurrent": "h2h{}_weight",
    "input_bias": "i2h{}_bias",
    "recurrent_bias": "h2h{}_bias",
}


class GateParameters(NamedTuple):
    """The weights and biases of all gates of recurrent layers without projection."""

    names: tuple[str, ...]
    sizes: PackedSizes

    @classmethod
    def of(cls, mode: Mode, hidden: int, layers: int, bidirectional: bool) -> Self:
        """Raises ValueError for an unknown mode."""
        if mode not in GATE_NAMES:
            expected = ", ".join(map(repr, GATE_NAMES))
            raise AttributeValueError(
                explain("recurrent layers", f"mode is {mode!r}, expected one of {expected}")
            )
        names = GATE_NAMES[mode]
        return cls(
            names, PackedSizes(layers, 1 + bool(bidirectional), len(names), hidden, hidden, False)
        )

    def features(self, length: int) -> int:
        """How many features the input has if the packed vector has that length.

        Raises AssertionError if no number of features gives it.
        """
        per_feature = self.sizes.count(1) - self.sizes.count(0)
        features, surplus = divmod(length - self.sizes.count(0), per_feature)
        if surplus or features < 1:
            possible = ", ".join(str(self.sizes.count(n)) for n in (1, 2, 3))
            raise ParameterShapeError(
                explain(
                    "packed parameters of recurrent layers",
                    f"there are {length}, expected {possible}, ... for 1, 2, 3, ... input features",
                    because=f"they are {self.sizes.layers} layers of {self.sizes.state} units, "
                    f"{self.sizes.directions} direction(s), {self.sizes.gates} gate(s)",
                )
            )
        return features

    def pieces(self, features: int) -> Iterator[tuple[str, slice, tuple[int, ...]]]:
        """(name, place in the vector, shape) of every gate's weight or bias, in order.

        A name is l, or r for the backward direction, and the layer's number, then as in cells:
        'l0_i2h_f_weight'.
        """
        start = 0
        for cell, piece, (rows, *columns) in self.sizes.layout(features):
            layer, direction = divmod(cell, self.sizes.directions)
            shape = (rows // self.sizes.gates, *columns)
            for gate in self.names:
                name = f"{'lr'[direction]}{layer}_{_NAMES[piece].format(gate)}"
                yield name, slice(start, start + math.prod(shape)), shape
                start += math.prod(shape)
