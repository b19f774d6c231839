"""Parameters of a file against the variables of a symbol."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..ndarray.params_file import ParamsHeaders
from ..symbol import Symbol
from ._input_shapes import Shape, Shapes, inferred, required_names

KINDS = ("arg:", "aux:")


@dataclass(frozen=True, slots=True)
class NotFinite:
    nans: int
    infinities: int


@dataclass(frozen=True, slots=True)
class ParameterCheck:
    """The differences between the entries of a parameter file and a symbol's variables.

    missing, extra
        names of parameters and states that the file lacks, or has beyond the symbol's.
    misshaped
        (stored shape, expected shape) by name; an expected size of 0 is any.
    misplaced, repeated
        names stored as ``arg:`` that are auxiliary states, and the reverse; names that occur more
        than once (loading keeps the last).
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    misshaped: Mapping[str, tuple[Shape, Shape]] = field(default_factory=dict)
    misplaced: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """True if the symbol can be bound with the parameters."""
        return not (self.missing or self.extra or self.misshaped or self.misplaced)


def plain_name(key: str) -> str:
    """Returns a variable's name from the key of an entry: ``arg:fc_weight`` is ``fc_weight``."""
    return key[4:] if key.startswith(KINDS) else key


def check_parameters(
    symbol: Symbol, keys: Iterable[str], shapes: Shapes, inputs: Shapes
) -> ParameterCheck:
    """Compares the entries of a file (``keys``, with ``arg:`` and ``aux:``, and stored ``shapes``
    by variable) with a symbol whose inputs have shapes ``inputs``, 0 for an unknown size."""
    keys = list(keys)
    states = set(symbol.list_auxiliary_states())
    names = {*symbol.list_arguments(), *states}
    misplaced = [
        plain_name(key)
        for key in keys
        if key.startswith(KINDS) and plain_name(key) in names
        and key.startswith("aux:") != (plain_name(key) in states)
    ]  # fmt: skip
    counts = Counter(map(plain_name, keys))
    fitting = {name: shape for name, shape in shapes.items() if name in names}
    return ParameterCheck(
        missing=tuple(n for n in required_names(symbol) if n not in shapes and n not in inputs),
        extra=tuple(n for n in dict.fromkeys(map(plain_name, keys)) if n not in names),
        misshaped=_misshaped(symbol, fitting, inputs),
        misplaced=tuple(dict.fromkeys(misplaced)),
        repeated=tuple(n for n, count in counts.items() if count > 1),
    )


def _misshaped(symbol: Symbol, shapes: Shapes, inputs: Shapes) -> dict[str, tuple[Shape, Shape]]:
    # If the inputs fix no shape, the first entry that contradicts those before it is misshaped.
    expected = inferred(symbol, inputs)
    if expected is None:
        return {}
    wrong = {
        name: (shape, needed)
        for name, shape in shapes.items()
        if (needed := expected[name]) is not None and not _agree(shape, needed)
    }
    if wrong or inferred(symbol, {**shapes, **inputs}) is not None:
        return wrong
    # The first entry, in the order of the graph, that contradicts those before it.
    order = [name for name in symbol.list_inputs() if name in shapes]

    def shapes_after(count: int) -> dict[str, Shape | None] | None:
        return inferred(symbol, {**inputs, **{name: shapes[name] for name in order[:count]}})

    fitting = bisect_left(range(len(order)), True, lo=1, key=lambda n: shapes_after(n) is None) - 1
    name = order[fitting]
    return {name: (shapes[name], (shapes_after(fitting) or {}).get(name) or ())}


def _agree(shape: Shape, expected: Shape) -> bool:
    pairs = zip(shape, expected, strict=False)
    return len(shape) == len(expected) and all(b in (a, 0) for a, b in pairs)


def not_finite(headers: ParamsHeaders) -> dict[str, NotFinite]:
    # Read in blocks: memory does not depend on the size of the file.
    broken: dict[str, NotFinite] = {}
    for number, header in enumerate(headers):
        if header.dtype.kind in "iub":
            continue
        nans = infinities = 0
        for block in headers.blocks(header):
            if not np.isfinite(block).all():
                nans += int(np.isnan(block).sum())
                infinities += int(np.isinf(block).sum())
        if nans or infinities:
            name = header.name if header.name is not None else f"array {number}"
            broken[name] = NotFinite(nans, infinities)
    return broken
