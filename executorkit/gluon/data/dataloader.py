"""``mx.gluon.data.dataloader``: MXNet's import path of the loader, and of the functions of workers
and the iterator that loaders of libraries use with ``multiprocessing.Pool``."""

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.reduction import ForkingPickler as ForkingPickler
from typing import Any, Self

from ...context import Context
from ...util import set_np
from ._batchify import (
    as_in_context as _as_in_context,
    default_batchify_fn as default_batchify_fn,
    default_mp_batchify_fn as default_mp_batchify_fn,
)
from ._dataloader import DataLoader as DataLoader

#: The dataset of a worker process.
_worker_dataset: Any = None


def _worker_initializer(dataset: Any, active_shape: bool, active_array: bool) -> None:
    global _worker_dataset
    _worker_dataset = dataset
    set_np(active_shape, active_array)


def _thread_worker_initializer(active_shape: bool, active_array: bool) -> None:
    set_np(active_shape, active_array)


def _worker_fn(
    samples: Sequence[Any], batchify_fn: Callable[[Any], Any], dataset: Any = None
) -> Any:
    batch = _thread_worker_fn(samples, batchify_fn, dataset or _worker_dataset)
    file = io.BytesIO()
    ForkingPickler(file, pickle.HIGHEST_PROTOCOL).dump(batch)
    return file.getvalue()


def _thread_worker_fn(
    samples: Sequence[Any], batchify_fn: Callable[[Any], Any], dataset: Any
) -> Any:
    return batchify_fn([dataset[number] for number in samples])


class _MultiWorkerIter:
    def __init__(
        self, worker_pool: Any, batchify_fn: Any, batch_sampler: Any, pin_memory: bool = False,
        pin_device_id: int = 0, worker_fn: Callable[..., Any] = _worker_fn, prefetch: int = 0,
        dataset: Any = None, data_loader: Any = None, timeout: float = 120,
    ) -> None:  # fmt: skip
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = self._sent_idx = 0
        self._iter: Iterator[Any] = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._dataset = dataset
        self._data_loader = data_loader
        self._timeout = timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _push_next(self) -> None:
        for samples in self._iter:
            arguments = samples, self._batchify_fn, self._dataset
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(
                self._worker_fn, arguments
            )
            self._sent_idx += 1
            return

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        batch = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        self._rcvd_idx += 1
        if self._dataset is None:
            batch = pickle.loads(batch)
        if self._pin_memory:
            batch = _as_in_context(batch, Context("cpu_pinned", self._pin_device_id))
        return batch

    next = __next__

    def __iter__(self) -> Self:
        return self
