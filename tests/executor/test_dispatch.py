"""Cost of a call of an executor besides the compiled program, in calls of Python functions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import executorkit as mx
from executorkit.executor import Computed

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("compiled")]

_HOME = str(Path(mx.__file__).parent)


def _calls(function) -> int:
    """Number of functions of this package that one more call of ``function`` calls."""
    for _ in range(4):
        function()
    names: list[str] = []

    def seen(frame, event: str, arg) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_HOME):
            names.append(frame.f_code.co_qualname)

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(names)


def _sum(arguments: int, grad_req: str = "write"):
    net = mx.sym.add_n(*(mx.sym.Variable(f"x{i}") for i in range(arguments)))
    return net.simple_bind(mx.cpu(), grad_req, **{f"x{i}": (2,) for i in range(arguments)})


@pytest.mark.parametrize("train", [False, True])
def test_a_forward_calls_no_more_for_more_arguments(train):
    few, many = _sum(2), _sum(20)
    counts = [_calls(lambda e=e: e.forward(is_train=train)[0].jax) for e in (few, many)]
    assert counts[0] == counts[1] <= 20


def test_waitall_asks_only_executors_that_have_deferred_something():
    def wait() -> None:
        executor.forward()
        mx.nd.waitall()

    executor = _sum(2)
    few = _calls(wait)
    resting = [_sum(2) for _ in range(20)]
    for each in resting:
        each.forward(is_train=True)
    mx.nd.waitall()
    assert all(x.jax.is_ready() for each in resting for x in each.outputs)  # type: ignore[attr-defined]
    assert _calls(wait) == few
    resting[0].backward(mx.nd.ones((2,)))
    step = resting[0].last_step
    assert step is not None
    assert not isinstance(step.state, Computed)
    mx.nd.waitall()
    assert isinstance(step.state, Computed)


def test_an_input_is_written_in_few_calls():
    executor, x = _sum(2), mx.nd.ones((2,))
    calls = _calls(lambda: executor.forward(x0=x, x1=x)[0].jax)
    assert calls - _calls(lambda: executor.forward()[0].jax) <= 16


def test_backward_defers_and_stores_each_gradient_with_one_call():
    head = mx.nd.ones((2,))

    def step(executor) -> None:
        executor.forward(is_train=True)
        executor.backward(head)
        _ = executor.grad_arrays[0].jax

    few, many = (_calls(lambda e=e: step(e)) for e in (_sum(2), _sum(20)))
    assert many - few <= 2 * 18
    assert few <= 36


def test_a_known_graph_is_bound_without_asking_jax_for_anything():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net.simple_bind(mx.cpu(), data=(2, 4))
    traces = mx.program.cache_info().traces
    executor = net.simple_bind(mx.cpu(), data=(2, 4))
    assert mx.program.cache_info().traces == traces
    assert all(a.storage.current is None for a in (*executor.arg_arrays, *executor.outputs))
    np.testing.assert_array_equal(executor.arg_dict["fc_weight"].asnumpy(), np.zeros((3, 4)))


@pytest.mark.usefixtures("fresh_programs")
def test_waitall_runs_the_pending_steps_of_all_executors_once():
    one, two = _sum(2), _sum(3)
    outputs = [*one.forward(is_train=True), *two.forward()]
    one.backward(mx.nd.ones((2,)))
    mx.nd.waitall()
    arrays = [*outputs, *(g for g in one.grad_arrays)]
    assert all(a.storage.producer is None for a in arrays)
    runs = [f.name for e in (one, two) for f in e.program.functions if f.traces]
    assert runs == ["forward_backward_train", "infer"]
