"""Bodies of loops and branches: graphs built in an AttrScope, cut off from what is around them.

The scope marks a body's nodes with its name. Outputs of outer operators that the body reads become
variables of the subgraph and inputs of the loop's node; outer variables are inputs of both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import InputTypeError, UnusedInputError, explain
from ._call import entry_of, find
from ._compose import compose, texts
from ._creation import var
from ._naming import AttrScope, NameManager
from ._nesting import flatten, nest_like
from ._node import Entry, Node, topological_order
from ._symbol import Symbol, call_operator

MARK = "__subgraph_name__"
_numbers: defaultdict[str, int] = defaultdict(int)


def unique_name(name: str) -> str:
    """The name of a new subgraph; inside another one, behind that one's."""
    outer = AttrScope.current.get(None).get(MARK)
    full = f"{outer}${name}" if outer else name
    _numbers[full] += 1
    return f"{full}{_numbers[full] - 1}"


def reset_subgraph_numbers() -> None:
    """Subgraphs are numbered from 0 again."""
    _numbers.clear()


def symbols_in(values: Any, function: str, what: str) -> list[Symbol]:
    """The Symbols in nested lists; :class:`InputTypeError` if there is anything else."""
    leaves = flatten(values)
    for leaf in leaves:
        if not isinstance(leaf, Symbol):
            problem = f"{what} holds {leaf!r}, expected Symbols, in lists that may be nested"
            raise InputTypeError(explain(function, problem))
        entry_of(leaf, what)
    return leaves


def local_name(symbol: Symbol) -> str:
    """What a body calls the variable that stands for an output of the outer graph."""
    node, index = symbol.heads[0]
    return f"{node.name}-{index}"


def heads_of(mark: str, outputs: Sequence[Symbol], states: Sequence[Symbol] = ()) -> list[Entry]:
    """The heads of a body, each the output of an operator in it that no other head is of.

    Inputs, outputs of outer operators, and states that are outputs as well are copied.
    """
    every = topological_order([entry for s in (*outputs, *states) for entry in s.heads])
    taken = {node.name for node in every if node.op is None}

    def head(symbol: Symbol) -> Entry:
        if symbol.name in taken or symbol.attr(MARK) != mark:
            symbol = call_operator(find("identity"), "identity", (symbol,), {})
        return symbol.heads[0]

    first = [head(symbol) for symbol in outputs]
    taken |= {symbol.name for symbol in outputs}
    return first + [head(symbol) for symbol in states]


def variables_for(symbols: Iterable[Symbol]) -> list[Symbol]:
    """The variables that stand for outer symbols in a body."""
    return [var(local_name(symbol)) for symbol in symbols]


def nesting_of(values: Any) -> Any:
    return nest_like(values, [None] * len(flatten(values)))


class Subgraph:
    """The body of a loop or branch.

    heads
        its outputs, in nodes of its own.
    names, outer
        its variables, and what each stands for outside: for those in ``own`` what is given there,
        else an output of an outer operator, or an outer variable.
    """

    def __init__(self, mark: str, heads: Sequence[Entry], own: Mapping[str, Entry]) -> None:
        new: dict[Node, Node] = {}
        cut: dict[Entry, Node] = {}

        def inside(entry: Entry) -> Entry:
            child, index = entry
            if child in new:
                return new[child], index
            if entry not in cut:
                cut[entry] = Node(None, child.output_names[index], {})
            return cut[entry], 0

        for node in topological_order(heads):
            if node.op is None:
                new[node] = node
            elif node.attrs.get(MARK) == mark:
                inputs = tuple(inside(entry) for entry in node.inputs)
                attrs = node.op, node.name, node.attrs, node.params
                new[node] = Node(*attrs, inputs, node.subgraphs)
        self.heads = tuple((new[node], index) for node, index in heads)
        variables = [node for node in topological_order(self.heads) if node.op is None]
        self.names = [node.name for node in variables]
        source = {node: entry for entry, node in cut.items()}
        self.outer = [own.get(node.name) or source.get(node, (node, 0)) for node in variables]
        twice = {name for name in self.names if self.names.count(name) > 1}
        if twice:
            problem = f"it reads several variables called {', '.join(sorted(twice))}"
            raise InputTypeError(explain(f"subgraph {mark}", problem))

    def places(self, symbols: Iterable[Symbol], what: str) -> list[int]:
        """Which variables of the body stand for outer symbols."""
        found = []
        for symbol in symbols:
            name = local_name(symbol)
            if name not in self.names:
                problem = f"the body does not read {symbol.name!r}"
                raise UnusedInputError(explain(what, problem, hint="add it times 0"))
            found.append(self.names.index(name))
        return found


def union_inputs(
    graphs: Sequence[Subgraph], shared: Callable[[str, Entry], bool]
) -> tuple[list[Entry], list[list[int]]]:
    """The inputs of a node with several bodies, and which of them every body's variables are.

    What two bodies read under one name is one input where ``shared(name, entry)`` says so.
    """
    entries: list[Entry] = []
    first: dict[str, int] = {}
    places: list[list[int]] = []
    for graph in graphs:
        places.append([])
        for name, entry in zip(graph.names, graph.outer, strict=True):
            known = first.get(name) if shared(name, entry) else None
            if known is None:
                known = first[name] = len(entries)
                entries.append(entry)
            places[-1].append(known)
    return entries, places


def loop_node(
    name: str, bodies: Sequence[Subgraph], inputs: Sequence[Entry], **attrs: Any
) -> list[Symbol]:
    """The outputs of a new control flow node."""
    op = find(name)
    attrs["num_args"] = len(inputs) + len(bodies)
    written = texts({**AttrScope.current.get(None), **attrs})
    subgraphs = tuple(body.heads for body in bodies)
    node = compose(op, NameManager.current.get(None, name), written, inputs, subgraphs=subgraphs)
    return [Symbol([(node, i)]) for i in range(node.n_visible)]
