"""Which head gradients can matter, read off the gradient's own jaxpr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core


def used_inputs(function: Callable[..., Any], first: Sequence[Any], *rest: Any) -> tuple[bool, ...]:
    """For every array in ``first``, whether any result of ``function(first, *rest)`` depends on it.

    Arrays are shapes and dtypes; the function is traced once, and nothing is compiled. What JAX
    knows to be zero (the derivative of a comparison, of argmax, of an index) stops a dependency;
    what is merely multiplied by zero does not.
    """
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(first, *rest).jaxpr
    masks = [1 << k if k < len(first) else 0 for k in range(len(jaxpr.invars))]
    reached = 0
    for mask in _flow(jaxpr, masks):
        reached |= mask
    return tuple(bool(reached >> k & 1) for k in range(len(first)))


def dependent_results(function: Callable[..., Any], *arrays: Any) -> tuple[bool, ...]:
    """For every result of ``function(*arrays)``, whether it depends on any of the arrays.

    As :func:`used_inputs`: shapes and dtypes are enough, and nothing is compiled.
    """
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(*arrays).jaxpr
    return tuple(bool(mask) for mask in _flow(jaxpr, [1] * len(jaxpr.invars)))


def _flow(jaxpr: Any, masks: Sequence[int]) -> list[int]:
    """Which inputs (as bit masks) each output of a jaxpr depends on, at most."""
    found = dict(zip(jaxpr.invars, masks, strict=True))

    def read(atom: Any) -> int:
        return 0 if isinstance(atom, core.Literal) else found.get(atom, 0)

    for equation in jaxpr.eqns:
        incoming = [read(x) for x in equation.invars]
        if not any(incoming):
            continue
        if equation.primitive.name == "jit":
            outgoing = _flow(equation.params["jaxpr"].jaxpr, incoming)
        else:
            union = 0
            for mask in incoming:
                union |= mask
            outgoing = [union] * len(equation.outvars)
        found.update(zip(equation.outvars, outgoing, strict=True))
    return [read(x) for x in jaxpr.outvars]
