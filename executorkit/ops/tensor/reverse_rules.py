"""Functions with a backward rule of their own that can be differentiated in forward mode too.

``jax.custom_vjp`` refuses ``jax.jvp``. Here the derivative is a forward rule (``jax.custom_jvp``)
whose tangent comes out of one linear primitive, :data:`linear_map_p`; reverse mode transposes it
into the backward rule. ``jax.custom_derivatives.linear_call`` has no batching rule, which
``jax.vmap`` and ``jax.jacfwd`` need, and refuses tangents of its residuals, which every second
derivative has (JAX 0.10).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_derivatives import SymbolicZero, zero_from_primal
from jax.interpreters import ad, batching, mlir

from ..._support.annotations import Arrays, Function, Operands, Raw, Tree
from ...jax_internals import Primitive
from ..tracing import varying_axes, varying_over, without_rules

#: ``forward(*arguments) -> (out, residuals)``.
Forward = Callable[..., tuple[Tree, Tree]]
#: ``backward(residuals, cotangents of out) -> a cotangent for each argument``, or None, or a
#: function that computes it, called for an argument that has a tangent.
Backward = Callable[..., Sequence[Any]]
#: ``tangent(residuals, tangents) -> tangents of out``, linear in the tangents.
Tangent = Callable[..., Any]


def with_vjp(
    fn: Function,
    forward: Forward,
    backward: Backward,
    tangent: Tangent | None = None,
    nondiff_argnums: tuple[int, ...] = (),
) -> Function:
    """Returns ``fn`` of pytrees of arrays, with a rule for each mode of differentiation.

    ``forward`` and ``backward`` are as for ``jax.custom_vjp``. ``tangent`` gets a tangent for each
    argument and returns the tangents of the results, None for zero; without it, forward mode
    differentiates ``fn``. The rules read only their arguments: they may run in another program than
    ``fn``. ``nondiff_argnums``, the last positions, are static; ``backward`` and ``tangent`` get
    these arguments first.
    """
    function = jax.custom_jvp(fn, nondiff_argnums=nondiff_argnums)

    def jvp(*arguments: Any) -> tuple[Tree, Tree]:
        *static, primals, tangents = arguments
        out, residuals = forward(*primals, *static)
        rules = _Rules(
            lambda *arrays: fn(*arrays, *static),
            partial(backward, *static),
            tangent and partial(tangent, *static),
        )
        return out, _tangents(rules, primals, tangents, out, residuals)

    function.defjvp(jvp, symbolic_zeros=True)
    return without_rules(fn, function)


def linear_with_transpose(
    fn: Callable[[Raw], Raw], transpose: Callable[[Raw], Raw]
) -> Callable[[Raw], Raw]:
    return with_vjp(
        fn,
        lambda x: (fn(x), None),
        lambda _, head: (transpose(head),),
        lambda _, tangents: fn(tangents[0]),
    )


def linear_in_first(fn: Function, backward: Backward) -> Function:
    return with_vjp(
        fn,
        lambda x, *others: (fn(x, *others), others),
        backward,
        lambda others, tangents: None if tangents[0] is None else fn(tangents[0], *others),
    )


def bilinear_tangent(
    product: Callable[[Raw, Raw], Raw], residuals: tuple[Tree, Tree], tangents: Arrays
) -> Tree:
    (a, b), (da, db) = residuals, tangents
    if da is None or db is None:
        return product(a, db) if da is None else product(da, b)
    return product(da, b) + product(a, db)


class _Rules(NamedTuple):
    fn: Function
    backward: Backward
    tangent: Tangent | None


class _LinearMap(NamedTuple):
    """The map from a call's tangents to its results' tangents, over flat arrays. It holds no
    arrays, since it outlives the trace of the call. ``residuals``, ``arguments`` and ``out`` are
    tree structures (residuals with the arguments, if tangents have no rule); ``active`` and
    ``floating`` number the leaves that have a tangent."""

    rules: _Rules
    residuals: Tree
    arguments: Operands
    argument_avals: tuple[jax.ShapeDtypeStruct, ...]
    active: tuple[int, ...]
    out: Any
    out_avals: tuple[jax.ShapeDtypeStruct, ...]
    floating: tuple[int, ...]

    def tangents(self, residuals: Sequence[object], tangents: Arrays) -> list[Raw]:
        values, primals = jax.tree.unflatten(self.residuals, residuals)
        moved = dict(zip(self.active, tangents, strict=True))
        if self.rules.tangent is None:
            leaves = jax.tree.leaves(primals)

            def of_active(active: Sequence[object]) -> list[Raw]:
                replaced = dict(zip(self.active, active, strict=True))
                arguments = [replaced.get(i, x) for i, x in enumerate(leaves)]
                results = jax.tree.leaves(self.rules.fn(*self._grouped(arguments)))
                return [results[i] for i in self.floating]

            return jax.jvp(of_active, ([leaves[i] for i in self.active],), (list(tangents),))[1]
        filled = [moved.get(i) for i in range(len(self.argument_avals))]
        results = self.out.flatten_up_to(self.rules.tangent(values, self._grouped(filled, True)))
        return [_filled(results[i], self.out_avals[i]) for i in self.floating]

    def cotangents(self, residuals: Sequence[object], cotangents: Sequence[Array]) -> list[Raw]:
        values, _ = jax.tree.unflatten(self.residuals, residuals)
        moved = dict(zip(self.floating, cotangents, strict=True))
        heads = [
            moved[i] if i in moved else np.zeros(x.shape, jax.dtypes.float0)
            for i, x in enumerate(self.out_avals)
        ]
        computed = self.rules.backward(values, jax.tree.unflatten(self.out, heads))
        leaves: list[Raw] = []
        for structure, gradient in zip(self.arguments, computed, strict=True):
            none = [None] * structure.num_leaves
            if callable(gradient):
                gradient = gradient() if len(leaves) in self.active else None
            leaves += none if gradient is None else structure.flatten_up_to(gradient)
        return [_filled(leaves[i], self.argument_avals[i]) for i in self.active]

    def _grouped(self, leaves: Arrays, sparse: bool = False) -> list[Raw]:
        # Leaves as arguments; ``sparse`` lets None stand for an argument without any, and fills up
        # the others with zeros.
        grouped, first = [], 0
        for structure in self.arguments:
            last = first + structure.num_leaves
            part = leaves[first:last]
            if sparse and all(x is None for x in part):
                grouped.append(None)
            else:
                avals = self.argument_avals[first:last]
                if sparse:
                    part = [_filled(*pair) for pair in zip(part, avals, strict=True)]
                grouped.append(jax.tree.unflatten(structure, part))
            first = last
        return grouped


def _filled(x: Raw, aval: jax.ShapeDtypeStruct) -> Tree:
    return jnp.zeros(aval.shape, aval.dtype) if x is None else x.astype(aval.dtype)


def _aval(x: Raw) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(x), jax.typeof(x).dtype)


def _tangents(
    rules: _Rules, primals: Operands, tangents: Operands, out: Any, residuals: object
) -> Tree:
    kept, structure = jax.tree.flatten((residuals, None if rules.tangent else primals))
    flat_out, out_structure = jax.tree.flatten(out)
    leaves = jax.tree.leaves(tangents, is_leaf=lambda x: isinstance(x, SymbolicZero))
    active = [i for i, t in enumerate(leaves) if not isinstance(t, SymbolicZero)]
    floating = [i for i, x in enumerate(flat_out) if jnp.issubdtype(x.dtype, jnp.inexact)]
    results = list(map(zero_from_primal, flat_out))
    if active and floating:
        linear_map = _LinearMap(
            rules, structure, tuple(map(jax.tree.structure, primals)),
            tuple(map(_aval, jax.tree.leaves(primals))), active=tuple(active),
            out=out_structure, out_avals=tuple(map(_aval, flat_out)), floating=tuple(floating),
        )  # fmt: skip
        avals = tuple(jax.typeof(flat_out[i]) for i in floating)
        axes = varying_axes(flat_out[i] for i in floating)
        active_tangents = (varying_over(axes, _as_jax(leaves[i])) for i in active)
        computed = linear_map_p.bind(
            *map(_as_jax, kept),
            *active_tangents,
            linear_map=linear_map,
            n_residuals=len(kept),
            avals=avals,
        )
        for i, x in zip(floating, computed, strict=True):
            results[i] = x
    return jax.tree.unflatten(out_structure, results)


def _as_jax(x: Raw) -> Array:
    return x if isinstance(x, Array) else jnp.asarray(x)


#: The linear map of one call: residuals, then tangents.
linear_map_p = Primitive("executorkit_linear_map")
linear_map_p.multiple_results = True


def _run(*arrays: Raw, linear_map: Any, n_residuals: int, avals: Tree) -> list[Raw]:
    return linear_map.tangents(arrays[:n_residuals], arrays[n_residuals:])


def _jvp(
    primals: Arrays, tangents: Arrays, *, n_residuals: int, **params: object
) -> tuple[Tree, Tree]:
    # The map itself, unless residuals have a tangent too.
    call = partial(linear_map_p.bind, n_residuals=n_residuals, **params)
    zero = [isinstance(t, ad.Zero) for t in tangents]
    if all(zero[:n_residuals]):
        moved = map(ad.instantiate_zeros, tangents[n_residuals:])
        return call(*primals), call(*primals[:n_residuals], *moved)
    moving = [i for i, is_zero in enumerate(zero) if not is_zero]

    def of_moving(*arrays: Array) -> list[Raw]:
        replaced = dict(zip(moving, arrays, strict=True))
        inputs = [replaced.get(i, x) for i, x in enumerate(primals)]
        return _run(*inputs, n_residuals=n_residuals, **params)

    return jax.jvp(of_moving, [primals[i] for i in moving], [tangents[i] for i in moving])


def _transpose(
    cotangents: Sequence[Array], *arrays: Array, linear_map: Any, n_residuals: int, avals: Tree
) -> list[Raw]:
    heads = [
        jnp.zeros(aval.shape, aval.dtype) if isinstance(ct, ad.Zero) else ct
        for ct, aval in zip(cotangents, avals, strict=True)
    ]
    computed = linear_map.cotangents(arrays[:n_residuals], heads)
    linear = zip(arrays[n_residuals:], computed, strict=True)
    return [None] * n_residuals + [x if ad.is_undefined_primal(a) else None for a, x in linear]


class _Batched(NamedTuple):
    """A linear map over one more, first, axis; ``residual_axes`` says where residuals have it."""

    linear_map: Any
    residual_axes: tuple[int | None, ...]

    def tangents(self, residuals: Sequence[object], tangents: Arrays) -> list[Raw]:
        axes = list(self.residual_axes), 0
        return jax.vmap(self.linear_map.tangents, axes)(list(residuals), list(tangents))

    def cotangents(self, residuals: Sequence[object], cotangents: Sequence[Array]) -> list[Raw]:
        axes = list(self.residual_axes), 0
        return jax.vmap(self.linear_map.cotangents, axes)(list(residuals), list(cotangents))


def _batch(
    arrays: Sequence[Array],
    axes: Sequence[int | None],
    *,
    linear_map: Any,
    n_residuals: int,
    avals: Tree,
) -> tuple[list[Raw], list[int]]:
    size = next(x.shape[axis] for x, axis in zip(arrays, axes, strict=True) if axis is not None)
    tangents = [
        jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(arrays[n_residuals:], axes[n_residuals:], strict=True)
    ]
    computed = linear_map_p.bind(
        *arrays[:n_residuals], *tangents,
        linear_map=_Batched(linear_map, tuple(axes[:n_residuals])), n_residuals=n_residuals,
        avals=tuple(aval.update(shape=(size, *aval.shape)) for aval in avals),
    )  # fmt: skip
    return computed, [0] * len(computed)


linear_map_p.def_impl(_run)
linear_map_p.def_abstract_eval(lambda *_, avals, **params: avals)
ad.primitive_jvps[linear_map_p] = _jvp
ad.primitive_transposes[linear_map_p] = _transpose
batching.primitive_batchers[linear_map_p] = _batch
mlir.register_lowering(linear_map_p, mlir.lower_fun(_run, multiple_results=True))
