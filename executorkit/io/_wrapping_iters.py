"""ResizeIter changes the length of an epoch; PrefetchingIter runs iterators one batch ahead."""

import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..errors import BatchError
from ._data_batch import DataBatch, DataDesc, DataIter, rename_descriptions


class _BatchHolder(DataIter):
    current_batch: Any = None

    def getdata(self) -> Any:
        return self.current_batch.data

    def getlabel(self) -> Any:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> int | None:
        return self.current_batch.pad


class ResizeIter(_BatchHolder):
    """Another iterator with epochs of ``size`` batches; it starts over at its end. With
    ``reset_internal=False`` an epoch continues where the last one stopped."""

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(_BatchHolder):
    """Several iterators side by side, each running one batch ahead in its own thread.

    A batch holds the data and the labels of all of them, one after the other; they must agree in
    their numbers of batches and in ``pad`` (AssertionError otherwise). ``next`` raises an
    iterator's error (MXNet hangs).

    rename_data, rename_label
        one dict per iterator, {its name: new name}; by default names stay. Layouts stay.
    """

    def __init__(
        self,
        iters: Any,
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        self.iters = list(iters) if isinstance(iters, list | tuple) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise BatchError("PrefetchingIter", "iters is empty, expected iterators")
        super().__init__(self.iters[0].batch_size)
        self.rename_data = rename_data
        self.rename_label = rename_label
        # MXNet's own threads and their events; here a pool and its futures take their place.
        self.started = True
        self.prefetch_threads: list[Any] = []
        self.data_ready: list[Any] = []
        self.data_taken: list[Any] = []
        self._pool = ThreadPoolExecutor(self.n_iter, thread_name_prefix="prefetch")
        weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        self._prefetched = self._fetch()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of all iterators' data, under their new names."""
        pairs = zip(self.rename_data or [None] * self.n_iter, self.iters, strict=True)
        return [d for n, it in pairs for d in rename_descriptions(it.provide_data, n)]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of all iterators' labels, under their new names."""
        pairs = zip(self.rename_label or [None] * self.n_iter, self.iters, strict=True)
        return [d for n, it in pairs for d in rename_descriptions(it.provide_label, n)]

    def _fetch(self) -> list[Future[DataBatch | None]]:
        return [self._pool.submit(_next_of, it) for it in self.iters]

    def reset(self) -> None:
        for future in self._prefetched:
            future.exception()
        for it in self.iters:
            it.reset()
        self._prefetched = self._fetch()

    def iter_next(self) -> bool:
        batches = [future.result() for future in self._prefetched]
        complete = [b for b in batches if b is not None]
        if not complete:
            return False
        if len(complete) != len(batches):
            ended = ", ".join(str(i) for i, b in enumerate(batches) if b is None)
            raise BatchError("PrefetchingIter", f"iterator {ended} ended before the others")
        pads = [b.pad for b in complete]
        if len(set(pads)) > 1:
            raise BatchError("PrefetchingIter", f"the iterators' batches have pads {pads}")
        self.current_batch = DataBatch(
            [x for b in complete for x in b.data or ()],
            [x for b in complete for x in b.label or ()],
            pads[0],
            complete[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._prefetched = self._fetch()
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch


def _next_of(iterator: Any) -> DataBatch | None:
    try:
        return iterator.next()
    except StopIteration:
        return None
