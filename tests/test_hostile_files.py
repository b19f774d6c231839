"""Mutated files end in errors that name them; so do files of other kinds."""

from __future__ import annotations

import gzip
import io
import pickle
import resource
import zipfile

import numpy as np
import pytest

import executorkit as mx
from tests.hostile_files import READERS, mutate, outcome, samples

#: Seeds whose files once ended otherwise.
REGRESSIONS: dict[str, tuple[int, ...]] = {"params": (), "symbol": (), "states": (), "records": ()}


@pytest.mark.parametrize("kind", READERS)
def test_whole_files_are_read(kind, tmp_path):
    for content in samples(kind):
        assert outcome(kind, content, tmp_path / "file") is None


@pytest.mark.parametrize("kind", READERS)
def test_mutated_files_end_in_errors_that_name_them(kind, tmp_path):
    for seed in (*range(200), *REGRESSIONS[kind]):
        assert outcome(kind, mutate(kind, seed), tmp_path / "file") is None, seed


@pytest.mark.soak
@pytest.mark.parametrize("kind", READERS)
def test_many_mutated_files(kind, tmp_path, pytestconfig):
    """A quarter of 100,000 for each kind; the memory that all of them took is bounded."""
    rounds = pytestconfig.getoption("rounds") or 25_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failures = {}
    for seed in range(rounds):
        problem = outcome(kind, mutate(kind, seed), tmp_path / "file")
        if problem is not None:
            failures[seed] = problem
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert not failures
    assert grown < 512 << 10  # KiB


def _zip(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, b"content")
    return buffer.getvalue()


def _npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, w=np.ones(2))
    return buffer.getvalue()


OTHERS = {
    "empty": (b"", "it is empty"),
    "pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
        "it is a pointer of Git LFS, not the file itself",
    ),
    "html": (b"\n <!DOCTYPE html>\n<html><body>404</body></html>", "it is an HTML page"),
    "xml": (b"<?xml version='1.0'?><Error>AccessDenied</Error>", "it is an XML document"),
    "zip": (_zip("net-symbol.json"), "it is a zip archive"),
    "npz": (_npz(), "it is an archive of NumPy's arrays"),
    "torch": (_zip("archive/data.pkl"), "it is an archive of torch.save"),
    "gzip": (gzip.compress(b"x"), "it is compressed by gzip"),
    "safetensors": ((16).to_bytes(8, "little") + b'{"a":{}}        ', "it is a safetensors file"),
    "onnx": (b"\x08\x07\x12\x07pytorch\x3a\x00", "it is an ONNX model"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(8), "it is an HDF5 file"),
    "npy": (b"\x93NUMPY\x01\x00", "it is an array of NumPy"),
    "pickle": (pickle.dumps({"a": 1}), "it is a pickle"),
    "old pickle": (pickle.dumps({"a": 1}, 0), "it is a pickle"),
    "params": (samples("params")[0], "it is a .params file"),
    "symbol": (samples("symbol")[0], "it is a symbol in JSON"),
    "records": (samples("records")[0], "it is a RecordIO file"),
}
EXPECTED = {"params": "a .params file", "symbol": "a symbol in JSON", "states": "a pickle"}


@pytest.mark.parametrize("kind", EXPECTED)
@pytest.mark.parametrize("other", OTHERS)
def test_files_of_other_kinds_are_recognised(kind, other, tmp_path):
    content, name = OTHERS[other]
    if other in (kind, {"states": "pickle"}.get(kind)) or (kind, other) == ("states", "old pickle"):
        return
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(mx.MXNetError) as caught:
        READERS[kind](path)
    first, *hints = str(caught.value).splitlines()
    assert first.startswith(f"{path}: {name}")
    assert first.endswith(f", expected {EXPECTED[kind]}")
    assert len(hints) <= 1


def test_claims_of_size_take_no_memory(tmp_path):
    """Small files that promise 2**60 elements, names of 2**40 bytes, or to copy themselves."""
    head = (0x112).to_bytes(8, "little") + bytes(8)
    one = (1).to_bytes(8, "little")
    array = bytes.fromhex("c9fa93f9 00000000 01000000") + (2**58).to_bytes(8, "little")
    scalar = bytes.fromhex("c9fa93f9 00000000 01000000 0100000000000000 01000000") + bytes(12)
    copies = b"C\xff" + bytes(255) + b"\x94" + b"cbuiltins\nbytearray\nh\0\x85R" * 20_000
    hostile = {
        "params": [
            head + (2**60).to_bytes(8, "little"),
            head + one + array + bytes(12),
            head + one + scalar + one + (2**40).to_bytes(8, "little") + b"name",
        ],
        "states": [
            b"\x80\x04}r\xff\xff\xff\x7fK\0N0s.",
            b"\x80\x04}K\0cbuiltins\nbytearray\n\x8a\x06\0\0\0\0\0\x01\x85Rs.",
            b"\x80\x04}K\0(" + copies + b"ts.",
            b"\x80\x04}" + b")" + b"\x85" * 50_000 + b"Ns.",
        ],
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind, contents in hostile.items():
        for content in contents:
            path = tmp_path / "file"
            path.write_bytes(content)
            with pytest.raises(mx.MXNetError, match=str(path)):
                READERS[kind](path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB
