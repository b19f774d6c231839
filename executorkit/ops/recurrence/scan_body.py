"""The body of a recurrence: one iteration, with its products of constants."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax import lax

from ..._support.annotations import Raw, Tree
from ..tracing import at_least

#: Minimum size in bytes of a row that is materialized before it is read.
_LARGE_ROW_BYTES = 2**13

#: Arrays that all iterations share, by number. Constant ``~n``, if it is present, is constant n
#: transposed, a weight that is better read that way.
Constants = Mapping[int, Any]


class ScanProduct(NamedTuple):
    """An operator of a scan body that combines constants with values of the iteration.
    ``apply(constants, inputs)`` is linear in the constants, numbered ``numbers``."""

    apply: Callable[[Constants, Any], Any]
    numbers: tuple[int, ...]


class ScanBody(NamedTuple):
    """One iteration of a loop: ``call(constants, carry, x, product) -> (carry, y)``. ``call``
    computes its i-th product by ``product(i, inputs)``, so that the backward pass can perturb the
    result. ``non_product_constants`` are the constants read outside of products."""

    call: Callable[[Constants, Tree, Tree, Callable[[int, Raw], Raw]], tuple[Tree, Tree]]
    products: Sequence[ScanProduct]
    non_product_constants: Sequence[int] = ()

    def plain(self, constants: Constants, carry: object, x: Raw) -> tuple[Tree, Tree]:
        return self.call(
            constants, carry, x, lambda i, inputs: self.products[i].apply(constants, inputs)
        )


def materialize(tree: object) -> Tree:
    """Returns the arrays, computed before anything that reads them. XLA's CPU backend would read a
    slice of a stack's row (a gate) element by element where it is needed: seven times the time for
    the activations of a cell. It cannot compile barriers in loops that it considers small (that
    touch less than 1 KiB)."""
    if jax.default_backend() != "cpu":
        return tree
    return jax.tree.map(
        lambda x: (
            lax.optimization_barrier(x)
            if at_least(x.size * x.dtype.itemsize, _LARGE_ROW_BYTES, otherwise=True)
            else x
        ),
        tree,
    )
