"""Which results of a traced function are one and the same array."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
from jax import lax
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

#: Primitives that call a jaxpr and do nothing else.
_CALLS = frozenset({"jit", "closed_call", "remat2", "checkpoint"})


def output_ids(closed: ClosedJaxpr) -> list[Hashable]:
    """For every result of a jaxpr, its number if it is one of the inputs as it came, else a key
    that equal results share."""
    return _identities(closed.jaxpr, range(len(closed.jaxpr.invars)), ())


def _identities(jaxpr: Any, given: Sequence[Hashable], path: tuple[int, ...]) -> list[Hashable]:
    names: dict[Any, Hashable] = dict(zip(jaxpr.invars, given, strict=True))

    def name(atom: Any) -> Hashable:
        return (path, id(atom)) if isinstance(atom, Literal) else names.get(atom, (path, atom))

    for number, equation in enumerate(jaxpr.eqns):
        if equation.primitive.name not in _CALLS:
            continue
        inner = equation.params["jaxpr"]
        inner = inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner
        found = _identities(inner, [name(x) for x in equation.invars], (*path, number))
        names.update(zip(equation.outvars, found, strict=True))
    return [name(x) for x in jaxpr.outvars]


def deduplicated_scan(
    turn: Callable[[Any, Any], tuple[Any, list[Any]]],
    start: Any,
    now: Any,
    turns: int,
    reverse: bool,
) -> tuple[Any, list[Any]]:
    """``lax.scan`` of a function whose results per turn are a list: what is the same array in every
    turn is stacked once."""
    leaves, structure = jax.tree.flatten((start, jax.tree.map(row_aval, now)))
    closed, (end, _) = jax.make_jaxpr(
        lambda *flat: turn(*jax.tree.unflatten(structure, flat)), return_shape=True
    )(*map(aval_of, leaves))
    carried = len(jax.tree.leaves(end))
    own, places = unique(output_ids(closed)[carried:])
    run = jaxpr_as_fun(closed)

    def one(carry: Any, now: Any) -> Any:
        made = run(*jax.tree.leaves((carry, now)))
        return jax.tree.unflatten(jax.tree.structure(end), made[:carried]), [
            made[carried + i] for i in own
        ]

    last, stacks = lax.scan(one, start, now, turns, reverse=reverse)
    return last, [stacks[i] for i in places]


def unique(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Where each different key stands first, and for every key its place among those."""
    first: dict[Hashable, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    order = {key: i for i, key in enumerate(first)}
    return list(first.values()), [order[key] for key in keys]


def aval_of(x: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an array."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def row_aval(x: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a row of a stack."""
    return jax.ShapeDtypeStruct(x.shape[1:], x.dtype)
