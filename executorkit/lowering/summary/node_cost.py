"""Cost of each node of a program, counted on the traced program before XLA fuses it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._support.annotations import Equation, Jaxpr, Raw
from ...display import Line, Table, View, Viewed, count, scaled, view_of
from .cost_model import OPEN_LOOP, OperationCount, WorkCounter

#: The row of the work that belongs to no node: sums of gradients, head gradients.
BETWEEN_NODES = "(between nodes)"


@dataclass(slots=True)
class NodeCost:
    """The work of one node, and of its derivative."""

    name: str
    op: str
    forward: OperationCount = field(default_factory=OperationCount)
    backward: OperationCount = field(default_factory=OperationCount)

    @property
    def flops(self) -> float:
        """Operations forward and backward."""
        return self.forward.flops + self.backward.flops

    @property
    def bytes(self) -> float:
        """Bytes read and written forward and backward, before fusion."""
        return self.forward.bytes + self.backward.bytes


class Cost(Viewed, Sequence[NodeCost]):
    """The work of a program's nodes, in topological order; printed, a table of them.

    Where a repetition was re-rolled into a loop, the nodes of its first iteration have the work of
    all. ``open_loops`` tells of a loop of unknown length, which counts as one iteration.
    """

    def __init__(self, function: str, nodes: Sequence[NodeCost], open_loops: bool) -> None:
        self.function = function
        self.nodes = tuple(nodes)
        self.open_loops = open_loops

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: Any) -> Raw:
        """Returns a node by number or by name, or several by a slice."""
        if isinstance(index, str):
            return {node.name: node for node in self.nodes}[index]
        return self.nodes[index]

    @property
    def flops(self) -> float:
        """Operations of all nodes, forward and backward."""
        return sum(node.flops for node in self.nodes)

    def __repr__(self) -> str:
        return view_of(self).text()


@view_of.register
def _(cost: Cost) -> View:
    total = cost.flops or 1
    active = [node for node in cost.nodes if node.bytes]
    rows = [
        [
            node.name, node.op, count(node.forward.flops), count(node.backward.flops),
            f"{100 * node.flops / total:.1f} %", scaled(node.bytes, "B", 1024),
        ]
        for node in active
    ]  # fmt: skip
    footer = [
        "sum", "", count(sum(n.forward.flops for n in cost.nodes)),
        count(sum(n.backward.flops for n in cost.nodes)), "",
        scaled(sum(n.bytes for n in cost.nodes), "B", 1024),
    ]  # fmt: skip
    header = ["node", "operator", "FLOPs", "FLOPs backward", "share", "bytes before fusion"]
    notes = [Line(OPEN_LOOP)] if cost.open_loops else []
    if len(active) < len(cost.nodes):
        idle = f"{len(cost.nodes) - len(active)} nodes have no work of their own: "
        notes.append(Line(f"{idle}later iterations of a repetition count with the first one"))
    table = Table(header, rows, {2, 3, 4, 5}, footer)
    return View(f"{cost.function}: {scaled(cost.flops, 'FLOPs')}", [table, *notes])


def cost_of(function: str, jaxpr: Jaxpr, ops: Mapping[str, str]) -> Cost:
    """Counts the cost of a traced function. ``ops`` are the operators of the nodes, by name."""
    nodes = {name: NodeCost(name, op) for name, op in ops.items()}
    nodes[BETWEEN_NODES] = NodeCost(BETWEEN_NODES, "")

    def add(equation: Equation, stack: tuple[Any, ...], times: float) -> None:
        node, backward = nodes[BETWEEN_NODES], False
        for part in reversed(stack):
            if type(part).__name__ == "Scope":
                node = nodes.get(part.name, node)
            elif part.name == "transpose":
                backward = True
        (node.backward if backward else node.forward).add(equation, times)

    WorkCounter(add).count(jaxpr)
    rows = [n for n in nodes.values() if n.name != BETWEEN_NODES or n.flops]
    works = (work for node in nodes.values() for work in (node.forward, node.backward))
    return Cost(function, rows, any(OPEN_LOOP in work.uncounted for work in works))
