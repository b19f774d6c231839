"""Views of symbols: a drawing of operators and inputs, folded by block, and tables."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ..display import (
    Block,
    BlockFold,
    Box,
    Drawing,
    Flow,
    Fold,
    GraphNodes,
    Line,
    Lines,
    Part,
    Table,
    View,
    clipped,
    folded,
    many,
    shape,
    view_of,
)
from ..errors import listed
from ._symbol import Symbol
from .node import Entry, Node, auxiliary_nodes, topological_order

Shapes = Mapping[Entry, Sequence[int] | None]

#: Maximum numbers of boxes drawn in all, of names listed besides, of nodes in the text form.
_MAX_BOXES, _MAX_NAMES, _MAX_TEXT_LINES = 1500, 10_000, 80
#: Maximum number of sources outside a block that are named, and of its kinds of operators.
_MAX_SOURCES, _MAX_KINDS = 8, 4

#: Maximum numbers of variables in the table, and of outputs in the list.
_MAX_ROWS, _MAX_OUTPUTS = 150, 8

#: Names of inputs that are parameters, and endings of the names of such variables.
_PARAMETER_INPUTS = frozenset({"weight", "bias", "gamma", "beta", "parameters"})
_PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")

#: Attributes that describe an operator, in the order in which they are shown.
_TELLING = ("kernel", "stride", "num_filter", "num_hidden", "act_type", "pool_type", "mode", "p",
            "axis", "op_type")  # fmt: skip
#: Those of them in which the nodes of equal blocks agree.
_STRUCTURAL = ("kernel", "act_type", "pool_type", "mode", "op_type")


def is_parameter(node: Node, reader: Node, position: int) -> bool:
    names = reader.input_names
    name = names[position] if position < len(names) else ""
    is_named = node.name.endswith(_PARAMETER_ENDINGS)
    return name in _PARAMETER_INPUTS or name in reader.aux_names or is_named


def input_names(symbol: Symbol) -> list[str]:
    return [n.name for n in _inputs(topological_order(symbol.heads)) if n.op is None]


def _inputs(order: Sequence[Node], *, parameters: bool = False) -> dict[Node, None]:
    return {
        child: None
        for node in order
        for k, (child, _) in enumerate(node.inputs)
        if child.op is None and (parameters or not is_parameter(child, node, k))
    }


@dataclass(slots=True)
class _Budget:
    boxes: int = _MAX_BOXES
    names: int = _MAX_NAMES
    text_lines: int = _MAX_TEXT_LINES


@dataclass(slots=True)
class GraphDrawing:
    """The operators and inputs of a graph in topological order, and the sources of each."""

    nodes: list[Node]
    reads: list[list[int]]
    shapes: Shapes
    budget: _Budget = field(default_factory=_Budget)

    @classmethod
    def of(cls, order: Sequence[Node], shapes: Shapes, *, parameters: bool = False) -> GraphDrawing:
        inputs = _inputs(order, parameters=parameters)
        nodes = [n for n in order if n.op is not None or n in inputs or len(order) == 1]
        number = {node: i for i, node in enumerate(nodes)}
        reads = [
            list(dict.fromkeys(number[child] for child, _ in node.inputs if child in number))
            for node in nodes
        ]
        return cls(nodes, reads, shapes)

    def whole(self) -> Drawing:
        boxes = [self._box(i) for i in range(len(self.nodes))]
        edges = [(source, i) for i, sources in enumerate(self.reads) for source in sources]
        return Drawing(boxes, edges)

    def folded(self) -> Flow:
        """Draws unfolding blocks, one for each repetition, and the nodes between them."""
        graph = GraphNodes(
            [node.name for node in self.nodes],
            [node_structure(node) for node in self.nodes],
            [self._lines(node) for node in self.nodes],
            self.reads,
        )
        order, tree = folded(graph)
        number = {old: new for new, old in enumerate(order)}
        nodes = [self.nodes[i] for i in order]
        reads = [sorted(number[source] for source in self.reads[i]) for i in order]
        whole = Block("", 0, len(nodes), tree)
        return Flow(_Levels(GraphDrawing(nodes, reads, self.shapes, self.budget)).parts(whole, []))

    def _box(self, i: int) -> Box:
        node = self.nodes[i]
        if node.op is None:
            return Box(node.name, self._lines(node), "input", round=True)
        return Box(node.name, self._lines(node), node.op.kind or "other")

    def _lines(self, node: Node) -> tuple[str, ...]:
        shapes = [self.shapes.get((node, k)) for k in range(node.n_visible)]
        text = ", ".join(map(shape, shapes)) if any(shapes) else ""
        return tuple(line for line in (operator_detail(node), text) if line)

    def contents(self, block: Block) -> str:
        ops = Counter(n.op.name for n in self.nodes[block.start : block.stop] if n.op is not None)
        common = ", ".join(f"{op} x{n}" for op, n in ops.most_common(_MAX_KINDS))
        return common + (", ..." if len(ops) > _MAX_KINDS else "")

    def segment(self, start: int, stop: int, sources: Mapping[int, str], above: str) -> Drawing:
        """Draws consecutive nodes, below ``sources`` outside and an arrow from ``above``."""
        self.budget.boxes -= stop - start
        outside: dict[str, list[int]] = {}
        for i in range(start, stop):
            for source in self.reads[i]:
                if source < start:
                    outside.setdefault(sources[source], []).append(i - start)
        entries = outside.get(above, [])
        inner = [(s - start, i - start) for i in range(start, stop) for s in self.reads[i]
                 if s >= start]  # fmt: skip
        has_source = {b for _, b in inner} | {
            i for name, readers in outside.items() if name != above for i in readers
        }
        if any(i in has_source for i in entries):
            entries = []
        else:
            outside.pop(above, None)
        names = list(outside)
        if len(names) > _MAX_SOURCES:
            rest = names[_MAX_SOURCES - 1 :]
            readers = [i for name in rest for i in outside.pop(name)]
            outside[f"{len(rest)} more"] = list(dict.fromkeys(readers))
        shift = len(outside)
        boxes = [Box(name, kind="block", round=True) for name in outside]
        boxes += [self._box(i) for i in range(start, stop)]
        edges = [(k, i + shift) for k, readers in enumerate(outside.values())
                 for i in dict.fromkeys(readers)]  # fmt: skip
        edges += [(a + shift, b + shift) for a, b in inner]
        return Drawing(boxes, edges, {i + shift: above for i in entries}, shift)


class _Levels:
    def __init__(self, graph: GraphDrawing) -> None:
        self._graph = graph

    def parts(self, level: Block, outer: Sequence[Block]) -> list[Part]:
        """Returns drawings of the single nodes of a level, and its blocks between them; ``outer``
        are the levels around it, the outermost first."""
        budget = self._graph.budget
        levels = [*outer, level]
        parts: list[Part] = []
        single = level.start
        above: Block | None = None
        for block in (*level.parts, None):
            if block is not None and not block.parts:
                continue
            stop = level.stop if block is None else block.start
            if single < stop:
                parts.append(self._segment(single, stop, levels, above))
                above = Block("", stop - 1, stop)
            if block is None:
                break
            if budget.boxes <= 0 and budget.names <= 0:
                parts.append(Line(f"... {level.stop - block.start} more nodes"))
                break
            parts.append(self._block(block, levels, above))
            above, single = block, block.stop
        return parts

    def _segment(self, start: int, stop: int, levels: Sequence[Block], above: Block | None) -> Part:
        if stop - start > self._graph.budget.boxes:
            return Lines(self._name_lines(start, stop))
        sources = {
            source: self._name(source, levels)
            for i in range(start, stop)
            for source in self._graph.reads[i]
            if source < start
        }
        self._graph.budget.text_lines -= stop - start
        return self._graph.segment(start, stop, sources, above.label if above else "")

    def _block(self, block: Block, levels: Sequence[Block], above: Block | None) -> BlockFold:
        graph = self._graph
        sources = sorted({s for i in range(block.start, block.stop) for s in graph.reads[i]
                          if s < block.start})  # fmt: skip
        follows = above is not None and any(above.start <= s < above.stop for s in sources)
        names = list(dict.fromkeys(
            self._name(s, levels) for s in sources
            if above is None or not above.start <= s < above.stop
        ))  # fmt: skip
        title, words = clipped(block.label, 80), f"{block.size} nodes"
        if block.is_repeated:
            words = f"x {len(block.parts)}, each the same {many(block.parts[0].size, 'node')}"
        words = f"{words}: {graph.contents(block.parts[0] if block.is_repeated else block)}"
        if names:
            shown = ", ".join(clipped(name, 40) for name in names[:_MAX_SOURCES])
            words += f" <- {shown}" + (", ..." if len(names) > _MAX_SOURCES else "")
        is_open = graph.budget.text_lines > 0
        if not block.is_repeated:
            return BlockFold(title, words, self.parts(block, levels), (), follows, is_open)
        first = block.parts[0]
        inner = (
            self.parts(first, [*levels, block])
            if first.parts
            else [self._segment(first.start, first.stop, [*levels, block], None)]
        )
        names = Lines(self._name_lines(block.start, block.stop, first.size))
        every = Fold(f"the nodes of all {len(block.parts)}", [names])
        return BlockFold(title, words, inner, (every,), follows, is_open)

    def _name_lines(self, start: int, stop: int, together: int = 1) -> list[str]:
        budget = self._graph.budget
        count = min(stop - start, max(0, budget.names))
        budget.names -= count
        names = [clipped(node.name, 80) for node in self._graph.nodes[start : start + count]]
        lines = [", ".join(names[k : k + together]) for k in range(0, count, together)]
        return [*lines, f"... {stop - start - count} more"] if count < stop - start else lines

    def _name(self, source: int, levels: Sequence[Block]) -> str:
        for level in reversed(levels):
            if level.start <= source < level.stop and not level.is_repeated:
                k = bisect_right(level.parts, source, key=lambda part: part.start) - 1
                part = level.parts[k]
                return part.label if part.parts else self._graph.nodes[source].name
        return self._graph.nodes[source].name


def node_structure(node: Node) -> Hashable:
    if node.op is None:
        return None
    return (node.op.name, *(node.attrs.get(key) for key in _STRUCTURAL))


def operator_detail(node: Node) -> str:
    """Describes an operator by its characteristic attributes: ``Convolution 3x3 /2x2 64``."""
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
    """Shows counts, outputs, the folded drawing, variables with shapes by (node, number)."""
    order = topological_order(symbol.heads)
    all_shapes: dict[Entry, Sequence[int] | None] = {
        (node, 0): declared_shape(node) for node in order if node.op is None
    }
    all_shapes.update(shapes or {})
    return View(_title(symbol, order), [*graph_parts(symbol, order, all_shapes)])


def graph_parts(symbol: Symbol, order: Sequence[Node], shapes: Shapes) -> list[Part]:
    states = auxiliary_nodes(order)
    variables = [node for node in order if node.op is None]
    rows = []
    for node in variables[:_MAX_ROWS]:
        kind = "state" if node in states else "argument"
        rows.append([clipped(node.name, 80), kind, shape(shapes.get((node, 0)))])
    table: list[Part] = [Table(["variable", "kind", "shape"], rows)]
    if len(variables) > _MAX_ROWS:
        table.append(Line(f"... {len(variables) - _MAX_ROWS} more"))
    return [
        Line(f"outputs: {_outputs(symbol.heads, shapes)}"),
        GraphDrawing.of(order, shapes).folded(),
        Fold(f"variables ({len(variables)})", table),
    ]


def declared_shape(node: Node) -> tuple[int, ...] | None:
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
    for node, k in heads:
        sizes = shapes.get((node, k))
        words.append(clipped(node.output_names[k], 80) + (f" {shape(sizes)}" if sizes else ""))
    return listed(words, _MAX_OUTPUTS)
