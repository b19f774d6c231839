"""Comparison of two optimizers: their states and weights after one update."""

from typing import Any

from ..context import Context
from ..errors import ArgumentValueError, NotSupportedError
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ._compare import assert_almost_equal, compare_ndarray_tuple
from ._environment import default_context
from ._random_data import rand_ndarray


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: object,
    dtype: object,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Compares the optimizers ``opt1`` and ``opt2`` on equal random weights and gradients.

    shape
        the shape of the weight; a list of ``ntensors`` shapes for weights updated together.
    dtype
        the type of weights and gradients.
    w_stype, g_stype
        storage types; only 'default' is served.
    rtol, atol
        relative and absolute tolerance.
    compare_states
        True compares the states too, before and after the update.

    AssertionError for a difference, ValueError (ArgumentValueError) for a wrong number of shapes.
    """
    for stype in (w_stype, g_stype):
        if stype != "default":
            problem = f"storage type {stype!r}"
            raise NotSupportedError("compare_optimizer", problem, hint="'default'")
    together = isinstance(shape, list)
    shapes = shape if together else [shape]
    if len(shapes) != ntensors:
        problem = f"{len(shapes)} shapes for ntensors={ntensors}"
        raise ArgumentValueError("compare_optimizer", problem)
    ctx = default_context()
    weights = [_random(s, dtype, ctx) for s in shapes]
    grads = [_random(s, dtype, ctx) for s in shapes]
    results = [_updated(opt, weights, grads, together) for opt in (opt1, opt2)]
    (weights1, before1, after1), (weights2, before2, after2) = results
    if compare_states:
        compare_ndarray_tuple(before1, before2, rtol, atol)
        compare_ndarray_tuple(after1, after2, rtol, atol)
    for w1, w2 in zip(weights1, weights2, strict=True):
        assert_almost_equal(w1, w2, rtol, atol)


def _random(shape: Any, dtype: Any, ctx: Context) -> NDArray:
    return rand_ndarray(shape, dtype=dtype, ctx=ctx)


def _updated(
    optimizer: Optimizer, weights: list[NDArray], grads: list[NDArray], together: bool
) -> tuple[list[NDArray], Any, Any]:
    weights = [w.copy() for w in weights]
    states = [optimizer.create_state_multi_precision(i, w) for i, w in enumerate(weights)]
    before = tuple(map(_copied, states))
    if together:
        indices = list(range(len(weights)))
        optimizer.update_multi_precision(indices, weights, [g.copy() for g in grads], states)
    else:
        optimizer.update_multi_precision(0, weights[0], grads[0].copy(), states[0])
    return weights, before, tuple(states)


def _copied(state: object) -> Any:
    if isinstance(state, NDArray):
        return state.copy()
    return tuple(map(_copied, state)) if isinstance(state, tuple | list) else state
