"""Mutated files end in errors that name them; so do files of other kinds."""

from __future__ import annotations

import gzip
import io
import pickle
import resource
import zipfile

import numpy as np
import optax
import pytest

import executorkit as mx
from tests._tools.hostile_files import READERS, mutate, outcome, samples

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


def test_damaged_states_are_named_and_change_nothing(tmp_path):
    """Of a module, of a store, of a step by one of MXNet's optimizers and by optax's."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    module = mx.mod.Module(net)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore=None, optimizer="adam")
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.create("adam"))
    for load, path in ((module.load_optimizer_states, tmp_path / "net.states"),
                       (store.load_optimizer_states, tmp_path / "store.states")):  # fmt: skip
        with pytest.raises(FileNotFoundError, match=path.name):
            load(str(path))
        for content in (b"\x80\x04]\x94.", b"\x80\x04}(K\0", b"<html>", b""):
            path.write_bytes(content)
            with pytest.raises(mx.MXNetError, match=f"^{path}: "):
                load(str(path))
    for optimizer in ("adam", optax.adam(0.1)):
        step = mx.training.Step(net.simple_bind(mx.cpu(), data=(4, 3)), optimizer)
        weight = step.parameter_arrays[0]
        weight[:] = 1
        step.save(tmp_path / "run", 1)
        weight[:] = 2
        path = tmp_path / "run-0001.step"
        content = path.read_bytes()
        for damaged in (content[:-9], content[:50], b"", b"<html>", pickle.dumps([1])):
            path.write_bytes(damaged)
            with pytest.raises(mx.MXNetError, match=f"^{path}: "):
                step.restore(tmp_path / "run", 1)
            assert weight.asnumpy().min() == 2
        path.write_bytes(content)
        step.restore(tmp_path / "run", 1)
        assert weight.asnumpy().max() == 1


def test_a_compressed_step_is_not_unpacked(tmp_path):
    executor = mx.sym.MakeLoss(mx.sym.Variable("w")).simple_bind(mx.cpu(), w=(2,))
    step = mx.training.Step(executor, optax.sgd(0.1))
    step.save(tmp_path / "run", 1)
    with zipfile.ZipFile(tmp_path / "run-0001.step", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", bytes(1 << 20))
    with pytest.raises(mx.MXNetError, match="its members are compressed"):
        step.restore(tmp_path / "run", 1)


def test_keys_of_buckets_are_integers(tmp_path):
    def network(key):
        return mx.sym.Variable("data"), ["data"], []

    deep = mx.nd.ones((1, 1, 1), dtype="int32")
    for arrays in ([], {"a": mx.nd.ones(1)}, [mx.nd.ones(1)], [deep]):
        mx.nd.save(str(tmp_path / "net.buckets"), arrays)
        with pytest.raises(mx.MXNetError, match="it holds no keys of buckets"):
            mx.mod.BucketingModule.load(str(tmp_path / "net"), 1, network, 1)


def test_idx_files_that_unpack_to_more_than_they_say(tmp_path):
    head = bytes.fromhex("00000803 00000002 00000002 00000002")
    labels = bytes.fromhex("00000801 00000002 0001")
    image, label = tmp_path / "images", tmp_path / "labels"
    label.write_bytes(gzip.compress(labels))

    def batches(content: bytes) -> int:
        image.write_bytes(content)
        return len(list(mx.io.MNISTIter(image=image, label=label, batch_size=2, silent=True)))

    assert batches(gzip.compress(head + bytes(8))) == 1
    packed = gzip.compress(head + bytes(1 << 24))
    damaged = packed[:30] + b"\xff" * 40 + packed[70:]
    for content, problem in (
        (packed, "it holds more than 8 values, expected 8"),
        (packed[:200], "the gzipped file is truncated|more than 8"),
        (damaged, "truncated|more than 8|CRC"),
        (gzip.compress(head[:9]), "does not start with 2051"),
    ):
        with pytest.raises(mx.MXNetError, match=problem):
            batches(content)
