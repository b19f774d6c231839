"""``symbol.summary()``: outputs, parameters and operations of every layer, and their sums."""

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
    view_of,
)
from ...ops.schema.attrs import Shape
from ...symbol.node import auxiliary_nodes, topological_order
from ...symbol.symbol_view import is_parameter
from .._infer import infer
from .._numbering import graph_of
from .layers import Layer, elements_of_shape, layers

Numbers = list[float | None]

_HEADER = ("layer", "operator", "output shape", "parameters", "FLOPs", "output")
_RIGHT = frozenset({3, 4, 5})
#: Maximum number of names listed in a note.
_MAX_NAMES = 5


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
        """The summary of a symbol. ``parameters`` are named, or recognised by the names of the
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
        """Elements of every auxiliary state, or of every other parameter; None where unknown."""
        return [
            elements_of_shape(sizes)
            for layer in self
            for name, sizes in layer.parameters.items()
            if (name in self.states) == of_states
        ]

    def __repr__(self) -> str:
        return view_of(self).text()


@view_of.register
def _(summary: Summary) -> View:
    listed = ", ".join(f"{name} {shape(sizes)}" for name, sizes in summary.inputs.items())
    parts: list[Part] = [Line(f"inputs: {listed}")] if summary.inputs else []
    return View(summary.title, [*parts, _Layers(tuple(summary)), *map(Line, _notes(summary))])


def _notes(summary: Summary) -> Iterator[str]:
    """The lines below the table: sums, unknown shapes, and work that is not counted."""
    states = ""
    if summary.states:
        states = f", auxiliary states: {total(summary.sizes(of_states=True))}"
    size = _scaled([b for layer in summary for b in _parameter_bytes(layer)], "B", 1024)
    yield f"parameters: {total(summary.sizes(of_states=False))}{states}, together {size}"
    flops = _scaled([layer.flops for layer in summary], "FLOPs", 1000)
    macs = _scaled([layer.macs for layer in summary], "MACs", 1000)
    yield f"one forward pass: {flops}, with {macs} in convolutions and matrix products"
    if summary.unknown:
        yield (
            f"shapes that are not known: {_listed(summary.unknown)}; give those of the inputs, "
            "such as data=(1, 3, 224, 224)"
        )
    layers_by_reason: dict[str, list[str]] = {}
    for layer in summary:
        for reason in layer.uncounted:
            layers_by_reason.setdefault(reason, []).append(layer.name)
    for reason, names in layers_by_reason.items():
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
    """Bytes of a layer's visible outputs; None if any is unknown."""
    pairs = zip(layer.output_shapes, layer.output_dtypes, strict=True)
    sizes = [_bytes(shape, dtype) for shape, dtype in pairs]
    return None if None in sizes else _sum(sizes)


def _parameter_bytes(layer: Layer) -> Numbers:
    types = layer.parameter_dtypes
    return [_bytes(sizes, types[name]) for name, sizes in layer.parameters.items()]


def _listed(names: Sequence[str]) -> str:
    suffix = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(clipped(name, 40) for name in names[:_MAX_NAMES]) + suffix
