"""A symbol as a drawing: operators and inputs, folded by block, with shapes where known.

What notebooks show of a symbol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
)
from .node import Entry, Node, auxiliary_nodes, topological_order

if TYPE_CHECKING:
    from ._symbol import Symbol


Shapes = Mapping[Entry, Sequence[int] | None]

#: So many boxes are drawn in all, and so many nodes listed beyond them.
_MAX_BOXES, _MAX_LINES = 600, 2000
#: So many sources outside a block are named in its drawing.
_MAX_SOURCES = 6

#: What parameters are called by the operators that read them.
_PARAMETER_INPUTS = frozenset({"weight", "bias", "gamma", "beta", "parameters"})
_PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")

_KINDS = {
    "dense": "Convolution Deconvolution FullyConnected Embedding RNN dot batch_dot Correlation",
    "norm": "BatchNorm LayerNorm InstanceNorm GroupNorm L2Normalization LRN",
    "act": "Activation LeakyReLU relu sigmoid tanh softmax log_softmax SoftmaxActivation Dropout",
    "pool": "Pooling UpSampling ROIPooling",
    "shape": "Reshape Flatten Concat transpose SliceChannel slice slice_axis SwapAxis stack Cast "
    "expand_dims squeeze Pad Crop",
    "loss": "SoftmaxOutput MakeLoss LinearRegressionOutput LogisticRegressionOutput "
    "MAERegressionOutput SVMOutput softmax_cross_entropy",
}  # fmt: skip
_KIND_OF = {op: kind for kind, ops in _KINDS.items() for op in ops.split()}
#: Attributes that say what an operator does, in the order in which they are shown.
_TELLING = ("kernel", "stride", "num_filter", "num_hidden", "act_type", "pool_type", "mode", "p",
            "axis", "op_type")  # fmt: skip


def is_parameter(node: Node, reader: Node, position: int) -> bool:
    """Whether a variable is a parameter of the operator that reads it, rather than an input."""
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
    """The operators and inputs of a graph in topological order, and what each of them reads."""

    nodes: list[Node]
    reads: list[list[int]]
    shapes: Shapes
    budget: _Budget = field(default_factory=_Budget)

    @classmethod
    def of(cls, order: Sequence[Node], shapes: Shapes, *, parameters: bool = False) -> GraphDrawing:
        """The parts of a graph that are drawn; ``parameters`` are left out unless asked for."""
        inputs = {
            child
            for node in order
            for k, (child, _) in enumerate(node.inputs)
            if child.op is None and (parameters or not is_parameter(child, node, k))
        }
        alone = len(order) == 1
        nodes = [n for n in order if n.op is not None or n in inputs or alone]
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
        shown = min(block.size, self.budget.lines)
        self.budget.lines -= shown
        nodes = self.nodes[block.start : block.start + shown]
        lines = [" ".join((clipped(node.name, 40), *self._lines(node))) for node in nodes]
        if shown < block.size:
            lines.append(f"... {block.size - shown} more")
        yield Lines(lines)

    def _drawing(self, block: Block) -> Drawing:
        """The parts of a block, each as a box, below what they read from outside."""
        self.budget.boxes -= len(block.parts)
        place = {i: k for k, part in enumerate(block.parts) for i in range(part.start, part.stop)}
        outside: dict[int, int] = {}
        edges: dict[tuple[int, int], None] = {}
        from_outside: dict[tuple[int, int], None] = {}
        for i in range(block.start, block.stop):
            for source in self.reads[i]:
                if source in place:
                    if place[source] != place[i]:
                        edges[place[source], place[i]] = None
                elif source in outside or len(outside) < _MAX_SOURCES:
                    from_outside[outside.setdefault(source, len(outside)), place[i]] = None
        boxes = [Box(self.nodes[i].name, kind="block", round=True) for i in outside]
        shift = len(boxes)
        boxes += [self._box(part) for part in block.parts]
        moved = [(a + shift, b + shift) for a, b in edges]
        return Drawing(boxes, [*((a, b + shift) for a, b in from_outside), *moved])

    def _box(self, part: Block) -> Box:
        if part.parts:
            return Box(part.label, (self._contents(part, 1),), "block")
        node = self.nodes[part.start]
        if node.op is None:
            return Box(node.name, self._lines(node), "input", round=True)
        return Box(node.name, self._lines(node), _KIND_OF.get(node.op.name, "other"))

    def _lines(self, node: Node) -> tuple[str, ...]:
        found = [self.shapes.get((node, k)) for k in range(node.n_visible)]
        shapes = ", ".join(shape(s) for s in found) if any(found) else ""
        return tuple(line for line in (detail(node), shapes) if line)

    def _contents(self, part: Block, kinds: int) -> str:
        ops = Counter(n.op.name for n in self.nodes[part.start : part.stop] if n.op is not None)
        common = ", ".join(f"{op} x{n}" for op, n in ops.most_common(kinds))
        dots = ", ..." if len(ops) > kinds > 1 else ""
        return f"{part.size} nodes: {common}{dots}" if kinds > 1 else f"{part.size} nodes"


def detail(node: Node) -> str:
    """An operator and the attributes that say what it does: ``Convolution 3x3 /2x2 64``."""
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
