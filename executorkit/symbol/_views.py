"""What notebooks show of a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..display import Fold, Line, Part, Table, View, clipped, shape
from ._drawn import GraphDrawing, Shapes
from ._node import Entry, Node, auxiliary_nodes, topological_order

if TYPE_CHECKING:
    from ._symbol import Symbol

_MAX_ROWS = 150
_MAX_OUTPUTS = 8


def symbol_view(symbol: Symbol, shapes: Shapes | None = None) -> View:
    """Counts, outputs, the drawing folded by block, and a table of the variables.

    ``shapes`` maps (node, output number) to a shape; those that variables declare are known anyway.
    """
    order = topological_order(symbol.heads)
    known: dict[Entry, Sequence[int] | None] = {
        (node, 0): declared_shape(node) for node in order if node.op is None
    }
    known.update(shapes or {})
    return View(_title(symbol, order), [*graph_parts(symbol, order, known)])


def graph_parts(symbol: Symbol, order: Sequence[Node], shapes: Shapes) -> list[Part]:
    """The drawing and the variables of a graph."""
    states = auxiliary_nodes(order)
    variables = [node for node in order if node.op is None]
    rows = [
        [
            clipped(node.name, 80),
            "state" if node in states else "argument",
            shape(shapes.get((node, 0))),
        ]
        for node in variables[:_MAX_ROWS]
    ]
    table: list[Part] = [Table(["variable", "kind", "shape"], rows)]
    if len(variables) > _MAX_ROWS:
        table.append(Line(f"... {len(variables) - _MAX_ROWS} more"))
    return [
        Line(f"outputs: {_outputs(symbol.heads, shapes)}"),
        *GraphDrawing.of(order, shapes).parts(),
        Fold(f"variables ({len(variables)})", table),
    ]


def declared_shape(node: Node) -> tuple[int, ...] | None:
    """The shape that a variable was made with."""
    words = node.attrs.get("__shape__", "").strip("()[] ").split(",")
    try:
        return tuple(int(word) for word in words if word.strip()) or None
    except ValueError:
        return None


def _title(symbol: Symbol, order: Sequence[Node]) -> str:
    operators = sum(node.op is not None for node in order)
    name = "" if symbol.name is None else f" {clipped(symbol.name, 80)}"
    return f"Symbol{name}: {operators:,} operators, {len(order) - operators:,} variables"


def _outputs(heads: Sequence[Entry], shapes: Shapes) -> str:
    words = []
    for node, k in heads[:_MAX_OUTPUTS]:
        found = shapes.get((node, k))
        words.append(clipped(node.output_names[k], 80) + (f" {shape(found)}" if found else ""))
    more = len(heads) - _MAX_OUTPUTS
    return ", ".join(words) + (f", ... {more} more" if more > 0 else "")
