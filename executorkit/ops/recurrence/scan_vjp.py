"""The way back through a recurrence: what is kept for it, and what is computed in its turns.

Products with what all turns share are *tapped*: going back, they hand out the gradient of their
result, so that the gradient of a weight is one product over all turns. What is cheap to compute
again from what is kept (sums and products of elements) is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import jaxpr_as_fun

from .jaxpr_dedup import aval_of, deduplicated_scan, output_ids, row_aval, unique
from .scan_body import Constants, ScanBody, ScanProduct, materialize

#: Primitives whose results are computed again rather than kept.
_CHEAP = frozenset(
    {
        "add", "add_any", "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "div",
        "expand_dims", "integer_pow", "max", "min", "mul", "neg", "reshape", "select_n", "slice",
        "split", "square", "squeeze", "sub", "transpose",
    }
)  # fmt: skip


@jax.tree_util.register_pytree_node_class
class ScanResiduals:
    """What a loop keeps for the way back: constants, inputs of the turns and rows of what they
    hand out; and, static, how they were traced."""

    __slots__ = ("arrays", "there")

    def __init__(
        self, arrays: tuple[Constants, list[Any], list[Any]], there: LinearizedScan
    ) -> None:
        self.arrays = arrays
        self.there = there

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self.arrays,), self.there

    @classmethod
    def tree_unflatten(cls, there: Any, children: Any) -> ScanResiduals:
        return cls(children[0], there)


class LinearizedScan:
    """A turn as it is traced for the way there, with what it must keep for the way back."""

    def __init__(self, turn: ScanBody, constants: Constants, start: Any, now: Any) -> None:
        self.turn = turn
        self.numbers = tuple(constants)
        carried, self._carry_tree = jax.tree.flatten(jax.tree.map(aval_of, start))
        passing, self._now_tree = jax.tree.flatten(jax.tree.map(row_aval, now))
        self._n_carry = len(carried)
        given = [*map(aval_of, constants.values()), *carried, *passing]
        self._floating = [_is_floating(x) for x in (*carried, *passing)]
        self._jaxpr, (_, shown, self._fed, _) = jax.make_jaxpr(self._traced, return_shape=True)(
            *given
        )
        self._shown_tree = jax.tree.structure(shown)
        self._shown_floating = [_is_floating(x) for x in jax.tree.leaves(shown)]
        self._n_results = self._n_carry + len(self._shown_floating)
        keys = output_ids(self._jaxpr)[self._n_results :]
        own, places = unique(keys)
        first = len(self.numbers)
        #: What the derivative reads: (kind, place) of a constant, an input or a row.
        self._sources: list[tuple[str, int]] = []
        #: Which results of a turn are handed out as rows.
        self._rows: list[int] = []
        for place in own:
            key = keys[place]
            if isinstance(key, int) and key < first:
                self._sources.append(("constant", self.numbers[key]))
            elif isinstance(key, int) and key >= first + self._n_carry:
                self._sources.append(("now", key - first - self._n_carry))
            else:
                self._sources.append(("row", len(self._rows)))
                self._rows.append(self._n_results + place)
        self._places = places
        #: The constants that are read on the way back.
        self.read = {n for kind, n in self._sources if kind == "constant"}
        self.read.update(
            turn.non_product_constants, *(product.numbers for product in turn.products)
        )

    # -- there ---------------------------------------------------------------------------------

    def _traced(self, *flat: Any) -> Any:
        """A turn: its results, what its products were fed, and the leaves of its derivative."""
        constants = dict(zip(self.numbers, flat, strict=False))
        given = flat[len(self.numbers) :]
        shapes = jax.eval_shape(self._products, constants, given)

        def run(floating: list[Any], non_product_constants: Constants, taps: list[Any]) -> Any:
            fed: list[Any] = [None] * len(taps)

            def perturb(i: int, inputs: Any) -> Any:
                fed[i] = inputs
                return _tapped(self.turn.products[i].apply, constants, inputs, taps[i])

            carry, now = self._inputs(self._merged(given, floating))
            after, shown = self.turn.call(
                {**constants, **non_product_constants}, carry, now, perturb
            )
            results = jax.tree.leaves((after, shown))
            return [x for x in results if _is_floating(x)], (after, shown, fed)

        non_product_constants = self._loose(constants)
        taps = [jnp.zeros(x.shape, x.dtype) for x in shapes]
        kept = jax.checkpoint(run, policy=_keeps, prevent_cse=False)
        floating = [x for x, yes in zip(given, self._floating, strict=True) if yes]
        _, vjp, (after, shown, fed) = jax.vjp(
            kept, floating, non_product_constants, taps, has_aux=True
        )
        leaves, self._vjp_tree = jax.tree.flatten(vjp)
        return after, shown, fed, leaves

    def _products(self, constants: Constants, given: Sequence[Any]) -> list[Any]:
        """What the products give."""
        results: list[Any] = [None] * len(self.turn.products)

        def perturb(i: int, fed: Any) -> Any:
            results[i] = self.turn.products[i].apply(constants, fed)
            return results[i]

        self.turn.call(constants, *self._inputs(given), perturb)
        return results

    def _inputs(self, given: Sequence[Any]) -> tuple[Any, Any]:
        """The carry and the rows of a turn."""
        carry, now = given[: self._n_carry], given[self._n_carry :]
        return jax.tree.unflatten(self._carry_tree, carry), jax.tree.unflatten(self._now_tree, now)

    def _merged(self, given: Sequence[Any], floating: Sequence[Any]) -> list[Any]:
        new = iter(floating)
        return [next(new) if yes else x for x, yes in zip(given, self._floating, strict=True)]

    def _loose(self, constants: Constants) -> dict[int, Any]:
        return {
            n: constants[n] for n in self.turn.non_product_constants if _is_floating(constants[n])
        }

    def scan(
        self, constants: Constants, start: Any, now: Any, turns: int, reverse: bool
    ) -> tuple[Any, list[Any]]:
        """The loop's results, and the rows that it keeps."""
        run = jaxpr_as_fun(self._jaxpr)
        shared = list(constants.values())

        def one(carry: list[Any], now: list[Any]) -> Any:
            made = run(*shared, *carry, *materialize(now))
            return made[: self._n_carry], (
                made[self._n_carry : self._n_results],
                [made[i] for i in self._rows],
            )

        start, now = jax.tree.leaves(start), jax.tree.leaves(now)
        end, (shown, rows) = lax.scan(one, start, now, turns, reverse=reverse)
        return (
            jax.tree.unflatten(self._carry_tree, end),
            jax.tree.unflatten(self._shown_tree, shown),
        ), rows

    # -- and back ------------------------------------------------------------------------------

    def back(
        self,
        constants: Constants,
        now: list[Any],
        rows: list[Any],
        gradients: Any,
        turns: int,
        reverse: bool,
    ) -> Any:
        """Gradients of constants (those that have one), start and rows, given those of the last
        carry and of what was shown."""
        end, shown = map(jax.tree.leaves, gradients)
        n_fed = len(jax.tree.leaves(self._fed))
        in_carry = self._floating[: self._n_carry]
        n_carried = sum(in_carry)

        def kept(now: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
            found: dict[str, Any] = {"constant": constants, "now": now, "row": rows}
            sources = [found[kind][place] for kind, place in self._sources]
            return [sources[i] for i in self._places]

        def turn(sums: Any, given: Any) -> Any:
            d_carry, d_loose = sums
            d_shown, now, rows = materialize(given)
            vjp = jax.tree.unflatten(self._vjp_tree, kept(now, rows)[n_fed:])
            d_given, more, d_taps = vjp([*d_carry, *d_shown])
            return (d_given[:n_carried], {n: d + more[n] for n, d in d_loose.items()}), [
                *d_given[n_carried:],
                *d_taps,
            ]

        d_end = [d for d, yes in zip(end, in_carry, strict=True) if yes]
        d_shown = [d for d, yes in zip(shown, self._shown_floating, strict=True) if yes]
        zeros = jax.tree.map(jnp.zeros_like, self._loose(constants))
        (d_start, d_constants), d_rows = deduplicated_scan(
            turn, (d_end, zeros), (d_shown, now, rows), turns, not reverse
        )
        d_now = d_rows[: len(d_rows) - len(self.turn.products)]
        fed = jax.tree.unflatten(jax.tree.structure(self._fed), kept(now, rows)[:n_fed])
        d_taps = d_rows[len(d_now) :]
        for product, given, d in zip(self.turn.products, fed, d_taps, strict=True):
            for n, more in _of_all_turns(product, constants, given, d).items():
                d_constants[n] = d_constants[n] + more if n in d_constants else more
        d_carry, d_rows = self._inputs(self._merged([None] * len(self._floating), d_start + d_now))
        return d_constants, d_carry, d_rows


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _tapped(apply: Callable[..., Any], constants: Constants, fed: Any, perturb: Any) -> Any:
    """A product; the gradient of its result goes to what it was fed, and to ``tap``."""
    return apply(constants, fed)


def _tapped_there(apply: Any, constants: Constants, fed: Any, perturb: Any) -> Any:
    as_given = {n: x for n, x in constants.items() if n >= 0}
    return apply(constants, fed), jax.vjp(partial(apply, as_given), fed)[1]


def _tapped_back(apply: Any, pull: Any, gradient: Any) -> Any:
    return None, *pull(gradient), gradient


_tapped.defvjp(_tapped_there, _tapped_back)


def _of_all_turns(product: ScanProduct, constants: Constants, fed: Any, gradient: Any) -> Any:
    """The gradients of a product's constants, given what it was fed and the gradient of its result
    in all turns: products are linear in their constants."""

    def results(own: Constants) -> Any:
        return jax.vmap(lambda fed: product.apply({**constants, **own}, fed))(fed)

    own = {n: constants[n] for n in product.numbers if _is_floating(constants[n])}
    return jax.linear_transpose(results, own)(gradient)[0]


def _keeps(primitive: Any, *_: Any, **__: Any) -> bool:
    return primitive.name not in _CHEAP


def _is_floating(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)
