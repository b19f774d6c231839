"""Replicated arrays: members are NDArrays; splits and assemblies happen only when needed."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.parallel import traffic
from executorkit.parallel._replicated_array import ReplicatedArray

CONTEXTS = [mx.cpu(i) for i in range(4)]


@pytest.fixture
def stack():
    stack = ReplicatedArray(CONTEXTS, (2, 3), "float32")
    stack.assign(stack.replicas.from_host(np.arange(24, dtype=np.float32).reshape(4, 2, 3)))
    return stack


@pytest.fixture
def counted():
    """The movements since the fixture was made, without those that did not happen."""
    before = traffic.snapshot()
    return lambda: {k: n - before[k] for k, n in traffic.snapshot().items() if n != before[k]}


class Constant:
    """A producer that fills a replicated array with one number, and counts its calls."""

    copies = False

    def __init__(self, array: ReplicatedArray, number: float) -> None:
        self.array = array
        self.number = number
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        value = self.array.replicas.filled(self.array.shape, self.array.dtype, self.number)
        assert self.array.set_result(self, value)

    force = __call__

    @property
    def source(self) -> Constant:
        return self


def _host(stack: ReplicatedArray) -> np.ndarray:
    return np.asarray(stack.value)


def test_members_are_ndarrays_of_their_contexts(stack):
    assert [m.context for m in stack] == CONTEXTS
    assert [m.shape for m in stack] == [(2, 3)] * 4
    assert [next(iter(m.jax.devices())) for m in stack] == [c.device for c in CONTEXTS]
    assert stack[1] is stack[1]
    assert [m.asnumpy()[0, 0] for m in stack[1:3]] == [6, 12]
    assert stack[-1].asnumpy()[1, 2] == 23
    assert stack[0].dtype is np.float32


def test_unread_members_are_not_split_off(stack, counted):
    members = list(stack)
    assert counted() == {}
    members[2].asnumpy()
    assert counted() == {"split": 1}
    members[2].asnumpy()
    assert _host(stack).shape == (4, 2, 3)
    assert counted() == {"split": 1}


def test_a_write_to_a_member_is_seen_and_costs_one_assembly(stack, counted):
    stack[1][:] = 7
    assert (_host(stack)[1] == 7).all()
    assert (_host(stack)[[0, 2, 3]] == np.arange(24).reshape(4, 2, 3)[[0, 2, 3]]).all()
    assert counted() == {"assembled": 1}


def test_a_partial_write_and_arithmetic_in_place_are_seen(stack, counted):
    stack[0][0] = -1
    stack[3] += 100
    stack[2].reshape((3, 2))[1] = 5
    expected = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    expected[0, 0] = -1
    expected[3] += 100
    expected[2].reshape(3, 2)[1] = 5
    assert (_host(stack) == expected).all()
    assert counted() == {"split": 3, "assembled": 1}


def test_members_show_assignments_to_all(stack):
    member = stack[1]
    assert member.asnumpy()[0, 0] == 6
    view = member[0]
    assert view.asnumpy()[0] == 6
    stack.assign(stack.replicas.filled((2, 3), "float32", 9))
    assert (member.asnumpy() == 9).all()
    assert (view.asnumpy() == 9).all()


def test_nothing_is_computed_when_all_members_are_written(stack, counted):
    producer = Constant(stack, 4)
    stack.defer(producer)
    for k, member in enumerate(stack):
        member[:] = k
    assert (_host(stack) == np.arange(4)[:, None, None]).all()
    assert producer.calls == 0
    assert counted() == {"assembled": 1}


def test_pending_contents_are_computed_when_a_member_is_read(stack):
    producer = Constant(stack, 4)
    stack.defer(producer)
    stack[2][:] = 1
    assert producer.calls == 0
    assert (stack[0].asnumpy() == 4).all()
    assert (stack[2].asnumpy() == 1).all()
    assert _host(stack)[:, 0, 0].tolist() == [4, 4, 1, 4]
    assert producer.calls == 1


def test_the_result_of_a_superseded_producer_is_dropped(stack):
    producer = Constant(stack, 4)
    stack.defer(producer)
    stack.assign(stack.replicas.filled((2, 3), "float32", 1))
    assert not stack.set_result(producer, stack.replicas.filled((2, 3), "float32", 2))
    assert (stack[0].asnumpy() == 1).all()
    assert producer.calls == 0


def test_members_keep_their_order_on_devices_in_any_order():
    stack = ReplicatedArray([mx.cpu(i) for i in (3, 0, 2)], (1,), "int64")
    stack.assign(stack.replicas.from_host(np.array([[5], [6], [7]])))
    assert [int(m.asscalar()) for m in stack] == [5, 6, 7]
    stack[1][:] = 8
    assert _host(stack).ravel().tolist() == [5, 8, 7]
    assert [m.context.device_id for m in stack] == [3, 0, 2]
    assert stack[0].dtype is np.int64


def test_a_member_cannot_be_replaced(stack):
    with pytest.raises(TypeError, match="cannot be replaced") as error:
        stack[1] = mx.nd.zeros((2, 3))
    assert str(error.value) == (
        "arrays[1]: the arrays of a group cannot be replaced\n"
        "  try: write to its contents: arrays[1][:] = value"
    )
