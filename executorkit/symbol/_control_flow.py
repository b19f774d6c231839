"""``foreach``, ``while_loop`` and ``cond`` of symbols: Python functions become subgraphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import AttributeValueError, InputTypeError, explain
from ._naming import AttrScope
from ._nesting import nest_like
from ._subgraph import (
    MARK,
    Subgraph,
    heads_of,
    local_name,
    loop_node,
    nesting_of,
    symbols_in,
    union_inputs,
    unique_name,
    variables_for,
)
from ._symbol import Symbol


def foreach(
    body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """``body(slice, states) -> (outputs, states)`` for every slice along the first axis of data.

    data and init_states are Symbols or (nested) lists of them; body gets Symbols in the same
    nesting, and may read any other Symbol. Returns the outputs of all steps, stacked along a new
    first axis, and the last states. The loop is one compiled ``lax.scan``, with a gradient.

    Raises :class:`InputTypeError` where body does not read all of data and the states, or returns
    other states than it was given.
    """
    slices = symbols_in(data, "foreach", "data")
    states = symbols_in(init_states, "foreach", "init_states")
    mark = unique_name(name)
    with AttrScope(**{MARK: mark}):
        one, now = (
            nest_like(data, variables_for(slices)),
            nest_like(init_states, variables_for(states)),
        )
        outs, new_states = body(one, now)
        flat_outs = symbols_in(outs, "foreach", "the body's output")
        flat_states = symbols_in(new_states, "foreach", "the body's states")
        if nesting_of(new_states) != nesting_of(init_states):
            problem = "the states that the body returns are not nested like init_states"
            raise InputTypeError(explain("foreach", problem))
        heads = heads_of(mark, flat_outs, flat_states)
    own = {local_name(s): s.heads[0] for s in (*slices, *states)}
    graph = Subgraph(mark, heads, own)
    rest = [i for i, name in enumerate(graph.names) if name not in own]
    results = loop_node(
        "_foreach",
        [graph],
        [*(s.heads[0] for s in (*slices, *states)), *(graph.outer[i] for i in rest)],
        num_outputs=len(heads),
        num_out_data=len(flat_outs),
        in_state_locs=graph.places(states, "foreach: states"),
        in_data_locs=graph.places(slices, "foreach: data"),
        remain_locs=rest,
    )
    return nest_like(outs, results), nest_like(new_states, results)


def while_loop(
    cond: Callable[..., Symbol],
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """``func(*loop_vars) -> (outputs, loop_vars)`` while ``cond(*loop_vars)``, so often at most.

    loop_vars is a (nested) list of Symbols. Returns the outputs of all steps, stacked along a first
    axis of ``max_iterations`` (rows of steps that were not taken are zeros, where MXNet's are
    undefined), and the last variables. Both functions may read any other Symbol. The loop is one
    compiled ``lax.while_loop``; with a gradient, a ``lax.scan`` of ``max_iterations`` steps.

    As in MXNet, ``infer_shape`` does not tell the shapes of the results: bind with arrays.
    """
    if max_iterations is None:
        raise AttributeValueError(explain("while_loop", "max_iterations is not given"))
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        problem = f"max_iterations is {max_iterations!r}, expected an integer"
        raise AttributeValueError(explain("while_loop", problem)) from None
    outer = symbols_in(loop_vars, "while_loop", "loop_vars")
    if not outer:
        raise AttributeValueError(explain("while_loop", "loop_vars is empty"))
    own = {local_name(symbol): symbol.heads[0] for symbol in outer}

    def inner() -> Any:
        variables = nest_like(loop_vars, variables_for(outer))
        return [variables] if isinstance(variables, Symbol) else variables

    mark = unique_name(f"{name}_cond")
    with AttrScope(**{MARK: mark}):
        going = symbols_in([cond(*inner())], "while_loop", "the condition")
        condition = Subgraph(mark, heads_of(mark, going), own)
    mark = unique_name(f"{name}_func")
    with AttrScope(**{MARK: mark}):
        outs, new = (() if part is None else part for part in func(*inner()))
        flat_outs = symbols_in(outs, "while_loop", "the step's output")
        flat_new = symbols_in(new, "while_loop", "the step's loop_vars")
        if len(flat_new) != len(outer):
            problem = f"func gives {len(flat_new)} loop_vars, expected {len(outer)}"
            raise AttributeValueError(explain("while_loop", problem))
        step = Subgraph(mark, heads_of(mark, flat_outs + flat_new), own)
    inputs, (cond_places, func_places) = union_inputs(
        (condition, step), lambda name, _: name in own
    )
    results = loop_node(
        "_while_loop",
        [condition, step],
        inputs,
        max_iterations=limit,
        cond_input_locs=cond_places,
        func_input_locs=func_places,
        func_var_locs=step.places(outer, "while_loop: loop_vars"),
        num_out_data=len(flat_outs),
        num_outputs=len(step.heads),
    )
    return nest_like(outs, results), nest_like(loop_vars, results)


def cond(
    pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond"
) -> Any:
    """``then_func()`` where ``pred``, of one element, is not 0, else ``else_func()``.

    Both give a Symbol or a (nested) list of them, as many, and of equal shapes and dtypes. Only
    the chosen one runs, as ``lax.cond``; the gradient of what only the other reads is zero.

    As in MXNet, ``infer_shape`` does not tell the shapes of the results: bind with arrays.
    """
    graphs, results = [], []
    for part, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        mark = unique_name(f"{name}_{part}")
        with AttrScope(**{MARK: mark}):
            results.append(function())
            flat = symbols_in(results[-1], "cond", f"the result of {part}")
            graphs.append(Subgraph(mark, heads_of(mark, flat), {}))
    counts = [len(graph.heads) for graph in graphs]
    if counts[0] != 1:
        problem = f"pred is {counts[0]} Symbols, expected one"
        raise AttributeValueError(explain("cond", problem))
    if counts[1] != counts[2]:
        problem = f"the branches give {counts[1]} and {counts[2]} outputs, expected as many"
        raise AttributeValueError(explain("cond", problem))
    inputs, places = union_inputs(graphs, lambda _, entry: entry[0].op is None)
    locations = zip(("cond", "then", "else"), places, strict=True)
    attrs = {f"{part}_input_locs": at for part, at in locations}
    return nest_like(results[1], loop_node("_cond", graphs, inputs, num_outputs=counts[1], **attrs))
