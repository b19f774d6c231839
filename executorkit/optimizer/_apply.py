"""Rules applied to NDArrays: one compiled call for any number of parameters.

Weights and states are written in place, and their buffers are given to the program to write into
wherever nobody else can hold them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from ..errors import DTypeError, ShapeError, explain
from ..ndarray import NDArray
from ..ndarray._random_state import key_of, next_words
from ._errors import OptimizerTypeError
from ._rule import Rule, State

_traces = 0


class ApplyInfo(NamedTuple):
    """hits and misses by rules and structure, programs held, limit; traces of all of them."""

    hits: int
    misses: int
    programs: int
    limit: int
    traces: int


def apply_cache_info() -> ApplyInfo:
    """How the cache of compiled updates has been used so far in this process."""
    info = _program.cache_info()
    return ApplyInfo(info.hits, info.misses, info.currsize, info.maxsize or 0, _traces)


def check_arrays(where: str, weight: Any, grad: Any) -> None:
    """OptimizerTypeError, ShapeError or DTypeError for a gradient that does not fit its weight."""
    for name, x in (("weight", weight), ("grad", grad)):
        if not isinstance(x, NDArray):
            raise OptimizerTypeError(
                explain(
                    where,
                    f"{name} is {type(x).__name__}, expected an NDArray",
                    hint="mx.nd.array(...)",
                )
            )
    if weight.shape != grad.shape:
        raise ShapeError(explain(where, f"grad is {grad.shape}, expected {weight.shape}"))
    if weight.dtype != grad.dtype:
        given, expected = np.dtype(grad.dtype).name, np.dtype(weight.dtype).name
        raise DTypeError(
            explain(where, f"grad is {given}, expected {expected}", hint="grad.astype(...)")
        )


def apply_rules(
    rules: Sequence[Rule],
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[State],
    numbers: Sequence[Sequence[float]],
) -> None:
    """Updates weights and states in place, each by its rule; arrays have been checked."""
    if not weights:
        return
    context = weights[0].context
    leaves, treedef = jax.tree.flatten((tuple(weights), tuple(states)))
    held = Counter(id(x._storage) for x in leaves)
    if max(held.values()) > 1 and len(weights) > 1:
        # A weight that is there twice is updated twice, as MXNet would do.
        for one in zip(rules, weights, grads, states, numbers, strict=True):
            apply_rules(*([x] for x in one))
        return
    held.update(id(g._storage) for g in grads)
    values = [x._value for x in leaves]
    given = tuple(x._exclusive and held[id(x._storage)] == 1 for x in leaves)
    device = context.device
    gradients = tuple(
        g._value if g.context is context or g.context.device == device
        else jax.device_put(g._value, device)
        for g in grads
    )  # fmt: skip
    words = next_words(context) if any(rule.draws for rule in rules) else None
    with jax.enable_x64(True):
        new = _program(tuple(rules), treedef, given)(
            [v for v, g in zip(values, given, strict=True) if g],
            [v for v, g in zip(values, given, strict=True) if not g],
            gradients,
            np.asarray(numbers, np.float64),
            words,
        )
    for x, value in zip(leaves, new, strict=True):
        x._assign(value)


@lru_cache(maxsize=256)
def _program(
    rules: tuple[Rule, ...], treedef: Any, given: tuple[bool, ...]
) -> Callable[..., list[jax.Array]]:
    def update(
        donated: list[jax.Array],
        kept: list[jax.Array],
        grads: tuple[jax.Array, ...],
        numbers: jax.Array,
        words: jax.Array | None,
    ) -> list[jax.Array]:
        global _traces
        _traces += 1
        mine, others = iter(donated), iter(kept)
        leaves = [next(mine) if g else next(others) for g in given]
        weights, states = jax.tree.unflatten(treedef, leaves)
        key = None if words is None else key_of(words)
        keys = [None if key is None else jax.random.fold_in(key, i) for i in range(len(rules))]
        results = [
            rule(*arrays)
            for rule, *arrays in zip(rules, weights, grads, states, numbers, keys, strict=True)
        ]
        return jax.tree.leaves(tuple(zip(*results, strict=True)))

    return jax.jit(update, donate_argnums=0)
