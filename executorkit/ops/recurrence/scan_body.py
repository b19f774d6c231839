"""What one turn of a recurrence is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax import lax

#: Rows of so many bytes are kept apart from what reads them.
_LARGE = 2**13

Constants = Mapping[int, Any]


class ScanProduct(NamedTuple):
    """An operator of a turn that is applied with what all turns share.

    apply
        ``apply(constants, fed) -> result``, linear in the constants; ``fed`` is the rest of its
        inputs.
    numbers
        which constants it reads. Constant ``~n``, if it is there, is the transposed constant n,
        a weight that is better read that way.
    """

    apply: Callable[[Constants, Any], Any]
    numbers: tuple[int, ...]


class ScanBody(NamedTuple):
    """One turn of a loop.

    call
        ``call(constants, carry, now, tap) -> (carry, shown)``; it computes its products by
        ``tap(number, fed)``.
    products
        these products.
    loose
        the constants that it reads otherwise.
    """

    call: Callable[[Constants, Any, Any, Callable[[int, Any], Any]], tuple[Any, Any]]
    products: Sequence[ScanProduct]
    non_product_constants: Sequence[int] = ()

    def plain(self, constants: Constants, carry: Any, now: Any) -> tuple[Any, Any]:
        """The turn, its products as they are."""
        return self.call(
            constants, carry, now, lambda i, fed: self.products[i].apply(constants, fed)
        )


def materialize(tree: Any) -> Any:
    """Arrays that are computed as they stand. XLA's CPU backend would read a row of a stack where
    it is needed; if that is a slice of the row (a gate), it does so element by element, which makes
    the activations of a cell take seven times as long. It cannot compile barriers in loops that it
    takes for small (those that touch less than 1 KiB)."""
    if jax.default_backend() != "cpu":
        return tree
    return jax.tree.map(
        lambda x: lax.optimization_barrier(x) if x.size * x.dtype.itemsize >= _LARGE else x, tree
    )
