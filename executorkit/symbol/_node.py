"""Nodes of a graph, and the order in which they are visited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..ops import OpDef, Params

if TYPE_CHECKING:
    from ._symbol import Symbol

#: One output of a node: the node and the number of the output.
Entry = tuple["Node", int]


class Node:
    """A variable, or one call of an operator. Immutable but for annotations.

    op
        the operator, None for a variable.
    attrs
        everything that ``attr_dict`` and JSON show, as text: operator attributes and annotations.
    params
        the operator's attributes, parsed; None for a variable.
    inputs
        (node, output number) of each input, in the order of ``input_names``.
    subgraphs
        the bodies of control flow operators (and of fused ones in quantised files).
    """

    __slots__ = ("__weakref__", "attrs", "inputs", "name", "op", "params", "subgraphs")

    def __init__(
        self,
        op: OpDef | None,
        name: str,
        attrs: dict[str, str],
        params: Params | None = None,
        inputs: tuple[Entry, ...] = (),
        subgraphs: tuple[Symbol, ...] = (),
    ) -> None:
        self.op = op
        self.name = name
        self.attrs = attrs
        self.params = params
        self.inputs = inputs
        self.subgraphs = subgraphs

    @property
    def is_variable(self) -> bool:
        return self.op is None

    @property
    def input_names(self) -> tuple[str, ...]:
        """The operator's own names of its inputs (``data``, ``weight``, ...)."""
        if self.op is None or self.params is None:
            return ()
        if self.op.variadic is not None and self.op.count is None:
            return tuple(f"arg{i}" for i in range(len(self.inputs)))
        return self.op.inputs(self.params)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Full names of all outputs, hidden ones last: ``("fc1_output",)``; a variable's name."""
        if self.op is None or self.params is None:
            return (self.name,)
        return tuple(f"{self.name}_{suffix}" for suffix in self.op.outputs(self.params))

    @property
    def n_outputs(self) -> int:
        """How many outputs the node has, hidden ones included."""
        if self.op is None or self.params is None:
            return 1
        return len(self.op.outputs(self.params))

    @property
    def n_visible(self) -> int:
        """How many of the outputs a symbol of this node shows."""
        if self.op is None or self.params is None:
            return 1
        return self.op.visible(self.params)

    @property
    def aux_inputs(self) -> Iterator[Entry]:
        """The inputs that are auxiliary states."""
        if self.op is None or self.params is None:
            return
        auxiliary = self.op.aux_of(self.params)
        if auxiliary:
            for name, entry in zip(self.input_names, self.inputs, strict=True):
                if name in auxiliary:
                    yield entry

    def __repr__(self) -> str:
        return f"<Node {self.name}: {self.op.name if self.op else 'variable'}>"


def topological_order(heads: Sequence[Entry]) -> list[Node]:
    """Every node that the heads depend on, inputs before their consumers, in MXNet's order.

    That is the post-order of a depth-first walk that follows inputs from first to last. It is
    iterative because an unrolled network is thousands of nodes deep.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for head, _ in heads:
        if head in seen:
            continue
        seen.add(head)
        stack = [(head, iter(head.inputs))]
        while stack:
            node, rest = stack[-1]
            for child, _ in rest:
                if child not in seen:
                    seen.add(child)
                    stack.append((child, iter(child.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def auxiliary_nodes(order: Sequence[Node]) -> set[Node]:
    """The variables among ``order`` that feed an auxiliary state of any operator."""
    return {child for node in order for child, _ in node.aux_inputs if child.op is None}
