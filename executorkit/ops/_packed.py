"""The packed parameter vector of fused recurrent layers: MXNet's order of weights and biases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import jax

from ..errors import AttributeValueError, explain
from ._facts import Params

Mode: TypeAlias = Literal["rnn_relu", "rnn_tanh", "lstm", "gru"]
#: Names of the gates, which are blocks of ``state_size`` rows in a weight.
GATE_NAMES: dict[Mode, tuple[str, ...]] = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


@dataclass(frozen=True, slots=True)
class PackedSizes:
    """The shapes inside a packed parameter vector."""

    layers: int
    directions: int
    gates: int
    state: int
    hidden: int
    projected: bool

    @classmethod
    def of(cls, p: Params) -> PackedSizes:
        if p.projection_size is not None and p.mode != "lstm":
            raise AttributeValueError(
                explain("operator RNN", f"projection_size={p.projection_size} with mode={p.mode!r}",
                        because="only lstm has a projection", hint="mode='lstm'")
            )  # fmt: skip
        gates = len(GATE_NAMES[p.mode])
        return cls(p.num_layers, 2 if p.bidirectional else 1, gates, p.state_size,
                   p.projection_size or p.state_size, p.projection_size is not None)  # fmt: skip

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
