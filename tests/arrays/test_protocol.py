"""The pending-value protocol: arrays, storages and views follow it, for the type checker too."""

from __future__ import annotations

import pytest

from executorkit import ndarray as nd
from executorkit.arrays.handle import buffers_of
from executorkit.arrays.protocol import PendingValue, Producer
from executorkit.arrays.storage import LazyContents, Storage


class _Fill:
    """A producer that fills one array, and counts its runs."""

    copies = False

    def __init__(self, array: PendingValue, value: float) -> None:
        self.array = array
        self.value = value
        self.runs = 0

    @property
    def source(self) -> Producer | None:
        return self

    def __call__(self) -> None:
        self.runs += 1
        self.array.set_result(self, nd.full((2,), self.value).jax)

    force = __call__


def _pending_values() -> list[PendingValue]:
    x = nd.zeros((4,))
    return [nd.zeros((2,)), nd.zeros((2,)).storage, x[1:3], x.reshape((2, 2))[1]]


@pytest.mark.parametrize("k", range(len(_pending_values())))
def test_contents_are_deferred_computed_once_and_replaced(k):
    array = _pending_values()[k]
    fill = _Fill(array, 7)
    array.defer(fill)
    assert array.pending is fill
    assert array.current is None
    assert array.value.tolist() == [7, 7]
    assert array.value.tolist() == [7, 7]
    assert fill.runs == 1
    assert array.pending is None
    assert array.current is not None
    assert not array.set_result(fill, nd.zeros((2,)).jax)
    array.defer(fill)
    array.assign(nd.ones((2,)).jax)
    assert array.pending is None
    assert array.value.tolist() == [1, 1]
    assert fill.runs == 1


def test_lazy_contents_are_made_on_first_read_and_nothing_is_pending():
    storage = Storage.lazy((2,), nd.zeros((1,)).storage.dtype, lambda: nd.ones((2,)).jax)
    assert isinstance(storage.producer, LazyContents)
    assert storage.pending is None
    assert storage.current is None
    assert storage.value.tolist() == [1, 1]
    assert storage.producer is None


def test_the_buffer_of_an_array_is_its_storage_if_it_covers_it():
    x = nd.zeros((4,))
    part = x[1:3]
    whole, other = buffers_of([x, part])
    assert whole is x.storage
    assert other is part
