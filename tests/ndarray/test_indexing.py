"""Basic and advanced indices against NumPy, and how often they compile."""

from __future__ import annotations

from contextlib import nullcontext

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.extra.numpy import array_shapes, basic_indices

import executorkit as mx
from executorkit import ndarray as nd
from executorkit.errors import MXNetError
from executorkit.ndarray import _indexing


def _model(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def _as_mxnet(x: np.ndarray) -> np.ndarray:
    """MXNet gives shape (1,) where NumPy gives ()."""
    return x.reshape(x.shape or (1,))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_basic_index_reads_and_writes_as_numpy(data):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, max_side=3))
    key = data.draw(basic_indices(shape, allow_newaxis=True, max_dims=5))
    model, x = _model(shape), nd.array(_model(shape))
    assume(np.asarray(model[key]).size)
    np.testing.assert_array_equal(x[key].asnumpy(), _as_mxnet(np.asarray(model[key])))
    model[key] = -1
    x[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), model)
    value = np.asarray(np.random.rand(*model[key].shape), "float32")
    model[key] = value
    x[key] = value
    np.testing.assert_array_equal(x.asnumpy(), model)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_view_is_contiguous_and_writes_through(data):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, max_side=3))
    key = data.draw(basic_indices(shape, allow_newaxis=True, max_dims=5))
    model, x = _model(shape), nd.array(_model(shape))
    assume(np.asarray(model[key]).size)
    part = x[key]
    part[:] = -1
    if part.storage is x.storage:
        model[key] = -1
    else:
        contiguous = np.asarray(model[key]).flags.c_contiguous
        assert not contiguous
    np.testing.assert_array_equal(x.asnumpy(), model)


#: Keys of an array of shape (3, 4), and the shape of what mx.nd and mx.np read, None for errors.
EMPTY = [
    (np.s_[2:1], None, None),
    (np.s_[2:1:1], None, None),
    (np.s_[-1:-3], None, None),
    (np.s_[2:2], (0, 4), (0, 4)),
    (np.s_[7:9], (0, 4), (0, 4)),
    (np.s_[2:1:2], (0, 4), (0, 4)),
    (np.s_[2:1, :], (0, 4), (0, 4)),
    (np.s_[2:1, 0], (0,), (0,)),
    (np.s_[:, 2:1], None, (3, 0)),
    (np.s_[:, 4:], None, (3, 0)),
    (np.s_[1, 2:2], None, (0,)),
]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("key", "legacy", "numpy"), EMPTY)
def test_parts_without_elements_are_those_of_mxnet(key, legacy, numpy, recorded):
    for x, shape in ((nd.array(_model((3, 4))), legacy), (mx.np.array(_model((3, 4))), numpy)):
        x.attach_grad()
        with mx.autograd.record() if recorded else nullcontext():
            if shape is None:
                with pytest.raises(MXNetError):
                    x[key]
            else:
                assert x[key].shape == shape


@pytest.mark.parametrize("make", [nd.array, mx.np.array])
def test_a_range_that_ends_before_it_starts_is_not_written(make):
    x = make(_model((3, 4)))
    for key in (np.s_[2:1], np.s_[1:3:-1], np.s_[:, 3:1:2], np.s_[2:2, 1:0], np.s_[2:1, 0]):
        with pytest.raises(AssertionError, match="ends before it starts"):
            x[key] = 5
    for key in (np.s_[2:2], np.s_[7:9], np.s_[9:7], np.s_[:, 2:2]):
        x[key] = 5
    np.testing.assert_array_equal(x.asnumpy(), _model((3, 4)))


@pytest.mark.parametrize(
    "key",
    [
        ([0, 1],),
        ([1, 0], [2, 2]),
        (slice(None), [2, 0, 2]),
        ([0, 1], slice(None), [3, 1]),
        (0, slice(None), [3, 1]),
        (np.array([[0, 1], [1, -1]]),),
        (..., [0, 3]),
        (None, [1], slice(1, 3)),
        (slice(None), None, [2, 1]),
        (np.array([], int),),
    ],
)
def test_index_arrays_read_and_write_as_numpy(key):
    model, x = _model((2, 3, 4)), nd.array(_model((2, 3, 4)))
    np.testing.assert_array_equal(x[key].asnumpy(), model[key])
    model[key] = -1
    x[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), model)


@pytest.mark.usefixtures("compiled")
def test_a_loop_over_an_index_compiles_once():
    x = nd.zeros((50, 3))
    _ = x[:, 0]
    x[:, 0] = 1
    before = _indexing._read_ranges.executables, _indexing._write_ranges.executables
    for i in range(3):
        x[:, i] = x[:, i] + i
    after = _indexing._read_ranges.executables, _indexing._write_ranges.executables
    assert after == before


def test_arrays_of_int64_keep_their_bits():
    x = nd.array([2**40, 2**41, 2**42], dtype="int64")
    x[0] = 2**50 + 1
    assert x[[0, 2]].asnumpy().tolist() == [2**50 + 1, 2**42]
    assert x[::2].asnumpy().tolist() == [2**50 + 1, 2**42]


def test_writing_beyond_an_axis_by_an_index_array_is_an_error():
    x = nd.zeros((2, 3))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 of length 2"):
        x[[5]] = 1


def test_index_arrays_that_do_not_broadcast_are_a_value_error():
    x = nd.zeros((2, 3))
    with pytest.raises(ValueError, match=r"shapes \(2,\), \(3,\) do not broadcast"):
        x[[0, 1], [0, 1, 2]] = 1
    assert not x.asnumpy().any()


def test_an_ndarray_of_shape_nothing_is_an_integer():
    x = nd.arange(6).reshape((2, 3))
    assert x[nd.array(1)].shape == (3,)
    assert [10, 20][nd.array([1], dtype="int32")] == 20


def test_errors_name_the_inputs():
    x = nd.zeros((2, 3))
    with pytest.raises(ValueError, match="not an index") as caught:
        _ = x["a"]
    assert str(caught.value) == (
        "NDArray: 'a' (str) is not an index\n"
        "  try: integers, slices, ..., None, lists or arrays of integers"
    )
    with pytest.raises(ValueError, match="does not broadcast") as caught:
        x[:] = np.ones((3, 2))
    assert isinstance(caught.value, MXNetError)
    assert str(caught.value) == (
        "assignment to NDArray: a value of shape (3, 2) does not broadcast to (2, 3)"
    )
    with pytest.raises(TypeError) as caught:
        x[0] = "word"
    assert str(caught.value) == (
        "assignment to NDArray: 'word' (str) is not an array of float32\n"
        "  try: a number, a regular nested list, a NumPy array or an NDArray"
    )


def test_integers_select_an_element_without_axes_under_np_shape():
    x = nd.array([[1, 2, 3]])
    with mx.np_shape():
        assert x[0, 1].shape == x[0][1].shape == ()
        assert [v.shape for v in x[0]] == [(), (), ()]
        assert x[0, ..., 1].shape == (1,)  # as in MXNet
        x[0, 1] = 7
    assert x.asnumpy().tolist() == [[1, 7, 3]]
    assert x[0, 1].shape == (1,)
