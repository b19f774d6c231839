"""Forward and backward of one call of an operator, as functions of arrays' contents.

Contents are NumPy or JAX arrays: small calls are computed by NumPy for good.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..ops import OpDef, Params
from ..program import SMALL_BYTES, CompiledFunction, HostKey, host_plans_allowed
from .eager import derived_function, function_of, host_plan
from .resolved_calls import ResolvedCall, call_errors


def forward(
    resolved: ResolvedCall, train: bool, key: Any, values: Sequence[Any], on_host: bool
) -> Sequence[Any]:
    """The results of a call; ``on_host`` says that arrays are in the host's memory."""
    function = function_of(resolved.train_key if train else resolved.key)
    if on_host and key is None:
        plan = host_plan(function, resolved, tuple([(v.shape, v.dtype) for v in values]))
        if plan is not None:
            return plan.run([np.asarray(v) for v in values])
    return function(key, (), *values)


def backward(
    resolved: ResolvedCall,
    op: OpDef,
    positions: tuple[int, ...],
    key: Any,
    heads: tuple[Any, ...],
    values: Sequence[Any],
    on_host: bool,
) -> Sequence[Any]:
    """The gradients of the inputs at ``positions``, for head gradients of the floating outputs.

    ``op`` is the operator in the mode in which it ran.
    """
    params = resolved.params
    name = op, params.key, positions, "gradient"
    function = derived_function(name, lambda: _gradient(op, params, positions))
    if on_host and key is None and host_plans_allowed():
        plan = function.host_plans.get(_shapes_and_types(*heads, *values))
        if plan is not None:
            return plan.run([np.asarray(x) for x in (*heads, *values)])
    return function(key, heads, *values)


def _host_key(args: tuple[Any, ...]) -> HostKey | None:
    key, heads, *values = args
    return None if key is not None else _shapes_and_types(*heads, *values)


def _shapes_and_types(*arrays: Any) -> HostKey:
    return tuple([(x.shape, x.dtype) for x in arrays])


def _gradient(op: OpDef, params: Params, positions: tuple[int, ...]) -> CompiledFunction:
    def gradient(key: Any, heads: tuple[Any, ...], *values: Any) -> tuple[Any, ...]:
        def floating_outputs(*differentiated: Any) -> tuple[Any, ...]:
            inputs = list(values)
            for i, x in zip(positions, differentiated, strict=True):
                inputs[i] = x
            with call_errors(op, params, values):
                results = op.apply(params, inputs, key=key, train=True)
            outputs = results[: op.visible(params)]
            return tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))

        _, vjp = jax.vjp(floating_outputs, *[values[i] for i in positions])
        return vjp(heads)

    gradient.__name__ = f"{op.name}_gradient"
    return CompiledFunction(gradient, executable_bytes=SMALL_BYTES, host_key=_host_key)
