"""Statistics of many arrays: a row each, by one program on their device and one transfer.

On a CPU an array is read once: a scan holds one running sum, minimum and so on for each of
``_LANES`` columns (on two cores 47 ms for 25 million elements; 130 to 200 ms with a reduction per
statistic). Other devices fuse the reductions themselves, and are slow at scans. Smaller arrays are
joined: the 261 arrays of a ResNet-50 take 2.6 s the first time, mostly compiling, then 0.15 s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._support.annotations import DType
from ..jax_internals import in_x64
from ..program import small_jit

#: Number of bins of a histogram.
BINS = 16
#: Maximum number of elements in a histogram; they are evenly spaced over the array.
SAMPLE = 2048
#: Number of columns of the scan.
_LANES = 8192
#: Maximum number of elements of an array that is joined with others to a matrix.
_JOINED = 2**20
#: Elements of a row of that matrix, which belongs to one array, and columns reduced first.
_ROW, _COLUMNS = 1024, 64


def statistics_rows(values: tuple[jax.Array, ...], platform: str) -> jax.Array:
    return _statistics_rows(values, platform == "cpu")


@small_jit(static_argnums=1)
def _statistics_rows(values: tuple[jax.Array, ...], scan: bool) -> jax.Array:
    """Returns for each array a float64 row: count, mean, std, minimum and maximum of its finite
    elements, numbers of NaNs and infinities, and the histogram."""
    samples = jnp.stack([_sample(value) for value in values])
    counted = jnp.isfinite(samples)
    shifts = jnp.where(counted, samples, 0).sum(1) / jnp.maximum(counted.sum(1), 1)
    # Rounded here: the value subtracted from each element is added to the mean again.
    single = np.array([_wide(value.dtype) == jnp.float32 for value in values])
    shifts = jnp.where(single, shifts.astype(jnp.float32).astype(jnp.float64), shifts)
    sums = jnp.zeros((len(values), 6))
    joined: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        if value.size > _JOINED:
            sums = sums.at[i].set(_large(value, shifts[i], scan))
        elif value.size:
            joined.setdefault(_wide(value.dtype), []).append(i)
    for dtype, numbers in joined.items():
        rows = _small([values[i].astype(dtype) for i in numbers], shifts[np.array(numbers)], scan)
        sums = sums.at[np.array(numbers)].set(rows)
    total, squares, low, high, nans, infs = (sums[:, k] for k in range(6))
    count = np.array([value.size for value in values], np.float64) - nans - infs
    offset = total / jnp.maximum(count, 1)
    variance = squares / jnp.maximum(count, 1) - offset**2
    mean, std = offset + shifts, jnp.sqrt(jnp.maximum(variance, 0))
    columns = jnp.stack([count, mean, std, low, high, nans, infs], 1)
    return jnp.concatenate([columns, _histograms(samples, low, high)], 1)


def _wide(dtype: DType) -> Any:
    return jnp.float64 if dtype.itemsize >= 4 and dtype != jnp.float32 else jnp.float32


def _sample(value: jax.Array) -> jax.Array:
    flat = value.reshape(-1)[:: max(1, value.size // SAMPLE)][:SAMPLE].astype(jnp.float64)
    return jnp.pad(flat, (0, SAMPLE - flat.size), constant_values=jnp.nan)


def _terms(x: jax.Array, shift: jax.Array) -> tuple[jax.Array, ...]:
    """Returns six values for each element: to add, add, minimise, maximise, count and count."""
    finite = jnp.isfinite(x)
    shifted = jnp.where(finite, x - shift, 0)
    low, high = jnp.where(finite, x, jnp.inf), jnp.where(finite, x, -jnp.inf)
    counted = (jnp.isnan(x).astype(x.dtype), jnp.isinf(x).astype(x.dtype))
    return shifted, shifted * shifted, low, high, *counted


def _reduced(terms: Sequence[jax.Array], axis: int) -> tuple[jax.Array, ...]:
    reductions = ("sum", "sum", "min", "max", "sum", "sum")
    return tuple(getattr(x, how)(axis) for x, how in zip(terms, reductions, strict=True))


def _large(value: jax.Array, shift: jax.Array, scan: bool) -> jax.Array:
    dtype = _wide(value.dtype)
    shift = shift.astype(dtype)
    flat = value.reshape(-1)
    rows = flat.size // _LANES
    whole = flat[: rows * _LANES].reshape(rows, _LANES)
    remainder = _terms(jnp.pad(flat[rows * _LANES :].astype(dtype), (0, 1)), shift)

    def step(sums: Any, row: jax.Array) -> tuple[Any, None]:
        terms = _terms(row.astype(dtype), shift)
        low, high = jnp.minimum(sums[2], terms[2]), jnp.maximum(sums[3], terms[3])
        added = [a + b for a, b in zip(sums, terms, strict=True)]
        return (*added[:2], low, high, *added[4:]), None

    if scan:
        zero = jnp.zeros(_LANES, dtype)
        init = (zero, zero, zero + jnp.inf, zero - jnp.inf, zero, zero)
        lanes, _ = jax.lax.scan(step, init, whole)
    else:
        lanes = _reduced(_terms(whole.astype(dtype), shift), 0)
    pairs = zip(lanes, remainder, strict=True)
    both = [jnp.concatenate([a, b[:-1]]).astype(jnp.float64) for a, b in pairs]
    return jnp.stack(_reduced(both, 0))


def _small(values: Sequence[jax.Array], shifts: jax.Array, scan: bool) -> jax.Array:
    rows = [-(-value.size // _ROW) for value in values]
    padding = np.array([n * _ROW - value.size for n, value in zip(rows, values, strict=True)])
    owner = np.repeat(np.arange(len(values)), rows)
    pairs = zip(values, padding, strict=True)
    flat = [jnp.pad(value.reshape(-1), (0, int(n)), constant_values=jnp.nan) for value, n in pairs]
    matrix = jnp.concatenate(flat).reshape(-1, _ROW // _COLUMNS, _COLUMNS)
    shift = shifts.astype(matrix.dtype)[owner][:, None, None]

    def one(row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        return _reduced(_terms(*row), 0)

    columns = jax.lax.map(one, (matrix, shift)) if scan else _reduced(_terms(matrix, shift), 1)
    terms = _reduced([x.astype(jnp.float64) for x in columns], 1)
    merge = [jax.ops.segment_sum, jax.ops.segment_min, jax.ops.segment_max]
    pairs = zip((0, 0, 1, 2, 0, 0), terms, strict=True)
    sums = [merge[how](x, owner, len(values), indices_are_sorted=True) for how, x in pairs]
    sums[4] -= padding
    return jnp.stack(sums, 1)


def _histograms(samples: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    width = jnp.where(high > low, high - low, 1)[:, None]
    bins = jnp.floor((samples - low[:, None]) / width * BINS)
    bins = jnp.where((high > low)[:, None], jnp.clip(bins, 0, BINS - 1), BINS // 2)
    bins = jnp.where(jnp.isfinite(samples), bins, -1)
    return jnp.stack([(bins == k).sum(1) for k in range(BINS)], 1).astype(jnp.float64)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of one array; mean, standard deviation and range are of its finite elements.

    finite
        the number of finite elements.
    mean, std, low, high
        None if no element is finite.
    nans, infs
        numbers of NaNs and of infinite elements.
    counts
        histogram of an evenly spaced sample of the finite elements, from ``low`` to ``high``.
    """

    finite: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    nans: int
    infs: int
    counts: tuple[int, ...]


