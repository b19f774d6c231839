"""Recorded loops run as few programs as there can be: programs, traces and copies are counted."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("fresh_programs")]

_RANDOM = np.random.RandomState(7)


def calls_of(action: Callable[[], object], *names: str) -> Counter[str]:
    """The numbers of calls of Python functions by their qualified names."""
    counts: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_qualname in names:
            counts[frame.f_code.co_qualname] += 1

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return counts


def programs_of(action: Callable[[], object]) -> tuple[int, int]:
    """The numbers of programs that an action runs, and of arrays that it copies for donation."""
    counts = calls_of(action, "CompiledFunction._call", "restore_thread", "copied")
    # A call of a program that is not compiled is left, and begins again.
    return counts["CompiledFunction._call"] - counts["restore_thread"], counts["copied"]


class Network:
    """Two layers and an updater; its parts are the parts of a training loop."""

    def __init__(self, grad_req: str = "write") -> None:
        shapes = [(8, 6), (8,), (3, 8), (3,)]
        random = np.random.RandomState(1)
        self.parameters = [nd.array(random.uniform(-0.5, 0.5, s)) for s in shapes]
        for p in self.parameters:
            p.attach_grad(grad_req)
        optimizer = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
        self.updater = mx.optimizer.get_updater(optimizer)
        self.data = nd.array(random.uniform(-1, 1, (5, 6)))
        self.label = nd.array([0, 1, 2, 0, 1])

    def forward(self, data: Any = None) -> Any:
        w1, b1, w2, b2 = self.parameters
        x = self.data if data is None else data
        hidden = nd.tanh(nd.FullyConnected(x, w1, b1, num_hidden=8))
        scores = nd.FullyConnected(hidden, w2, b2, num_hidden=3)
        return -nd.pick(nd.log_softmax(scores), self.label)

    def update(self) -> None:
        parameters = self.parameters
        self.updater([*range(len(parameters))], [p.grad for p in parameters], parameters)

    def values(self) -> list[Any]:
        return [p.asnumpy() for p in self.parameters]


def _typical(net: Network) -> Any:
    with autograd.record():
        loss = net.forward()
    loss.backward()
    net.update()
    return loss


def _loss_read_before_update(net: Network) -> None:
    with autograd.record():
        loss = net.forward()
    loss.backward()
    loss.asnumpy()
    net.update()


def _loss_read_inside(net: Network) -> None:
    with autograd.record():
        loss = net.forward()
        loss.asnumpy()
    loss.backward()
    net.update()


def _two_losses(net: Network) -> None:
    with autograd.record():
        first, second = net.forward(), net.forward(net.data * 2)
    autograd.backward([first, second])
    net.update()


@pytest.mark.parametrize(
    ("loop", "programs"),
    [(_typical, 1), (_two_losses, 1), (_loss_read_before_update, 2), (_loss_read_inside, 2)],
)
@pytest.mark.usefixtures("automatic")
def test_a_batch_runs_few_programs_and_copies_nothing(loop, programs):
    net = Network()
    for _ in range(3):
        loop(net)
    assert programs_of(lambda: loop(net)) == (programs, 0)


def test_a_loop_is_traced_once():
    net = Network()
    _typical(net)
    traces = mx.program.cache_info().traces
    for _ in range(5):
        _typical(net)
    assert mx.program.cache_info().traces == traces


def test_micro_batches_are_a_program_each_and_the_last_one_updates():
    net = Network("add")

    def batch() -> None:
        for p in net.parameters:
            p.grad[:] = 0
        for _ in range(3):
            with autograd.record():
                loss = net.forward()
            loss.backward()
        net.update()

    for _ in range(2):
        batch()
    assert programs_of(batch) == (3, 0)


def test_the_parts_of_one_batch_agree_whatever_is_read():
    """One program, or several: the numbers are those of the same graph."""
    trained = []
    for loop in (_typical, _loss_read_before_update, _loss_read_inside):
        net = Network()
        for _ in range(4):
            loop(net)
        trained.append(net.values())
    for others in trained[1:]:
        for x, y in zip(trained[0], others, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-7)


def test_a_repeated_training_is_equal_to_the_last_bit():
    def train() -> list[Any]:
        net = Network()
        for i in range(12):
            with autograd.record():
                loss = net.forward() * (1 + i / 7)
                if i % 3 == 2:
                    loss = loss + net.forward(net.data + i)
            loss.backward()
            net.update()
        return net.values()

    for x, y in zip(train(), train(), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, a: (x * a + 1) * x + a,
        lambda x, a: a / x - x / a,
        lambda x, a: x**a + a**x,
        lambda x, a: nd.maximum(x, a) * (a - x),
    ],
)
def test_a_number_that_changes_compiles_three_programs_and_no_more(function):
    x = nd.array([[[1.5, 2.5]]])  # of a rank that no other test has
    x.attach_grad()
    before, gradients = mx.program.cache_info().traces, []
    for i in range(8):
        with autograd.record():
            y = function(x, 0.5 + i)
        y.backward()
        gradients.append(x.grad.asnumpy()[0, 0])
    assert mx.program.cache_info().traces - before == 3
    for i, gradient in enumerate(gradients):
        step, numbers = 1e-3, np.array([1.5, 2.5])
        ends = [
            function(nd.array(numbers + d, dtype="float64"), 0.5 + i).asnumpy()
            for d in (step, -step)
        ]
        np.testing.assert_allclose(gradient, (ends[0] - ends[1]) / (2 * step), rtol=2e-3)


def _chain(x: Any, length: int) -> Any:
    y = x
    for _ in range(length):
        y = y * x
    return y


def test_ever_new_graphs_run_call_by_call_from_the_ninth_on():
    x = nd.array([0.9, 1.1])
    x.attach_grad()
    autograd.explain()
    for length in (*range(1, 13), 12, 12):
        with autograd.record():
            y = _chain(x, length)
        y.backward()
        expected = (length + 1) * np.array([0.9, 1.1]) ** length
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)
    kinds = [run.kind for run in autograd.explain()]
    assert (
        kinds == ["forward and backward"] * 8 + ["call by call"] * 4 + ["forward and backward"] * 2
    )


def test_graphs_of_very_many_calls_run_call_by_call_once():
    x = nd.array([1.0001, 0.9999])
    x.attach_grad()
    autograd.explain()
    for _ in range(2):
        with autograd.record():
            y = _chain(x, 1501)
        y.backward()
        expected = 1502 * np.array([1.0001, 0.9999]) ** 1501
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-3)
    kinds = [run.kind for run in autograd.explain()]
    assert kinds == ["call by call", "forward and backward"]


def test_ever_new_graphs_of_one_training_may_begin_with_any_variable():
    variables = [nd.array([0.5 + 0.1 * k]) for k in range(4)]
    for x in variables:
        x.attach_grad()
    autograd.explain()
    for i in range(12):
        with autograd.record():
            y = variables[i % 4] * variables[(i + 1) % 4]
            for k in range(i):
                y = y + variables[k % 4]
        y.backward()
    kinds = [run.kind for run in autograd.explain()]
    assert kinds == ["forward and backward"] * 8 + ["call by call"] * 4


def test_runs_are_explained():
    x = nd.ones((2, 3))
    x.attach_grad()
    autograd.explain()
    for read in (False, False, True):
        with autograd.record():
            y = x * x
            if read:
                y.asnumpy()
            z = y.sum()
        z.backward()
    with autograd.record():
        z = nd.exp(x * x).sum()
    z.backward()
    x = nd.ones((4, 3))
    x.attach_grad()
    with autograd.record():
        z = (x * x).sum()
    z.backward()
    runs = autograd.explain()
    assert [(run.cut, run.kind, run.calls) for run in runs] == [
        ("backward", "forward and backward", 2),
        ("backward", "forward and backward", 2),
        ("a value was read", "forward", 1),
        ("backward", "forward and backward", 1),
        ("backward", "forward and backward", 3),
        ("backward", "forward and backward", 2),
    ]
    assert [run.is_new for run in runs] == [True, False, True, True, True, True]
    assert runs[4].why == "call 2, exp: sum stood there before"
    assert runs[5].why == "call 1, broadcast_mul: float32[2, 3] -> float32[4, 3]"
    assert "a value was read" in repr(runs)
    assert len(autograd.explain()) == 0


def test_a_detached_value_divides_a_trace_and_keeps_its_own_part():
    """As in the training of two networks against each other."""
    generator, critic = (nd.array(_RANDOM.uniform(-1, 1, (4, 4))) for _ in range(2))
    generator.attach_grad()
    critic.attach_grad()
    noise = nd.array(_RANDOM.uniform(-1, 1, (3, 4)))
    autograd.explain()
    for _ in range(2):
        with autograd.record():
            made = nd.tanh(nd.dot(noise, generator))
            score = nd.dot(made.detach(), critic).sum()
        score.backward()
        of_critic = critic.grad.asnumpy()
        with autograd.record():
            second = nd.dot(made, critic).sum()
        second.backward()
        assert np.abs(generator.grad.asnumpy()).sum() > 0
        np.testing.assert_allclose(of_critic, critic.grad.asnumpy(), rtol=1e-6)
    kinds = [run.kind for run in autograd.explain()]
    assert kinds == ["forward", "forward and backward", "forward and backward"] * 2


def test_zeros_of_both_signs_are_two_constants():
    x = mx.nd.array([2.0])
    x.attach_grad()
    signs = []
    for number in (0.0, -0.0, 0.0, -0.0):
        with mx.autograd.record():
            y = x * number
        signs.append(bool(np.signbit(y.asnumpy()[0])))
    assert signs == [False, True, False, True]
