"""Backward pass of a recurrence, as a scan of its own over the stored residuals.

Products with constants are *perturbed*: their results get an added zero, whose gradient is the
gradient of the result. The backward scan returns these, so that the gradient of a weight is one
product over all iterations. Values that are cheap to recompute are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._support.annotations import Arrays, Attrs, Function, Raw, Tree
from ...jax_internals import jaxpr_as_fun
from ...jaxprs import Trait, output_ids, primitives_with
from .scan_body import Constants, ScanBody, ScanProduct, materialize

#: Primitives whose results are recomputed rather than stored.
_CHEAP = primitives_with(Trait.CHEAP)


@jax.tree_util.register_pytree_node_class
class ScanResiduals:
    """Residuals of a scan, a pytree: the constants that the backward pass reads, the leaves of
    ``xs``, and stacks of values. ``scan`` is static: the trace that names them."""

    __slots__ = ("arrays", "scan")

    def __init__(
        self, arrays: tuple[Constants, list[Raw], list[Raw]], scan: LinearizedScan
    ) -> None:
        self.arrays = arrays
        self.scan = scan

    def tree_flatten(self) -> tuple[Tree, Tree]:
        return (self.arrays,), self.scan

    @classmethod
    def tree_unflatten(cls, scan: Any, children: Any) -> ScanResiduals:
        return cls(children[0], scan)


class LinearizedScan:
    """A scan body traced for the forward pass, with the residuals that its backward pass needs.
    ``read`` holds the numbers of the constants that the backward pass reads."""

    def __init__(self, body: ScanBody, constants: Constants, init: object, xs: Tree) -> None:
        self.body = body
        self.numbers = tuple(constants)
        carry, self._carry_tree = jax.tree.flatten(jax.tree.map(_aval_of, init))
        x, self._x_tree = jax.tree.flatten(jax.tree.map(_row_aval, xs))
        self._n_carry = len(carry)
        avals = [*map(_aval_of, constants.values()), *carry, *x]
        self._floating = [_is_floating(a) for a in (*carry, *x)]
        self._jaxpr, (_, y, self._product_inputs, _) = jax.make_jaxpr(
            self._iteration, return_shape=True
        )(*avals)
        self._y_tree = jax.tree.structure(y)
        self._y_floating = [_is_floating(a) for a in jax.tree.leaves(y)]
        self._n_results = self._n_carry + len(self._y_floating)
        ids = output_ids(self._jaxpr)[self._n_results :]
        first, positions = _unique(ids)
        n_constants = len(self.numbers)
        #: Source of each different residual: (kind, number) of a constant, x or stack.
        self._sources: list[tuple[str, int]] = []
        #: Results of an iteration that are stacked as residuals.
        self._stacked: list[int] = []
        for index in first:
            source = ids[index]
            if isinstance(source, int) and source < n_constants:
                self._sources.append(("constant", self.numbers[source]))
            elif isinstance(source, int) and source >= n_constants + self._n_carry:
                self._sources.append(("x", source - n_constants - self._n_carry))
            else:
                self._sources.append(("stack", len(self._stacked)))
                self._stacked.append(self._n_results + index)
        self._positions = positions
        self.read = {n for kind, n in self._sources if kind == "constant"}
        self.read.update(
            body.non_product_constants, *(product.numbers for product in body.products)
        )

    # -- forward -------------------------------------------------------------------------------

    def _iteration(self, *flat: Any) -> Tree:
        constants = dict(zip(self.numbers, flat, strict=False))
        inputs = flat[len(self.numbers) :]
        product_shapes = jax.eval_shape(self._product_results, constants, inputs)

        def run(floating: list[Raw], others: Constants, perturbations: list[Raw]) -> Tree:
            product_inputs: list[Raw] = [None] * len(perturbations)

            def product(i: int, operands: Tree) -> Tree:
                product_inputs[i] = operands
                apply = self.body.products[i].apply
                return _perturbed(apply, constants, operands, perturbations[i])

            carry, x = self._carry_and_x(self._with_floating(inputs, floating))
            new_carry, y = self.body.call({**constants, **others}, carry, x, product)
            results = jax.tree.leaves((new_carry, y))
            return [a for a in results if _is_floating(a)], (new_carry, y, product_inputs)

        others = self._floating_non_product(constants)
        perturbations = [jnp.zeros(a.shape, a.dtype) for a in product_shapes]
        checkpointed = jax.checkpoint(run, policy=_is_stored, prevent_cse=False)
        floating = [a for a, yes in zip(inputs, self._floating, strict=True) if yes]
        _, vjp, (new_carry, y, product_inputs) = jax.vjp(
            checkpointed, floating, others, perturbations, has_aux=True
        )
        leaves, self._vjp_tree = jax.tree.flatten(vjp)
        return new_carry, y, product_inputs, leaves

    def _product_results(self, constants: Constants, inputs: Arrays) -> list[Raw]:
        results: list[Raw] = [None] * len(self.body.products)

        def product(i: int, operands: Tree) -> Tree:
            results[i] = self.body.products[i].apply(constants, operands)
            return results[i]

        self.body.call(constants, *self._carry_and_x(inputs), product)
        return results

    def _carry_and_x(self, inputs: Sequence[object]) -> tuple[Tree, Tree]:
        carry, x = inputs[: self._n_carry], inputs[self._n_carry :]
        return jax.tree.unflatten(self._carry_tree, carry), jax.tree.unflatten(self._x_tree, x)

    def _with_floating(self, inputs: Sequence[object], floating: Arrays) -> list[Raw]:
        new = iter(floating)
        return [next(new) if yes else x for x, yes in zip(inputs, self._floating, strict=True)]

    def _floating_non_product(self, constants: Constants) -> dict[int, Raw]:
        numbers = self.body.non_product_constants
        return {n: constants[n] for n in numbers if _is_floating(constants[n])}

    def forward(
        self, constants: Constants, init: Tree, xs: object, length: int | None, reverse: bool
    ) -> tuple[Tree, list[Raw]]:
        run = jaxpr_as_fun(self._jaxpr)
        shared = list(constants.values())

        def iteration(carry: list[Raw], x: list[Raw]) -> Tree:
            results = run(*shared, *carry, *materialize(x))
            return results[: self._n_carry], (
                results[self._n_carry : self._n_results],
                [results[i] for i in self._stacked],
            )

        init, xs = jax.tree.leaves(init), jax.tree.leaves(xs)
        end, (ys, stacks) = lax.scan(iteration, init, xs, length, reverse=reverse)
        return (
            jax.tree.unflatten(self._carry_tree, end),
            jax.tree.unflatten(self._y_tree, ys),
        ), stacks

    # -- backward ------------------------------------------------------------------------------

    def backward(
        self,
        constants: Constants,
        xs: list[Raw],
        stacks: list[Raw],
        gradients: Tree,
        length: int | None,
        reverse: bool,
    ) -> Tree:
        end, ys = map(jax.tree.leaves, gradients)
        n_product_inputs = len(jax.tree.leaves(self._product_inputs))
        carry_floating = self._floating[: self._n_carry]
        n_floating_carry = sum(carry_floating)

        def residuals(xs: Arrays, stacks: Sequence[object]) -> list[Raw]:
            arrays: Attrs = {"constant": constants, "x": xs, "stack": stacks}
            sources = [arrays[kind][number] for kind, number in self._sources]
            return [sources[i] for i in self._positions]

        def iteration(sums: Tree, rows: object) -> Tree:
            d_carry, d_constants = sums
            d_y, x, row_residuals = materialize(rows)
            leaves = residuals(x, row_residuals)[n_product_inputs:]
            vjp = jax.tree.unflatten(self._vjp_tree, leaves)
            d_inputs, d_others, d_products = vjp([*d_carry, *d_y])
            d_constants = {n: d + d_others[n] for n, d in d_constants.items()}
            return (d_inputs[:n_floating_carry], d_constants), [
                *d_inputs[n_floating_carry:],
                *d_products,
            ]

        d_end = [d for d, yes in zip(end, carry_floating, strict=True) if yes]
        d_ys = [d for d, yes in zip(ys, self._y_floating, strict=True) if yes]
        zeros = jax.tree.map(jnp.zeros_like, self._floating_non_product(constants))
        (d_init, d_constants), d_rows = deduplicated_scan(
            iteration, (d_end, zeros), (d_ys, xs, stacks), length, not reverse
        )
        d_xs = d_rows[: len(d_rows) - len(self.body.products)]
        product_inputs = jax.tree.unflatten(
            jax.tree.structure(self._product_inputs), residuals(xs, stacks)[:n_product_inputs]
        )
        d_products = d_rows[len(d_xs) :]
        for product, inputs, d in zip(self.body.products, product_inputs, d_products, strict=True):
            for n, term in _constant_gradients(product, constants, inputs, d).items():
                d_constants[n] = d_constants[n] + term if n in d_constants else term
        without_gradient = [None] * len(self._floating)
        d_carry, d_x = self._carry_and_x(self._with_floating(without_gradient, d_init + d_xs))
        return d_constants, d_carry, d_x


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _perturbed(apply: Function, constants: Constants, inputs: Tree, zero: object) -> Tree:
    # The gradient of the result goes to the inputs and to ``zero``.
    return apply(constants, inputs)


def _perturbed_fwd(apply: Any, constants: Constants, inputs: object, zero: object) -> Tree:
    untransposed = {n: x for n, x in constants.items() if n >= 0}
    return apply(constants, inputs), jax.vjp(partial(apply, untransposed), inputs)[1]


_perturbed.defvjp(_perturbed_fwd, lambda apply, vjp, gradient: (None, *vjp(gradient), gradient))


def _constant_gradients(
    product: ScanProduct, constants: Constants, inputs: Tree, gradient: Raw
) -> Tree:
    # Of all iterations at once: products are linear in their constants.
    def results(variable: Constants) -> Tree:
        return jax.vmap(lambda inputs: product.apply({**constants, **variable}, inputs))(inputs)

    floating = {n: constants[n] for n in product.numbers if _is_floating(constants[n])}
    return jax.linear_transpose(results, floating)(gradient)[0]


def _is_stored(primitive: Any, *_: object, **__: object) -> bool:
    return primitive.name not in _CHEAP


def _is_floating(x: Raw) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)


def deduplicated_scan(
    body: Callable[[Tree, Tree], tuple[Tree, list[Raw]]],
    init: Tree,
    xs: object,
    length: int | None,
    reverse: bool,
) -> tuple[Tree, list[Raw]]:
    """Runs ``lax.scan`` of a body whose ``ys`` are a list; equal entries are stacked once."""
    leaves, structure = jax.tree.flatten((init, jax.tree.map(_row_aval, xs)))
    closed, (end, _) = jax.make_jaxpr(
        lambda *flat: body(*jax.tree.unflatten(structure, flat)), return_shape=True
    )(*map(_aval_of, leaves))
    n_carry = len(jax.tree.leaves(end))
    first, positions = _unique(output_ids(closed)[n_carry:])
    run = jaxpr_as_fun(closed)

    def iteration(carry: Tree, x: object) -> Tree:
        results = run(*jax.tree.leaves((carry, x)))
        return jax.tree.unflatten(jax.tree.structure(end), results[:n_carry]), [
            results[n_carry + i] for i in first
        ]

    last_carry, stacks = lax.scan(iteration, init, xs, length, reverse=reverse)
    return last_carry, [stacks[i] for i in positions]


def _unique(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    # Like ``numpy.unique``, but in order of occurrence.
    first: dict[Hashable, int] = {}
    for index, key in enumerate(keys):
        first.setdefault(key, index)
    order = {key: i for i, key in enumerate(first)}
    return list(first.values()), [order[key] for key in keys]


def _aval_of(x: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _row_aval(x: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape[1:], x.dtype)
