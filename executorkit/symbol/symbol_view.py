"""Views of symbols: a drawing of operators and inputs, folded by block, and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..display import (
    Block,
    Box,
    Drawing,
    Fold,
    Line,
    Lines,
    Part,
    Table,
    View,
    blocks,
    clipped,
    shape,
    view_of,
)
from ._symbol import Symbol
from .node import Entry, Node, auxiliary_nodes, topological_order

Shapes = Mapping[Entry, Sequence[int] | None]

#: Maximum numbers of boxes drawn in all, and of nodes listed beyond them.
_MAX_BOXES, _MAX_LINES = 600, 2000
#: Maximum number of sources outside a block that its drawing names.
_MAX_SOURCES = 6

#: Maximum numbers of variables in the table, and of outputs in the list.
_MAX_ROWS, _MAX_OUTPUTS = 150, 8

#: Names of inputs that are parameters, and endings of the names of such variables.
_PARAMETER_INPUTS = frozenset({"weight", "bias", "gamma", "beta", "parameters"})
_PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")

#: Attributes that describe an operator, in the order in which they are shown.
_TELLING = ("kernel", "stride", "num_filter", "num_hidden", "act_type", "pool_type", "mode", "p",
            "axis", "op_type")  # fmt: skip


def is_parameter(node: Node, reader: Node, position: int) -> bool:
    """True if a variable is a parameter of the operator that reads it, rather than an input."""
    names = reader.input_names
    name = names[position] if position < len(names) else ""
    return (
        name in _PARAMETER_INPUTS
        or name in reader.aux_names
        or node.name.endswith(_PARAMETER_ENDINGS)
    )


@dataclass(slots=True)
class _Budget:
    boxes: int = _MAX_BOXES
    lines: int = _MAX_LINES


@dataclass(slots=True)
class GraphDrawing:
    """The operators and inputs of a graph in topological order, and the sources of each."""

    nodes: list[Node]
    reads: list[list[int]]
    shapes: Shapes
    budget: _Budget = field(default_factory=_Budget)

    @classmethod
    def of(cls, order: Sequence[Node], shapes: Shapes, *, parameters: bool = False) -> GraphDrawing:
        """The drawing of a graph; ``parameters`` are left out unless asked for."""
        inputs = {
            child
            for node in order
            for k, (child, _) in enumerate(node.inputs)
            if child.op is None and (parameters or not is_parameter(child, node, k))
        }
        is_single = len(order) == 1
        nodes = [n for n in order if n.op is not None or n in inputs or is_single]
        number = {node: i for i, node in enumerate(nodes)}
        reads = [
            list(dict.fromkeys(number[child] for child, _ in node.inputs if child in number))
            for node in nodes
        ]
        return cls(nodes, reads, shapes)

    def parts(self) -> Iterator[Part]:
        """The whole as a drawing, and a fold for each of its blocks."""
        tree = blocks([node.name for node in self.nodes])
        yield from self._level(Block("", 0, len(self.nodes), tree))

    def whole(self) -> Drawing:
        """One drawing of every node."""
        boxes = [self._box(Block(node.name, i, i + 1)) for i, node in enumerate(self.nodes)]
        edges = [(source, i) for i, sources in enumerate(self.reads) for source in sources]
        return Drawing(boxes, edges)

    def _level(self, block: Block) -> Iterator[Part]:
        if len(block.parts) > self.budget.boxes:
            yield from self._listed(block)
            return
        yield self._drawing(block)
        for part in block.parts:
            if part.parts:
                if not (self.budget.boxes or self.budget.lines):
                    yield Line("... further blocks are not shown")
                    return
                title = f"{clipped(part.label, 80)}: {self._contents(part, 4)}"
                yield Fold(title, list(self._level(part)))

    def _listed(self, block: Block) -> Iterator[Part]:
        count = min(block.size, self.budget.lines)
        self.budget.lines -= count
        nodes = self.nodes[block.start : block.start + count]
        lines = [" ".join((clipped(node.name, 40), *self._lines(node))) for node in nodes]
        if count < block.size:
            lines.append(f"... {block.size - count} more")
        yield Lines(lines)

    def _drawing(self, block: Block) -> Drawing:
        """The parts of a block, each as a box, below their sources outside the block."""
        self.budget.boxes -= len(block.parts)
        part_of = {i: k for k, part in enumerate(block.parts) for i in range(part.start, part.stop)}
        outside: dict[int, int] = {}
        edges: dict[tuple[int, int], None] = {}
        from_outside: dict[tuple[int, int], None] = {}
        for i in range(block.start, block.stop):
            for source in self.reads[i]:
                if source in part_of:
                    if part_of[source] != part_of[i]:
                        edges[part_of[source], part_of[i]] = None
                elif source in outside or len(outside) < _MAX_SOURCES:
                    from_outside[outside.setdefault(source, len(outside)), part_of[i]] = None
        boxes = [Box(self.nodes[i].name, kind="block", round=True) for i in outside]
        shift = len(boxes)
        boxes += [self._box(part) for part in block.parts]
        inner = [(a + shift, b + shift) for a, b in edges]
        return Drawing(boxes, [*((a, b + shift) for a, b in from_outside), *inner])

    def _box(self, part: Block) -> Box:
        if part.parts:
            return Box(part.label, (self._contents(part, 1),), "block")
        node = self.nodes[part.start]
        if node.op is None:
            return Box(node.name, self._lines(node), "input", round=True)
        return Box(node.name, self._lines(node), node.op.kind or "other")

    def _lines(self, node: Node) -> tuple[str, ...]:
        shapes = [self.shapes.get((node, k)) for k in range(node.n_visible)]
        text = ", ".join(map(shape, shapes)) if any(shapes) else ""
        return tuple(line for line in (operator_detail(node), text) if line)

    def _contents(self, part: Block, kinds: int) -> str:
        ops = Counter(n.op.name for n in self.nodes[part.start : part.stop] if n.op is not None)
        common = ", ".join(f"{op} x{n}" for op, n in ops.most_common(kinds))
        dots = ", ..." if len(ops) > kinds > 1 else ""
        return f"{part.size} nodes: {common}{dots}" if kinds > 1 else f"{part.size} nodes"


def operator_detail(node: Node) -> str:
    """An operator and its telling attributes: ``Convolution 3x3 /2x2 64``."""
    if node.op is None:
        return ""
    words = [node.op.name]
    for key in _TELLING:
        text = node.attrs.get(key)
        if text is None:
            continue
        sizes = text.strip("()[] ").replace(", ", "x").replace(",", "x")
        words.append({"stride": "/"}.get(key, "") + sizes if key in ("kernel", "stride") else text)
    return " ".join(words)


@view_of.register
def symbol_view(symbol: Symbol, shapes: Shapes | None = None) -> View:
    """Counts, outputs, the drawing folded by block, and a table of the variables.

    ``shapes`` maps (node, output number) to a shape, besides those that variables declare.
    """
    order = topological_order(symbol.heads)
    all_shapes: dict[Entry, Sequence[int] | None] = {
        (node, 0): declared_shape(node) for node in order if node.op is None
    }
    all_shapes.update(shapes or {})
    return View(_title(symbol, order), [*graph_parts(symbol, order, all_shapes)])


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
    """The shape that a variable was declared with."""
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
        sizes = shapes.get((node, k))
        words.append(clipped(node.output_names[k], 80) + (f" {shape(sizes)}" if sizes else ""))
    hidden = len(heads) - _MAX_OUTPUTS
    return ", ".join(words) + (f", ... {hidden} more" if hidden > 0 else "")
