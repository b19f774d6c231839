"""Deduplication of a traced function's results: which of them are one and the same array."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
from jax import lax
from jax.extend.core import jaxpr_as_fun

from ...jaxprs import output_ids


def deduplicated_scan(
    body: Callable[[Any, Any], tuple[Any, list[Any]]],
    init: Any,
    xs: Any,
    length: int,
    reverse: bool,
) -> tuple[Any, list[Any]]:
    """``lax.scan`` of a body whose ``ys`` are a list; equal entries of it are stacked once."""
    leaves, structure = jax.tree.flatten((init, jax.tree.map(row_aval, xs)))
    closed, (end, _) = jax.make_jaxpr(
        lambda *flat: body(*jax.tree.unflatten(structure, flat)), return_shape=True
    )(*map(aval_of, leaves))
    n_carry = len(jax.tree.leaves(end))
    first, positions = unique(output_ids(closed)[n_carry:])
    run = jaxpr_as_fun(closed)

    def iteration(carry: Any, x: Any) -> Any:
        results = run(*jax.tree.leaves((carry, x)))
        return jax.tree.unflatten(jax.tree.structure(end), results[:n_carry]), [
            results[n_carry + i] for i in first
        ]

    last_carry, stacks = lax.scan(iteration, init, xs, length, reverse=reverse)
    return last_carry, [stacks[i] for i in positions]


def unique(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Index of the first occurrence of each different key, and the number of every key among
    those, like ``numpy.unique`` but in order of occurrence."""
    first: dict[Hashable, int] = {}
    for index, key in enumerate(keys):
        first.setdefault(key, index)
    order = {key: i for i, key in enumerate(first)}
    return list(first.values()), [order[key] for key in keys]


def aval_of(x: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an array."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def row_aval(x: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a row of a stack."""
    return jax.ShapeDtypeStruct(x.shape[1:], x.dtype)
