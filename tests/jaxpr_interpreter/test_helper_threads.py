"""Helper threads: every job runs once, and kernels give what they give undivided."""

from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np
import pytest

from executorkit.jaxpr_interpreter import _helper_threads as helper_threads
from executorkit.jaxpr_interpreter._linear_algebra import divided_product

MANY = helper_threads.MIN_MULTIPLICATIONS


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setattr(helper_threads, "THREADS", 4)
    monkeypatch.setattr(helper_threads, "_helpers", helper_threads._Helpers())


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_every_job_runs_once(count):
    runs = [0] * count

    def job(i):
        runs[i] += 1

    helper_threads.run_all([partial(job, i) for i in range(count)], MANY)
    assert runs == [1] * count


def test_jobs_run_at_once():
    together = threading.Barrier(4)
    helper_threads.run_all([lambda: together.wait(60)] * 4, MANY)
    assert not together.broken


def test_all_jobs_have_ended_where_a_thread_cannot_be_started(monkeypatch):
    begun, ended = threading.Event(), []
    start, started = threading.Thread.start, []

    def start_one(thread):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)
        assert begun.wait(60)

    def job():
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            time.sleep(0.05)
        ended.append(True)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    helper_threads.run_all([job] * 8, MANY)
    assert started
    assert len(ended) == 8


def test_small_kernels_stay_in_their_thread():
    threads = set()
    helper_threads.run_all([lambda: threads.add(threading.get_ident())] * 8, MANY - 1)
    assert threads == {threading.get_ident()}


def test_numpy_warns_in_helpers_as_it_does_here():
    settings = []
    together = threading.Barrier(4)

    def job():
        together.wait(60)
        settings.append(np.geterr()["divide"])

    with np.errstate(divide="ignore"):
        helper_threads.run_all([job] * 4, MANY)
    assert settings == ["ignore"] * 4


def test_an_error_of_a_helper_is_raised_once_all_have_ended():
    together = threading.Barrier(4)
    here = threading.get_ident()
    ended = []

    def job():
        together.wait(60)
        if threading.get_ident() != here:
            raise ValueError("in a helper")
        ended.append(True)

    with pytest.raises(ValueError, match="in a helper"):
        helper_threads.run_all([job] * 4, MANY)
    assert ended == [True]


def test_a_forked_process_has_helpers_of_its_own(monkeypatch):
    pool = helper_threads._helpers.pool()
    assert helper_threads._helpers.pool() is pool
    monkeypatch.setattr(helper_threads.os, "getpid", lambda: -1)
    assert helper_threads._helpers.pool() is not pool


@pytest.mark.parametrize(
    ("length", "count", "multiple"), [(10, 4, 1), (100, 3, 16), (5, 8, 16), (64, 2, 16)]
)
def test_parts_cover_a_length(length, count, multiple):
    slices = helper_threads.parts(length, count, multiple)
    assert [i for part in slices for i in range(length)[part]] == list(range(length))
    assert len(slices) <= count
    assert all(part.start % multiple == 0 for part in slices)


@pytest.mark.parametrize(("rows", "columns"), [(600, 40), (40, 600), (1, 33)])
def test_divided_products(rows, columns):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((rows, 700)), rng.standard_normal((columns, 700)).T
    np.testing.assert_allclose(divided_product(x, y), x @ y, rtol=1e-12, atol=1e-10)
    out = np.empty((rows, columns))
    assert divided_product(x, y, out) is out
    np.testing.assert_allclose(out, x @ y, rtol=1e-12, atol=1e-10)
