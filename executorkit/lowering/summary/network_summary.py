"""``symbol.summary()``: outputs, parameters and operations of every layer, and their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from ..._support.annotations import Raw
from ...display import (
    Block,
    Fold,
    GraphNodes,
    Line,
    Part,
    Table,
    View,
    Viewed,
    clipped,
    folded,
    many,
    scaled,
    shape,
    total,
    view_of,
)
from ...errors import listed
from ...ops.schema.attrs import Shape
from ...symbol.node import auxiliary_nodes, topological_order
from ...symbol.symbol_view import is_parameter, node_structure
from .._graph import Graph
from .._infer import infer
from .._numbering import graph_of
from .layers import Layer, elements_of_shape, layers

Numbers = list[float | None]

#: The columns; the fourth has another name where it counts auxiliary states too.
_HEADER = ("layer", "operator", "output shape", "parameters", "FLOPs", "output")
_WITH_STATES = "parameters and states"
_RIGHT = frozenset({3, 4, 5})
#: Maximum number of names listed in a note.
_MAX_NAMES = 5
#: Minimum width to which a column of the table is shortened.
_MIN_COLUMN = 9


class Summary(Viewed, Sequence[Layer]):
    """The layers of a network, printed or shown in a notebook as a table with sums.

    Its items are the operators in topological order. Sums leave out unknown numbers, and the table
    marks them (``1,000 + ?``).

    inputs
        The shape of every variable that is neither parameter nor auxiliary state, by name.
    states
        Names of the auxiliary states among the parameters of the layers.
    blocks
        The layers divided by repetitions in the graph; none to show them one by one.
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Layer],
        inputs: Mapping[str, Shape | None],
        states: Collection[str],
        blocks: Sequence[Block] = (),
    ) -> None:
        self.title = title
        self.inputs = dict(inputs)
        self.states = frozenset(states)
        self._layers = tuple(rows)
        self.blocks = tuple(blocks) or tuple(Block(r.name, i, i + 1) for i, r in enumerate(rows))

    @classmethod
    def of(
        cls,
        symbol: Any,
        shapes: Mapping[str, Sequence[int]],
        dtypes: Mapping[str, str] | None = None,
        parameters: Collection[str] | None = None,
    ) -> Summary:
        """Summarizes a symbol. ``parameters`` are named, or recognised by the names of the
        operators' inputs (``weight``, ``gamma``, ...), by their endings, or by an initializer."""
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
        inputs = {n.name: values[i] for n, i in graph.variables if n.name not in parameters}
        rows = layers(symbol, shapes, parameters, dtypes)
        name = "" if symbol.name is None else f" {clipped(symbol.name, 80)}"
        title = f"Symbol{name}: {many(len(rows), 'operator')}"
        return cls(title, rows, inputs, states, _blocks(graph, rows))

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: Any) -> Raw:
        """Returns a layer by number or by name, or several by a slice."""
        if isinstance(index, str):
            return {layer.name: layer for layer in self._layers}[index]
        return self._layers[index]

    @property
    def parameters(self) -> int:
        """Elements of all parameters whose shapes are known, without auxiliary states."""
        return int(_sum(self.sizes(of_states=False)))

    @property
    def auxiliary(self) -> int:
        """Elements of all auxiliary states whose shapes are known."""
        return int(_sum(self.sizes(of_states=True)))

    @property
    def parameter_bytes(self) -> int:
        """Bytes of parameters and auxiliary states."""
        return int(_sum(b for layer in self for b in _parameter_bytes(layer)))

    @property
    def output_bytes(self) -> int:
        """Bytes of the outputs of all layers: the memory of training before XLA fuses anything."""
        return int(_sum(_output_bytes(layer) for layer in self))

    @property
    def flops(self) -> float:
        """Operations of one forward pass at inference."""
        return _sum(layer.flops for layer in self)

    @property
    def macs(self) -> float:
        """Multiply-accumulate operations of convolutions and matrix products."""
        return _sum(layer.macs for layer in self)

    @property
    def unknown(self) -> list[str]:
        """Names of the inputs and parameters whose shapes do not follow."""
        shapes = dict(self.inputs)
        for layer in self:
            shapes.update(layer.parameters)
        return [name for name, sizes in shapes.items() if elements_of_shape(sizes) is None]

    def sizes(self, of_states: bool) -> Numbers:
        """Returns elements of every auxiliary state, or of all other parameters (None: unknown)."""
        return [
            elements_of_shape(sizes)
            for layer in self
            for name, sizes in layer.parameters.items()
            if (name in self.states) == of_states
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return (*_HEADER[:3], _WITH_STATES, *_HEADER[4:]) if self.states else _HEADER

    def table(self, width: int | None = None, *, folded: bool = False) -> str:
        """Returns the table of the layers as text of at most ``width`` columns, where names and
        shapes are shortened; ``folded`` shows a repeated block as one line."""
        rows = [_cells(layer) for layer in self]
        if folded:
            labels = Counter(block.label for block in self.blocks)
            rows = [
                self._block_cells(b, labels[b.label] > 1) if b.parts else rows[b.start]
                for b in self.blocks
            ]
        footer, header = ["sum", "", "", *_sums(self._layers)], self.columns
        if width is not None:
            rows = _fitted([header, *rows, footer], width)[1:-1]
        return Table(header, rows, _RIGHT, footer).text()

    def _block_cells(self, block: Block, by_layer: bool) -> list[str]:
        layers = self._layers[block.start : block.stop]
        label = layers[0].name if by_layer else block.label
        shapes = ", ".join(map(shape, layers[-1].output_shapes))
        words = many(block.size, "layer")
        if block.is_repeated:
            words = f"{len(block.parts)} x {many(block.parts[0].size, 'layer')}"
        return [f"{label} ...", words, shapes, *_sums(layers)]

    def __repr__(self) -> str:
        return view_of(self).text()


def _fitted(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    while excess > 0 and max(widths[:3]) > _MIN_COLUMN:
        widths[max(range(3), key=widths.__getitem__)] -= 1
        excess -= 1
    # `clipped` leaves names that are one character longer than its limit as they are.
    return [
        [
            clipped(c, (w - 1) // 2 * 2) if len(c) > w else c
            for c, w in zip(row, widths, strict=True)
        ]
        for row in rows
    ]


@view_of.register
def _(summary: Summary) -> View:
    listed = ", ".join(f"{name} {shape(sizes)}" for name, sizes in summary.inputs.items())
    parts: list[Part] = [Line(f"inputs: {listed}")] if summary.inputs else []
    return View(summary.title, [*parts, _Layers(summary), *map(Line, _notes(summary))])


def _notes(summary: Summary) -> Iterator[str]:
    learned, kept = summary.sizes(of_states=False), summary.sizes(of_states=True)
    size = _scaled([b for layer in summary for b in _parameter_bytes(layer)], "B", 1024)
    states = ""
    if summary.states:
        both = total([*learned, *kept])
        states = f", auxiliary states (not learned): {total(kept)}, together {both}"
    yield f"parameters (learned): {total(learned)}{states}, {size}"
    flops = _scaled([layer.flops for layer in summary], "FLOPs", 1000)
    macs = _scaled([layer.macs for layer in summary], "MACs", 1000)
    yield f"one forward pass: {flops}, with {macs} in convolutions and matrix products"
    if summary.unknown:
        yield (
            f"unknown shapes: {_listed(summary.unknown)}; give the shapes of the inputs, "
            "such as data=(1, 3, 224, 224)"
        )
    layers_by_reason: dict[str, list[str]] = {}
    for layer in summary:
        for reason in layer.uncounted:
            layers_by_reason.setdefault(reason, []).append(layer.name)
    for reason, names in layers_by_reason.items():
        yield f"FLOPs of {_listed(names)}: {reason}"


def _blocks(graph: Graph, rows: Sequence[Layer]) -> tuple[Block, ...]:
    number = {step.node: i for i, step in enumerate(graph.steps)}
    reads = [
        sorted({number[child] for child, _ in step.node.inputs if child in number})
        for step in graph.steps
    ]
    nodes = GraphNodes(
        [row.name for row in rows],
        [node_structure(step.node) for step in graph.steps],
        [tuple(_cells(row)[1:]) for row in rows],
        reads,
    )
    return folded(nodes, keep_order=True)[1]


@dataclass(frozen=True, slots=True)
class _Layers:
    summary: Summary

    def text(self) -> str:
        return self.summary.table()

    def html(self) -> str:
        parts = self._parts(self.summary.blocks, ["sum", "", "", *_sums(self.summary)])
        return "".join(part.html() for part in parts)

    def _parts(self, tree: Sequence[Block], footer: Sequence[str] | None = None) -> Iterator[Part]:
        single: list[list[str]] = []
        for block in tree:
            if not block.parts:
                single.append(_cells(self.summary[block.start]))
                continue
            if single:
                yield Table(self.summary.columns, single, _RIGHT)
                single = []
            yield self._fold(block)
        if single or footer is not None:
            yield Table(self.summary.columns, single, _RIGHT, footer)

    def _fold(self, block: Block) -> Fold:
        parameters, flops, size = _sums(self.summary[block.start : block.stop])
        sums = f"{parameters} {self.summary.columns[3]}, {flops} FLOPs, {size}"
        if not block.is_repeated:
            title = f"{clipped(block.label, 80)}: {block.size} layers, {sums}"
            return Fold(title, list(self._parts(block.parts)))
        first, *others = block.parts
        names = ", ".join(clipped(one.label, 40) for one in others)
        title = clipped(block.label, 80)
        words = f"{title}: {len(block.parts)} x {many(first.size, 'layer')}, together {sums}"
        return Fold(words, [*self._parts(first.parts or [first]), Line(f"the same: {names}")])


def _cells(layer: Layer) -> list[str]:
    parameters, flops, size = _sums([layer])
    shapes = ", ".join(map(shape, layer.output_shapes))
    return [layer.name, layer.op, shapes, parameters, flops, size]


def _sums(rows: Sequence[Layer]) -> list[str]:
    sizes = [elements_of_shape(s) for layer in rows for s in layer.parameters.values()]
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
    number = elements_of_shape(sizes)
    return None if number is None else number * jnp.dtype(dtype).itemsize


def _output_bytes(layer: Layer) -> float | None:
    pairs = zip(layer.output_shapes, layer.output_dtypes, strict=True)
    sizes = [_bytes(shape, dtype) for shape, dtype in pairs]
    return None if None in sizes else _sum(sizes)


def _parameter_bytes(layer: Layer) -> Numbers:
    return [_bytes(sizes, layer.parameter_dtypes[name]) for name, sizes in layer.parameters.items()]


def _listed(names: Sequence[str]) -> str:
    return listed((clipped(name, 40) for name in names), _MAX_NAMES)
