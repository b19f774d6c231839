"""The body of a recurrence: one iteration, with the products of constants told apart."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax import lax

from ..tracing import at_least

#: Minimum size in bytes of a row that is materialized before it is read.
_LARGE_ROW_BYTES = 2**13

#: Arrays that all iterations share, by number. Constant ``~n``, if it is present, is constant n
#: transposed, a weight that is better read that way.
Constants = Mapping[int, Any]


class ScanProduct(NamedTuple):
    """An operator of a scan body that combines constants with values of the iteration.

    apply
        ``apply(constants, inputs) -> result``, linear in the constants; ``inputs`` are its other
        operands.
    numbers
        the constants that it reads.
    """

    apply: Callable[[Constants, Any], Any]
    numbers: tuple[int, ...]


class ScanBody(NamedTuple):
    """One iteration of a loop.

    call
        ``call(constants, carry, x, product) -> (carry, y)``; it computes its i-th product by
        ``product(i, inputs)``, so that the backward pass can perturb its result.
    products
        these products.
    non_product_constants
        the constants that it reads outside of products.
    """

    call: Callable[[Constants, Any, Any, Callable[[int, Any], Any]], tuple[Any, Any]]
    products: Sequence[ScanProduct]
    non_product_constants: Sequence[int] = ()

    def plain(self, constants: Constants, carry: Any, x: Any) -> tuple[Any, Any]:
        """The iteration with its products computed as they stand."""
        return self.call(
            constants, carry, x, lambda i, inputs: self.products[i].apply(constants, inputs)
        )


def materialize(tree: Any) -> Any:
    """The arrays, computed before anything that reads them.

    XLA's CPU backend would read a row of a stack where it is needed; if that is a slice of the row
    (a gate), it does so element by element, which makes the activations of a cell take seven times
    as long. It cannot compile barriers in loops that it considers small (those that touch less than
    1 KiB).
    """
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
