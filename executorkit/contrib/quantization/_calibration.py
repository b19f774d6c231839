"""Ranges of layers' values: smallest and largest, or histograms and the thresholds that lose least
(Migacz, 8-bit inference with TensorRT, 2017)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from ... import ndarray as nd
from ...autograd import pause
from ...context import Context
from ...errors import ArgumentValueError, DataArgumentError, MissingParameterError
from ...executor import CachedOp
from ...io import DataIter
from ...ndarray import NDArray
from ...symbol import Group, Symbol

#: Bins of a histogram; odd, so that one of them is around 0.
BINS = 8001
#: Bins that 8 bits with a sign tell apart.
QUANTIZED_BINS = 255


class Histogram(NamedTuple):
    counts: np.ndarray
    edges: np.ndarray
    low: float
    high: float
    limit: float


class LayerCollector(Protocol):
    def collect(self, name: str, arr: NDArray) -> None: ...


def combine_histogram(
    old_hist: Histogram, arr: Any, new_min: Any, new_max: Any, new_th: Any
) -> Any:
    """Returns a histogram widened by whole bins to hold further values ``arr`` (extremes
    ``new_min`` and ``new_max``, larger magnitude ``new_th``)."""
    # Python's floats: edges in float32 would sort values at them otherwise than MXNet does.
    counts, edges, low, high, limit = old_hist
    old, new_th = Histogram(counts, edges, low, high, float(limit)), float(new_th)
    low, high = min(old.low, new_min), max(old.high, new_max)
    if new_th <= old.limit:
        counts, _ = np.histogram(arr, bins=len(old.counts), range=(-old.limit, old.limit))
        return Histogram(old.counts + counts, old.edges, low, high, old.limit)
    width = 2 * old.limit / len(old.counts)
    margin = int((new_th - old.limit) // width + 1)
    limit = margin * width + old.limit
    counts, edges = np.histogram(arr, bins=len(old.counts) + 2 * margin, range=(-limit, limit))
    counts[margin : margin + len(old.counts)] += old.counts
    return Histogram(counts, edges, low, high, limit)


class LayerHistogramCollector:
    """Histograms of layers' values, for entropy calibration: ``hist_dict[name]``; ``include_layer``
    holds the names collected, ``num_bins`` is odd."""

    def __init__(
        self, num_bins: int = BINS, include_layer: Collection[str] | None = None, logger: Any = None
    ) -> None:
        self.hist_dict: dict[str, Histogram] = {}
        self.num_bins = num_bins
        self.include_layer = include_layer
        self.logger = logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Counts the values of one array if ``include_layer`` has its name."""
        if name not in (self.include_layer or ()):
            return
        values = arr.asnumpy()
        if self.logger:
            self.logger.debug("histogram of %s, %s", name, values.shape)
        low, high = np.min(values), np.max(values)
        limit = float(max(abs(low), abs(high)))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, low, high, limit)
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-limit, limit))
            self.hist_dict[name] = Histogram(counts, edges, low, high, limit)


class LayerOutputMinMaxCollector:
    """Smallest and largest values of layers, for naive calibration: ``min_max_dict[name]``.
    ``include_layer`` holds the names collected."""

    def __init__(
        self, quantized_dtype: str, include_layer: Collection[str] | None = None, logger: Any = None
    ) -> None:
        self.min_max_dict: dict[str, tuple[float, float]] = {}
        self.quantized_dtype = quantized_dtype
        self.include_layer = include_layer
        self.logger = logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Widens the range of one layer if ``include_layer`` has its name."""
        if name not in (self.include_layer or ()):
            return
        values = arr.asnumpy()
        low, high = np.min(values), np.max(values)
        if name in self.min_max_dict:
            old_low, old_high = self.min_max_dict[name]
            low, high = min(old_low, low), max(old_high, high)
        self.min_max_dict[name] = (low, high)
        if self.logger:
            self.logger.debug("range of %s: %f to %f", name, low, high)


def optimal_threshold(
    hist_data: Histogram, quantized_dtype: str, num_quantized_bins: int = QUANTIZED_BINS
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Returns the smallest and largest value, the best threshold, (1,), and its divergence, (1,).
    Non-negative values have twice the bins if ``quantized_dtype`` is "auto" or "uint8"."""
    histogram = Histogram(*hist_data)
    if len(histogram.counts) % 2 == 0:
        problem = f"the histogram has {len(histogram.counts)} bins, expected an odd number"
        raise ArgumentValueError("optimal_threshold", problem)
    if _is_unsigned(histogram, quantized_dtype):
        num_quantized_bins = num_quantized_bins * 2 + 1
    threshold, divergence = nd.contrib.calibrate_entropy(
        hist=nd.array(histogram.counts), hist_edges=nd.array(histogram.edges),
        num_quantized_bins=num_quantized_bins
    )  # fmt: skip
    return histogram.low, histogram.high, threshold.asnumpy(), divergence.asnumpy()


