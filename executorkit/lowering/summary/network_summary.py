"""``symbol.summary()``: what every layer makes, holds and computes, and the sums."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from ...display import (
    Block,
    Fold,
    Line,
    Part,
    Table,
    View,
    Viewed,
    blocks,
    clipped,
    scaled,
    shape,
    total,
)
from ...ops.schema.attrs import Shape
from ...symbol.node import auxiliary_nodes, topological_order
from ...symbol.symbol_view import is_parameter
from .._graph import graph_of
from .._infer import infer
from .layers import Layer, elements, layers

Numbers = list[float | None]

_HEADER = ("layer", "operator", "output shape", "parameters", "FLOPs", "output")
_RIGHT = frozenset({3, 4, 5})
#: So many names are listed in notes.
_NAMED = 5


class Summary(Viewed, Sequence[Layer]):
    """The layers of a network, printed or shown in a notebook as a table with sums.

    Its items are the operators in topological order, each with its name, operator, shapes and types
    of its outputs and parameters, FLOPs and MACs. Sums leave out what is not known, and the table
    marks them (``1,000 + ?``).

    inputs
        shape of every variable that is neither parameter nor auxiliary state, by name.
    states
        names of the auxiliary states among the parameters of the layers.
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Layer],
        inputs: Mapping[str, Shape | None],
        states: Collection[str],
    ) -> None:
        self.title = title
        self.inputs = dict(inputs)
        self.states = frozenset(states)
        self._layers = tuple(rows)

    @classmethod
    def of(
        cls,
        symbol: Any,
        shapes: Mapping[str, Sequence[int]],
        dtypes: Mapping[str, str] | None = None,
        parameters: Collection[str] | None = None,
    ) -> Summary:
        """The summary of a symbol. ``parameters`` are named, or recognised by what operators call
        them (``weight``, ``gamma``, ...), how they end, or an initializer of their own."""
        order = topological_order(symbol.heads)
        states = {node.name for node in auxiliary_nodes(order)}
        if parameters is None:
            parameters = states | {
                child.name
                for node in order
                for k, (child, _) in enumerate(node.inputs)
                if child.op is None and ("__init__" in child.attrs or is_parameter(child, node, k))
            }
        graph = graph_of(symbol.heads)
        values = infer(graph, shapes, dtypes).values
        inputs = {
            node.name: values[i] for node, i in graph.variables if node.name not in parameters
        }
        rows = layers(symbol, shapes, parameters, dtypes)
        name = "" if symbol.name is None else f" {clipped(symbol.name, 80)}"
        words = f"{len(rows):,} operator{'' if len(rows) == 1 else 's'}"
        return cls(f"Symbol{name}: {words}", rows, inputs, states)

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: Any) -> Any:
        """A layer by number or by name, or several by a slice."""
        if isinstance(index, str):
            return {layer.name: layer for layer in self._layers}[index]
        return self._layers[index]

    @property
    def parameters(self) -> int:
        """Elements of all parameters whose shapes are known, without auxiliary states."""
        return int(_sum(self._sizes(of_states=False)))

    @property
    def auxiliary(self) -> int:
        """Elements of all auxiliary states whose shapes are known."""
        return int(_sum(self._sizes(of_states=True)))

    @property
    def parameter_bytes(self) -> int:
        """Bytes of parameters and auxiliary states."""
        return int(_sum(b for layer in self for b in _parameter_bytes(layer)))

    @property
    def output_bytes(self) -> int:
        """Bytes of the outputs of all layers: what training keeps, before XLA fuses anything."""
        return int(_sum(_output_bytes(layer) for layer in self))

    @property
    def flops(self) -> float:
        """Operations of one forward pass at inference."""
        return _sum(layer.flops for layer in self)

    @property
    def macs(self) -> float:
        """Multiplications with addition among them, of convolutions and matrix products."""
        return _sum(layer.macs for layer in self)

    @property
    def unknown(self) -> list[str]:
        """Names of the inputs and parameters whose shapes do not follow."""
        found = dict(self.inputs)
        for layer in self:
            found.update(layer.parameters)
        return [name for name, sizes in found.items() if elements(sizes) is None]

    def _sizes(self, of_states: bool) -> Numbers:
        return [
            elements(sizes)
            for layer in self
            for name, sizes in layer.parameters.items()
            if (name in self.states) == of_states
        ]

    def __repr__(self) -> str:
        return self._as_view().text()

    def _as_view(self) -> View:
        listed = ", ".join(f"{name} {shape(sizes)}" for name, sizes in self.inputs.items())
        parts: list[Part] = [Line(f"inputs: {listed}")] if self.inputs else []
        return View(self.title, [*parts, _Layers(self._layers), *map(Line, self._notes())])

    def _notes(self) -> Iterator[str]:
        states = f", auxiliary states: {total(self._sizes(of_states=True))}" if self.states else ""
        size = _scaled([b for layer in self for b in _parameter_bytes(layer)], "B", 1024)
        yield f"parameters: {total(self._sizes(of_states=False))}{states}, together {size}"
        flops = _scaled([layer.flops for layer in self], "FLOPs", 1000)
        macs = _scaled([layer.macs for layer in self], "MACs", 1000)
        yield f"one forward pass: {flops}, with {macs} in convolutions and matrix products"
        if self.unknown:
            yield (
                f"shapes that are not known: {_listed(self.unknown)}; give those of the inputs, "
                "such as data=(1, 3, 224, 224)"
            )
        reasons: dict[str, list[str]] = {}
        for layer in self:
            for reason in layer.uncounted:
                reasons.setdefault(reason, []).append(layer.name)
        for reason, names in reasons.items():
            yield f"FLOPs of {_listed(names)}: {reason}"


