"""Inference of shapes with symbolic sizes, by numbers that stand in for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from ..ops.schema.attrs import Shape
from ..ops.symbolic_sizes import is_known
from ._infer import InferenceResult

#: Large primes, which no other size of a network is a multiple of.
_PRIMES = (1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081, 1_000_099, 1_000_117, 1_000_121)


class StandInSizes:
    """Numbers for symbolic sizes, a prime each; in results, its multiples are those of the size.

    Inference knows numbers only. A result that is no multiple of a stand-in stays as it is.
    """

    def __init__(self, sizes: Iterable[Any]) -> None:
        distinct = dict.fromkeys(size for size in sizes if not is_known(size))
        self._number_of = dict(zip(distinct, _PRIMES, strict=False))

    def numbers(self, shape: Iterable[Any]) -> Shape:
        """A shape with numbers for its symbolic sizes; 0, unknown, for those beyond the primes."""
        return tuple(s if is_known(s) else self._number_of.get(s, 0) for s in shape)

    def symbolic(self, inferred: InferenceResult) -> InferenceResult:
        """A result with symbolic sizes where their numbers stand."""
        shapes = {
            f.name: tuple(s if s is None else tuple(map(self._size, s)) for s in value)
            for f in fields(inferred)
            if not f.name.endswith("dtypes") and (value := getattr(inferred, f.name))
        }
        return replace(inferred, **shapes)

    def _size(self, number: int) -> Any:
        for size, prime in self._number_of.items():
            if number and number % prime == 0:
                return number // prime * size
        return number
