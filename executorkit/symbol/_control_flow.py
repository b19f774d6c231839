"""``foreach``, ``while_loop`` and ``cond`` of symbols: Python functions become subgraphs.

The body of a loop or branch is a graph built in an AttrScope, which marks the body's nodes with its
name, and cut off from the outer graph. Outputs of outer operators that the body reads become
variables of the subgraph and inputs of the loop's node; outer variables are inputs of both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import AttributeValueError, InputTypeError, UnusedInputError
from ._compose import attr_texts, compose, entry_of, require_operator
from ._symbol import Symbol, call_operator
from ._symbol_creation import var
from .naming import AttrScope, NameManager
from .nesting import flatten, nest_like
from .node import Entry, Node, topological_order

MARK = "__subgraph_name__"


def unique_name(name: str) -> str:
    outer = AttrScope.current.get(None).get(MARK)
    full = f"{outer}${name}" if outer else name
    AttrScope._subgraph_names[full] += 1
    return f"{full}{AttrScope._subgraph_names[full] - 1}"


def symbols_in(values: Any, function: str, role: str) -> list[Symbol]:
    leaves = flatten(values)
    for leaf in leaves:
        if not isinstance(leaf, Symbol):
            problem = f"{role} holds {leaf!r}, expected Symbols, in lists that may be nested"
            raise InputTypeError(function, problem)
        entry_of(leaf, role)
    return leaves


def local_name(symbol: Symbol) -> str:
    node, index = symbol.heads[0]
    return f"{node.name}-{index}"


def heads_of(mark: str, outputs: Sequence[Symbol], states: Sequence[Symbol] = ()) -> list[Entry]:
    """Returns the heads of a body: distinct outputs of its operators; others are copied."""
    every = topological_order([entry for s in (*outputs, *states) for entry in s.heads])
    used_names = {node.name for node in every if node.op is None}

    def head(symbol: Symbol) -> Entry:
        if symbol.name in used_names or symbol.attr(MARK) != mark:
            symbol = call_operator(require_operator("identity"), "identity", (symbol,), {})
        return symbol.heads[0]

    first = [head(symbol) for symbol in outputs]
    used_names |= {symbol.name for symbol in outputs}
    return first + [head(symbol) for symbol in states]


def variables_for(symbols: Iterable[Symbol]) -> list[Symbol]:
    return [var(local_name(symbol)) for symbol in symbols]


def nesting_of(values: Any) -> Any:
    return nest_like(values, [None] * len(flatten(values)))


class ControlFlowBody:
    """The body of a loop or branch: ``heads`` are its outputs, in nodes of its own."""

    def __init__(self, mark: str, heads: Sequence[Entry], bound: Mapping[str, Entry]) -> None:
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
        #: Its variables, and the outer entry that each stands for: an entry of ``bound`` by name,
        #: or an output of an outer operator, or an outer variable.
        self.names = [node.name for node in variables]
        source = {node: entry for entry, node in cut.items()}
        self.outer = [bound.get(node.name) or source.get(node, (node, 0)) for node in variables]
        twice = {name for name in self.names if self.names.count(name) > 1}
        if twice:
            problem = f"it reads several variables called {', '.join(sorted(twice))}"
            raise InputTypeError(f"subgraph {mark}", problem)

    def positions(self, symbols: Iterable[Symbol], where: str) -> list[int]:
        """Returns the positions of the variables for outer symbols among the body's variables."""
        positions = []
        for symbol in symbols:
            name = local_name(symbol)
            if name not in self.names:
                problem = f"the body does not read {symbol.name!r}"
                raise UnusedInputError(where, problem, hint="add it times 0")
            positions.append(self.names.index(name))
        return positions


def union_inputs(
    graphs: Sequence[ControlFlowBody], shared: Callable[[str, Entry], bool]
) -> tuple[list[Entry], list[list[int]]]:
    """Returns inputs of a node with several bodies, and each body's positions among them. Variables
    of one name are one input if ``shared(name, entry)``."""
    entries: list[Entry] = []
    first: dict[str, int] = {}
    positions: list[list[int]] = []
    for graph in graphs:
        positions.append([])
        for name, entry in zip(graph.names, graph.outer, strict=True):
            position = first.get(name) if shared(name, entry) else None
            if position is None:
                position = first[name] = len(entries)
                entries.append(entry)
            positions[-1].append(position)
    return entries, positions


def loop_node(
    name: str, bodies: Sequence[ControlFlowBody], inputs: Sequence[Entry], **attrs: Any
) -> list[Symbol]:
    op = require_operator(name)
    attrs["num_args"] = len(inputs) + len(bodies)
    texts = attr_texts({**AttrScope.current.get(None), **attrs})
    subgraphs = tuple(body.heads for body in bodies)
    node = compose(op, NameManager.current.get(None, name), texts, inputs, subgraphs=subgraphs)
    return [Symbol([(node, i)]) for i in range(node.n_visible)]


