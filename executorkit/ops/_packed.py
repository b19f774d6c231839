"""The packed parameter vector of fused recurrent layers: MXNet's order of weights and biases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import jax

from ..errors import AttributeValueError, explain
from ._facts import Params

#: Gates per mode; a weight has as many blocks of ``state_size`` rows.
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The shapes inside a packed parameter vector."""

    layers: int
    directions: int
    gates: int
    state: int
    hidden: int
    projected: bool

    @classmethod
    def of(cls, p: Params) -> Sizes:
        if p.projection_size is not None and p.mode != "lstm":
            raise AttributeValueError(
                explain("operator RNN", f"projection_size={p.projection_size} with mode={p.mode!r}",
                        because="only lstm has a projection", hint="mode='lstm'")
            )  # fmt: skip
        return cls(p.num_layers, 2 if p.bidirectional else 1, len(GATE_NAMES[p.mode]), p.state_size,
                   p.projection_size or p.state_size, p.projection_size is not None)  # fmt: skip

    @classmethod
    def of_cell(cls, mode: str, hidden: int, layers: int, bidirectional: bool) -> Sizes:
        """Those of layers without projection. Raises ValueError for an unknown mode."""
        if mode not in GATE_NAMES:
            expected = ", ".join(map(repr, GATE_NAMES))
            raise AttributeValueError(
                explain("recurrent layers", f"mode is {mode!r}, expected one of {expected}")
            )
        directions = 2 if bidirectional else 1
        return cls(layers, directions, len(GATE_NAMES[mode]), hidden, hidden, False)

    def layout(self, features: int) -> Iterator[tuple[int, str, tuple[int, ...]]]:
        """(layer and direction, name, shape) of each piece of the vector, in order.

        All weights come first, all biases after them; by layer, then by direction.
        """
        rows = self.gates * self.state
        for cell in range(self.layers * self.directions):
            first = cell < self.directions
            inputs = features if first else self.directions * self.hidden
            yield cell, "input", (rows, inputs)
            yield cell, "recurrent", (rows, self.hidden)
            if self.projected:
                yield cell, "projection", (self.hidden, self.state)
        for cell in range(self.layers * self.directions):
            yield cell, "input_bias", (rows,)
            yield cell, "recurrent_bias", (rows,)

    def unpack(self, vector: jax.Array, features: int) -> list[dict[str, jax.Array]]:
        """The weights and biases of every layer and direction."""
        cells: list[dict[str, jax.Array]] = [{} for _ in range(self.layers * self.directions)]
        start = 0
        for cell, name, shape in self.layout(features):
            cells[cell][name] = vector[start : start + math.prod(shape)].reshape(shape)
            start += math.prod(shape)
        return cells

    def count(self, features: int) -> int:
        """The length of the packed vector."""
        return sum(math.prod(shape) for *_, shape in self.layout(features))

    def features(self, length: int) -> int:
        """How many features the input has if the packed vector has that length.

        Raises AssertionError if there is no such number.
        """
        features, surplus = divmod(
            length - self.count(0), self.gates * self.state * self.directions
        )
        if surplus or features < 1:
            lengths = ", ".join(str(self.count(n)) for n in (1, 2, 3))
            raise PackedSizeError(
                explain(
                    "packed parameters of recurrent layers",
                    f"{length} numbers",
                    because=f"{self} needs {lengths}, ... for an input of 1, 2, 3, ... features",
                )
            )
        return features

    def gates_by_name(self, mode: str, length: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every gate's weight or bias in a vector of that length, in order.

        A name is l (r for the backward direction) and the layer's number, then as in cells:
        'l0_i2h_f_weight'.
        """
        for cell, piece, (rows, *columns) in self.layout(self.features(length)):
            layer, direction = divmod(cell, self.directions)
            for gate in GATE_NAMES[mode]:
                name = _NAMES[piece].format(gate)
                yield f"{'lr'[direction]}{layer}_{name}", (rows // self.gates, *columns)
