"""Sizes as symbols: a function of arrays is traced once, and its results are known for all sizes.

The first sizes are taken as they are. When others come, the axes that differ become symbols: axes
that have been equal so far share one, and sizes that have not changed stay numbers. Sizes 0 and 1
never stand for others. Where the function compares sizes, the present ones decide: they split the
range of the symbols, and sizes for which a comparison comes out otherwise have another trace.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from jax import export

from .._support.garbage_collection import paused_collection
from ..jax_internals import SIZE_FUNCTIONS, DecidingScope

#: Maximum number of traces with symbols: for further axes, and for parts of their ranges.
_MAX_TRACES = 8

Made = TypeVar("Made")
#: A size: a number, or an expression of symbols.
Size = Any


def size_kinds(sizes: Iterable[int]) -> tuple[int, ...]:
    """Returns for each size 0, 1, or 2 for all others, which a symbol may stand for."""
    return tuple([min(size, 2) for size in sizes])


def is_symbolic(value: Any) -> bool:
    """Returns whether a size, or any size in a tuple or list, is an expression of symbols."""
    if isinstance(value, tuple | list):
        return any(map(is_symbolic, value))
    return export.is_symbolic_dim(value)


class SymbolicSizes(NamedTuple):
    """The sizes of all axes of some arrays, in a row."""

    #: A number or a symbol for each axis.
    sizes: tuple[Size, ...]
    #: The first axis of each symbol.
    axes: tuple[int, ...]

    @staticmethod
    def of(shared: Sequence[int | None], sizes: Sequence[int]) -> SymbolicSizes:
        """Returns sizes with a symbol for each axis that others share, or that changes."""
        axes = sorted({axis for axis in shared if axis is not None})
        values = tuple([sizes[axis] for axis in axes])
        symbols = _symbols(values)
        if symbols[0].scope.decisions:  # for other traces
            _symbols.cache_clear()
            symbols = _symbols(values)
        named = dict(zip(axes, symbols, strict=True))
        pairs = zip(shared, sizes, strict=True)
        return SymbolicSizes(
            tuple([size if axis is None else named[axis] for axis, size in pairs]), tuple(axes)
        )

    def values(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the values of the symbols that these sizes have if they fit."""
        return tuple([sizes[axis] for axis in self.axes])

    def function(self, expressions: Sequence[object]) -> Callable[..., tuple[Any, ...]]:
        """Returns a function of the symbols' values that evaluates sizes, and tuples of sizes."""
        constants: dict[str, Any] = {}
        texts = "".join([f"{_text(x, constants)}, " for x in expressions])
        return self._evaluated(f"({texts})", constants)

    @property
    def scope(self) -> DecidingScope:
        return self.sizes[self.axes[0]].scope

    @property
    def conditions(self) -> list[str]:
        """The comparisons that were decided by the sizes that came, as they came out."""
        decisions = self.scope.decisions.items()
        return [text if decided else f"not {text}" for text, decided in decisions]

    def test(self) -> Callable[..., bool]:
        """Returns a function of the symbols' values that tells whether the same is decided."""
        return self._evaluated(" and ".join(self.conditions) or "True", {})

    def _evaluated(self, text: str, constants: dict[str, Any]) -> Any:
        names = ", ".join([f"s{i}" for i in range(len(self.axes))])
        return eval(f"lambda {names}: {text}", {**SIZE_FUNCTIONS, **constants})


# Traces for the same sizes share symbols, for which JAX has cached its traces of small functions,
# as long as nothing was decided in any of them.
@lru_cache(maxsize=8)
def _symbols(values: tuple[int, ...]) -> tuple[Size, ...]:
    names = [f"s{i}" for i in range(len(values))]
    numbers = dict(zip(names, values, strict=True))
    scope = DecidingScope([f"{name} >= 2" for name in names], numbers)
    return tuple(export.symbolic_shape(", ".join(names), scope=scope))


