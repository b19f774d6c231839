"""What each node of a program costs, counted on the traced program before XLA fuses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..display import Line, Table, View, Viewed, count, scaled
from ..lowering.summary.cost_model import flops_of, inner_jaxprs, size

#: What is done between nodes: sums of gradients, head gradients.
BETWEEN_NODES = "(between nodes)"


@dataclass(slots=True)
class OperationCount:
    """Floating-point operations, and bytes that operations read and write."""

    flops: float = 0.0
    bytes: float = 0.0


@dataclass(slots=True)
class NodeCost:
    """One node: its work, and that of its derivative."""

    name: str
    op: str
    forward: OperationCount = field(default_factory=OperationCount)
    backward: OperationCount = field(default_factory=OperationCount)

    @property
    def flops(self) -> float:
        """Operations forwards and backwards."""
        return self.forward.flops + self.backward.flops


class Cost(Viewed, Sequence[NodeCost]):
    """The work of a program's nodes, in topological order; printed, a table of them.

    function
        which function of the program it is of.
    flops
        the sum over the nodes.
    Where a repetition was re-rolled into a loop, the nodes of its first round have the work of all.

    open_loops
        whether there is a loop whose number of rounds is not known; it counts as one round.
    """

    def __init__(self, function: str, nodes: Sequence[NodeCost], open_loops: bool) -> None:
        self.function = function
        self.nodes = tuple(nodes)
        self.open_loops = open_loops

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return {node.name: node for node in self.nodes}[index]
        return self.nodes[index]

    @property
    def flops(self) -> float:
        """Operations of all nodes, forwards and backwards."""
        return sum(node.flops for node in self.nodes)

    def _as_view(self) -> View:
        total = self.flops or 1
        shown = [node for node in self.nodes if node.forward.bytes or node.backward.bytes]
        rows = [
            [
                node.name, node.op, count(node.forward.flops), count(node.backward.flops),
                f"{100 * node.flops / total:.1f} %",
                scaled(node.forward.bytes + node.backward.bytes, "B", 1024),
            ]
            for node in shown
        ]  # fmt: skip
        footer = [
            "sum", "", count(sum(n.forward.flops for n in self.nodes)),
            count(sum(n.backward.flops for n in self.nodes)), "",
            scaled(sum(n.forward.bytes + n.backward.bytes for n in self.nodes), "B", 1024),
        ]  # fmt: skip
        header = ["node", "operator", "FLOPs", "FLOPs backward", "share", "bytes before fusion"]
        notes = []
        if self.open_loops:
            notes.append(Line("a loop of unknown length counts as one round"))
        if len(shown) < len(self.nodes):
            idle = f"{len(self.nodes) - len(shown)} nodes have no work of their own: "
            notes.append(Line(f"{idle}later rounds of what repeats count with the first round"))
        table = Table(header, rows, {2, 3, 4, 5}, footer)
        return View(f"{self.function}: {scaled(self.flops, 'FLOPs')}", [table, *notes])

    def __repr__(self) -> str:
        return self._as_view().text()


def cost_of(function: str, jaxpr: Any, ops: Mapping[str, str]) -> Cost:
    """The cost of a traced function. ``ops`` are the operators of the nodes, by name."""
    nodes = {name: NodeCost(name, op) for name, op in ops.items()}
    nodes[BETWEEN_NODES] = NodeCost(BETWEEN_NODES, "")
    walk = _Walk(nodes)
    walk.go(jaxpr, (), 1.0)
    kept = [n for n in nodes.values() if n.name != BETWEEN_NODES or n.flops]
    return Cost(function, kept, walk.open_loops)


class _Walk:
    def __init__(self, nodes: dict[str, NodeCost]) -> None:
        self.nodes = nodes
        self.open_loops = False

    def go(self, jaxpr: Any, outer: tuple[Any, ...], times: float) -> None:
        """Adds the work of a jaxpr, and of those inside it."""
        for equation in jaxpr.eqns:
            stack = (*outer, *equation.source_info.name_stack.stack)
            rounds, inner = inner_jaxprs(equation)
            if not inner:
                self._add(equation, stack, times)
            self.open_loops |= equation.primitive.name == "while"
            for part in inner:
                self.go(part, stack, times * rounds)

    def _add(self, equation: Any, stack: Sequence[Any], times: float) -> None:
        scopes = [s.name for s in stack if type(s).__name__ == "Scope"]
        backward = any(s.name == "transpose" for s in stack if type(s).__name__ == "Transform")
        name = next((s for s in scopes if s in self.nodes), BETWEEN_NODES)
        node = self.nodes[name]
        work = node.backward if backward else node.forward
        work.flops += times * flops_of(equation)
        arrays = [x.aval for x in (*equation.invars, *equation.outvars)]
        work.bytes += times * sum(_bytes(a) for a in arrays)


def _bytes(aval: Any) -> int:
    return size(aval) * getattr(getattr(aval, "dtype", None), "itemsize", 0)