def statistics(values: Sequence[jax.Array]) -> list[Statistics]:
    """Returns statistics of arrays, by one program for each device and one transfer."""
    return statistics_of_lists([values])[0]


@in_x64
def statistics_of_lists(lists: Sequence[Sequence[jax.Array]]) -> list[list[Statistics]]:
    """Returns statistics of several lists of arrays, by one transfer for each kind of device. Each
    list is a program of its own on each of its devices: lists that stay the same are compiled once,
    whatever other lists come with them."""
    groups: dict[tuple[int, Any], list[int]] = {}
    for n, values in enumerate(lists):
        for i, value in enumerate(values):
            groups.setdefault((n, frozenset(value.devices())), []).append(i)
    computed = [
        statistics_rows(tuple(lists[n][i] for i in group), next(iter(devices)).platform)
        for (n, devices), group in groups.items()
    ]
    matrices = fetch_rows(computed)
    results: list[list[Any]] = [[None] * len(values) for values in lists]
    for ((n, _), group), rows in zip(groups.items(), matrices, strict=True):
        for i, row in zip(group, rows, strict=True):
            results[n][i] = parse_row(row)
    return results


def fetch_rows(parts: Sequence[jax.Array]) -> list[np.ndarray]:
    """Returns results of :func:`statistics_rows` as matrices on the host, by one transfer for each
    platform. Rows of a sharded part stand one below the other."""
    kinds: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        kinds.setdefault(next(iter(part.devices())).platform, []).append(i)
    joined = []
    for group in kinds.values():
        home = min(parts[group[0]].devices(), key=lambda d: d.id)
        moved = [jax.device_put(parts[i], home) for i in group]
        flat = [x if x.ndim == 2 else x.reshape(-1, x.shape[-1]) for x in moved]
        joined.append(flat[0] if len(flat) == 1 else jnp.concatenate(flat))
    matrices: dict[int, np.ndarray] = {}
    for group, rows in zip(kinds.values(), jax.device_get(joined), strict=True):
        cuts = np.cumsum([prod(parts[i].shape[:-1]) for i in group])[:-1]
        matrices.update(zip(group, np.split(rows, cuts), strict=True))
    return [matrices[i] for i in range(len(parts))]


