"""Pickles of states: plain data is read as Python reads it, and nothing is called or changed."""

from __future__ import annotations

import collections
import pickle

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import FileFormatError

_SGD = b"cmxnet.optimizer.optimizer\nSGD\n"
_ARRAY = b"cmxnet.ndarray.ndarray\nNDArray\n"
#: A dict with an "update" in it.
_UPDATE = b"}X\x06\x00\x00\x00updateNs"


def _read(content: bytes):
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater.set_states(content)
    return updater


@pytest.mark.parametrize("protocol", range(5))
def test_plain_data_is_read_from_every_protocol(protocol):
    states = {
        0: (np.float32(1.5), collections.OrderedDict(a=1), {1, 2}, frozenset([3]), b"\xff", 1 + 2j),
        1: np.arange(6.0).reshape(2, 3),
        2: [None, True, -(2**40), "é", (), [[]], {}, bytearray(b"q"), 1e300],
        3: collections.defaultdict(int, {"x": 2}),
        4: np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        "name": slice(1, None, 2),
    }
    result = _read(pickle.dumps(states, protocol)).states
    assert list(result) == list(states)
    for key, value in states.items():
        assert repr(result[key]) == repr(value)
        assert type(result[key]) is type(value)


REFUSED = {
    "allocation": (b"K\0cbuiltins\nbytearray\n\x8a\x06\0\0\0\0\0\x01\x85Rs", "bytes of something"),
    "copies": (
        b"K\0(C\xff" + bytes(255) + b"\x94" + b"cbuiltins\nbytearray\nh\0\x85R" * 4000 + b"ts",
        "again and again",
    ),
    "class changed": (b"K\0" + _SGD + _UPDATE + b"bs", "contents of a name"),
    "class changed by slots": (b"K\0" + _SGD + b"N" + _UPDATE + b"\x86bs", "contents of a name"),
    "method hidden": (
        b"K\0" + _SGD + b")\x81" + _UPDATE + b"bs",
        "'update' as an attribute of SGD",
    ),
    "method by name": (b"K\0c" + b"mxnet.optimizer.optimizer\nSGD.update\ns", "they name"),
    "array without contents": (b"K\0" + _ARRAY + b"N\x85Rs", "an array has no contents"),
    "array of numbers": (b"K\0" + _ARRAY + b"N\x85R}X\x06\0\0\0handleK\x07sbs", "no contents"),
    "instance called": (b"K\0" + _SGD + b")\x81)Rs", "a call of a call"),
    "deep key": (b")" + b"\x85" * 100_000 + b"Ns", "a tuple as a key"),
    "deep value": (b"K\0)" + b"\x85" * 100_000 + b"s", "too many parts"),
    "shared values": (
        b"]\x940"
        + b"".join(b"(h" + bytes([i]) + b"h" + bytes([i]) + b"l\x940" for i in range(60))
        + b"K\0h\x3cs",
        "too many parts",
    ),
    "cycle": (b"K\0]\x94h\0as", "too many parts"),
    "codec": (b"K\0c_codecs\nencode\nX\1\0\0\0aX\4\0\0\0idna\x86Rs", "encoding 'idna'"),
    "object arrays": (b"K\0cnumpy\ndtype\nX\2\0\0\0O8\x85Rs", "NumPy's type 'O8'"),
    "NumPy's memory": (
        b"K\0cnumpy\nndarray\n\x8a\x06\0\0\0\0\0\x01\x85\x85Rs",
        "a call of ndarray",
    ),
    "persistent name": (b"Pname\n", "BINPERSID|PERSID is not carried out"),
    "extension": (b"\x82\x01", "EXT1 is not carried out"),
    "old instance": (b"(ios\nsystem\n", "INST is not carried out"),
    "huge number": (b"K\0\x8b\0\x04\0\0" + b"\x7f" * 1024 + b"s", "bits"),
    "equal hashes": (b"\x8a\x0a" + (2**70).to_bytes(10, "little") + b"Ns", "a int as a key"),
    "no mark": (b"t", "pop from empty list"),
    "below the mark": (b"(K\0s", "pop from empty list"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_instructions_that_do_more_are_refused(case):
    content, message = REFUSED[case]
    before = mx.optimizer.SGD.update
    with pytest.raises(FileFormatError, match=message):
        _read(b"\x80\x04}" + content + b".")
    assert mx.optimizer.SGD.update is before


def test_files_that_are_damaged_change_nothing(tmp_path):
    """Neither the updater nor the random streams, wherever the damage is."""
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
    content = mx.optimizer.dump_updater(updater)
    mx.random.seed(3)
    state, before = mx.random.get_state(), updater.states[0][0].asnumpy()
    edits = ((b"num_update\": 1", b"num_update\": x"), (b"counts\": [[", b"counts\": [3,"),
             (b"random\": [", b"random\": {"))  # fmt: skip
    damaged = [content.replace(old, new) for old, new in edits]
    damaged += [content[:length] for length in range(0, len(content), 41)] + [content + b"x"]
    for wrong in damaged:
        with pytest.raises(FileFormatError, match=r"^net\.states: "):
            mx.optimizer.prepare_restoration(updater, wrong, {"w": 0}, [0], "net.states")()
        assert mx.random.get_state() == state
        np.testing.assert_array_equal(updater.states[0][0].asnumpy(), before)
    for indices in ({None: None}, {1.5: None}, {0: None, "a": None}):
        with pytest.raises(FileFormatError, match="neither numbers nor names"):
            mx.optimizer.prepare_restoration(updater, pickle.dumps(indices), {"w": 0}, [0])()