def _text(value: Any, constants: dict[str, Any]) -> str:
    if isinstance(value, tuple | list) and is_symbolic(value):
        return f"({''.join([f'{_text(x, constants)}, ' for x in value])})"
    if is_symbolic(value):
        return str(value).replace("^", "**")
    if value.__class__ is int:
        return str(value)
    name = f"c{len(constants)}"
    constants[name] = value
    return name


class _Part(NamedTuple, Generic[Made]):
    """One part of the range of sizes: where certain comparisons come out in one way."""

    symbolic: SymbolicSizes
    shared: tuple[int | None, ...]
    made: Made
    evaluate: Callable[..., tuple[int, ...]]
    decides_the_same: Callable[..., bool]


class ForAnySizes(Generic[Made]):
    """Something that is made of the sizes of some arrays, once for all sizes if it can be.

    problems
        the messages of failed traces, by the axes that were to share symbols; none is repeated.
    """

    __slots__ = ("_parts", "_samples", "problems")

    def __init__(self) -> None:
        self._samples: list[tuple[int, ...]] = []
        #: The last one first.
        self._parts: tuple[_Part[Made], ...] = ()
        self.problems: dict[Hashable, str] = {}

    @property
    def is_made(self) -> bool:
        """True if there is something for symbols."""
        return bool(self._parts)

    @property
    def conditions(self) -> list[str]:
        """The conditions of the part that was made last, if there are several."""
        parts = self._parts
        return list(parts[0].symbolic.conditions) if len(parts) > 1 else []

    def find(
        self, sizes: tuple[int, ...], make: Callable[[SymbolicSizes], Made]
    ) -> tuple[Made, tuple[int, ...]] | None:
        """Returns what ``make`` has made for symbols, and the values that these sizes give them.
        None where the sizes are to be taken as they are: where none were noted before, and where
        ``make`` raises an exception."""
        known = self.known(sizes)
        if known is not None or not self._samples or sizes in self._samples:
            return known
        samples = [*self._samples, sizes]
        axes = _shared_axes(samples)
        if axes in self.problems or len(samples) + len(self.problems) > _MAX_TRACES:
            return None
        try:
            with paused_collection():
                symbolic = SymbolicSizes.of(axes, sizes)
                result = make(symbolic)
        except Exception as error:  # an operator that decides by a size may raise any
            # Its text alone: the frames of a traceback hold arrays.
            self.problems[axes] = str(error).partition("\n")[0]
            return None
        finally:
            # JAX asks symbols for their numbers, and its exceptions form cycles with their frames,
            # which hold the arrays of all callers. They are young: the collector was paused.
            gc.collect(0)
        self._samples = samples
        evaluate, test = symbolic.function(symbolic.sizes), symbolic.test()
        others = [part for part in self._parts if part.shared == axes]
        self._parts = (_Part(symbolic, axes, result, evaluate, test), *others)
        return self.known(sizes)

    def note(self, sizes: tuple[int, ...]) -> None:
        """Notes sizes that were taken as they are; others will be compared with the first ones."""
        if not self._samples:
            self._samples.append(sizes)

    def known(self, sizes: tuple[int, ...]) -> tuple[Made, tuple[int, ...]] | None:
        """Returns :meth:`find` of sizes for which nothing has to be made; None for others."""
        for part in self._parts:
            values = part.symbolic.values(sizes)
            if part.evaluate(*values) == sizes and part.decides_the_same(*values):
                return part.made, values
        return None


def _shared_axes(samples: Sequence[tuple[int, ...]]) -> tuple[int | None, ...]:
    """Returns for each axis the first one whose sizes have always been its own; None for an axis
    whose size has not changed."""
    first: dict[Hashable, int] = {}
    return tuple(
        [
            first.setdefault(history, axis) if len(set(history)) > 1 else None
            for axis, history in enumerate(zip(*samples, strict=True))
        ]
    )
