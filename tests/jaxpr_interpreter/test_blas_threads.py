"""The number of OpenBLAS's threads while plans run, and after them."""

from __future__ import annotations

import threading

import jax
import numpy as np
import pytest

from executorkit.jaxpr_interpreter import blas_threads, plan
from executorkit.jaxpr_interpreter.blas_threads import (
    BlasLibrary,
    SingleThreadedProducts,
    loaded_libraries,
)


class FakeBlas:
    """A library whose number of threads is an attribute."""

    def __init__(self, count: int) -> None:
        self.count = count

    def library(self) -> BlasLibrary:
        return BlasLibrary(lambda: self.count, lambda count: setattr(self, "count", count))


def test_one_thread_inside_and_as_before_outside():
    blas = [FakeBlas(8), FakeBlas(1), FakeBlas(3)]
    context = SingleThreadedProducts(lambda: [x.library() for x in blas])
    for _ in range(2):
        with context:
            assert [x.count for x in blas] == [1, 1, 1]
        assert [x.count for x in blas] == [8, 1, 3]
    blas[0].count = 5
    with pytest.raises(ZeroDivisionError), context:
        raise ZeroDivisionError
    assert [x.count for x in blas] == [5, 1, 3]


def test_the_last_of_several_threads_restores():
    blas = FakeBlas(4)
    context = SingleThreadedProducts(lambda: [blas.library()])
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with context:
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=stay)
    thread.start()
    assert entered.wait(30)
    with context:
        assert blas.count == 1
    assert blas.count == 1
    leave.set()
    thread.join()
    assert blas.count == 4


def test_a_run_leaves_the_numbers_of_the_loaded_libraries():
    before = [library.get() for library in loaded_libraries()]
    x = np.ones((4, 4), np.float32)
    plan(jax.make_jaxpr(lambda x: x @ x)(x)).run([x])
    assert [library.get() for library in loaded_libraries()] == before


def test_a_lock_that_an_exception_has_left_behind_is_replaced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blas_threads, "_LOST_AFTER", 0.02)
    blas = FakeBlas(4)
    context = SingleThreadedProducts(lambda: [blas.library()])
    lost = threading.Thread(target=context._acquired_lock)
    lost.start()
    lost.join()
    with context:
        assert blas.count == 1
    assert blas.count == 4
