"""``mx.contrib.io``: an iterator of a module over another library's loader of batches."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..io import DataDesc, DataIter
from ..ndarray import NDArray, array


class DataLoaderIter(DataIter):
    """Batches of a loader, any iterable of pairs (data, label), as a ``DataIter`` of element type
    ``dtype``. A shorter last batch is filled up with zeros, counted in ``pad``."""

    def __init__(
        self,
        loader: Iterable[Any],
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._loader = loader
        self._batches: Iterator[Any] = iter(loader)
        self._current: tuple[NDArray, NDArray] | None = None
        self.dtype = dtype
        data, label = (_as_array(x, dtype) for x in next(self._batches))
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self.reset()

    def reset(self) -> None:
        self._batches = iter(self._loader)

    def iter_next(self) -> bool:
        batch = next(self._batches, None)
        arrays: Any = None if batch is None else tuple(_as_array(x, self.dtype) for x in batch)
        self._current = arrays
        return arrays is not None

    def _arrays(self) -> tuple[NDArray, NDArray]:
        assert self._current is not None, "iter_next() comes first"
        return self._current

    def getdata(self) -> list[NDArray]:
        return [self._filled(self._arrays()[0])]

    def getlabel(self) -> list[NDArray]:
        return [self._filled(self._arrays()[1])]

    def getpad(self) -> int:
        return self.batch_size - self._arrays()[0].shape[0]

    def _filled(self, values: NDArray) -> NDArray:
        rows = values.shape[0]
        if rows == self.batch_size:
            return values
        host = values.asnumpy()
        filled = np.zeros((self.batch_size, *host.shape[1:]), host.dtype)
        filled[:rows] = host
        return array(filled, values.context, values.dtype)


def _as_array(values: object, dtype: object) -> NDArray:
    return values.astype(dtype) if isinstance(values, NDArray) else array(values, dtype=dtype)
