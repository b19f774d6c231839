"""An optimizer as an optax transformation: the same rules, hyperparameters and order, traced.

tx = mx.optimizer.create("adam", learning_rate=0.01, wd=1e-4).to_optax()
state = tx.init(params)
updates, state = tx.update(grads, state, params)
params = optax.apply_updates(params, updates)
"""

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._support.annotations import Attrs, Raw, Tree
from ..arrays.random_state import next_key_data, wrap_key
from ..context import current_context
from ..errors import InputTypeError, NotSupportedError, UnknownNameError
from ..ndarray import NDArray
from ._rule import Index, Rule, RuleProvider, State, is_half

if TYPE_CHECKING:  # it is imported where it is called, since that takes long
    import optax

Provider = TypeVar("Provider", bound=RuleProvider)


class OptimizerState(NamedTuple):
    """The state of a transformation: the number of updates done, ``begin_num_update`` included; the
    state of each parameter, by name; numbers of all parameters together (Nadam's momentum schedule,
    LARS's last rates); key data of random numbers, None if no rule draws any."""

    count: Array
    states: dict[str, State]
    shared_state: State
    key: Array | None


def transformation(
    optimizer: RuleProvider, names: Sequence[str] | None, key: Any
) -> "optax.GradientTransformationExtraArgs":
    import optax

    if not optimizer._is_pure:
        problem = "its class overrides update, which works on NDArrays"
        hint = "give the updates to an Updater, or write an optax transformation"
        raise NotSupportedError(type(optimizer).__name__, problem, hint=hint)
    optimizer = _snapshot(optimizer, names)
    rate = _rate(optimizer)
    order = None if names is None else {name: i for i, name in enumerate(names)}

    def named_leaves(tree: Tree) -> list[tuple[str, Any]]:
        named = [(_name(path), x) for path, x in jax.tree_util.tree_leaves_with_path(tree)]
        if order is None:
            return named
        for name, _ in named:
            if name not in order:
                problem = f"parameter {name!r} is not among the names given"
                raise UnknownNameError("to_optax", problem, hint=", ".join(order))
        rank = order.__getitem__
        return sorted(named, key=lambda leaf: rank(leaf[0]))

    def init(params: Any) -> State:
        shared_state = optimizer.shared_state
        states = {}
        uses_rng = False
        for name, weight in named_leaves(params):
            index = _index(optimizer, name)
            rule = _rule(optimizer, index, weight)
            uses_rng = uses_rng or rule.uses_rng
            states[name] = _first_state(optimizer, index, jnp.asarray(weight))
        key_data = None
        if uses_rng:
            key_data = next_key_data(current_context()) if key is None else jax.random.key_data(key)
        if isinstance(shared_state, tuple):
            shared_state = optimizer._begin_step(rate(optimizer.begin_num_update + 1), shared_state)
        return OptimizerState(
            jnp.asarray(optimizer.begin_num_update, jnp.int32),
            states,
            jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(float)), shared_state),
            None if key_data is None else jnp.asarray(key_data),
        )

    def update(updates: Any, state: Tree, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        if params is None:
            problem = "params are not given"
            raise InputTypeError("to_optax", problem, hint="tx.update(grads, state, params)")
        precision = jnp.result_type(float)
        with jax.enable_x64(True):
            fixed = extra.get("learning_rate")
            rate_now = rate if fixed is None else lambda _: jnp.asarray(fixed, jnp.float64)
            leaves, grads = named_leaves(params), dict(named_leaves(updates))
            deltas, states, shared_state = _step(optimizer, rate_now, leaves, grads, state)
        flat = [deltas[_name(path)] for path, _ in jax.tree_util.tree_leaves_with_path(params)]
        count = state.count + 1
        shared_state = jax.tree.map(lambda x: x.astype(precision), shared_state)
        new_state = OptimizerState(count, states, shared_state, state.key)
        return jax.tree.unflatten(jax.tree.structure(params), flat), new_state

    return optax.GradientTransformationExtraArgs(init, update)


def _step(
    optimizer: RuleProvider,
    rate: Callable[[Any], Any],
    params: list[tuple[str, Any]],
    grads: Attrs,
    state: OptimizerState,
) -> tuple[dict[str, Any], dict[str, State], Any]:
    count = state.count + 1
    step_key = None if state.key is None else jax.random.fold_in(wrap_key(state.key), count)
    shared_state = jax.tree.map(lambda x: x.astype(jnp.float64), state.shared_state)
    together = optimizer.aggregate_num or 1
    deltas, states = {}, {}
    for i, (name, weight) in enumerate(params):
        weight = jnp.asarray(weight)
        if i % together == 0:
            shared_state = optimizer._begin_step(rate(count), shared_state)
        index = _index(optimizer, name)
        lr = rate(optimizer._schedule_count(i, count)) * optimizer._multiplier(index, "lr_mult")
        wd = optimizer.wd * optimizer._multiplier(index, "wd_mult")
        t = count.astype(jnp.float64)
        hyperparams, shared_state = optimizer._hyperparams(lr, wd, t, shared_state)
        new, states[name] = _rule(optimizer, index, weight)(
            weight,
            jnp.asarray(grads[name]).astype(weight.dtype),
            state.states[name],
            jnp.stack([jnp.asarray(x, jnp.float64) for x in hyperparams]),
            None if step_key is None else jax.random.fold_in(step_key, i),
        )
        deltas[name] = new - weight
    return deltas, states, shared_state


def _snapshot(optimizer: Provider, names: Sequence[str] | None) -> Provider:
    snapshot = copy.copy(optimizer)
    snapshot.param_dict = dict(optimizer.param_dict)
    snapshot.lr_mult, snapshot.wd_mult = dict(optimizer.lr_mult), dict(optimizer.wd_mult)
    if names is not None:
        snapshot.idx2name = dict(enumerate(names))
        undecayed = {name: 0.0 for name in names if not snapshot._decays(name)}
        snapshot.wd_mult = {**undecayed, **snapshot.wd_mult}
    return snapshot


def _rate(optimizer: RuleProvider) -> Callable[[Any], Any]:
    scheduler = optimizer.lr_scheduler
    if scheduler is None:
        return lambda count: jnp.asarray(optimizer.lr, jnp.result_type(float))
    if not hasattr(scheduler, "to_optax"):
        problem = f"lr_scheduler is {type(scheduler).__name__}, which only Python can run"
        hint = "an mx.lr_scheduler class, or tx.update(..., learning_rate=...) without one"
        raise NotSupportedError("to_optax", problem, hint=hint)
    return scheduler.to_optax()


def _name(path: tuple[Any, ...]) -> str:
    return "_".join(str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path)


def _index(optimizer: RuleProvider, name: str) -> Any:
    return next((i for i, n in optimizer.idx2name.items() if n == name), name)


def _rule(optimizer: RuleProvider, index: Index, weight: Raw) -> Rule:
    rule = optimizer._pure_rule(index, NDArray.from_jax(jnp.asarray(weight)))
    if rule is None:
        problem = "it defines no update(index, weight, grad, state)"
        raise NotSupportedError(type(optimizer).__name__, problem)
    return rule


def _first_state(optimizer: RuleProvider, index: Index, weight: Array) -> State:
    if optimizer.multi_precision and is_half(weight.dtype):
        master = weight.astype(jnp.float32)
        inner = _first_state(optimizer, index, master)
        return (inner, master) if optimizer._master_last else (master, inner)

    def pure(leaf: NDArray) -> Array:
        value = leaf.value
        if value is weight:
            return weight
        host = np.asarray(value)
        if host.any():
            return jnp.asarray(host)
        return jnp.zeros_like(weight, dtype=host.dtype, shape=host.shape)

    with jax.ensure_compile_time_eval():
        state = optimizer.create_state(index, NDArray.from_jax(weight))
    return jax.tree.map(pure, state)
