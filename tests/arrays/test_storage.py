"""Views, overlays and deferred contents against a NumPy model: one buffer, any order of actions."""

from __future__ import annotations

import gc
import weakref

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from executorkit import ndarray as nd
from executorkit.arrays.pending import register_pending_owner
from executorkit.arrays.storage import MAX_OVERLAYS

SIZE = 12


def _part(draw, x: nd.NDArray) -> tuple[nd.NDArray, slice]:
    """A contiguous view of a vector, in some shape, and where it lies."""
    start = draw(st.integers(0, SIZE - 1))
    size = draw(st.integers(1, SIZE - start))
    rows = draw(st.sampled_from([r for r in (1, 2, 3) if size % r == 0]))
    return x.flat_view((rows, size // rows), start), slice(start, start + size)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_sequence_of_writes_reads_and_deferrals_is_that_of_one_buffer(data):
    draw = data.draw
    model = np.arange(SIZE, dtype="float32")
    x = nd.arange(SIZE)
    for step in range(draw(st.integers(1, 12))):
        action = draw(st.sampled_from(["write", "whole", "read", "read whole", "defer"]))
        view, where = _part(draw, x)
        if action == "write":
            view[:] = step + 100
            model[where] = step + 100
        elif action == "whole":
            x[:] = step
            model[:] = step
        elif action == "defer":
            value = nd.full(view.shape, step - 100.0).jax
            view.defer(lambda view=view, value=value: view.assign(value))  # type: ignore[reportArgumentType]
            model[where] = step - 100
        elif action == "read":
            np.testing.assert_array_equal(view.asnumpy().reshape(-1), model[where])
        else:
            np.testing.assert_array_equal(x.asnumpy(), model)
    np.testing.assert_array_equal(x.asnumpy(), model)


def test_reading_an_array_twice_gives_the_same_buffer_and_so_does_a_view():
    x = nd.arange(6)
    assert x.jax is x.jax
    view = x.reshape((2, 3))
    assert view.jax is view.jax
    x[0] = 5
    assert view.asnumpy()[0, 0] == 5


def test_whole_assignment_is_a_rebinding():
    x, y = nd.zeros((2, 3)), nd.ones((2, 3))
    x[:] = y
    assert x.jax is y.jax
    y[:] = 7
    assert x.asnumpy().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_an_array_handed_out_keeps_its_contents():
    x = nd.zeros((4,))
    seen = x.jax
    x[1:3] = 1
    x += 1
    assert seen.tolist() == [0, 0, 0, 0]
    assert x.asnumpy().tolist() == [1, 2, 2, 1]


def test_feeding_a_smaller_view_does_not_touch_the_larger_buffer():
    large = nd.zeros((8, 3))
    small = large.flat_view((2, 3))
    before = large.jax
    new = nd.ones((2, 3)).jax
    small.assign(new)
    assert small.jax is new
    assert large.storage._base is before
    assert large.asnumpy().sum() == 6
    assert small.asnumpy().sum() == 6


def test_many_overlays_are_merged():
    x = nd.zeros((100,))
    for i in range(3 * MAX_OVERLAYS):
        x[i] = i
        assert len(x.storage._overlays) <= MAX_OVERLAYS
    expected = np.zeros(100)
    expected[: 3 * MAX_OVERLAYS] = range(3 * MAX_OVERLAYS)
    np.testing.assert_array_equal(x.asnumpy(), expected)


class _Step:
    """The producer of some arrays together, as an executor's step is; counts its runs."""

    copies = False

    def __init__(self, *arrays: nd.NDArray) -> None:
        self.arrays = arrays
        self.runs = 0
        self.source = self
        for a in arrays:
            a.defer(self)
        register_pending_owner(self)

    def __call__(self) -> None:
        self.runs += 1
        for a in self.arrays:
            a.set_result(self, nd.full(a.shape, 42).jax)

    def force(self) -> None:
        if any(a.storage.pending is self for a in self.arrays):
            self()


def test_a_step_runs_once_when_one_of_its_arrays_is_read():
    x, y = nd.zeros((2, 3)), nd.zeros((4,))
    step = _Step(x, y)
    assert step.runs == 0
    assert x[1].asnumpy().tolist() == [42, 42, 42]
    assert y.asnumpy().tolist() == [42] * 4
    assert step.runs == 1


def test_shape_dtype_and_context_run_no_producer():
    x = nd.zeros((2, 3), dtype="float16")
    step = _Step(x)
    assert (x.shape, x.dtype, x.size, str(x.context)) == ((2, 3), np.float16, 6, "cpu(0)")
    assert x[0].shape == (3,)
    assert step.runs == 0


def test_whole_assignment_cancels_deferred_contents_even_if_the_step_runs_later():
    x, y = nd.zeros((2,)), nd.zeros((2,))
    step = _Step(x, y)
    x[:] = 1
    assert step.runs == 0
    assert y.asnumpy().tolist() == [42, 42]
    assert x.asnumpy().tolist() == [1, 1]


def test_a_partial_write_runs_the_producer_first():
    x = nd.zeros((3,))
    step = _Step(x)
    x[1] = 5
    assert step.runs == 1
    assert x.asnumpy().tolist() == [42, 5, 42]


def test_a_deferred_view_leaves_other_parts_readable():
    x = nd.zeros((4,))
    step = _Step(x[1:3])
    assert x[3:].asnumpy().tolist() == [0]
    assert step.runs == 0
    assert x.asnumpy().tolist() == [0, 42, 42, 0]


def test_a_producer_that_assigns_nothing_is_an_error_each_time():
    x = nd.zeros((2,))
    x.defer(lambda: None)  # type: ignore[reportArgumentType]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="did not assign it"):
            x.asnumpy()


def test_contents_stay_deferred_when_their_producer_fails():
    x = nd.zeros((2,))

    def fails() -> None:
        raise ValueError("out of memory")

    x.defer(fails)  # type: ignore[reportArgumentType]
    for _ in range(2):
        with pytest.raises(ValueError, match="out of memory"):
            x.asnumpy()
    x[:] = 1
    assert x.asnumpy().tolist() == [1, 1]


def test_waitall_runs_deferred_work_and_keeps_no_owner_alive():
    x, y = nd.zeros((2,)), nd.zeros((2,))
    step, dropped = _Step(x), _Step(y)
    gone = weakref.ref(dropped)
    del dropped, y
    gc.collect()
    nd.waitall()
    assert step.runs == 1
    assert gone() is None
    nd.waitall()
    assert step.runs == 1


def test_only_buffers_that_nobody_else_holds_may_be_donated():
    x = nd.zeros((2, 3))
    assert x.owns_buffer
    _ = x.value
    assert x.owns_buffer
    _ = x.jax
    assert not x.owns_buffer
    x[:] = 1
    assert x.owns_buffer
    copy = x.copy()
    assert not x.owns_buffer
    assert not copy.owns_buffer
    x[0] = 2
    _ = x.asnumpy()
    assert x.owns_buffer
    assert not x[0].owns_buffer


def test_numpy_buffers_are_copied():
    host = np.zeros((256, 256), "float32")
    copied, assigned = nd.array(host), nd.zeros((256, 256))
    assigned[:] = host
    taken = nd.from_numpy(host, zero_copy=False)
    host[:] = 1
    assert copied.asnumpy().sum() == assigned.asnumpy().sum() == taken.asnumpy().sum() == 0
    out = copied.asnumpy()
    out[:] = 5
    np.asarray(copied)[:] = 6
    assert copied.asnumpy().sum() == 0


def test_waiting_for_a_view_does_not_read_it():
    x = nd.arange(SIZE)
    view = x[2:5]
    view.wait_to_read()
    assert view.current is None
    x[3] = 1
    view.wait_to_read()
    assert view.current is None
    assert view.asnumpy().tolist() == [2, 1, 4]
    produced = []
    x.defer(lambda: produced.append(x.assign(nd.zeros((SIZE,)).jax)))  # type: ignore[reportArgumentType]
    view.wait_to_read()
    assert len(produced) == 1
