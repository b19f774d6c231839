"""Arrays of other libraries: converted, randomly filled, and compared with executorkit's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..context import cpu
from ..display import Line, Table, View, Viewed, many, shape as shape_text, value, view_of
from ..errors import InputTypeError
from ._creation import array
from ._ndarray import NDArray

#: Rows of the table at most; the others are summed up.
_MAX_ROWS = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """One array compared: shape, dtype, the largest difference of two elements (infinite where
    shapes, types or NaNs differ), and the magnitude of our largest finite element."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    absolute: float
    magnitude: float

    @property
    def relative(self) -> float:
        """The largest difference in relation to the largest element: ``absolute / magnitude``."""
        if not self.absolute:
            return 0.0
        return self.absolute / self.magnitude if self.magnitude else np.inf


class Comparison(Viewed, Sequence[Difference]):
    """The differences of several arrays; printed, a table. ``subject`` names them (``output``)."""

    def __init__(self, subject: str, differences: Sequence[Difference]) -> None:
        self.subject = subject
        self._differences = tuple(differences)

    @classmethod
    def of(cls, subject: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Comparison:
        """Compares arrays by name; a missing one differs."""
        return cls(subject, [_difference(name, ours[name], theirs.get(name)) for name in ours])

    def __len__(self) -> int:
        return len(self._differences)

    def __getitem__(self, index: Any) -> Any:
        return self._differences[index]

    @property
    def absolute(self) -> float:
        """The largest difference of two elements."""
        return max((d.absolute for d in self), default=0.0)

    @property
    def relative(self) -> float:
        """The largest relative difference of an array."""
        return max((d.relative for d in self), default=0.0)

    def is_within(self, limit: float) -> bool:
        """Returns whether differences are at most ``limit``: relative ones, or absolute ones in
        arrays whose elements are all below 1."""
        return all(d.absolute <= limit * max(d.magnitude, 1.0) for d in self)

    def __repr__(self) -> str:
        return view_of(self).text()


@view_of.register
def _(comparison: Comparison) -> View:
    title = f"largest difference: {value(comparison.absolute)}"
    title += f" ({value(comparison.relative)} of the largest element)"
    if not comparison.absolute:
        return View(f"{many(len(comparison), comparison.subject)} compared: all are equal")
    worst = sorted(comparison, key=lambda d: -d.relative)[:_MAX_ROWS]
    rows = [
        [d.name, shape_text(d.shape), d.dtype, value(d.absolute), value(d.relative)]
        for d in comparison
        if d in worst
    ]
    header = [comparison.subject, "shape", "dtype", "difference", "relative"]
    hidden = len(comparison) - len(rows)
    more = [Line(f"... {hidden} more with smaller differences")] if hidden else []
    return View(title, [Table(header, rows, {3, 4}), *more])


def _difference(name: str, ours: Any, theirs: Any) -> Difference:
    a, b = np.asarray(ours), np.asarray(theirs)
    x = a.astype(np.float64)
    magnitude = float(np.abs(x[np.isfinite(x)]).max(initial=0.0))
    if a.shape != b.shape or a.dtype != b.dtype:
        absolute = np.inf
    elif a.tobytes() == b.tobytes():
        absolute = 0.0
    else:
        with np.errstate(invalid="ignore"):
            y = b.astype(np.float64)
            distances = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        absolute = float(np.where(np.isnan(distances), np.inf, distances).max(initial=0.0))
    return Difference(name, a.shape, a.dtype.name, absolute, magnitude)


def random_inputs(
    shapes: Mapping[str, Sequence[int]],
    dtypes: Mapping[str, str],
    seed: int = 0,
    *,
    indices: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """Returns random arrays by name: normally distributed, by default float32. Integers, and the
    inputs named in ``indices``, are uniform from 0 to 2, because they may index a table."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for name, shape in shapes.items():
        dtype = np.dtype(dtypes.get(name, "float32"))
        is_index = name in indices or dtype.kind in "iub"
        numbers = generator.uniform(0, 2, shape) if is_index else generator.standard_normal(shape)
        arrays[name] = np.asarray(numbers).astype(dtype)
    return arrays


def host_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Converts arrays of any library to NumPy's, contiguous and little-endian."""
    if not isinstance(arrays, Mapping):
        problem = f"a {type(arrays).__name__}, expected a dict of arrays by name"
        raise InputTypeError("arrays to write", problem)
    hosts = {}
    for name, values in arrays.items():
        if not isinstance(name, str):
            raise InputTypeError("arrays to write", f"the name {name!r} is not a text")
        host = values.asnumpy() if isinstance(values, NDArray) else np.asarray(values)
        if host.dtype.byteorder == ">":
            host = host.astype(host.dtype.newbyteorder("<"))
        hosts[name] = host if host.flags.c_contiguous else np.ascontiguousarray(host)
    return hosts


def as_ndarray(values: np.ndarray) -> NDArray:
    return array(values, cpu(), dtype=values.dtype.name)