@dataclass(frozen=True, slots=True)
class _Layers:
    """The table of the layers: as text whole, as HTML folded by block."""

    rows: Sequence[Layer]

    def text(self) -> str:
        footer = ["sum", "", "", *_sums(self.rows)]
        return Table(_HEADER, [_cells(r) for r in self.rows], _RIGHT, footer).text()

    def html(self) -> str:
        tree = blocks([layer.name for layer in self.rows])
        parts = self._parts(tree, ["sum", "", "", *_sums(self.rows)])
        return "".join(part.html() for part in parts)

    def _parts(self, tree: Sequence[Block], footer: Sequence[str] | None = None) -> Iterator[Part]:
        """Tables of single layers, and folds of blocks between them; a last table of the sums."""
        single: list[list[str]] = []
        for block in tree:
            if not block.parts:
                single.append(_cells(self.rows[block.start]))
                continue
            if single:
                yield Table(_HEADER, single, _RIGHT)
                single = []
            parameters, flops, size = _sums(self.rows[block.start : block.stop])
            title = f"{clipped(block.label, 80)}: {block.size} layers"
            words = f"{title}, {parameters} parameters, {flops} FLOPs, {size}"
            yield Fold(words, list(self._parts(block.parts)))
        if single or footer is not None:
            yield Table(_HEADER, single, _RIGHT, footer)


def _cells(layer: Layer) -> list[str]:
    parameters, flops, size = _sums([layer])
    shapes = ", ".join(map(shape, layer.output_shapes))
    return [layer.name, layer.op, shapes, parameters, flops, size]


def _sums(rows: Sequence[Layer]) -> list[str]:
    """Parameters, FLOPs and bytes of outputs, marked where something is not known."""
    sizes = [elements(s) for layer in rows for s in layer.parameters.values()]
    return [
        total(sizes),
        _scaled([layer.flops for layer in rows], "", 1000),
        _scaled([_output_bytes(layer) for layer in rows], "B", 1024),
    ]


def _scaled(numbers: Numbers, unit: str, base: int) -> str:
    known = [number for number in numbers if number is not None]
    if numbers and not known:
        return "?"
    return scaled(sum(known), unit, base) + (" + ?" if len(known) < len(numbers) else "")


def _sum(numbers: Any) -> float:
    return sum(number for number in numbers if number is not None)


def _bytes(sizes: Shape | None, dtype: str) -> float | None:
    number = elements(sizes)
    return None if number is None else number * jnp.dtype(dtype).itemsize


def _output_bytes(layer: Layer) -> float | None:
    """Bytes of a layer's visible outputs; None if any is unknown."""
    pairs = zip(layer.output_shapes, layer.output_dtypes, strict=True)
    found = [_bytes(sizes, dtype) for sizes, dtype in pairs]
    return None if None in found else _sum(found)


def _parameter_bytes(layer: Layer) -> Numbers:
    types = layer.parameter_dtypes
    return [_bytes(sizes, types[name]) for name, sizes in layer.parameters.items()]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(clipped(name, 40) for name in names[:_NAMED]) + more
