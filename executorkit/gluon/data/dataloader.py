"""The loader of batches; functions of workers, and the iterator, that loaders of libraries use with
``multiprocessing.Pool``."""

import io
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.reduction import ForkingPickler as ForkingPickler
from typing import Any, Self

from ...context import Context
from ...errors import ArgumentValueError
from ...util import set_np
from . import _workers
from ._batchify import (
    as_in_context as _as_in_context,
    as_new_batch,
    default_batchify_fn,
    default_mp_batchify_fn,
)
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler


class DataLoader:
    """Batches of a dataset: ``for data, label in loader``.

    dataset
        Anything with ``__getitem__`` and ``__len__``.
    batch_size
        The number of samples of a batch.
    shuffle
        Whether to shuffle the samples in each epoch (:class:`RandomSampler`).
    sampler
        A sampler that gives the order instead.
    last_batch
        How to treat an incomplete last batch: 'keep' (None), 'discard' or 'rollover'.
    batch_sampler
        A sampler of lists of indices, instead of the four arguments above.
    batchify_fn
        The function that combines a list of samples; by default :func:`default_batchify_fn`.
    num_workers
        The number of processes that load batches in the background; 0 loads them here. They are
        forked with the loader, and so know all objects of this moment. Their batches arrive in
        ``cpu_shared(0)``.
    pin_memory
        Whether to copy batches to ``cpu_pinned(pin_device_id)``.
    prefetch
        The number of batches that workers load ahead; by default two for each worker.
    thread_pool
        Whether workers are threads of this process.
    timeout
        The number of seconds to wait for a worker's batch; then ``multiprocessing.TimeoutError``.
    auto_reload
        Whether workers start the next epoch when one has ended.

    An exception in a worker is raised here. Batches go to workers in turn. Random operators and
    ``numpy.random`` continue from their state at the fork in the first worker; other workers have
    streams of their own (in MXNet all workers draw the same numbers). Raises ValueError for
    arguments that contradict each other.

    >>> loader = DataLoader([(0, "a"), (1, "b"), (2, "c")], 2, batchify_fn=lambda rows: rows)
    >>> list(loader)
    [[(0, 'a'), (1, 'b')], [(2, 'c')]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ) -> None:
        if timeout <= 0:
            raise ArgumentValueError("DataLoader: timeout", f"{timeout}, expected more than 0")
        self._dataset = dataset
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._thread_pool = thread_pool
        self._timeout = timeout
        self.auto_reload = auto_reload
        if batch_sampler is None:
            batch_sampler = _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch)
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            problem = "it cannot be combined with batch_size, shuffle, sampler or last_batch"
            raise ArgumentValueError("DataLoader: batch_sampler", problem)
        self._batch_sampler = batch_sampler
        self._num_workers = max(0, num_workers)
        default = 2 * self._num_workers if prefetch is None else prefetch
        self._prefetch = max(0, default)
        if batchify_fn is None:
            batchify_fn = default_mp_batchify_fn if self._num_workers else default_batchify_fn
        self._batchify_fn = batchify_fn
        self._workers: _workers.Workers | None = None
        self._iter: Iterator[Any] | None = None
        if self._num_workers:
            self._running_workers()
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        batches = self._prefetch_iter() if self._iter is None else self._iter
        self._iter = None
        yield from batches
        if self.auto_reload:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Starts the next epoch: workers load its first batches now."""
        self._iter = self._prefetch_iter()

    def clean(self) -> None:
        """Drops an epoch that :meth:`refresh` started."""
        self._iter = None

    def _running_workers(self) -> _workers.Workers:
        if self._workers is None or not self._workers.is_open:
            dataset, batchify_fn = self._dataset, self._batchify_fn

            def work(samples: Any) -> Any:
                return batchify_fn([dataset[number] for number in samples])

            self._workers = _workers.start_workers(work, self._num_workers, self._thread_pool)
        return self._workers

    def _prefetch_iter(self) -> Iterator[Any]:
        if not self._num_workers:
            return self._batches_of_this_process()
        return _WorkerBatches(
            self._running_workers(),
            self._batch_sampler,
            self._prefetch,
            self._timeout,
            self._pinned,
        )

    def _batches_of_this_process(self) -> Iterator[Any]:
        for samples in self._batch_sampler:
            yield self._pinned(self._batchify_fn([self._dataset[number] for number in samples]))

    def _pinned(self, batch: Any) -> Any:
        if not self._pin_memory:
            return batch
        return _as_in_context(batch, Context("cpu_pinned", self._pin_device_id))


class _WorkerBatches:
    def __init__(
        self,
        workers: _workers.Workers,
        batch_sampler: Any,
        prefetch: int,
        timeout: float,
        finish: Callable[[Any], Any],
    ) -> None:
        self._workers = workers
        self._samples = enumerate(batch_sampler)
        self._tickets: deque[Any] = deque()
        self._timeout = timeout
        self._finish = finish
        for _ in range(prefetch):
            self._request_next()

    def _request_next(self) -> None:
        for number, samples in self._samples:
            self._tickets.append(self._workers.request(number, samples))
            return

    def __iter__(self) -> "_WorkerBatches":
        return self

    def __next__(self) -> Any:
        self._request_next()
        if not self._tickets:
            raise StopIteration
        try:
            batch = self._workers.result(self._tickets.popleft(), self._timeout)
        except StopIteration as error:
            raise RuntimeError("a worker has raised StopIteration") from error
        return self._finish(as_new_batch(batch))

    def __del__(self) -> None:
        for ticket in self.__dict__.get("_tickets", ()):
            self._workers.cancel(ticket)


def _batch_sampler(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Any, last_batch: str | None
) -> BatchSampler:
    if batch_size is None:
        raise ArgumentValueError("DataLoader: batch_size", "it is None, and batch_sampler, too")
    if sampler is None:
        order: type[Sampler] = RandomSampler if shuffle else SequentialSampler
        sampler = order(len(dataset))
    elif shuffle:
        raise ArgumentValueError("DataLoader: shuffle", "True beside a sampler")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


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
