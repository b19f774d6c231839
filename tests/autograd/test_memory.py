"""What was recorded is freed when nobody can use it any more, without the garbage collector: steps
that wait for it would hold weights, so that these are copied instead of donated."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import jax
import pytest

import executorkit as mx
from executorkit import autograd
from executorkit.autograd import _gradients, _tape_segment, _trace
from tests.autograd.recorded_ways import WAYS, RecordedTraining


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    gc.disable()
    gc.freeze()  # objects of earlier tests are not looked at any more
    yield
    gc.enable()


def _segments() -> int:
    return sum(isinstance(x, _tape_segment.TapeSegment) for x in gc.get_objects())


def _arrays() -> int:
    return len(jax.live_arrays())


@pytest.mark.parametrize("way", WAYS)
def test_a_training_step_leaves_nothing_but_its_results(way):
    training = WAYS[way]()
    counts = []
    for number in range(6):
        training.step(number)
        training.state()
        for name in ("loss", "fake"):
            setattr(training, name, None)
        with autograd.record():
            pass
        counts.append((_arrays(), _segments()))
    assert counts[-1] == counts[-2] == counts[-3]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("way", ["update", "read", "adversaries"])
def test_a_compiled_training_step_leaves_nothing_but_its_results(way):
    test_a_training_step_leaves_nothing_but_its_results(way)


def _flat(work: Callable[[], object], rounds: int = 8) -> None:
    """Checks that repeated work holds the numbers of arrays and segments flat."""
    counts = []
    for _ in range(rounds):
        work()
        counts.append((_arrays(), _segments()))
    assert len({*counts[3:]}) == 1, counts


def test_graphs_that_are_never_differentiated_do_not_pile_up():
    training = RecordedTraining()

    def evaluate() -> None:
        training.record(0)
        training.loss.asnumpy()

    _flat(evaluate)


def test_graphs_that_are_never_read_do_not_pile_up():
    training = RecordedTraining()

    def record_some() -> None:
        for _ in range(5):  # a segment is open in as many scopes
            training.record(0)

    _flat(record_some)


def test_a_graph_is_freed_with_its_last_handle_and_the_next_record():
    before = None
    for _ in range(3):
        x = mx.nd.ones((1000,))
        x.attach_grad()
        with autograd.record():
            y = x * 2
        del x, y
        with autograd.record():
            pass
        before = before or (_arrays(), _segments())
        assert (_arrays(), _segments()) == before


def test_a_loop_within_one_record_does_not_pile_up():
    x = mx.nd.ones((3,))
    x.attach_grad()
    with autograd.record():

        def step() -> None:
            (x * x).sum().backward()

        _flat(step)


def test_functions_and_dynamic_shapes_are_freed():
    class Doubled(autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * 2

        def backward(self, head):
            return head * self.saved_tensors[0]

    x = mx.nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    mask = mx.nd.array([1.0, 0.0, 1.0])

    def step() -> None:
        with autograd.record():
            loss = mx.nd.contrib.boolean_mask(Doubled()(x), mask).sum()
        loss.backward()

    _flat(step)


def test_gradients_of_gradients_are_freed():
    x = mx.nd.array([1.0, 2.0, 3.0])
    x.attach_grad()

    def step() -> None:
        with autograd.record():
            (first,) = autograd.grad((x**3).sum(), x, create_graph=True)
            (second,) = autograd.grad(first.sum(), x, create_graph=True)
        second.backward()

    _flat(step)


def test_tables_of_traces_are_bounded(monkeypatch):
    monkeypatch.setattr(_trace, "_MAX_STATES", 20)
    _trace.tree.reset()  # of the tests before
    x = mx.nd.ones((2,))
    x.attach_grad()
    for k in range(60):
        with autograd.record():
            y = x
            for _ in range(k % 7 + 1):
                y = y * 2
        y.backward()
        assert x.grad.asnumpy().tolist() == [2.0 ** (k % 7 + 1)] * 2
        assert _trace.tree.n_traces <= 20
    for size in range(1, 200):
        _gradients._ones((size,), x.dtype, x.context)
    assert len(_gradients._known_ones) <= _gradients._MAX_ONES
