"""Threads with executors of their own, which wait for everybody's work now and then."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import executorkit as mx

THREADS = 4


@pytest.fixture(autouse=True)
def _hasty() -> Iterator[None]:
    """Lets threads change as often as they can."""
    gc.collect()  # executors of other tests, for which waitall would wait
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(work: Callable[[int], object]) -> list[object]:
    """The results of ``work(number)``, each in a thread; the first error is raised."""
    results: list[object] = [None] * THREADS
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results


def train(number: int, shared: mx.nd.NDArray, rounds: int = 25) -> np.ndarray:
    """Trains a regression on numbers of this thread, from a shared weight."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, no_bias=True, name="fc")
    net = mx.sym.LinearRegressionOutput(net, name="out")
    requests = {"data": "null", "fc_weight": "write", "out_label": "null"}
    executor = net.simple_bind(mx.cpu(), data=(2, 4), out_label=(2, 3), grad_req=requests)
    weight, gradient = executor.arg_dict["fc_weight"], executor.grad_dict["fc_weight"]
    weight[:] = shared
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    rng = np.random.default_rng(number)
    for k in range(rounds):
        data = rng.normal(size=(2, 4)).astype("float32")
        executor.forward(is_train=True, data=mx.nd.array(data))
        executor.backward()
        if k % 3 == 0:
            mx.nd.waitall()
        updater(0, gradient, weight)
        if k % 5 == 0:
            mx.nd.waitall()
    return weight.asnumpy()


@pytest.mark.usefixtures("deterministic")
def test_training_beside_others_gives_the_same_numbers():
    shared = mx.nd.array(np.random.default_rng(5).normal(size=(3, 4)))
    alone = [train(number, shared) for number in range(THREADS)]
    for one, other in zip(alone, in_threads(lambda n: train(n, shared)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("deterministic")
def test_steps_of_the_training_package_beside_others_that_wait():
    def steps(number: int) -> np.ndarray:
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
        net = mx.sym.LinearRegressionOutput(net, name="out")
        executor = net.simple_bind(mx.cpu(), data=(2, 4), out_label=(2, 2))
        executor.arg_dict["fc_weight"][:] = 1
        step = mx.training.Step(executor, mx.optimizer.create("sgd", learning_rate=0.1))
        for k in range(20):
            step(data=np.full((2, 4), number + k, "float32"), out_label=np.zeros((2, 2), "float32"))
            mx.nd.waitall()
        return executor.arg_dict["fc_weight"].asnumpy()

    alone = [steps(number) for number in range(THREADS)]
    for one, other in zip(alone, in_threads(steps), strict=True):
        np.testing.assert_array_equal(one, other)


def test_binding_eager_calls_and_files_in_several_threads(tmp_path):
    weights = mx.nd.array(np.arange(12, dtype="float32").reshape(3, 4))

    def work(number: int) -> float:
        total = 0.0
        for k in range(8):
            net = mx.sym.FullyConnected(
                mx.sym.Variable("data"), num_hidden=3, no_bias=True, name=f"fc{k % 2}"
            )
            args = {"data": mx.nd.ones((1 + k % 3, 4)), f"fc{k % 2}_weight": weights}
            executor = net.bind(mx.cpu(), args)
            total += float(executor.forward()[0].sum().asscalar())
            path = str(tmp_path / f"{number}.params")
            mx.nd.save(path, {"x": mx.nd.ones((2,)) * k})
            loaded = mx.nd.load(path)
            assert isinstance(loaded, dict)
            total += float(loaded["x"].sum().asscalar())
            if k % 4 == 0:
                mx.nd.waitall()
        return total

    assert set(in_threads(work)) == {work(9)}
