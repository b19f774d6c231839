"""Loops and branches over subgraphs, as compiled control flow.

Attributes map inputs of a node to variables of its bodies. ``mx.sym.contrib`` builds such nodes
from Python functions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from .._support.annotations import Operands, Raw, Tree
from .schema.attrs import Bodies, Key, Shape, Train
from .schema.inference import Params, ShapeFacts, TypeFacts
from .schema.operator_registry import register
from .schema.subgraph_bodies import infer_subgraph_shapes, infer_subgraph_types, subgraphs_use_rng
from .schema.traits import DYNAMIC_SHAPE, LOOP
from .tensor.reverse_rules import with_vjp


def _outputs(p: Params) -> tuple[str, ...]:
    return ("output",) if p.num_outputs == 1 else tuple(f"output{i}" for i in range(p.num_outputs))


def _register(name: str, bodies: int, infer_shape: Any, infer_type: Any, *traits: str) -> Tree:
    return register(
        name,
        inputs=lambda p: tuple(f"arg{i}" for i in range(p.num_args - bodies)),
        outputs=_outputs,
        infer_shape=infer_shape,
        infer_type=infer_type,
        uses_rng=subgraphs_use_rng,
        traits=set(traits),
    )


def _argument_names(locations: Sequence[int]) -> list[str]:
    return [f"arg{i}" for i in locations]


def _node_key(key: Raw, iteration: Raw) -> Any:
    return None if key is None else jax.random.fold_in(key, iteration)


def _foreach_body_order(p: Params) -> list[str]:
    locations = (*p.in_data_locs, *p.in_state_locs, *p.remain_locs)
    return [f"arg{i}" for _, i in sorted(zip(locations, range(len(locations)), strict=True))]


def _infer_foreach_shape(s: ShapeFacts, p: Params) -> None:
    data = len(p.in_data_locs)
    for i in range(p.num_outputs - p.num_out_data):
        s.same(f"arg{data + i}", f"out{p.num_out_data + i}")
    infer_subgraph_shapes(
        s, p.bodies[0], _foreach_body_order(p), stepped=_argument_names(range(data))
    )


def _infer_foreach_type(t: TypeFacts, p: Params) -> None:
    infer_subgraph_types(
        t, p.bodies[0], _foreach_body_order(p), [f"out{i}" for i in range(p.num_outputs)]
    )


@_register("_foreach", 1, _infer_foreach_shape, _infer_foreach_type, LOOP)
def foreach(
    *data: Array,
    num_args: int,
    num_outputs: int,
    num_out_data: int,
    in_state_locs: Shape,
    in_data_locs: Shape,
    remain_locs: Shape,
    bodies: Bodies,
    key: Key,
    train: Train,
):
    """Applies a body to every slice along the first axis of its data, carrying states.

    The arrays are the data to be sliced, (T, ...) each (of (T,) slices are (1,)), then the first
    states, then other arrays that the body reads; ``in_data_locs``, ``in_state_locs`` and
    ``remain_locs`` give their positions among the body's variables. Returns the first
    ``num_out_data`` outputs of the body, stacked to (T, ...), then the last states. Auxiliary
    states inside the body do not change.
    """
    (body,) = bodies
    n_data, n_states = len(in_data_locs), len(in_state_locs)
    constants = data[n_data + n_states :]
    locations = (*in_data_locs, *in_state_locs, *remain_locs)

    def scan_body(carry: tuple[Any, Operands], slices: tuple[object, ...]):
        number, states = carry
        arrays: list[Raw] = [None] * len(locations)
        for location, array in zip(locations, (*slices, *states, *constants), strict=True):
            arrays[location] = array
        out = body(arrays, _node_key(key, number), train)
        return (number + 1, out[num_out_data:]), out[:num_out_data]

    init = jnp.zeros((), jnp.int32), data[n_data : n_data + n_states]
    sliced = tuple([x.reshape(-1, 1) if x.ndim == 1 else x for x in data[:n_data]])
    (_, states), stacked = lax.scan(scan_body, init, sliced)
    return (*stacked, *states)


def _infer_while_shape(s: ShapeFacts, p: Params) -> None:
    func = _argument_names(p.func_input_locs)
    for i, location in enumerate(p.func_var_locs):
        s.same(func[location], f"out{p.num_out_data + i}")
    infer_subgraph_shapes(s, p.bodies[0], _argument_names(p.cond_input_locs))
    infer_subgraph_shapes(s, p.bodies[1], func)


def _infer_while_type(t: TypeFacts, p: Params) -> None:
    outputs = [f"out{i}" for i in range(p.num_outputs)]
    infer_subgraph_types(t, p.bodies[1], _argument_names(p.func_input_locs), outputs)


def _is_true(outputs: tuple[Array, ...]) -> Array:
    return outputs[0].reshape(()) != 0


@_register("_while_loop", 2, _infer_while_shape, _infer_while_type, DYNAMIC_SHAPE, LOOP)
def while_loop(
    *data: Array,
    num_args: int,
    num_outputs: int,
    num_out_data: int,
    max_iterations: int,
    cond_input_locs: Shape,
    func_input_locs: Shape,
    func_var_locs: Shape,
    bodies: Bodies,
    key: Key,
    train: Train,
):
    """Applies a body to loop variables while a condition holds, at most ``max_iterations`` times.

    ``cond_input_locs`` and ``func_input_locs`` give the array of each variable of the condition and
    of the body, ``func_var_locs`` the loop variables among the body's variables. Returns the first
    ``num_out_data`` outputs of the body, stacked to (``max_iterations``, ...), then the last loop
    variables. Rows of iterations not run are zeros (undefined in MXNet). Auxiliary states inside
    the body do not change.

    Without a gradient the loop ends as soon as the condition fails; with one, ``max_iterations``
    iterations run, of which the surplus ones do nothing.
    """
    condition, body = bodies
    variable_inputs = [func_input_locs[i] for i in func_var_locs]

    # Here ``data`` are the arrays, then the key.
    def read(data, locations, variables):
        current = dict(zip(variable_inputs, variables, strict=True))
        return [current.get(i, data[i]) for i in locations]

    def condition_holds(data, number, variables):
        inputs = read(data, cond_input_locs, variables)
        return _is_true(condition(inputs, _node_key(data[-1], number), train))

    def run_body(data, number, variables):
        inputs = read(data, func_input_locs, variables)
        out = body(inputs, _node_key(data[-1], number + max_iterations), train)
        return out[:num_out_data], out[num_out_data:]

    def init(data):
        return jnp.zeros((), jnp.int32), tuple(data[i] for i in variable_inputs)

    def row_avals(data):
        return jax.eval_shape(lambda: run_body(data, *init(data)))[0]

    def early_exit_loop(*data: Array) -> tuple[Array, ...]:
        def step(state):
            number, variables, stacked = state
            out, variables = run_body(data, number, variables)
            stacked = tuple(
                lax.dynamic_update_index_in_dim(stack, row, number, 0)
                for stack, row in zip(stacked, out, strict=True)
            )
            return number + 1, variables, stacked

        empty = tuple(jnp.zeros((max_iterations, *r.shape), r.dtype) for r in row_avals(data))
        _, variables, stacked = lax.while_loop(
            lambda state: (state[0] < max_iterations) & condition_holds(data, *state[:2]),
            step,
            (*init(data), empty),
        )
        return (*stacked, *variables)

    def bounded_scan(*data: Array) -> tuple[Array, ...]:
        zero_rows = tuple(jnp.zeros(r.shape, r.dtype) for r in row_avals(data))

        def scan_body(state, _):
            number, variables, active = state
            active &= condition_holds(data, number, variables)
            out, variables = lax.cond(
                active,
                lambda variables: run_body(data, number, variables),
                lambda variables: (zero_rows, variables),
                variables,
            )
            return (number + 1, variables, active), out

        carry = (*init(data), jnp.array(True))
        (_, variables, _), stacked = lax.scan(scan_body, carry, length=max_iterations)
        return (*stacked, *variables)

    loop = with_vjp(
        early_exit_loop, lambda *data: jax.vjp(bounded_scan, *data), lambda vjp, heads: vjp(heads)
    )
    return loop(*data, key)


def _infer_cond_shape(s: ShapeFacts, p: Params) -> None:
    locations = p.cond_input_locs, p.then_input_locs, p.else_input_locs
    for body, locations_of_body in zip(p.bodies, locations, strict=True):
        infer_subgraph_shapes(s, body, _argument_names(locations_of_body))


def _infer_cond_type(t: TypeFacts, p: Params) -> None:
    outputs = [f"out{i}" for i in range(p.num_outputs)]
    for body, locations in zip(p.bodies[1:], (p.then_input_locs, p.else_input_locs), strict=True):
        infer_subgraph_types(t, body, _argument_names(locations), outputs)


@_register("_cond", 3, _infer_cond_shape, _infer_cond_type, DYNAMIC_SHAPE)
def cond(
    *data: Array,
    num_args: int,
    num_outputs: int,
    cond_input_locs: Shape,
    then_input_locs: Shape,
    else_input_locs: Shape,
    bodies: Bodies,
    key: Key,
    train: Train,
):
    """Runs one of two bodies, chosen by a condition.

    The condition's output has one element; nonzero is true. ``cond_input_locs``,
    ``then_input_locs`` and ``else_input_locs`` give the array of each variable of the three bodies.
    Both branches return ``num_outputs`` arrays of equal shapes and dtypes, which are the outputs.
    """
    condition, *branches = bodies

    def run(body: Any, locations: Shape) -> Callable[..., tuple[Array, ...]]:
        return lambda *data: body([data[i] for i in locations], _node_key(key, 1), train)

    then, otherwise = map(run, branches, (then_input_locs, else_input_locs))
    chosen = _is_true(condition([data[i] for i in cond_input_locs], _node_key(key, 0), train))
    return lax.cond(chosen, then, otherwise, *data)
