"""Slices of a batch: MXNet's where it has them, even ones where only its rounding refuses."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from executorkit.errors import BatchError
from executorkit.parallel import BatchInput
from executorkit.parallel._batch_transfer import split_input_slice
from tests._tools.answers import stored_answers

pytestmark = pytest.mark.smoke

ANSWERS = stored_answers("groups")["slices"]


def test_slices_are_mxnets():
    refused = 0
    for rows, loads, theirs in ANSWERS:
        if theirs is not None:
            assert [[s.start, s.stop] for s in split_input_slice(rows, loads)] == theirs
        elif rows >= len(loads):
            refused += 1
            assert len(split_input_slice(rows, loads)) == len(loads)
        else:
            with pytest.raises(BatchError):
                split_input_slice(rows, loads)
    assert refused > 10


@pytest.mark.parametrize(("rows", "devices"), [(6, 4), (28, 8), (3, 2), (12, 8)])
def test_batches_refused_for_rounding_only_are_nearly_even(rows, devices):
    sizes = [s.stop - s.start for s in split_input_slice(rows, [1] * devices)]
    assert sum(sizes) == rows
    assert max(sizes) - min(sizes) <= 1


@given(
    st.lists(st.floats(0.01, 100) | st.integers(1, 50), min_size=1, max_size=16),
    st.integers(0, 500),
)
def test_slices_are_adjacent_not_empty_and_cover_the_batch(loads, extra_rows):
    rows = len(loads) + extra_rows
    slices = split_input_slice(rows, loads)
    assert len(slices) == len(loads)
    assert [s.start for s in slices] == [0, *(s.stop for s in slices[:-1])]
    assert slices[-1].stop == rows
    assert all(s.stop > s.start for s in slices)


@given(st.integers(1, 16), st.integers(1, 40))
def test_equal_workloads_divide_divisible_batches(devices, share):
    slices = split_input_slice(devices * share, [1] * devices)
    assert {s.stop - s.start for s in slices} == {share}


def test_an_impossible_batch_is_explained():
    with pytest.raises(ValueError, match="3 rows") as error:
        split_input_slice(3, [1, 1, 1, 1])
    assert str(error.value) == (
        "slicing: 3 rows cannot be divided over 4 devices\n"
        "  given by: batch of 3 rows, 4 devices, workloads [1, 1, 1, 1]\n"
        "  try: a batch of at least 4 rows, or fewer contexts"
    )


def test_an_idle_device_is_explained():
    with pytest.raises(ValueError, match="positive") as error:
        split_input_slice(8, [1, 0])
    assert str(error.value) == (
        "slicing: every workload must be positive\n"
        "  given by: batch of 8 rows, 2 devices, workloads [1, 0]\n"
        "  try: leave the context out instead"
    )


def test_no_device_is_explained():
    with pytest.raises(ValueError, match="no device"):
        split_input_slice(8, [])


def test_parts_are_cut_along_the_batch_axis():
    assert BatchInput("x", (8, 5), axis=0).part(slice(2, 5)) == (3, 5)
    assert BatchInput("x", (7, 8, 5), axis=1).part(slice(2, 5)) == (7, 3, 5)
    assert BatchInput("x", (1, 5), axis=-1).part(slice(2, 5)) == (1, 5)
