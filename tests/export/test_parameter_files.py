"""Parameters as safetensors and ``.npz``: names, types and bits are kept, both ways."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import (
    DTypeError,
    FileAccessError,
    FileFormatError,
    InputTypeError,
    MissingDependencyError,
)

DTYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool")
SHAPES = ((2, 3), (5,), (1, 1, 1), (0, 4))


@pytest.fixture(params=["safetensors", "npz"])
def form(request):
    """The functions of a format: its ending, saving, loading, and loading by its own library."""
    pytest.importorskip("safetensors")
    from safetensors.numpy import load_file

    if request.param == "npz":
        return ".npz", mx.export.save_npz, mx.export.load_npz, lambda path: dict(np.load(path))
    return ".safetensors", mx.export.save_safetensors, mx.export.load_safetensors, load_file


def arrays():
    """Arrays of every type and several shapes, with NaN and infinities."""
    random = np.random.default_rng(0)
    result = {}
    for dtype in DTYPES:
        for i, shape in enumerate(SHAPES):
            values = np.array(random.normal(0, 50, shape)).astype(ml_dtypes.bfloat16)
            if dtype.endswith(("16", "32", "64")) and "int" not in dtype and values.size:
                values.reshape(-1)[0] = [np.nan, np.inf, -0.0][i % 3]
            kind = "aux" if i % 2 else "arg"
            with np.errstate(invalid="ignore"):
                array = values.astype(np.float32).astype(getattr(ml_dtypes, dtype, dtype))
            result[f"{kind}:{dtype}/{i}.ü"] = array
    return result


def bits(array):
    return array.shape, array.dtype.itemsize, np.ascontiguousarray(array).tobytes()


def test_arrays_are_the_same_bits_in_the_own_library_and_back(form, tmp_path):
    ending, save, load, load_theirs = form
    path = tmp_path / f"x{ending}"
    ours = arrays()
    save(path, ours)
    theirs = load_theirs(path)
    assert theirs.keys() == ours.keys()
    for name, array in ours.items():
        assert bits(theirs[name]) == bits(array), name
        if array.dtype != ml_dtypes.bfloat16 or ending == ".safetensors":
            assert theirs[name].dtype == array.dtype, name
    loaded = load(path)
    assert loaded.keys() == ours.keys()
    for name, array in ours.items():
        assert isinstance(loaded[name], mx.nd.NDArray)
        assert bits(loaded[name].asnumpy()) == bits(array), name
        assert np.dtype(loaded[name].dtype) == array.dtype, name


def test_params_files_survive_the_way_there_and_back(form, tmp_path):
    ending, save, load, _ = form
    source = {"arg:w": mx.nd.arange(6).reshape((2, 3)), "aux:m": mx.nd.ones((2,), dtype="float16")}
    mx.nd.save(str(tmp_path / "a.params"), source)
    save(tmp_path / f"a{ending}", mx.nd.load(str(tmp_path / "a.params")))
    mx.nd.save(str(tmp_path / "b.params"), load(tmp_path / f"a{ending}"))
    again = mx.nd.load(str(tmp_path / "b.params"))
    assert isinstance(again, dict)
    assert {n: bits(a.asnumpy()) for n, a in again.items()} == {
        n: bits(a.asnumpy()) for n, a in source.items()
    }


def test_the_same_arrays_give_the_same_bytes(form, tmp_path):
    ending, save, _, _ = form
    for name in "ab":
        save(tmp_path / f"{name}{ending}", arrays())
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_safetensors_keeps_metadata_and_aligns_arrays(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    path = tmp_path / "x.safetensors"
    mx.export.save_safetensors(path, arrays(), {"mxnet_version": "1.9.1"})
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata() == {"format": "np", "mxnet_version": "1.9.1"}
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0


def test_views_and_foreign_byte_orders_are_written_as_what_they_hold(form, tmp_path):
    ending, save, load, _ = form
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    save(tmp_path / f"x{ending}", {"t": grid.T, "s": grid[:, ::2], "b": grid.astype(">f4")})
    loaded = load(tmp_path / f"x{ending}")
    np.testing.assert_array_equal(loaded["t"].asnumpy(), grid.T)
    np.testing.assert_array_equal(loaded["s"].asnumpy(), grid[:, ::2])
    np.testing.assert_array_equal(loaded["b"].asnumpy(), grid)


def test_what_is_refused(form, tmp_path):
    ending, save, load, _ = form
    path = tmp_path / f"x{ending}"
    with pytest.raises(InputTypeError, match="expected a dict of arrays by name"):
        save(path, [np.ones(3)])
    with pytest.raises(InputTypeError, match="the name 3 is not a text"):
        save(path, {3: np.ones(3)})
    assert not path.exists()
    with pytest.raises(FileAccessError, match="cannot be read: No such file"):
        load(path)
    path.write_text("<html></html>")
    with pytest.raises(FileFormatError, match="it is an HTML page"):
        load(path)
    save(path, {"w": np.arange(1000.0)})
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(FileFormatError):
        load(path)


def test_safetensors_has_no_complex_numbers_and_needs_its_library(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    with pytest.raises(DTypeError, match="'z': safetensors has no element type complex64"):
        mx.export.save_safetensors(path, {"z": np.ones(2, np.complex64)})
    assert not path.exists()
    mx.export.save_safetensors(path, {"w": np.ones(2)})
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'executorkit\[safetensors\]'"):
        mx.export.load_safetensors(path)


def test_objects_in_npz_are_never_read(tmp_path):
    np.savez(tmp_path / "x.npz", w=np.array([{}], dtype=object))
    with pytest.raises(FileFormatError, match=r"x\.npz: "):
        mx.export.load_npz(tmp_path / "x.npz")


def test_files_of_parameters_are_recognised(tmp_path):
    pytest.importorskip("safetensors")
    array = np.arange(3, dtype=np.float32)
    mx.nd.save(str(tmp_path / "x.params"), {"arg:w": mx.nd.array(array)})
    mx.export.save_npz(tmp_path / "y.params", {"arg:w": array})
    mx.export.save_safetensors(tmp_path / "z.params", {"arg:w": array})
    for name in "xyz":
        (entry,) = mx.export.read_parameters(tmp_path / f"{name}.params").items()
        assert entry[0] == "arg:w"
        np.testing.assert_array_equal(entry[1], array)
    mx.nd.save(str(tmp_path / "x.params"), [mx.nd.array(array)])
    with pytest.raises(FileFormatError, match="its arrays have no names"):
        mx.export.read_parameters(tmp_path / "x.params")
