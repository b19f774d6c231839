"""Nodes of a graph, their annotations, and the order in which they are visited."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..ops.schema.inference import Params
from ..ops.schema.operator_registry import OpDef
from ..ops.schema.traits import INNER_STATES

#: One output of a node: the node and the number of the output.
Entry = tuple["Node", int]


#: Annotations that are written without underscores, stored as ``__name__``, and shown as both.
HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


def is_annotation(key: str) -> bool:
    return key.startswith("__") and key.endswith("__")


def hide(key: str) -> str:
    return f"__{key}__" if key in HIDDEN_KEYS else key


def shown(attrs: Mapping[str, str]) -> dict[str, str]:
    """Returns attributes as ``attr_dict`` shows them: ``__lr_mult__`` also as ``lr_mult``."""
    result = dict(attrs)
    for key in HIDDEN_KEYS:
        if f"__{key}__" in attrs:
            result[key] = attrs[f"__{key}__"]
    return result


#: Called whenever a node was edited: everything derived from graphs has to be dropped.
EDIT_HOOKS: list[Callable[[], object]] = []


class Node:
    """A variable, or one call of an operator. Immutable except annotations.

    op, params
        the operator and its parsed attributes; None for a variable.
    attrs
        operator attributes and annotations as texts, as ``attr_dict`` and JSON show them.
    inputs
        (node, output number) of each input, in the order of ``input_names``.
    subgraphs
        heads of the bodies of control flow operators.
    """

    __slots__ = ("__weakref__", "attrs", "inputs", "name", "op", "params", "subgraphs")

    def __init__(
        self,
        op: OpDef | None,
        name: str,
        attrs: dict[str, str],
        params: Params | None = None,
        inputs: tuple[Entry, ...] = (),
        subgraphs: tuple[tuple[Entry, ...], ...] = (),
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
        if self.op is None or self.params is None:
            return ()
        return input_names(self.op, self.params, len(self.inputs))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Full names of all outputs, hidden ones last: ``("fc1_output",)``; a variable's name;
        ``("output",)`` for a node without a name."""
        if self.op is None or self.params is None:
            return (self.name,)
        prefix = f"{self.name}_" if self.name else ""
        return tuple(prefix + suffix for suffix in self.op.outputs(self.params))

    @property
    def n_outputs(self) -> int:
        return 1 if self.op is None or self.params is None else len(self.op.outputs(self.params))

    @property
    def n_visible(self) -> int:
        """The number of outputs that a symbol of this node shows."""
        return 1 if self.op is None or self.params is None else self.op.visible(self.params)

    @property
    def aux_names(self) -> tuple[str, ...]:
        """The names among ``input_names`` of auxiliary states."""
        if self.op is None or self.params is None:
            return ()
        if INNER_STATES not in self.op.traits:
            return self.op.aux_of(self.params)
        inner = topological_order([entry for body in self.subgraphs for entry in body])
        states = auxiliary_nodes(inner)
        variables = [node for node in inner if node.op is None]
        return tuple(f"arg{i}" for i, node in enumerate(variables) if node in states)

    @property
    def aux_inputs(self) -> Iterator[Entry]:
        """The inputs that are auxiliary states; an operator alone has no inputs."""
        states = self.aux_names
        if states and self.inputs:
            for name, entry in zip(self.input_names, self.inputs, strict=True):
                if name in states:
                    yield entry

    def edit(self, attrs: dict[str, str], params: Params | None) -> None:
        """Replaces the attributes, in every graph that contains the node."""
        self.attrs = attrs
        self.params = params
        for hook in EDIT_HOOKS:
            hook()

    def __repr__(self) -> str:
        return f"<Node {self.name}: {self.op.name if self.op else 'variable'}>"


def input_names(op: OpDef, params: Params, count: int) -> tuple[str, ...]:
    """Returns the names of a node's inputs; ``count`` is their number if no attribute says so."""
    names = op.inputs(params)
    if op.variadic is not None and op.count is None and not names:
        return tuple(f"arg{i}" for i in range(count))
    return names


def topological_order(heads: Sequence[Entry]) -> list[Node]:
    """Returns every node that the heads depend on, inputs before their consumers, in MXNet's order:
    the post-order of a depth-first walk that follows inputs from first to last. Iterative, because
    an unrolled network is thousands of nodes deep."""
    order: list[Node] = []
    seen: set[Node] = set()
    for head, _ in heads:
        if head in seen:
            continue
        seen.add(head)
        stack = [(head, iter(head.inputs))]
        while stack:
            node, inputs = stack[-1]
            for child, _ in inputs:
                if child not in seen:
                    seen.add(child)
                    stack.append((child, iter(child.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def auxiliary_nodes(order: Sequence[Node]) -> set[Node]:
    return {child for node in order for child, _ in node.aux_inputs if child.op is None}
