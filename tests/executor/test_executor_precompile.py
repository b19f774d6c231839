"""Ahead-of-time compilation for other shapes, in the background."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from jax import monitoring

import executorkit as mx
from executorkit.program import CompileTask, submit

pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.fixture
def compiled():
    """Compilations of XLA since the test began."""
    count = [0]

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        count[0] += "backend_compile" in event

    monitoring.register_event_duration_secs_listener(listen)
    yield lambda: count[0]
    monitoring.unregister_event_duration_listener(listen)


def _bound(batch: int = 8) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    requests = {"fc_weight": "write", "fc_bias": "write"}
    return net.simple_bind(mx.cpu(), grad_req=requests, data=(batch, 5))


def _at(executor, batch: int):
    return executor.reshape(data=(batch, 5), softmax_label=(batch,))


def test_precompiled_shapes_compile_nothing_more(compiled):
    executor = _bound()
    precompilation = executor.precompile([{"data": (n, 5)} for n in (2, 3, 4)])
    assert precompilation.wait()
    assert precompilation.done
    assert not precompilation.errors
    assert precompilation.seconds > 0
    assert repr(precompilation) == "<Precompilation: 3 of 3 compiled>"
    assert executor.program.traces == 3
    before = compiled()
    for n in (2, 3, 4):
        smaller = _at(executor, n)
        output = smaller.forward(data=np.ones((n, 5), "float32"))[0].asnumpy()
        np.testing.assert_allclose(output, 1 / 3, rtol=1e-6)
    assert compiled() == before
    assert executor.program.traces == 3


def test_training_is_precompiled_too():
    executor = _bound()
    executor.precompile([{"data": (2, 5)}], is_train=True).wait()
    smaller = _at(executor, 2)
    smaller.forward(is_train=True)
    smaller.backward()
    smaller.grad_dict["fc_weight"].wait_to_read()
    assert {f.name: f.traces for f in executor.program.functions if f.traces} == {
        "forward_backward_train": 1
    }


def test_a_step_with_an_update_is_precompiled(compiled):
    executor = _bound()
    optimizer = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9)
    updater = mx.optimizer.get_updater(optimizer)
    names = ["fc_weight", "fc_bias"]

    def step(on):
        on.forward(is_train=True)
        on.backward()
        weights = [on.arg_dict[n] for n in names]
        updater([0, 1], [on.grad_dict[n] for n in names], weights)
        weights[0].wait_to_read()

    step(executor)
    step(_at(executor, 3))  # weights that the first executor holds are copied
    executor.precompile([{"data": (2, 5)}], is_train=True).wait()
    ran = {f.name: f.traces for f in executor.program.functions if f.traces}
    smaller = _at(executor, 2)
    before = compiled()
    step(smaller)
    assert {f.name: f.traces for f in executor.program.functions if f.traces} == ran
    assert compiled() == before


def test_a_call_waits_for_a_compilation_that_has_begun(monkeypatch):
    executor = _bound()
    function = executor.program.infer[False]
    begun, go_on = threading.Event(), threading.Event()
    evaluate = function.function

    def slow(*args):
        begun.set()
        assert go_on.wait(30)
        return evaluate(*args)

    monkeypatch.setattr(function, "function", slow)
    precompilation = executor.precompile([{"data": (2, 5)}])
    assert begun.wait(30)
    assert not precompilation.wait(0)
    assert not precompilation.done
    results = []
    smaller = _at(executor, 2)
    caller = threading.Thread(target=lambda: results.append(smaller.forward()[0].asnumpy()))
    caller.start()
    caller.join(0.1)
    assert not results
    go_on.set()
    caller.join(30)
    assert results[0].shape == (2, 3)
    assert function.traces == 1
    assert not function._tasks


def test_a_call_does_not_wait_for_a_compilation_that_has_not_begun(monkeypatch):
    gate = threading.Event()
    busy = [submit(lambda: gate.wait(30)) for _ in range(8)]
    try:
        executor = _bound()
        precompilation = executor.precompile([{"data": (2, 5)}])
        assert _at(executor, 2).forward()[0].asnumpy().shape == (2, 3)
        assert precompilation.done
        assert not busy[-1].done
    finally:
        gate.set()
    for task in busy:
        task.wait()
    assert executor.program.traces == 1


def test_asked_for_twice_it_is_compiled_once():
    executor = _bound()
    shapes = [{"data": (2, 5)}]
    first, second = executor.precompile(shapes), executor.precompile(shapes)
    first.wait()
    second.wait()
    assert executor.program.traces == 1


def test_errors_of_compilations_are_reported(monkeypatch):
    executor = _bound()

    def broken(*_):
        raise ArithmeticError("no")

    monkeypatch.setattr(executor.program.infer[False], "function", broken)
    precompilation = executor.precompile([{"data": (2, 5)}])
    with pytest.raises(ArithmeticError, match="no"):
        precompilation.wait()
    ((shapes, error),) = precompilation.errors
    assert shapes == (("data", (2, 5)),)
    assert isinstance(error, ArithmeticError)
    assert repr(precompilation) == "<Precompilation: 1 of 1 compiled, 1 failed>"


def test_wrong_shapes_are_refused_at_once():
    executor = _bound()
    with pytest.raises(mx.MXNetError, match=r"precompile: unknown argument 'dada'"):
        executor.precompile([{"data": (2, 5)}, {"dada": (2, 5)}])
    with pytest.raises(ValueError, match="fc"):
        executor.precompile([{"data": (2, 5), "fc_weight": (3, 7)}])
    assert executor.program.traces == 0


def test_segments_are_precompiled():
    with mx.AttrScope(ctx_group="one"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    with mx.AttrScope(ctx_group="two"):
        net = mx.sym.exp(net)
    groups = {"one": mx.cpu(0), "two": mx.cpu(1)}
    executor = net.simple_bind(mx.cpu(), group2ctx=groups, data=(4, 5))
    executor.precompile([{"data": (2, 5)}]).wait()
    before = executor.program.traces
    smaller = executor.reshape(data=(2, 5))
    assert smaller.forward()[0].asnumpy().shape == (2, 3)
    assert executor.program.traces == before


def test_cancelled_compilations_are_not_done():
    did = []
    task = CompileTask(lambda: did.append(1))
    task.cancel()
    task.finish()
    assert task.done
    assert not did


@pytest.mark.usefixtures("automatic")
def test_executors_of_one_program_run_in_several_threads():
    executors = [_bound() for _ in range(6)]
    for executor in executors:
        executor.arg_dict["fc_weight"][:] = 0.1
    start = threading.Barrier(len(executors))
    results: dict[int, np.ndarray] = {}

    def run(number: int) -> None:
        start.wait(30)
        reshaped = _at(executors[number], 2 + number % 2)
        data = np.full(reshaped.arg_dict["data"].shape, number, "float32")
        reshaped.forward(is_train=True, data=data)
        reshaped.backward()
        results[number] = reshaped.grad_dict["fc_weight"].asnumpy()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(executors))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for number, gradient in results.items():
        rows = 2 + number % 2
        expected = rows * number * (1 / 3 - np.array([1.0, 0, 0]))
        np.testing.assert_allclose(gradient, np.repeat(expected[:, None], 5, 1), 1e-5, 1e-6)
    assert len(results) == len(executors)
    assert executors[0].program.traces == 2
