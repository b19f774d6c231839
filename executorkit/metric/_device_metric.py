"""Metrics that accumulate on devices: each keeps a tally on every device that has predictions.

An update runs a small program per pair, ``tally = step(tally, label, pred)``, on the prediction's
device; reading the metric fetches all tallies at once. Small predictions on a CPU are measured by
NumPy, when they are there; larger ones by programs for a few shapes, else by NumPy, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._support.annotations import Function
from ..arrays.values import to_device
from ..calls.later_calls import unwritten, waits
from ..context import Device, current_context
from ..errors import MetricShapeError, MetricValueError
from ..jax_internals import in_x64
from ..ndarray import NDArray
from ..program import CompiledFunction, cached_code, deferred_errors
from ._eval_metric import Arrays, EvalMetric, check_label_shapes, ratio_or_nan

#: Labels or predictions on a device or the host.
Raw = jax.Array | np.ndarray

#: Maximum number of shapes that a metric compiles for, as long as NumPy can measure others.
MAX_COMPILED_SHAPES = 8
#: Maximum size of a prediction on a CPU that NumPy measures in any case, and of one that it may
#: measure, in elements.
_SMALL_SIZE, _HOST_SIZE = 1 << 14, 1 << 18
#: Maximum number of pairs that wait for what was recorded.
_MAX_LATER = 4


class Measure(NamedTuple):
    """The measurement of a pair: ``function(xp, label, pred, **options)`` is its tally, computed
    with the module ``xp``, ``numpy`` or ``jax.numpy``; ``merge`` adds two tallies (vectors)."""

    function: Function
    options: tuple[tuple[str, Any], ...] = ()
    merge: Callable[[Any, Any], Any] | None = None

    def on_host(self, label: Raw, pred: Raw) -> np.ndarray:
        arrays = [None if x is None else np.asarray(x) for x in (label, pred)]
        with np.errstate(all="ignore"):
            return np.asarray(self.function(np, *arrays, **dict(self.options)), np.float64)


def _entry(all_batches: bool, entry: int, doc: str) -> Any:
    def get(self: DeviceMetric) -> float:
        number = float(self._read(all_batches)[entry])
        return int(number) if entry == 1 and number.is_integer() else number

    def write(self: DeviceMetric, value: Any) -> None:
        self._write(all_batches, entry, value)

    return property(get, write, doc=f"{doc} Reading it fetches it.")


class DeviceMetric(EvalMetric):
    """A metric whose sums are accumulated on the devices of the predictions. The last entry of a
    tally is the number of invalid labels. The tally of a plain metric is (sum, count, invalid);
    others override :meth:`_sums`."""

    #: Length of the tally.
    _tally_size = 3
    #: Requirement on labels, for the error about invalid ones.
    _label_requirement = ""

    def __init__(self, name: str, output_names: Any, label_names: Any, **kwargs: Any) -> None:
        #: Shapes of the pairs for which this metric's program was called.
        self._compiled_shapes: set[Any] = set()
        self._clear_tallies()
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def _clear_tallies(self) -> None:
        self._device_tallies: dict[tuple[Device, int], Array] = {}
        #: The pair that NumPy is to measure next, with its measurement.
        self._waiting: tuple[Measure, Any, Any] | None = None
        #: Pairs whose predictions wait for what was recorded, and the lengths of their tallies.
        self._later: deque[tuple[Measure, Any, Any, int]] = deque()
        self._local_tally = np.zeros(self._tally_size)
        self._global_tally = np.zeros(self._tally_size)

    def reset(self) -> None:
        self._clear_tallies()

    def reset_local(self) -> None:
        self._fetch_tallies()
        self._local_tally = np.zeros(self._tally_size)

    # -- defined by subclasses -----------------------------------------------------------------

    def _measure(self) -> Measure:
        raise NotImplementedError

    def _check(self, label: Raw, pred: Raw) -> None: ...

    def _misfit(self, problem: str, **more: str) -> MetricShapeError:
        return MetricShapeError(f"metric {self.name!r}", problem, **more)

    def _merge(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b

    def _sums(self, tally: np.ndarray) -> tuple[float, float]:
        return tally[0], tally[1]

    # -- updating ------------------------------------------------------------------------------

    def update(self, labels: Arrays, preds: Arrays) -> None:
        measure = self._measure()
        for label, pred in self._pairs(labels, preds):
            self._add(measure, label, pred, self._tally_size)

    def _pairs(self, labels: Arrays, preds: Arrays) -> list[tuple[Any, Any]]:
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        pairs = list(zip(labels, preds, strict=True))
        for label, pred in pairs:
            self._check(label, pred)
        return pairs

    def _add(self, measure: Measure, label: Raw, pred: Raw, width: int) -> None:
        # Reading pending predictions would cut a recorded step into several programs.
        self._measure_later()
        if not self._later and not (isinstance(pred, NDArray) and waits(pred)):
            self._add_now(measure, label, pred, width)
            return
        self._later.append((measure, unwritten(label), unwritten(pred), width))
        self._measure_later()

    def _measure_later(self, n_waiting: int = _MAX_LATER) -> None:
        later = self._later
        while later and (len(later) > n_waiting or not any(map(waits, _arrays(later[0])))):
            measure, label, pred, width = later.popleft()
            self._add_now(measure, label, pred, width)

    def _add_now(self, measure: Measure, label: Raw, pred: Raw, width: int) -> None:
        value, device = value_and_device(pred)
        if self._is_for_host(label, pred, value, device):
            self._measure_waiting()
            label_value = move_to_device(label, device)
            self._waiting = measure, label_value, value
            # The user may write to arrays of NumPy.
            if value.__class__ is np.ndarray or label_value.__class__ is np.ndarray:
                self._measure_waiting()
            return
        key = device, width
        tally = self._device_tallies.get(key)
        if tally is None:
            tally = zero_tally(device, width)
        self._device_tallies[key] = tally_step(measure)(tally, move_to_device(label, device), value)

    def _is_for_host(self, label: Raw, pred: Raw, value: Any, device: Device) -> bool:
        if device.platform == "cpu" and value.size <= _SMALL_SIZE:
            return True
        shapes = None if label is None else label.shape, pred.shape
        if shapes in self._compiled_shapes:
            return False
        if isinstance(value, np.ndarray) and not isinstance(label, NDArray | Array):
            return True
        small = device.platform == "cpu" and value.size <= _HOST_SIZE
        if small and len(self._compiled_shapes) >= MAX_COMPILED_SHAPES:
            return True
        self._compiled_shapes.add(shapes)
        return False

    def _measure_waiting(self) -> None:
        if self._waiting is not None:
            measure, label, value = self._waiting
            self._waiting = None
            if deferred_errors.open:
                deferred_errors.raise_for(value)
            self._add_on_host(measure.on_host(label, value))

    def _add_on_host(self, tally: np.ndarray) -> None:
        self._local_tally = self._merge(self._local_tally, tally)
        self._global_tally = self._merge(self._global_tally, tally)

    # -- reading -------------------------------------------------------------------------------

    def _fetch_tallies(self) -> None:
        self._measure_later(0)
        self._measure_waiting()
        if self._device_tallies:
            deferred_errors.raise_for(*self._device_tallies.values())
            tallies = jax.device_get(list(self._device_tallies.values()))
            self._device_tallies = {}
            for tally in tallies:
                self._add_on_host(tally)

    def _read(self, all_batches: bool) -> tuple[float, float]:
        self._fetch_tallies()
        tally = self._global_tally if all_batches else self._local_tally
        if tally[-1]:
            problem = f"{int(tally[-1])} labels are invalid"
            because, hint = self._label_requirement, "reset() before going on"
            raise MetricValueError(f"metric {self.name!r}", problem, because=because, hint=hint)
        return self._sums(tally)

    def _final(self, value: float) -> float:
        return value

    def get(self) -> tuple[str, float]:
        return self.name, self._final(float(ratio_or_nan(*self._read(all_batches=False))))

    def get_global(self) -> tuple[str, float]:
        return self.name, self._final(float(ratio_or_nan(*self._read(all_batches=True))))

    def _write(self, all_batches: bool, entry: int, value: Any) -> None:
        if type(self)._sums is not DeviceMetric._sums:
            raise AttributeError(f"the sums of {type(self).__name__} follow from its counts")
        self._fetch_tallies()
        (self._global_tally if all_batches else self._local_tally)[entry] = value

    sum_metric = _entry(False, 0, "The sum over the batches since the last reset.")
    num_inst = _entry(False, 1, "The count that the sum is divided by.")
    global_sum_metric = _entry(True, 0, "The sum over all batches.")
    global_num_inst = _entry(True, 1, "The count that the sum over all batches is divided by.")


def _arrays(pair: tuple[Any, ...]) -> list[NDArray]:
    return [x for x in pair if isinstance(x, NDArray)]


def value_and_device(array: Any) -> tuple[Any, Device]:
    if isinstance(array, NDArray):
        return array.value, array.context.device
    if isinstance(array, Array):
        return array, next(iter(array.devices()))
    return np.asarray(array), current_context().device


def move_to_device(array: Any, device: Device) -> Any:
    if array is None:
        return None
    value, current = value_and_device(array)
    return value if current == device or isinstance(value, np.ndarray) else _moved(value, device)


@in_x64
def _moved(value: Array, device: Device) -> Array:
    return jax.device_put(value, device)


@lru_cache(maxsize=256)
def zero_tally(device: Device, width: int) -> Array:
    return to_device(np.zeros(width), device)


@cached_code("metrics", 256, 0.08)
def tally_step(measure: Measure) -> CompiledFunction:
    function, merge = partial(measure.function, jnp, **dict(measure.options)), measure.merge

    def step(tally: Array, label: Raw, pred: Raw) -> Array:
        addend = function(label, pred)
        return tally + addend if merge is None else merge(tally, addend)

    return CompiledFunction(step, f"metric_{measure.function.__name__.strip('_')}")
