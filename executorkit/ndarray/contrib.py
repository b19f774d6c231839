"""``mx.nd.contrib``: loops and conditions in Python, special numbers, contrib operators."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._support.annotations import Function
from ..calls.ways import call
from ..context import Context, current_context
from ..errors import ArgumentValueError, InputTypeError, ShapeError
from ..symbol.nesting import flatten, nest_like
from ._array_operators import array_module
from ._contrib_updates import (
    adamw_update,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
)
from ._creation import zeros
from ._ndarray import NDArray
from .random import uniform

__all__ = [
    "adamw_update", "cond", "foreach", "isfinite", "isinf", "isnan", "mp_adamw_update",
    "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update", "multi_mp_lamb_update",
    "rand_zipfian", "while_loop",
]  # fmt: skip

__getattr__, __dir__ = array_module(globals(), "contrib", NDArray)


def _stacked(steps: Sequence[Any]) -> Any:
    columns = zip(*(flatten(step) for step in steps), strict=True)
    leaves = [call("stack", *column, axis=0, num_args=len(column)) for column in columns]
    return nest_like(steps[0], leaves)


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any) -> Any:
    """Calls ``body(slice, states) -> (outputs, states)`` for every slice along data's first axis.

    data is an NDArray or a (nested) list of them, sliced together. Returns the outputs of all
    steps, stacked along a new first axis, and the last states.
    """
    leaves = flatten(data)
    if not leaves or not all(isinstance(x, NDArray) for x in leaves):
        raise InputTypeError("foreach", f"data is {data!r}, expected an NDArray or a list of them")
    if len({len(x) for x in leaves}) > 1:
        problem = f"data have first axes of {[len(x) for x in leaves]}, not of one"
        raise ShapeError("foreach", problem)
    states, outputs = init_states, []
    for i in range(len(leaves[0])):
        output, states = body(nest_like(data, [x[i] for x in leaves]), states)
        outputs.append(output)
    return _stacked(outputs) if outputs else [], states


def while_loop(
    cond: Function,
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Any,
    max_iterations: int | None = None,
) -> Any:
    """Calls ``func(*loop_vars) -> (outputs, loop_vars)`` while ``cond(*loop_vars)``, at most
    ``max_iterations`` times.

    Returns the outputs of all iterations, stacked along a first axis of ``max_iterations`` (rows of
    iterations that did not run are zeros, undefined in MXNet), and the last variables. Without any
    iteration, and where ``func`` returns None for them, the outputs are ``[]``.
    """
    if max_iterations is None:
        raise ArgumentValueError("while_loop", "max_iterations is not given")
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        problem = f"max_iterations is {max_iterations!r}, expected an integer"
        raise ArgumentValueError("while_loop", problem) from None
    lone = isinstance(loop_vars, NDArray)
    variables = [loop_vars] if lone else list(loop_vars)
    if not variables:
        raise ArgumentValueError("while_loop", "loop_vars is empty")
    outputs = []
    while len(outputs) < limit and bool(cond(*variables)):
        output, new = func(*variables)
        new = list(new) if isinstance(new, list | tuple) else [new]
        if len(new) != len(variables):
            problem = f"func gives {len(new)} loop_vars, expected {len(variables)}"
            raise ArgumentValueError("while_loop", problem)
        variables = new
        outputs.append([] if output is None else output)
    if not outputs:
        return [], loop_vars
    return _padded(_stacked(outputs), limit), variables[0] if lone else variables


def _padded(stacked: Any, length: int) -> Any:
    if isinstance(stacked, list):
        return [_padded(x, length) for x in stacked]
    if len(stacked) == length:
        return stacked
    shape = (length - len(stacked), *stacked.shape[1:])
    rest = zeros(shape, stacked.context, stacked.dtype)
    return call("Concat", stacked, rest, dim=0, num_args=2)


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Calls ``then_func()`` if ``pred``, of one element, is not 0, else ``else_func()``."""
    condition = pred.asscalar() if isinstance(pred, NDArray) else pred
    return then_func() if condition else else_func()


def _floating(data: NDArray) -> bool:
    return np.dtype(data.dtype).kind not in "iub"


def isnan(data: NDArray) -> NDArray:
    """Returns 1 where an element is NaN, else 0, in the dtype of data."""
    return data != data  # noqa: PLR0124 - only a NaN differs from itself


def isinf(data: NDArray) -> NDArray:
    """Returns 1 where an element is infinite, else 0, in the dtype of data."""
    return abs(data) == math.inf if _floating(data) else data != data  # noqa: PLR0124


def isfinite(data: NDArray) -> NDArray:
    """Returns 1 where an element is neither infinite nor NaN, else 0, in the dtype of data."""
    return abs(data) < math.inf if _floating(data) else data == data  # noqa: PLR0124


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draws classes from an approximately Zipfian distribution.

    P(c) = log((c + 2) / (c + 1)) / log(range_max + 1). Returns ``num_sampled`` classes (int64), and
    the expected counts of the true and of the drawn classes among them (float64).
    """
    context = current_context() if ctx is None else ctx
    total = math.log(range_max + 1)
    draws = uniform(0, total, shape=(num_sampled,), dtype="float64", ctx=context)
    sampled = (call("exp", draws) - 1).astype("int64") % range_max

    def expected(classes: NDArray) -> NDArray:
        c = classes.as_in_context(context).astype("float64")
        return call("log", (c + 2) / (c + 1)) * (num_sampled / total)

    return sampled, expected(true_classes), expected(sampled)
