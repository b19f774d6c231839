"""NDArrayIter: batches of arrays in memory."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.values import to_device
from ..context import Context
from ..errors import BatchError, DataArgumentError, ShapeError
from ..ndarray import NDArray, array
from ..program import small_jit
from ._data_batch import DataBatch, DataDesc, DataIter


class Source(NamedTuple):
    """One named array: a NumPy view if it is on the CPU, otherwise the array on its device."""

    name: str
    value: Any
    context: Context

    def take(self, rows: np.ndarray, axis: int) -> NDArray:
        if isinstance(self.value, jax.Array):
            taken = _gather(self.value, rows, axis)
            return NDArray.from_jax(taken, self.context, shared=False)
        consecutive = len(rows) > 0 and bool((np.diff(rows) == 1).all())
        if not consecutive:
            taken = np.take(self.value, rows, axis)
        else:
            window = slice(int(rows[0]), int(rows[-1]) + 1)
            taken = np.ascontiguousarray(self.value[(slice(None),) * axis + (window,)])
        # A contiguous part may be used without a copy, so it must not be donated.
        copied = to_device(taken, self.context.device)
        return NDArray.from_jax(copied, self.context, shared=consecutive)


@small_jit(static_argnums=2)
def _gather(value: jax.Array, rows: jax.Array, axis: int) -> jax.Array:
    return jnp.take(value, rows, axis, mode="clip")


def named_sources(arrays: object, name: str, what: str) -> list[Source]:
    """Returns the named arrays of an argument of NDArrayIter."""
    if arrays is None:
        return []
    if isinstance(arrays, NDArray | np.ndarray | jax.Array):
        arrays = [arrays]
    if isinstance(arrays, list):
        names = [name] if len(arrays) == 1 else [f"_{i}_{name}" for i in range(len(arrays))]
        arrays = dict(zip(names, arrays, strict=True))
    if not isinstance(arrays, Mapping):
        problem = f"a {type(arrays).__name__}, expected an array, a list of arrays or a dict"
        raise DataArgumentError(f"NDArrayIter: {what}", problem)
    return [_source(name, arrays[name]) for name in sorted(arrays)]


def _source(name: str, source: object) -> Source:
    try:
        values = source if isinstance(source, NDArray) else array(source)
    except (TypeError, ValueError) as error:
        raise DataArgumentError(f"NDArrayIter: {name!r}", str(error)) from None
    value = values.jax
    if values.context.device.platform == "cpu":
        value = np.asarray(value)
    return Source(name, value, values.context)


_LAST_BATCH_MODES = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of arrays in memory, in order or shuffled.

    data, label
        an array, a list of arrays or a dict of name -> array (NDArray, or anything that
        ``mx.nd.array`` takes, which makes it float32). Names are ``data_name`` and ``label_name``
        for one array, ``_0_data``, ``_1_data``, ... for several; a dict is sorted by name. The
        first of the data decides how many examples there are; others may have more, not fewer.
    shuffle
        shuffles the examples at the start and at every reset with ``numpy.random``, in MXNet's
        order after the same ``numpy.random.seed``.
    last_batch_handle
        an incomplete last batch is filled up with examples from the start ('pad', counted in
        ``batch.pad``), dropped ('discard'), or moved to the start of the next epoch ('roll_over').
    layout
        names the axes; batches are slices along its 'N'. (MXNet counts the examples along axis 0
        whatever the layout.)

    Later changes of the arrays have no effect. Data stay on their device: on the CPU NumPy slices
    each batch, on an accelerator it is gathered there. ``getindex`` is None.

    >>> import executorkit as mx
    >>> batches = mx.io.NDArrayIter(mx.nd.arange(5), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        self.layout = layout
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self._axis = DataDesc.get_batch_axis(layout)
        self._data = named_sources(data, data_name, "data")
        self._label = named_sources(label, label_name, "label")
        self.num_data = self._check()
        self.idx = np.arange(self.num_data)
        self._order = np.arange(self.num_data)
        self._remainder: np.ndarray | None = None
        self.cursor = -batch_size
        self.reset()

    def _check(self) -> int:
        if self.last_batch_handle not in _LAST_BATCH_MODES:
            problem = f"{self.last_batch_handle!r}, expected one of {', '.join(_LAST_BATCH_MODES)}"
            raise BatchError("NDArrayIter: last_batch_handle", problem)
        if self.batch_size < 1:
            raise BatchError("NDArrayIter: batch_size", f"{self.batch_size}, expected at least 1")
        if not self._data:
            raise DataArgumentError("NDArrayIter: data", "there is none")
        first = self._data[0]
        self._check_rows([first], 0, "")
        count = first.value.shape[self._axis]
        self._check_rows([*self._data, *self._label], count, repr(first.name))
        return count

    def _check_rows(self, sources: list[Source], count: int, owner: str) -> None:
        for source in sources:
            where = f"NDArrayIter: {source.name!r}"
            if not 0 <= self._axis < source.value.ndim:
                problem = f"shape {source.value.shape} has no batch axis in layout {self.layout!r}"
                hint = "a layout whose 'N' stands for an axis of every array"
                raise ShapeError(where, problem, hint=hint)
            rows = source.value.shape[self._axis]
            if rows < count:
                problem = f"{rows} examples, expected {count}"
                raise ShapeError(where, problem, because=f"{owner} has {count}")

    @property
    def provide_data(self) -> list[DataDesc]:
        """Name, shape, dtype and layout of the data of a batch."""
        return [self._describe(s) for s in self._data]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Name, shape, dtype and layout of the labels of a batch."""
        return [self._describe(s) for s in self._label]

    def _describe(self, source: Source) -> DataDesc:
        shape = list(source.value.shape)
        shape[self._axis] = self.batch_size
        return DataDesc(source.name, tuple(shape), source.value.dtype.type, self.layout)

    @property
    def data(self) -> list[tuple[str, NDArray]]:
        """Names and whole arrays of the data, in the current order; may be assigned arrays in that
        order with at least as many examples."""
        return [(s.name, s.take(self._order, self._axis)) for s in self._data]

    @data.setter
    def data(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self._data = self._assigned(pairs)

    @property
    def label(self) -> list[tuple[str, NDArray]]:
        """Names and whole arrays of the labels; may be assigned to, as ``data``."""
        return [(s.name, s.take(self._order, self._axis)) for s in self._label]

    @label.setter
    def label(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self._label = self._assigned(pairs)

    def _assigned(self, pairs: Iterable[tuple[str, object]]) -> list[Source]:
        sources = [_source(name, value) for name, value in pairs]
        self._check_rows(sources, self.num_data, "the iterator")
        if (self._order == np.arange(self.num_data)).all():
            return sources
        former = np.argsort(self._order)
        taken = [s.take(former, self._axis) for s in sources]
        return [_source(s.name, value) for s, value in zip(sources, taken, strict=True)]

    @property
    def data_list(self) -> list[NDArray]:
        """All arrays, data first, in the current order."""
        return [array for _, array in (*self.data, *self.label)]

    @property
    def num_source(self) -> int:
        """Number of arrays."""
        return len(self._data) + len(self._label)

    def reset(self) -> None:
        if self.shuffle:
            self._shuffle()
        incomplete = self.num_data - self.batch_size < self.cursor < self.num_data
        if self.last_batch_handle == "roll_over" and incomplete:
            self.cursor -= self.num_data + self.batch_size
        else:
            self.cursor = -self.batch_size

    def hard_reset(self) -> None:
        """Goes back to the start, and drops the examples left from the last epoch."""
        if self.shuffle:
            self._shuffle()
        self.cursor = -self.batch_size
        self._remainder = None

    def _shuffle(self) -> None:
        # As in MXNet, each permutation is drawn from the last one and applied to the last order.
        np.random.shuffle(self.idx)
        self._order = self._order[self.idx]

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        rows = self._rows()
        if len(rows) != self.batch_size:
            self._remainder = rows
            raise StopIteration
        return DataBatch(self._take(self._data, rows), self._take(self._label, rows), self.getpad())

    def getdata(self) -> list[NDArray]:
        return self._take(self._data, self._rows())

    def getlabel(self) -> list[NDArray]:
        return self._take(self._label, self._rows())

    def getpad(self) -> int:
        if self.last_batch_handle == "pad":
            return max(self.cursor + self.batch_size - self.num_data, 0)
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0

    def _rows(self) -> np.ndarray:
        start, stop = self.cursor, self.cursor + self.batch_size
        if start >= self.num_data:
            raise BatchError("NDArrayIter", "it is at its end", hint="call reset()")
        if start <= -self.batch_size:
            raise BatchError("NDArrayIter", "it has no batch yet", hint="call next()")
        if start < 0:
            assert self._remainder is not None
            return np.concatenate([self._remainder, self._order[: max(stop, 0)]])
        if self.last_batch_handle == "pad" and stop > self.num_data:
            return self._order[np.arange(start, stop) % self.num_data]
        return self._order[start:stop]

    def _take(self, sources: list[Source], rows: np.ndarray) -> list[NDArray]:
        return [s.take(rows, self._axis) for s in sources]
