"""What each node of a program costs, counted on the traced program before XLA fuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2, prod
from typing import Any

from ..display import Line, Table, View, Viewed, count, scaled

#: What is done between nodes: sums of gradients, head gradients.
BETWEEN = "(between nodes)"

#: Primitives that move elements and compute nothing.
_MOVES = frozenset(
    {
        "broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims", "slice",
        "dynamic_slice", "dynamic_update_slice", "gather", "concatenate", "pad", "rev", "iota",
        "copy", "copy_p", "convert_element_type", "bitcast_convert_type", "stop_gradient",
        "device_put", "split", "select_n", "optimization_barrier", "reduce_precision",
        "random_wrap", "random_unwrap", "sharding_constraint", "pvary",
    }
)  # fmt: skip
_SIZE_OF_INPUT = frozenset(
    {
        "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
        "reduce_xor", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin",
        "cumlogsumexp", "select_and_scatter_add", "select_and_gather_add",
    }
)  # fmt: skip


@dataclass(slots=True)
class Work:
    """Floating-point operations, and bytes that operations read and write."""

    flops: float = 0.0
    bytes: float = 0.0


@dataclass(slots=True)
class NodeCost:
    """One node: its work, and that of its derivative."""

    name: str
    op: str
    forward: Work = field(default_factory=Work)
    backward: Work = field(default_factory=Work)

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
        return sum(node.flops for node in self.nodes)

    def _as_view(self) -> View:
        total = self.flops or 1
        rows = [
            [
                node.name, node.op, count(node.forward.flops), count(node.backward.flops),
                f"{100 * node.flops / total:.1f} %",
                scaled(node.forward.bytes + node.backward.bytes, "B", 1024),
            ]
            for node in self.nodes
        ]  # fmt: skip
        footer = [
            "sum", "", count(sum(n.forward.flops for n in self.nodes)),
            count(sum(n.backward.flops for n in self.nodes)), "",
            scaled(sum(n.forward.bytes + n.backward.bytes for n in self.nodes), "B", 1024),
        ]  # fmt: skip
        header = ["node", "operator", "FLOPs", "FLOPs backward", "share", "bytes before fusion"]
        note = [Line("a loop of unknown length counts as one round")] if self.open_loops else []
        table = Table(header, rows, {2, 3, 4, 5}, footer)
        return View(f"{self.function}: {scaled(self.flops, 'FLOPs')}", [table, *note])

    def __repr__(self) -> str:
        return self._as_view().text()


def cost_of(function: str, jaxpr: Any, ops: Mapping[str, str]) -> Cost:
    """The cost of a traced function. ``ops`` are the operators of the nodes, by name."""
    nodes = {name: NodeCost(name, op) for name, op in ops.items()}
    nodes[BETWEEN] = NodeCost(BETWEEN, "")
    walk = _Walk(nodes)
    walk.go(jaxpr, (), 1.0)
    kept = [n for n in nodes.values() if n.name != BETWEEN or n.flops]
    return Cost(function, kept, walk.open_loops)


class _Walk:
    def __init__(self, nodes: dict[str, NodeCost]) -> None:
        self.nodes = nodes
        self.open_loops = False

    def go(self, jaxpr: Any, outer: tuple[Any, ...], times: float) -> None:
        """Adds the work of a jaxpr, and of those inside it."""
        for equation in jaxpr.eqns:
            stack = (*outer, *equation.source_info.name_stack.stack)
            inner = list(_inner(equation))
            if not inner:
                self._add(equation, stack, times)
                continue
            rounds = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
            self.open_loops |= equation.primitive.name == "while"
            if equation.primitive.name == "cond":
                inner = [max(inner, key=lambda j: sum(map(flops_of, j.eqns)))]
            for part in inner:
                self.go(part, stack, times * rounds)

    def _add(self, equation: Any, stack: Sequence[Any], times: float) -> None:
        scopes = [s.name for s in stack if type(s).__name__ == "Scope"]
        backward = any(s.name == "transpose" for s in stack if type(s).__name__ == "Transform")
        name = next((s for s in scopes if s in self.nodes), BETWEEN)
        node = self.nodes[name]
        work = node.backward if backward else node.forward
        work.flops += times * flops_of(equation)
        arrays = [x.aval for x in (*equation.invars, *equation.outvars)]
        work.bytes += times * sum(_bytes(a) for a in arrays)


def _inner(equation: Any) -> Iterator[Any]:
    for value in equation.params.values():
        for one in value if isinstance(value, tuple | list) else (value,):
            jaxpr = getattr(one, "jaxpr", one)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def _size(aval: Any) -> int:
    return prod(getattr(aval, "shape", ()))


def _bytes(aval: Any) -> int:
    return _size(aval) * getattr(getattr(aval, "dtype", None), "itemsize", 0)


def _dot(equation: Any) -> float:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return 2.0 * _size(equation.outvars[0].aval) * prod(shape[i] for i in contracted)


def _convolution(equation: Any) -> float:
    """Without the products with the zeros that a dilated input has between its elements."""
    kernel = equation.invars[1].aval.shape
    numbers = equation.params["dimension_numbers"]
    each = prod(kernel) / kernel[numbers.rhs_spec[0]]
    zeros = prod(equation.params["lhs_dilation"])
    return 2.0 * _size(equation.outvars[0].aval) * each / zeros


def _window(equation: Any) -> float:
    return float(_size(equation.outvars[0].aval) * prod(equation.params["window_dimensions"]))


def _sort(equation: Any) -> float:
    size = _size(equation.invars[0].aval)
    return size * log2(max(2, equation.invars[0].aval.shape[-1] if size else 2))


_RULES: dict[str, Callable[[Any], float]] = {
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "reduce_window": _window, "reduce_window_sum": _window, "reduce_window_max": _window,
    "reduce_window_min": _window,
    "sort": _sort, "top_k": _sort,
    "scatter": lambda e: 0.0,
    "scatter-add": lambda e: float(_size(e.invars[2].aval)),
}  # fmt: skip


def flops_of(equation: Any) -> float:
    """Operations of one primitive: one for each element that it computes, two for each product of
    a dot or a convolution, none for what only moves elements."""
    name = equation.primitive.name
    if name in _MOVES:
        return 0.0
    if name in _RULES:
        return _RULES[name](equation)
    if name in _SIZE_OF_INPUT:
        return float(_size(equation.invars[0].aval))
    return float(sum(_size(x.aval) for x in equation.outvars))