def optimal_thresholds(
    hist_dict: dict[str, Histogram],
    quantized_dtype: str,
    num_quantized_bins: int = QUANTIZED_BINS,
    logger: Any = None,
) -> dict[str, tuple[Any, Any]]:
    """Returns the ranges that lose least for histograms of layers; empties ``hist_dict``."""
    if not isinstance(hist_dict, dict):
        problem = f"{type(hist_dict).__name__}, expected a dict of histograms"
        raise ArgumentValueError("optimal_thresholds", problem)
    ranges: dict[str, tuple[Any, Any]] = {}
    for name in list(hist_dict):
        histogram = Histogram(*hist_dict[name])
        best = optimal_threshold(histogram, quantized_dtype, num_quantized_bins)
        _, _, threshold, divergence = best
        ranges[name] = (0 if _is_unsigned(histogram, quantized_dtype) else -threshold, threshold)
        del hist_dict[name]
        if logger:
            message = "threshold of %s: %f, divergence %f"
            logger.debug(message, name, threshold.item(), divergence.item())
    return ranges


def _is_unsigned(histogram: Histogram, quantized_dtype: str) -> bool:
    return histogram.low >= 0 and quantized_dtype in ("auto", "uint8")


def batches_by_name(data: object) -> Iterator[dict[str, NDArray]]:
    """Returns the arrays of an iterator's batches by the names of inputs."""
    if not isinstance(data, DataIter):
        raise DataArgumentError("calib_data", f"{type(data).__name__}, expected a DataIter")
    iterator: Any = data  # DataIter's subclasses have the properties that are read here
    for batch in iterator:
        arrays = zip(iterator.provide_data, batch.data, strict=True)
        labels = zip(iterator.provide_label or (), batch.label or (), strict=False)
        yield {description.name: array for description, array in (*arrays, *labels)}


def collect_layers(
    symbol: Symbol,
    params: Mapping[str, NDArray],
    batches: Iterable[Mapping[str, NDArray]],
    collector: LayerCollector,
    names: Collection[str],
    ctx: Context,
    max_examples: int | None = None,
) -> int:
    """Runs batches of at most ``max_examples`` examples, and gives the layers ``names`` to a
    collector; returns the examples' number. MissingParameterError names an input without value."""
    internals, measured = symbol.get_internals(), set(names)
    shown = [(i, name) for i, name in enumerate(internals.list_outputs()) if name in measured]
    if not shown:
        return 0
    group = Group([internals[i] for i, _ in shown])
    inputs, compute = group.list_inputs(), CachedOp(group)
    examples = 0
    for batch in batches:
        known = {**params, **batch}
        missing = [n for n in inputs if n not in known]
        if missing:
            problem = f"nothing gives {', '.join(map(repr, missing))}"
            hint = "pass it in arg_params or aux_params, or have calib_data provide it"
            raise MissingParameterError("calibration", problem, hint=hint)
        with pause(train_mode=False):
            outputs = compute(*[known[n].as_in_context(ctx) for n in inputs])
        outputs = outputs if len(shown) > 1 else [outputs]
        for (_, name), output in zip(shown, outputs, strict=True):
            collector.collect(name, output)
        examples += len(next(iter(batch.values())))
        if max_examples is not None and examples >= max_examples:
            break
    return examples
