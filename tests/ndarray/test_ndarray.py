"""NDArray in company: NumPy, JAX, DLPack, pickles, contexts; and what is deliberately different."""

from __future__ import annotations

import copy
import ctypes
import pickle
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import executorkit as mx
from executorkit import ndarray as nd
from executorkit.context import Context, cpu
from executorkit.errors import MXNetError

pytestmark = pytest.mark.smoke


@pytest.fixture
def x() -> nd.NDArray:
    return nd.arange(6).reshape((2, 3))


def test_numpy_takes_it(x):
    assert np.asarray(x).dtype == np.float32
    assert np.array(x, dtype="int8").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.exp(x).shape == (2, 3)
    assert np.from_dlpack(x).tolist() == x.asnumpy().tolist()
    assert not np.asarray(x, copy=False).flags.writeable


def test_jax_takes_it(x):
    assert isinstance(x.jax, jax.Array)
    assert jnp.asarray(x).shape == (2, 3)
    assert jax.jit(jnp.sum)(x.jax) == 15


def test_a_jax_array_is_taken_without_a_copy():
    source = jnp.arange(3.0)
    x = nd.array(source)
    assert x.jax.unsafe_buffer_pointer() == source.unsafe_buffer_pointer()
    x[0] = 5
    assert source.tolist() == [0, 1, 2]


def test_dlpack_both_ways(x):
    for imported in (nd.from_dlpack(x), nd.from_dlpack(x.to_dlpack_for_read())):
        imported[:] = 0
        assert x.asnumpy()[1, 2] == 5


def test_what_others_write_to_a_capsule_is_in_the_array(x):
    part = x[1]
    capsule = nd.to_dlpack_for_write(part)
    taken: Any = SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0))
    memory = np.from_dlpack(taken)
    assert memory.tolist() == [3, 4, 5]
    written = np.array([7, 8, 9], np.float32)
    ctypes.memmove(memory.ctypes.data, written.ctypes.data, written.nbytes)
    assert x.asnumpy().tolist() == [[0, 1, 2], [7, 8, 9]]
    x[0] = 1
    assert part.asnumpy().tolist() == [7, 8, 9]


def test_python_numbers(x):
    assert float(nd.array([2.5])) == 2.5
    assert int(nd.array([2.5])) == 2
    assert nd.array([[3]]).item() == 3.0
    for attempt in (lambda: float(x), lambda: x.item(), lambda: bool(x)):
        with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
            attempt()
    with pytest.raises(TypeError):
        [1, 2][nd.array([1.0])]


def test_copies_and_pickles_are_independent(x):
    for duplicate in (x.copy(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        duplicate[:] = 0
        assert x.asnumpy().sum() == 15
        assert (duplicate.dtype, duplicate.context) == (np.float32, cpu(0))


def test_a_pickle_of_an_absent_device_is_loaded_on_the_cpu(x):
    x._context = Context("tpu", 99)
    function, arguments = pickle.loads(pickle.dumps(x.__reduce__()))
    assert function(*arguments).context == cpu(0)


def test_a_context_is_where_its_device_is():
    with cpu(1):
        x = nd.zeros((2,))
    assert (x.context, x.jax.devices()) == (cpu(1), {cpu(1).device})
    moved = x.as_in_context(cpu(2))
    assert (moved.context, moved.jax.devices()) == (cpu(2), {cpu(2).device})
    moved[:] = 3
    moved.copyto(x)
    assert x.asnumpy().tolist() == [3, 3]
    assert x.jax.devices() == {cpu(1).device}


def test_copying_to_itself_warns(x):
    with pytest.warns(RuntimeWarning, match="copied to itself"):
        assert x.copyto(x) is False


def test_64_bit_types_are_preserved():
    i = nd.array([2**40 + 1], dtype="int64")
    d = nd.array([1 / 3], dtype="float64")
    assert (i + 1).asnumpy().tolist() == [2**40 + 2]
    assert (d * 3).asnumpy().tolist() == [1.0]
    assert not jax.config.jax_enable_x64  # type: ignore[reportAttributeAccessIssue]


def test_arrays_without_elements_and_axes_are_arrays_like_others():
    nothing, scalar = nd.empty((0, 2)), nd.empty(())
    assert (nothing + 1).shape == (0, 2)
    assert nothing.copy().astype("int32").shape == (0, 2)
    assert repr(nothing) == "\n[]\n<NDArray 0x2 @cpu(0)>"
    assert (scalar + 1).shape == ()
    scalar[:] = 4
    assert scalar[None].shape == (1,)
    assert scalar.asscalar() == 4
    nothing[:] = 1
    assert nothing.asnumpy().shape == (0, 2)


def test_bfloat16():
    x = nd.array([1, 2.5], dtype="bfloat16")
    assert x.dtype is jnp.bfloat16.dtype.type
    assert (x * 2).astype("float32").asnumpy().tolist() == [2, 5]


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: nd.zeros((2, 2), stype="csr"),
        lambda: nd.ones((2, 2)).tostype("row_sparse"),
        lambda: nd.sparse.csr_matrix((2, 2)),
        lambda: nd.sparse.row_sparse_array((2, 2)),
        lambda: nd.sparse.zeros("csr", (2, 2)),
        lambda: nd.sparse.array([1]),
    ],
)
def test_sparse_storage_is_refused(attempt):
    with pytest.raises(MXNetError) as caught:
        attempt()
    assert isinstance(caught.value, NotImplementedError)