def foreach(
    body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Applies ``body(slice, states) -> (outputs, states)`` to slices along the first axis of data.

    data, init_states
        Symbols or (nested) lists of them; body gets Symbols in the same nesting.
    body
        The function of a slice and the states; it may read any other Symbol.

    Returns the outputs of all steps, stacked along a new first axis, and the last states. The loop
    is one compiled ``lax.scan``, with a gradient. Raises :class:`InputTypeError` if body does not
    read all of data and the states, or returns other states.
    """
    slices = symbols_in(data, "foreach", "data")
    states = symbols_in(init_states, "foreach", "init_states")
    mark = unique_name(name)
    with AttrScope(**{MARK: mark}):
        data_slice = nest_like(data, variables_for(slices))
        outs, new_states = body(data_slice, nest_like(init_states, variables_for(states)))
        flat_outs = symbols_in(outs, "foreach", "the body's output")
        flat_states = symbols_in(new_states, "foreach", "the body's states")
        if nesting_of(new_states) != nesting_of(init_states):
            problem = "the states that the body returns are not nested like init_states"
            raise InputTypeError("foreach", problem)
        heads = heads_of(mark, flat_outs, flat_states)
    bound = {local_name(s): s.heads[0] for s in (*slices, *states)}
    graph = ControlFlowBody(mark, heads, bound)
    captured = [i for i, name in enumerate(graph.names) if name not in bound]
    inputs = [*(s.heads[0] for s in (*slices, *states)), *(graph.outer[i] for i in captured)]
    results = loop_node(
        "_foreach", [graph], inputs, num_outputs=len(heads), num_out_data=len(flat_outs),
        in_state_locs=graph.positions(states, "foreach: states"),
        in_data_locs=graph.positions(slices, "foreach: data"), remain_locs=captured,
    )  # fmt: skip
    return nest_like(outs, results), nest_like(new_states, results)


def while_loop(
    cond: Callable[..., Symbol],
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Repeats ``func(*loop_vars) -> (outputs, loop_vars)`` while ``cond(*loop_vars)`` is not 0.

    cond, func
        The condition and the body; both may read any other Symbol.
    loop_vars
        A (nested) list of Symbols.
    max_iterations
        The maximum number of iterations.

    Returns the outputs of all iterations, stacked along a first axis of ``max_iterations`` (rows of
    iterations that did not run are zeros, undefined in MXNet), and the last variables. The loop is
    one compiled ``lax.while_loop``; with a gradient, a ``lax.scan`` of ``max_iterations`` steps. As
    in MXNet, ``infer_shape`` does not deduce the shapes of the results: bind with arrays.
    """
    if max_iterations is None:
        raise AttributeValueError("while_loop", "max_iterations is not given")
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        problem = f"max_iterations is {max_iterations!r}, expected an integer"
        raise AttributeValueError("while_loop", problem) from None
    outer = symbols_in(loop_vars, "while_loop", "loop_vars")
    if not outer:
        raise AttributeValueError("while_loop", "loop_vars is empty")
    bound = {local_name(symbol): symbol.heads[0] for symbol in outer}

    def inner() -> Any:
        variables = nest_like(loop_vars, variables_for(outer))
        return [variables] if isinstance(variables, Symbol) else variables

    mark = unique_name(f"{name}_cond")
    with AttrScope(**{MARK: mark}):
        conditions = symbols_in([cond(*inner())], "while_loop", "the condition")
        condition = ControlFlowBody(mark, heads_of(mark, conditions), bound)
    mark = unique_name(f"{name}_func")
    with AttrScope(**{MARK: mark}):
        outs, new = (() if part is None else part for part in func(*inner()))
        flat_outs = symbols_in(outs, "while_loop", "the step's output")
        flat_new = symbols_in(new, "while_loop", "the step's loop_vars")
        if len(flat_new) != len(outer):
            problem = f"func gives {len(flat_new)} loop_vars, expected {len(outer)}"
            raise AttributeValueError("while_loop", problem)
        step = ControlFlowBody(mark, heads_of(mark, flat_outs + flat_new), bound)
    bodies = [condition, step]
    inputs, (cond_positions, func_positions) = union_inputs(bodies, lambda name, _: name in bound)
    results = loop_node(
        "_while_loop", bodies, inputs, max_iterations=limit, cond_input_locs=cond_positions,
        func_input_locs=func_positions, num_out_data=len(flat_outs), num_outputs=len(step.heads),
        func_var_locs=step.positions(outer, "while_loop: loop_vars"),
    )  # fmt: skip
    return nest_like(outs, results), nest_like(loop_vars, results)


def cond(
    pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond"
) -> Any:
    """Evaluates ``then_func()`` if ``pred``, of one element, is not 0, else ``else_func()``.

    Both return a Symbol or a (nested) list of Symbols, equally many, of equal shapes and dtypes.
    Only the chosen function runs, as ``lax.cond``; gradients of the other function's inputs are
    zero. As in MXNet, ``infer_shape`` does not deduce the shapes of the results: bind with arrays.
    """
    graphs, results = [], []
    for part, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        mark = unique_name(f"{name}_{part}")
        with AttrScope(**{MARK: mark}):
            results.append(function())
            flat = symbols_in(results[-1], "cond", f"the result of {part}")
            graphs.append(ControlFlowBody(mark, heads_of(mark, flat), {}))
    counts = [len(graph.heads) for graph in graphs]
    if counts[0] != 1:
        raise AttributeValueError("cond", f"pred is {counts[0]} Symbols, expected one")
    if counts[1] != counts[2]:
        problem = f"the branches give {counts[1]} and {counts[2]} outputs, expected as many"
        raise AttributeValueError("cond", problem)
    inputs, positions = union_inputs(graphs, lambda _, entry: entry[0].op is None)
    locations = zip(("cond", "then", "else"), positions, strict=True)
    attrs = {f"{part}_input_locs": at for part, at in locations}
    return nest_like(results[1], loop_node("_cond", graphs, inputs, num_outputs=counts[1], **attrs))
