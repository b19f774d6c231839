"""Files with sparse arrays give MXNet's numbers as dense arrays, and the same predictions."""

from __future__ import annotations

import struct
import warnings
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import FileFormatError
from executorkit.ndarray.params_file import ParamsHeaders
from tests._tools.golden import GOLDEN

DATA = GOLDEN / "data"
ANSWERS = np.load(DATA / "sparse.npz")
KINDS = {n.removeprefix("kinds/"): ANSWERS[n] for n in ANSWERS.files if n.startswith("kinds/")}
NETWORKS = ("factorization_machine", "linear_product", "linear_layer", "embeddings")


def test_sparse_arrays_are_read_as_dense_ones_with_one_warning():
    path = DATA / "sparse_kinds.params"
    with pytest.warns(UserWarning, match=r"sparse_kinds.params: sparse arrays \(6\)") as caught:
        arrays: Any = mx.nd.load(path)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert list(arrays) == ["csr", "rows", "no_csr", "no_rows", "dense", "integers", "halves"]
    for name, expected in KINDS.items():
        assert arrays[name].stype == "default"
        assert arrays[name].dtype == expected.dtype
        np.testing.assert_array_equal(arrays[name].asnumpy(), expected)


def test_headers_read_sparse_arrays_and_their_stored_elements():
    headers = ParamsHeaders(DATA / "sparse_kinds.params")
    for header in headers:
        expected = KINDS[header.name or ""]
        np.testing.assert_array_equal(headers.read(header), expected)
        stored = [x for block in headers.blocks(header) for x in block.ravel().tolist()]
        assert sorted(filter(None, stored)) == sorted(expected[expected != 0].tolist())


@pytest.mark.parametrize("name", NETWORKS)
def test_checkpoint_of_sparse_weights_predicts_as_in_mxnet(name):
    data = ANSWERS["indices" if name == "embeddings" else "sparse"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = mx.mod.Module.load(str(DATA / f"sparse_{name}"), 0, label_names=None)
        batches = mx.io.NDArrayIter(data, None, 3)
        module.bind(batches.provide_data, for_training=False)
        predictions = module.predict(batches).asnumpy()
    assert [w.category for w in caught] == [UserWarning]
    np.testing.assert_allclose(predictions, ANSWERS[name], 1e-5, 1e-6)


def _csr(columns: int, pointers: tuple[int, ...], indices: tuple[int, ...]) -> bytes:
    head = struct.pack("<QQQ", 0x112, 0, 1) + struct.pack("<Ii", 0xF993FAC9, 2)
    sizes = struct.pack("<Iq", 1, len(indices)) + struct.pack("<Iqq", 2, 2, columns)
    kinds = struct.pack("<iii", 1, 0, 0)
    for array in (pointers, indices):
        kinds += struct.pack("<iIq", 6, 1, len(array))
    values = np.ones(len(indices), "float32").tobytes()
    numbers = np.array([*pointers, *indices], "int64").tobytes()
    return head + sizes + kinds + values + numbers + bytes(8)


@pytest.mark.filterwarnings("ignore:.*sparse arrays")
def test_damaged_sparse_arrays_are_errors_of_the_format():
    arrays: Any = mx.nd.load_frombuffer(_csr(3, (0, 1, 2), (2, 0)))
    (array,) = arrays
    assert array.asnumpy().tolist() == [[0, 0, 1], [1, 0, 0]]
    damaged = {
        "column": _csr(3, (0, 1, 2), (2, 3)),
        "negative column": _csr(3, (0, 1, 2), (2, -1)),
        "pointers": _csr(3, (0, 3, 2), (2, 0)),
        "row": _csr(3, (0, 1, 1, 2), (2, 0)),
        "no pointers": _csr(3, (), (2, 0)),
        "size": _csr(2**50, (0, 1, 2), (2, 0)),
    }
    for content in damaged.values():
        with pytest.raises(FileFormatError, match=r"csr array of shape \(2, "):
            mx.nd.load_frombuffer(content)
    whole = _csr(3, (0, 1, 2), (2, 0))
    for length in range(len(whole)):
        with pytest.raises(FileFormatError, match="expected"):
            mx.nd.load_frombuffer(whole[:length])
