"""Threads record and differentiate at once, on arrays of their own and on shared ones."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd
from tests.test_threads import THREADS, in_threads

ROUNDS = 15


@pytest.fixture(autouse=True)
def _hasty() -> Iterator[None]:
    """Lets threads change as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def _loss(x: mx.nd.NDArray, weight: mx.nd.NDArray) -> mx.nd.NDArray:
    return (mx.nd.FullyConnected(x, weight, num_hidden=3, no_bias=True).tanh() ** 2).sum()


def _data(number: int) -> mx.nd.NDArray:
    return mx.nd.array(np.random.default_rng(number).normal(size=(2, 4)))


def _weight() -> mx.nd.NDArray:
    weight = mx.nd.array(np.random.default_rng(9).normal(size=(3, 4)))
    weight.attach_grad()
    return weight


def test_modes_are_those_of_a_thread():
    with autograd.record():
        modes = in_threads(lambda n: (autograd.is_recording(), autograd.is_training()))
        assert modes == [(False, False)] * THREADS
        assert autograd.is_recording()

    def keep_recording(number: int) -> bool:
        autograd.set_recording(True)
        return autograd.is_recording()

    assert in_threads(keep_recording) == [True] * THREADS
    assert not autograd.is_recording()


def _train(number: int) -> np.ndarray:
    weight = _weight()
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    for k in range(ROUNDS):
        with autograd.record():
            loss = _loss(_data(number + k), weight)
            if k % 4 == 0:
                loss.asnumpy()
        loss.backward(retain_graph=k % 3 == 0)
        if k % 3 == 0:
            mx.nd.waitall()
            loss.backward()
        updater([0], [weight.grad], [weight])
        if k % 5 == 0:
            mx.nd.waitall()
    return weight.asnumpy()


def test_training_beside_others_gives_the_same_numbers():
    alone = [_train(number) for number in range(THREADS)]
    for one, other in zip(alone, in_threads(_train), strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=1e-5)


def test_gradients_by_shared_variables():
    weight = _weight()

    def work(number: int) -> np.ndarray:
        total = np.zeros((3, 4))
        for k in range(ROUNDS):
            with autograd.record():
                loss = _loss(_data(number + k), weight)
            (grad,) = autograd.grad(loss, weight)
            total += grad.asnumpy()
        return total

    alone = [work(number) for number in range(THREADS)]
    for one, other in zip(alone, in_threads(work), strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=1e-5)


def test_a_thread_reads_what_another_records():
    weight, published = _weight(), []
    done = threading.Event()

    def work(number: int) -> None:
        if number:
            while not done.is_set() or published:
                for array in published[-3:]:
                    assert np.isfinite(array.asnumpy()).all()
                del published[: None if done.is_set() else -3]
            return
        try:
            for k in range(ROUNDS * 4):
                with autograd.record():
                    x = mx.nd.dot(_data(k), weight, transpose_b=True)
                    published.append(x)
                    y = x.tanh()
                    published.append(y)
                    loss = (y * y + x).sum()
                loss.backward()
                data = _data(k).asnumpy()
                h = data @ weight.asnumpy().T
                t = np.tanh(h)
                expected = (2 * t * (1 - t * t) + 1).T @ data
                np.testing.assert_allclose(weight.grad.asnumpy(), expected, rtol=1e-4, atol=1e-5)
        finally:
            done.set()

    in_threads(work)


def test_two_tapes_that_add_to_each_others_gradients_do_not_wait_for_each_other():
    weights = [mx.nd.ones((3,)) for _ in range(2)]
    for weight in weights:
        weight.attach_grad("add")

    def work(number: int) -> None:
        for _ in range(ROUNDS * 8):
            first, second = weights[number % 2], weights[1 - number % 2]
            with autograd.record():
                loss = (first * second).sum()
            loss.backward()
            first.grad.asnumpy()

    in_threads(work)
    assert all(np.isfinite(weight.grad.asnumpy()).all() for weight in weights)


def test_updates_of_shared_weights_do_not_wait_for_each_other():
    weights = [_weight(), _weight()]

    def work(number: int) -> None:
        updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=1e-3))
        for k in range(ROUNDS):
            with autograd.record():
                loss = _loss(_data(k), weights[number % 2]) + _loss(_data(k), weights[1])
            grads = autograd.grad(loss, [weights[number % 2]])
            updater(0, grads[0], weights[number % 2])

    in_threads(work)
    assert all(np.isfinite(weight.asnumpy()).all() for weight in weights)


def test_waitall_of_another_thread_computes_what_is_recorded():
    weight = _weight()
    with autograd.record():
        loss = _loss(_data(0), weight)
        in_threads(lambda number: mx.nd.waitall())
        more = loss * 2
    in_threads(lambda number: mx.nd.waitall())
    more.backward()
    in_threads(lambda number: mx.nd.waitall())
    first = weight.grad.asnumpy()
    with autograd.record():
        more = _loss(_data(0), weight) * 2
    more.backward()
    np.testing.assert_allclose(weight.grad.asnumpy(), first, rtol=1e-5)


@pytest.fixture
def ended() -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    """A weight, and a loss that a thread has recorded which has ended."""
    weight = _weight()

    def work(number: int) -> mx.nd.NDArray:
        autograd.set_recording(True)
        return _loss(_data(number), weight)

    return weight, in_threads(work)[1]  # type: ignore[return-value]


def test_what_an_ended_thread_has_recorded_is_read_and_differentiated(ended):
    weight, loss = ended
    loss.backward()
    grad = weight.grad.asnumpy()
    with autograd.record():
        again = _loss(_data(1), weight)
    again.backward()
    assert again.asnumpy() == loss.asnumpy()
    np.testing.assert_allclose(weight.grad.asnumpy(), grad, rtol=1e-5)


def test_what_an_ended_thread_has_recorded_goes_on_in_another(ended):
    weight, loss = ended
    with autograd.record():
        double = loss * 2
    double.backward()
    twice = weight.grad.asnumpy()
    with autograd.record():
        loss = _loss(_data(1), weight)
    loss.backward()
    np.testing.assert_allclose(twice, 2 * weight.grad.asnumpy(), rtol=1e-5)
