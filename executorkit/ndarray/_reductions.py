"""The program that describes many arrays on their device: a row of statistics for each.

On a CPU an array is read once: a scan keeps one running sum, minimum and so on for each of
``_LANES`` columns. (Measured on two cores: 47 ms for 25 million elements, where a reduction per
statistic takes 130 to 200 ms.) Other devices fuse the reductions themselves, and are slow at
scans. Smaller arrays are joined, so that a network of hundreds of them compiles in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

BINS = 16
#: Histograms are of so many elements at most, evenly spaced over the array.
SAMPLE = 2048
_LANES = 8192
#: Arrays of so many elements and less are joined to a matrix of rows of this length.
_JOINED = 2**20
_ROW, _COLUMNS = 1024, 64


def statistics_rows(values: tuple[jax.Array, ...], platform: str) -> jax.Array:
    """A row of float64 for each array, on their device. 64-bit types have to be enabled."""
    return _statistics_rows(values, platform == "cpu")


@partial(jax.jit, static_argnums=1)
def _statistics_rows(values: tuple[jax.Array, ...], scan: bool) -> jax.Array:
    """A row of float64 for each array: the count of its finite elements, what ``Statistics``
    has of them, and the histogram."""
    samples = jnp.stack([_sample(value) for value in values])
    counted = jnp.isfinite(samples)
    shifts = jnp.where(counted, samples, 0).sum(1) / jnp.maximum(counted.sum(1), 1)
    # Rounded here, since what is subtracted from each element is added to the mean again.
    single = np.array([_wide(value.dtype) == jnp.float32 for value in values])
    shifts = jnp.where(single, shifts.astype(jnp.float32).astype(jnp.float64), shifts)
    found = jnp.zeros((len(values), 6))
    joined: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        if value.size > _JOINED:
            found = found.at[i].set(_large(value, shifts[i], scan))
        elif value.size:
            joined.setdefault(_wide(value.dtype), []).append(i)
    for dtype, numbers in joined.items():
        rows = _small([values[i].astype(dtype) for i in numbers], shifts[np.array(numbers)], scan)
        found = found.at[np.array(numbers)].set(rows)
    total, squares, low, high, nans, infs = (found[:, k] for k in range(6))
    sizes = np.array([value.size for value in values], np.float64)
    count = sizes - nans - infs
    offset = total / jnp.maximum(count, 1)
    variance = squares / jnp.maximum(count, 1) - offset**2
    mean, std = offset + shifts, jnp.sqrt(jnp.maximum(variance, 0))
    columns = jnp.stack([count, mean, std, low, high, nans, infs], 1)
    return jnp.concatenate([columns, _histograms(samples, low, high)], 1)


def _wide(dtype: Any) -> Any:
    """The type to compute in: one that holds the elements, at least float32."""
    exact = dtype.itemsize >= 4 and dtype != jnp.float32
    return jnp.float64 if exact else jnp.float32


def _sample(value: jax.Array) -> jax.Array:
    flat = value.reshape(-1)[:: max(1, value.size // SAMPLE)][:SAMPLE].astype(jnp.float64)
    return jnp.pad(flat, (0, SAMPLE - flat.size), constant_values=jnp.nan)


def _terms(x: jax.Array, shift: jax.Array) -> tuple[jax.Array, ...]:
    """For each element what is added, added, minimised, maximised, counted and counted."""
    finite = jnp.isfinite(x)
    apart = jnp.where(finite, x - shift, 0)
    low, high = jnp.where(finite, x, jnp.inf), jnp.where(finite, x, -jnp.inf)
    return (
        apart,
        apart * apart,
        low,
        high,
        jnp.isnan(x).astype(x.dtype),
        jnp.isinf(x).astype(x.dtype),
    )


def _reduced(terms: Sequence[jax.Array], axis: int) -> tuple[jax.Array, ...]:
    """The six statistics along an axis."""
    total, squares, low, high, nans, infs = terms
    return (
        total.sum(axis), squares.sum(axis), low.min(axis), high.max(axis), nans.sum(axis),
        infs.sum(axis),
    )  # fmt: skip


def _large(value: jax.Array, shift: jax.Array, scan: bool) -> jax.Array:
    """The six statistics of one array, which is not copied."""
    dtype = _wide(value.dtype)
    shift = shift.astype(dtype)
    flat = value.reshape(-1)
    rows = flat.size // _LANES
    whole = flat[: rows * _LANES].reshape(rows, _LANES)
    rest = _terms(jnp.pad(flat[rows * _LANES :].astype(dtype), (0, 1)), shift)

    def step(sums: Any, row: jax.Array) -> tuple[Any, None]:
        terms = _terms(row.astype(dtype), shift)
        low, high = jnp.minimum(sums[2], terms[2]), jnp.maximum(sums[3], terms[3])
        added = [a + b for a, b in zip(sums, terms, strict=True)]
        return (*added[:2], low, high, *added[4:]), None

    if scan:
        zero = jnp.zeros(_LANES, dtype)
        start = (zero, zero, zero + jnp.inf, zero - jnp.inf, zero, zero)
        lanes, _ = jax.lax.scan(step, start, whole)
    else:
        lanes = _reduced(_terms(whole.astype(dtype), shift), 0)
    both = [
        jnp.concatenate([a, b[:-1]]).astype(jnp.float64) for a, b in zip(lanes, rest, strict=True)
    ]
    return jnp.stack(_reduced(both, 0))


def _small(values: Sequence[jax.Array], shifts: jax.Array, scan: bool) -> jax.Array:
    """The six statistics of each of many arrays, which are joined, in rows filled up with NaN."""
    rows = [-(-value.size // _ROW) for value in values]
    padding = np.array([n * _ROW - value.size for n, value in zip(rows, values, strict=True)])
    owner = np.repeat(np.arange(len(values)), rows)
    flat = [
        jnp.pad(value.reshape(-1), (0, int(n)), constant_values=jnp.nan)
        for value, n in zip(values, padding, strict=True)
    ]
    matrix = jnp.concatenate(flat).reshape(-1, _ROW // _COLUMNS, _COLUMNS)
    shift = shifts.astype(matrix.dtype)[owner][:, None, None]

    def one(row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        return _reduced(_terms(*row), 0)

    columns = jax.lax.map(one, (matrix, shift)) if scan else _reduced(_terms(matrix, shift), 1)
    terms = _reduced([x.astype(jnp.float64) for x in columns], 1)
    merge = [jax.ops.segment_sum, jax.ops.segment_min, jax.ops.segment_max]
    found = [
        merge[how](x, owner, len(values), indices_are_sorted=True)
        for how, x in zip((0, 0, 1, 2, 0, 0), terms, strict=True)
    ]
    found[4] -= padding
    return jnp.stack(found, 1)


def _histograms(samples: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Counts per bin; elements of one value are in the middle bin."""
    width = jnp.where(high > low, high - low, 1)[:, None]
    place = jnp.floor((samples - low[:, None]) / width * BINS)
    place = jnp.where((high > low)[:, None], jnp.clip(place, 0, BINS - 1), BINS // 2)
    place = jnp.where(jnp.isfinite(samples), place, -1)
    return jnp.stack([(place == k).sum(1) for k in range(BINS)], 1).astype(jnp.float64)
