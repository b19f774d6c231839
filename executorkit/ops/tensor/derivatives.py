"""Rules that replace JAX's derivatives (at ties, at 0, for NaN), and delayed residuals.

The rules are forward rules (``custom_jvp``), so that forward mode, reverse mode and Hessians work.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax import Array, lax
from jax.custom_derivatives import SymbolicZero, zero_from_primal

from ..._support.annotations import Tree
from ...jax_internals import is_last_derivative, linearized
from ..tracing import read_by_convolution, without_rules

#: ``rule(tangent, out, *arguments)``: the contribution of one argument's tangent to the result's;
#: linear in the tangent, and of the result's shape.
TangentRule = Callable[..., Array]


def with_jvp(fn: Callable[..., Array], *rules: TangentRule | None) -> Callable[..., Array]:
    """Returns ``fn`` of arrays, with one rule per argument in place of its derivative (None: zero).
    Rules of constant arguments are not run: a scalar exponent costs no logarithm.

    A result that a convolution reads exists as an array, so sums and derivatives read it too: XLA's
    CPU backend would compute it again in each of their loops, with all that it is made of.
    """
    f = jax.custom_jvp(fn)

    def jvp(*arrays: Any) -> tuple[Tree, Tree]:
        primals, tangents = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
        out = (fn if is_last_derivative() else f)(*primals)
        if read_by_convolution.get() and jax.default_backend() == "cpu":
            out = lax.optimization_barrier(out)
        terms = [
            rule(tangent, out, *primals)
            for rule, tangent in zip(rules, tangents, strict=True)
            if rule is not None and not isinstance(tangent, SymbolicZero)
        ]
        return out, sum(terms[1:], terms[0]) if terms else zero_from_primal(out)

    f.defjvp(lambda primals, tangents: jvp(*primals, *tangents), symbolic_zeros=True)

    def function(*arrays: Array) -> Array:
        out = linearized(jvp, *arrays)
        return f(*arrays) if out is None else out

    return without_rules(fn, function)


def delay_residuals(residuals: object, g: object) -> tuple[Tree, Tree]:
    """Returns ``residuals`` and the cotangent ``g``, available only once ``g`` is.

    XLA's CPU backend computes values that depend on residuals alone (a padded copy, a transposed
    weight) in the forward pass, and holds them until the backward pass. Behind this barrier they
    are computed where they are used: ResNet-50's step takes 300 MiB for temporaries instead of 520,
    and 6 % less time. Compilers for accelerators order their programs by memory.
    """
    if jax.default_backend() != "cpu":
        return residuals, g
    return lax.optimization_barrier((residuals, g))
