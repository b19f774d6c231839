"""Parameter files: what MXNet writes is read and written alike; damage is reported."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

import executorkit as mx
from executorkit import ndarray as nd
from executorkit.context import cpu, cpu_pinned
from executorkit.errors import FileFormatError, MXNetError
from tests.golden import params_contents as pc

DATA = Path(pc.__file__).parent / "data"


def _as_nd(contents: pc.Contents) -> list | dict:
    if isinstance(contents, dict):
        return {k: nd.array(v, dtype=v.dtype) for k, v in contents.items()}
    return [nd.array(v, dtype=v.dtype) for v in contents]


def _equal(read: list | dict, contents: pc.Contents) -> None:
    if isinstance(contents, dict):
        assert isinstance(read, dict)
        assert list(read) == list(contents)
        read, contents = list(read.values()), list(contents.values())
    assert len(read) == len(contents)
    for x, y in zip(read, contents, strict=True):
        assert np.dtype(x.dtype) == y.dtype
        assert x.shape == y.shape
        np.testing.assert_array_equal(x.asnumpy(), y)


@pytest.mark.parametrize("name", pc.WRITTEN)
def test_reads_files_of_mxnet(name):
    _equal(nd.load(DATA / f"{name}.params"), pc.WRITTEN[name])


@pytest.mark.parametrize("name", pc.WRITTEN)
def test_writes_the_same_bytes_as_mxnet(name, tmp_path):
    nd.save(tmp_path / "ours", _as_nd(pc.WRITTEN[name]))
    assert (tmp_path / "ours").read_bytes() == (DATA / f"{name}.params").read_bytes()


def test_contexts_are_written_and_arrays_come_back_on_the_cpu(tmp_path):
    nd.save(tmp_path / "ours", [nd.ones(1, cpu(1)), nd.ones(1, cpu_pinned())])
    assert (tmp_path / "ours").read_bytes() == (DATA / "contexts.params").read_bytes()
    assert [x.context for x in nd.load(tmp_path / "ours")] == [cpu(0), cpu(0)]  # type: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("version", [0, 1])
def test_reads_files_of_older_releases(version):
    read = nd.load(DATA / f"v{version}.params")
    _equal(read, dict(zip(("arg:a", "arg:b"), pc.legacy_contents(), strict=True)))


def test_reads_the_np_faces_shapes(tmp_path):
    with mx.np_shape():
        _equal(nd.load(DATA / "np.params"), pc.NP_SHAPES)
        nd.save(tmp_path / "ours", _as_nd(pc.NP_SHAPES))
        assert (tmp_path / "ours").read_bytes() == (DATA / "np.params").read_bytes()
    nd.save(tmp_path / "ours", _as_nd({"scalar": pc.NP_SHAPES["scalar"]}))
    with mx.np_shape():
        _equal(nd.load(tmp_path / "ours"), {"scalar": pc.NP_SHAPES["scalar"]})


@pytest.mark.parametrize("dtype", ["bfloat16", "int16", "uint16", "uint32", "uint64"])
def test_other_dtypes_survive(dtype, tmp_path):
    x = nd.array([1, 2, 3], dtype=dtype)
    nd.save(tmp_path / "x", [x])
    (read,) = nd.load(tmp_path / "x")
    assert read.dtype is x.dtype  # type: ignore[reportAttributeAccessIssue]
    assert read.asnumpy().tolist() == [1, 2, 3]  # type: ignore[reportAttributeAccessIssue]


def test_one_array_is_a_list_and_a_view_is_saved_as_it_is(tmp_path):
    x = nd.arange(6).reshape((2, 3))
    nd.save(str(tmp_path / "x"), x[1])
    assert [a.asnumpy().tolist() for a in nd.load(str(tmp_path / "x"))] == [[3, 4, 5]]  # type: ignore[reportAttributeAccessIssue]


def test_load_frombuffer():
    content = (DATA / "names.params").read_bytes()
    for buffer in (content, bytearray(content), memoryview(content)):
        _equal(nd.load_frombuffer(buffer), pc.WRITTEN["names"])
    with pytest.raises(FileFormatError):
        nd.load_frombuffer("text")  # type: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (3, ValueError),
        ((1,), ValueError),
        ({"a": 3}, TypeError),
        ([3], TypeError),
        ({3: nd.ones(1)}, TypeError),
    ],
)
def test_refuses_other_data(data, error, tmp_path):
    with pytest.raises(error):
        nd.save(tmp_path / "x", data)
    assert not list(tmp_path.iterdir())


def test_names_of_files():
    with pytest.raises(TypeError):
        nd.load(3)  # type: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        nd.save(3, [])  # type: ignore[reportArgumentType]
    for attempt in (lambda: nd.load("/no/such/file"), lambda: nd.save("/no/such/file", [])):
        with pytest.raises(MXNetError, match="/no/such/file: cannot be") as caught:
            attempt()
        assert isinstance(caught.value, OSError)


def test_writing_is_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "x"
    nd.save(target, [nd.ones(1)])
    before = target.read_bytes()

    def fails(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(MXNetError, match="No space left"):
        nd.save(target, [nd.zeros(1)])
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def _text(content: bytes) -> str:
    with pytest.raises(FileFormatError) as caught:
        nd.load_frombuffer(content)
    return str(caught.value)


@pytest.mark.parametrize("file", ["names", "v0", "v1", "np"])
def test_every_truncation_is_an_error_of_the_format(file):
    content = (DATA / f"{file}.params").read_bytes()
    with mx.np_shape():
        for length in range(len(content)):
            assert "expected" in _text(content[:length])


def test_truncation_names_entry_and_bytes():
    content = (DATA / "list.params").read_bytes()
    assert _text(content[:60]) == (
        "buffer: array 0 of 3: elements float32(2,): expected 8 bytes at 56, found 4"
    )


def test_trailing_bytes_are_an_error():
    content = (DATA / "nothing.params").read_bytes()
    assert _text(content + b"x") == "buffer: end: expected 32 bytes, found 33: something follows"


def _one_array(**fields: int) -> bytes:
    f = {"magic": 0xF993FAC9, "storage": 0, "ndim": 1, "size": 2, "dtype": 0, "count": 1} | fields
    head = struct.pack("<QQQ", 0x112, 0, f["count"])
    array = struct.pack(
        "<IiIqiii", f["magic"], f["storage"], f["ndim"], f["size"], 1, 0, f["dtype"]
    )
    return head + array + bytes(8) + struct.pack("<Q", 0)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"size": 2**40}, f"elements float32({2**40},): expected {2**42} bytes at 56, found 16"),
        ({"size": -1}, "shape (-1,) holds a negative size"),
        ({"ndim": 2**31}, "2147483648 axes, at most 32 expected"),
        ({"ndim": 0}, "it has no shape: an array without contents was saved"),
        ({"dtype": 77}, "unknown element type 77"),
        ({"storage": 9}, "unknown storage type 9"),
        ({"magic": 0xDEADBEEF}, "3735928559 axes, at most 32 expected"),
    ],
)
def test_claims_are_checked_before_they_are_believed(fields, problem):
    assert _text(_one_array(**fields)) == f"buffer: array 0 of 1: {problem}"


def test_claims_of_many_entries_do_not_allocate():
    assert "array 1 of 1099511627776" in _text(_one_array(count=2**40))


def test_no_params_file_and_wrong_number_of_names():
    assert _text(b"{" * 64).startswith(
        "buffer: header: it begins with 0x7b7b7b7b7b7b7b7b, expected"
    )
    content = _one_array()[:-8] + struct.pack("<Q", 2)
    assert _text(content) == "buffer: names: 2 names for 1 arrays"
    content = _one_array()[:-8] + struct.pack("<QQ", 1, 1) + b"\xff"
    assert _text(content) == "buffer: name 0 of 1: it is not UTF-8 text"