def test_undefined_rows_are_zeros():
    outputs, _ = nd.contrib.while_loop(
        lambda i: i < 2, lambda i: (i + 7, i + 1), [nd.zeros((1,))], max_iterations=4
    )
    assert outputs.asnumpy().tolist() == [[7], [8], [0], [0]]
    assert nd.empty((2, 2)).asnumpy().tolist() == [[0, 0], [0, 0]]


def test_wait_to_read_and_waitall_raise_nothing(x):
    (x + 1).wait_to_read()
    nd.waitall()


class TestUnknownShapes:
    """() and lengths of 0 are unknown where shapes have not NumPy's meaning."""

    @pytest.mark.parametrize("shape", [(), (0,), (2, 0), 0])
    @pytest.mark.parametrize(
        "create", [nd.zeros, nd.ones, lambda shape: nd.random.uniform(shape=shape)]
    )
    def test_arrays_of_them_are_made_under_np_shape_only(self, create, shape):
        with pytest.raises(MXNetError, match="is not known"):
            create(shape)
        with mx.np_shape():
            assert create(shape).shape == ((shape,) if shape == 0 else shape)

    def test_a_negative_length_is_none(self):
        for active in (False, True):
            with mx.np_shape(active), pytest.raises(MXNetError):
                nd.random.uniform(shape=(3, -1))

    def test_those_that_mxnet_makes_are_made(self):
        assert nd.empty(()).shape == ()
        assert nd.empty((0, 2)).shape == (0, 2)
        assert nd.full((0,), 1).shape == (0,)
        assert nd.array([]).shape == (0,)
        assert nd.random.normal().shape == (1,)
        with pytest.raises(MXNetError, match="is not known"):
            nd.full((), 1)

    @pytest.mark.parametrize("shape", [(), (2, 0)])
    def test_what_was_saved_under_np_shape_is_loaded_under_it_only(self, shape, tmp_path):
        path = str(tmp_path / "x.params")
        with mx.np_shape():
            nd.save(path, {"w": nd.ones((2,)), "x": nd.ones(shape)})
            assert nd.load(path)["x"].shape == shape  # type: ignore[reportCallIssue,reportArgumentType]
        with pytest.raises(MXNetError, match=r"array 1 of 2: shape .* is unknown outside"):
            nd.load(path)
        with pytest.raises(MXNetError, match="is unknown outside"):
            nd.load_frombuffer((tmp_path / "x.params").read_bytes())
        nd.save(path, [nd.empty((2, 0))])
        (array,) = list(nd.load(path))
        assert array.shape == (2, 0)  # type: ignore[reportAttributeAccessIssue]

    def test_the_coordinates_of_a_scalar(self):
        with mx.np_shape():
            coordinates = nd.contrib.index_array(nd.ones(()))
            assert (coordinates.shape, coordinates.dtype) == ((0,), np.int64)
        assert nd.contrib.index_array(nd.ones((2, 3)), axes=()).shape == (2, 3, 0)


