"""The packed parameter vector of fused recurrent layers: MXNet's order of weights and biases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, TypeAlias

from jax import Array, lax

from ...errors import AttributeValueError, ParameterShapeError
from ..schema.inference import Params

Mode: TypeAlias = Literal["rnn_relu", "rnn_tanh", "lstm", "gru"]
#: Names of the gates, which are blocks of ``state_size`` rows in a weight.
GATE_NAMES: dict[Mode, tuple[str, ...]] = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}
#: Names of a gate's parameters in unfused cells, by the piece of the vector that they stand in.
_PARAMETER_NAMES = {
    "input": "i2h{}_weight",
    "recurrent": "h2h{}_weight",
    "input_bias": "i2h{}_bias",
    "recurrent_bias": "h2h{}_bias",
}


@dataclass(frozen=True, slots=True)
class PackedSizes:
    """The shapes inside a packed parameter vector. A *cell* is one layer in one direction; cells
    are numbered by layer, then by direction."""

    layers: int
    directions: int
    gates: int
    state: int
    hidden: int
    projected: bool

    @classmethod
    def of(cls, p: Params) -> PackedSizes:
        if p.projection_size is not None and p.mode != "lstm":
            problem = f"projection_size={p.projection_size} with mode={p.mode!r}"
            hint = "mode='lstm'"
            because = "only lstm has a projection"
            raise AttributeValueError("operator RNN", problem, because=because, hint=hint)
        gates = len(GATE_NAMES[p.mode])
        return cls(p.num_layers, 2 if p.bidirectional else 1, gates, p.state_size,
                   p.projection_size or p.state_size, p.projection_size is not None)  # fmt: skip

    def layout(self, features: int) -> Iterator[tuple[int, str, tuple[int, ...]]]:
        """Returns (cell, name, shape) of each piece: all weights, then all biases, each by cell."""
        rows = self.gates * self.state
        for cell in range(self.layers * self.directions):
            first = cell < self.directions
            yield cell, "input", (rows, features if first else self.directions * self.hidden)
            yield cell, "recurrent", (rows, self.hidden)
            if self.projected:
                yield cell, "projection", (self.hidden, self.state)
        for cell in range(self.layers * self.directions):
            yield cell, "input_bias", (rows,)
            yield cell, "recurrent_bias", (rows,)

    def unpack(self, vector: Array, features: int) -> list[dict[str, Array]]:
        cells: list[dict[str, Array]] = [{} for _ in range(self.layers * self.directions)]
        layout = list(self.layout(features))
        # The gradient of each slice would be an array as large as the vector; this has one for all.
        parts = lax.split(vector, [math.prod(shape) for *_, shape in layout])
        for part, (cell, name, shape) in zip(parts, layout, strict=True):
            cells[cell][name] = part.reshape(shape)
        return cells

    def count(self, features: int) -> int:
        return sum(math.prod(shape) for *_, shape in self.layout(features))


class GateParameters(NamedTuple):
    names: tuple[str, ...]
    sizes: PackedSizes

    @classmethod
    def of(cls, mode: Mode, hidden: int, layers: int, bidirectional: bool) -> Self:
        if mode not in GATE_NAMES:
            expected = ", ".join(map(repr, GATE_NAMES))
            problem = f"mode is {mode!r}, expected one of {expected}"
            raise AttributeValueError("recurrent layers", problem)
        names = GATE_NAMES[mode]
        directions = 1 + bool(bidirectional)
        return cls(names, PackedSizes(layers, directions, len(names), hidden, hidden, False))

    def features(self, length: int) -> int:
        """Returns the number of input features for that length, or raises AssertionError."""
        per_feature = self.sizes.count(1) - self.sizes.count(0)
        features, surplus = divmod(length - self.sizes.count(0), per_feature)
        if surplus or features < 1:
            possible = ", ".join(str(self.sizes.count(n)) for n in (1, 2, 3))
            raise ParameterShapeError(
                "packed parameters of recurrent layers",
                f"there are {length}, expected {possible}, ... for 1, 2, 3, ... input features",
                because=f"they are {self.sizes.layers} layers of {self.sizes.state} units, "
                f"{self.sizes.directions} direction(s), {self.sizes.gates} gate(s)",
            )
        return features

    def pieces(self, features: int) -> Iterator[tuple[str, slice, tuple[int, ...]]]:
        """Returns (name, place in the vector, shape) of every gate's weight or bias, in order.

        A name is l, or r for the backward direction, the layer's number and the name in cells:
        'l0_i2h_f_weight'.
        """
        start = 0
        for cell, piece, (rows, *columns) in self.sizes.layout(features):
            layer, direction = divmod(cell, self.sizes.directions)
            shape = (rows // self.sizes.gates, *columns)
            for gate in self.names:
                name = f"{'lr'[direction]}{layer}_{_PARAMETER_NAMES[piece].format(gate)}"
                yield name, slice(start, start + math.prod(shape)), shape
                start += math.prod(shape)