def _empty(nans: int, infs: int) -> Statistics:
    return Statistics(0, None, None, None, None, nans=nans, infs=infs, counts=(0,) * BINS)


def pool_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Returns the statistics of several arrays as if they were one; their histograms are merged."""
    nans, infs = sum(p.nans for p in parts), sum(p.infs for p in parts)
    nonempty = [p for p in parts if p.mean is not None]
    finite = sum(p.finite for p in nonempty)
    if not finite:
        return _empty(nans, infs)
    weights = np.array([p.finite for p in nonempty]) / finite
    means, stds, lows, highs = (
        np.array([getattr(p, name) for p in nonempty]) for name in ("mean", "std", "low", "high")
    )
    mean = float(weights @ means)
    std = float(np.sqrt(weights @ (stds**2 + (means - mean) ** 2)))
    low, high = float(lows.min()), float(highs.max())
    counts = np.zeros(BINS)
    for p, a, b in zip(nonempty, lows, highs, strict=True):
        middles = a + (b - a) * (np.arange(BINS) + 0.5) / BINS
        bins = (middles - low) / (high - low) * BINS if high > low else np.full(BINS, BINS // 2)
        np.add.at(counts, np.minimum(bins, BINS - 1).astype(int), p.counts)
    histogram = tuple(int(n) for n in counts)
    return Statistics(finite, mean, std, low, high, nans=nans, infs=infs, counts=histogram)


def host_statistics(array: np.ndarray) -> Statistics:
    flat = array.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    nans = int(np.isnan(flat).sum())
    infs = flat.size - finite.size - nans
    if not finite.size:
        return _empty(nans, infs)
    low, high = float(finite.min()), float(finite.max())
    sample = flat[:: max(1, flat.size // SAMPLE)][:SAMPLE]
    sample = sample[np.isfinite(sample)]
    if high > low:
        bins = np.minimum((sample - low) / (high - low) * BINS, BINS - 1).astype(int)
    else:
        bins = np.full(sample.size, BINS // 2)
    counts = tuple(np.bincount(bins, minlength=BINS).tolist())
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(finite.mean()), float(finite.std())
    return Statistics(finite.size, mean, std, low, high, nans=nans, infs=infs, counts=counts)


def parse_row(row: np.ndarray) -> Statistics:
    count, mean, std, low, high, nans, infs = row[:7].tolist()
    counts = tuple(int(n) for n in row[7:])
    if not count:
        return _empty(int(nans), int(infs))
    return Statistics(
        int(count), mean, std, low, high, nans=int(nans), infs=int(infs), counts=counts
    )