def test_from_numpy_makes_the_source_read_only():
    source = np.arange(6.0).reshape(2, 3)
    array = nd.from_numpy(source)
    with pytest.raises(ValueError, match="read-only"):
        source[0, 0] = 5
    assert array.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    whole = np.arange(6.0)
    nd.from_numpy(whole[2:5])
    whole[3] = 7
    nd.from_numpy(whole, zero_copy=False)
    whole[3] = 8
    transposed = np.ones((2, 3)).T
    with pytest.raises(ValueError, match="not contiguous"):
        nd.from_numpy(transposed)
    transposed[0, 0] = 5


@pytest.mark.parametrize(
    ("number", "wrapped"), [(300, 44), (-1, 255), (256, 0), (2.7, 2), (-2.7, 254), (1e10, 0)]
)
def test_numbers_out_of_range_wrap(number, wrapped):
    assert nd.array([number, 1], dtype="uint8").asnumpy().tolist() == [wrapped, 1]
    assert nd.array(number, dtype="uint8").asnumpy().tolist() == wrapped
    assert nd.full((1,), number, dtype="uint8").asnumpy().tolist() == [wrapped]
    array = nd.ones((2,), dtype="uint8")
    array[:] = [number, 1]
    assert array.asnumpy().tolist() == [wrapped, 1]


def test_numbers_that_no_type_holds_are_refused():
    with pytest.raises(TypeError, match="is not an array of uint8"):
        nd.array([2**70], dtype="uint8")


@pytest.mark.parametrize(
    ("key", "contiguous"),
    [
        ((slice(0, 4, 1), slice(0, 5, 1), slice(0, 6, 1)), True),
        ((slice(0, 1, 1), slice(0, 2, 1), slice(0, 6, 1)), True),
        ((slice(1, 2, 1), slice(1, 2, 1), slice(0, 3, 1)), True),
        ((slice(0, 1, 1), slice(4, 5, 1), slice(5, 6, 1)), True),
        ((slice(2, 2, 1), slice(0, 5, 2), slice(0, 6, 1)), True),
        ((slice(0, 2, 1), slice(0, 1, 1), slice(0, 6, 1)), False),
        ((slice(0, 1, 1), slice(0, 1, 1), slice(5, 2, -1)), False),
        ((slice(0, 4, 2), slice(0, 5, 1), slice(0, 6, 1)), False),
    ],
)
def test_slices_of_contiguous_elements(key, contiguous):
    assert nd.NDArray._basic_indexing_slice_is_contiguous(key, (4, 5, 6)) == contiguous
    offsets = np.arange(120).reshape(4, 5, 6)[key].ravel()
    assert bool((np.diff(offsets) == 1).all()) == contiguous


def test_broadcast_like_adds_leading_axes():
    x = nd.arange(3)
    assert nd.ones((1,)).broadcast_like(nd.zeros((2, 3))).asnumpy().tolist() == [[1] * 3] * 2
    x.attach_grad()
    with mx.autograd.record():
        y = x.broadcast_like(other=nd.zeros((2, 3)))
    y.backward()
    assert y.asnumpy().tolist() == [[0, 1, 2]] * 2
    assert x.grad.asnumpy().tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="broadcast"):
        nd.ones((2,)).broadcast_like(nd.zeros((2, 3)))


def test_booleans_and_numbers_give_int64():
    x = mx.nd.array([1, 0], dtype="bool")
    results = {
        (-1, 0): -x,
        (2, 1): x + 1.5,
        (0, 1): 1.5 - x,
        (0, 0): x == 2,
        (1, 1): x < 2,
        (1, 0): x % 2,
        (2, 2): mx.nd.maximum(x, 2.5),
    }
    for expected, result in results.items():
        assert (result.dtype, tuple(result.asnumpy())) == (np.int64, expected)
    mask = mx.np.array([2.0, 1.0]) > 1
    assert ((-mask).dtype, (-mask).tolist()) == (np.int64, [-1, 0])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: mx.np.ones((2,), dtype="complex64"), MXNetError),
        (lambda: mx.nd.zeros((2,), dtype="complex64"), MXNetError),
        (lambda: mx.nd.ones((2,), dtype="nothing"), TypeError),
        (lambda: mx.np.eye(-1), MXNetError),
        (lambda: mx.np.eye(2, -1), MXNetError),
        (lambda: mx.np.arange(0, 1, 0), ZeroDivisionError),
    ],
)
def test_wrong_arguments_of_new_arrays_are_the_errors_of_mxnet(call, error):
    with pytest.raises(error):
        call()
