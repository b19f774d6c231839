"""Ranges of the tensors of a network, from the data that it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..context import Context
from ..errors import ArgumentValueError, explain
from ..module import Module
from ..ndarray import NDArray, array
from ..ndarray import contrib as operators
from ..symbol import Group, Symbol

#: Number of bins of a histogram for the least entropy.
BINS = 8001
#: Number of values of 8 bits, zero in the middle.
LEVELS = 255


class MinMaxCollector:
    """The least and greatest value of each tensor."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[float, float]] = {}

    def collect(self, name: str, values: np.ndarray) -> None:
        """Takes the values of a batch into account."""
        low, high = float(values.min()), float(values.max())
        if name in self.ranges:
            low, high = min(low, self.ranges[name][0]), max(high, self.ranges[name][1])
        self.ranges[name] = low, high


@dataclass(frozen=True)
class Histogram:
    """Counts of the values of a tensor in equal bins from -threshold to threshold."""

    counts: np.ndarray
    edges: np.ndarray
    low: float
    high: float
    threshold: float

    def extended(self, values: np.ndarray) -> Histogram:
        """The histogram with more values; bins are added at both ends if they need it."""
        low, high = float(values.min()), float(values.max())
        threshold = max(abs(low), abs(high))
        return Histogram(
            *combine_histogram(tuple(vars(self).values()), values, low, high, threshold)
        )


def combine_histogram(
    old_hist: Any, arr: np.ndarray, new_min: float, new_max: float, new_th: float
) -> tuple[np.ndarray, np.ndarray, float, float, float]:
    """A histogram (counts, edges, least, greatest value, threshold) with the values of ``arr``.

    new_min, new_max, new_th
        the least and greatest of them, and the larger magnitude of the two. Bins of the same width
        are added at both ends until it is covered.
    """
    counts, edges, low, high, threshold = old_hist
    low, high = min(low, new_min), max(high, new_max)
    if new_th <= threshold:
        more, _ = np.histogram(arr, bins=len(counts), range=(-threshold, threshold))
        return counts + more, edges, low, high, threshold
    width = 2 * threshold / len(counts)
    added = int((new_th - threshold) // width + 1)
    wide = added * width + threshold
    merged, edges = np.histogram(arr, bins=2 * added + len(counts), range=(-wide, wide))
    merged[added : added + len(counts)] += counts
    return merged, edges, low, high, wide


class HistogramCollector:
    """A histogram of each tensor."""

    def __init__(self) -> None:
        self.histograms: dict[str, Histogram] = {}

    def collect(self, name: str, values: np.ndarray) -> None:
        """Takes the values of a batch into account."""
        if name in self.histograms:
            self.histograms[name] = self.histograms[name].extended(values)
            return
        low, high = float(values.min()), float(values.max())
        threshold = max(abs(low), abs(high))
        counts, edges = np.histogram(values, bins=BINS, range=(-threshold, threshold))
        self.histograms[name] = Histogram(counts, edges, low, high, threshold)

    def ranges(self, quantized_dtype: str) -> dict[str, tuple[float, float]]:
        """For each tensor the range that loses least information, symmetric about zero.

        Without negative values and with unsigned integers there are twice as many levels, and the
        range starts at zero.
        """
        ranges = {}
        for name, histogram in self.histograms.items():
            unsigned = histogram.low >= 0 and quantized_dtype in ("auto", "uint8")
            threshold, _ = operators.calibrate_entropy(
                array(histogram.counts),
                array(histogram.edges),
                num_quantized_bins=2 * LEVELS + 1 if unsigned else LEVELS,
            )
            limit = float(threshold.asnumpy()[0])
            ranges[name] = (0.0 if unsigned else -limit, limit)
        return ranges


def collect_outputs(
    symbol: Symbol,
    params: tuple[dict[str, NDArray], dict[str, NDArray]],
    names: Iterable[str],
    data: Any,
    inputs: tuple[Iterable[str], Iterable[str]],
    ctx: Context | list[Context],
    num_examples: int | None,
    collect: Callable[[str, np.ndarray], None],
) -> int:
    """Calls ``collect`` with the name and values of tensors, for each batch; returns the number of
    examples.

    names
        outputs of the symbol's internals, and names of inputs.
    inputs
        names of the data and of the labels.
    num_examples
        ends after the batch that reaches this number.
    """
    internals = symbol.get_internals()
    known = set(internals.list_outputs())
    data_names, label_names = map(list, inputs)
    outputs = [n for n in names if n in known and n not in data_names]
    sources = [n for n in names if n in data_names]
    runner = _runner(internals, outputs, params, data, (data_names, label_names), ctx)
    count = 0
    data.reset()
    for batch in data:
        for name, values in zip(data_names, batch.data, strict=True):
            if name in sources:
                collect(name, values.asnumpy())
        if runner is not None:
            runner.forward(batch, is_train=False)
            for name, values in zip(outputs, runner.get_outputs(), strict=True):
                collect(name, values.asnumpy())
        count += data.batch_size
        if num_examples is not None and count >= num_examples:
            break
    if not count:
        raise ArgumentValueError(explain("calibration", "calib_data has no batch"))
    return count


def _runner(
    internals: Symbol,
    outputs: list[str],
    params: tuple[dict[str, NDArray], dict[str, NDArray]],
    data: Any,
    inputs: tuple[list[str], list[str]],
    ctx: Context | list[Context],
) -> Module | None:
    """A module that computes these outputs; None if there are none."""
    if not outputs:
        return None
    group = Group([internals[name] for name in outputs])
    arguments = group.list_arguments()
    data_names, label_names = ([n for n in names if n in arguments] for names in inputs)
    module = Module(group, data_names, label_names, context=ctx)
    labels = [d for d in data.provide_label or () if d[0] in label_names]
    module.bind(
        [d for d in data.provide_data if d[0] in data_names], labels or None, for_training=False
    )
    module.set_params(*params, allow_missing=False, allow_extra=True)
    return module
