"""Contents of the golden ``.params`` files: NumPy arrays, in a list or by name."""

from __future__ import annotations

import struct

import numpy as np

DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")

Contents = list[np.ndarray] | dict[str, np.ndarray]


def _numbers(dtype: str, *shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) % 2 + 1).astype(dtype)


#: Files that MXNet writes, and that are written here byte for byte alike.
WRITTEN: dict[str, Contents] = {
    "list": [_numbers("float32", 2), _numbers("float32", 2, 3), _numbers("int64", 1, 2, 2)],
    "names": {
        "arg:fc_weight": np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3),
        "aux:bn_mean": _numbers("float32", 3),
        "größe": _numbers("float32", 1),
    },
    "dtypes": {name: _numbers(name, 2, 2) for name in DTYPES},
    "nothing": [],
    "no_elements": [_numbers("float32", 0), _numbers("int32", 1)],
}
#: Files of MXNet's np face: shapes of () and with 0.
NP_SHAPES: dict[str, np.ndarray] = {
    "scalar": np.array(3, "float32"),
    "empty": np.zeros((0, 2), "float32"),
    "plain": _numbers("float32", 2),
}


def legacy_file(version: int) -> bytes:
    """The file of a list with two float32 arrays, as MXNet 0.12 (1) or older ones (0) wrote it."""
    body = b""
    for x in legacy_contents():
        if version == 1:
            body += struct.pack("<II", 0xF993FAC8, x.ndim) + struct.pack(f"<{x.ndim}q", *x.shape)
        else:
            body += struct.pack("<I", x.ndim) + struct.pack(f"<{x.ndim}I", *x.shape)
        body += struct.pack("<iii", 1, 0, 0) + x.tobytes()
    names = b"".join(struct.pack("<Q", len(n)) + n for n in (b"arg:a", b"arg:b"))
    return struct.pack("<QQQ", 0x112, 0, 2) + body + struct.pack("<Q", 2) + names


def legacy_contents() -> list[np.ndarray]:
    return [_numbers("float32", 2, 3), _numbers("float32", 4)]
