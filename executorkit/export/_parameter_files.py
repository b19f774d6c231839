"""Parameters in files of other libraries: safetensors and NumPy's ``.npz``, both ways.

Names stay as they are in ``.params`` files, ``arg:`` and ``aux:`` before them. Arrays are written
one after the other from where they are: a file of any size needs no second copy in memory.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import jax.numpy as jnp
import numpy as np

from .._files import (
    HEAD,
    describe_misfit,
    open_to_read,
    recognise,
    write_atomically,
)
from ..context import cpu
from ..errors import (
    DTypeError,
    FileFormatError,
    InputTypeError,
    MissingDependencyError,
    explain,
)
from ..ndarray import NDArray
from ..ndarray import save as save_params
from ..ndarray.params_file import ParamsHeaders

Arrays = Mapping[str, np.ndarray]

_BFLOAT16 = np.dtype(jnp.bfloat16)
#: safetensors' names of element types.
_SAFETENSORS_TYPES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64",
}  # fmt: skip
#: Alignment in bytes of the first array in a safetensors file.
_ALIGNMENT = 8


def save_safetensors(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes arrays by name in the format of the safetensors library.

    arrays
        NDArrays, or arrays of NumPy or JAX; every element type of MXNet, bfloat16 too. The keys
        of ``mx.nd.load`` (``arg:fc_weight``) stay as they are.
    metadata
        texts by name that the file keeps (``format`` is ``np`` if it is not given).

    The file appears whole or not at all. The library is not needed for it. Raises DTypeError for
    an element type that the format does not have, before anything is written, FileAccessError if
    the file cannot be written.
    """
    hosts = host_arrays(arrays)
    for name, array in hosts.items():
        if array.dtype.name not in _SAFETENSORS_TYPES:
            problem = f"safetensors has no element type {array.dtype}"
            raise DTypeError(explain(f"save_safetensors: {name!r}", problem))
    # Wide elements first: each array then begins at a multiple of the size of its elements.
    order = sorted(hosts, key=lambda name: (-hosts[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "np", **(metadata or {})}}
    end = 0
    for name in order:
        array = hosts[name]
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _SAFETENSORS_TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    parts = [len(text).to_bytes(8, "little"), text]
    write_atomically(path, _chain(parts, (_bytes_of(hosts[name]) for name in order)))


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a safetensors file by name, on the CPU, read by the safetensors library.

    Raises :class:`MissingDependencyError` if the library is not installed, FileAccessError,
    FileFormatError and DTypeError.
    """
    return {name: as_ndarray(array) for name, array in read_safetensors(path).items()}


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file by name, as NumPy's, in the file's order."""
    library = require_safetensors()
    _check_kind(path, "a safetensors file")
    try:
        with library.safe_open(os.fspath(path), "np") as file:
            return {name: file.get_tensor(name) for name in file.offset_keys()}
    except library.SafetensorError as error:
        raise FileFormatError(explain(os.fspath(path), str(error))) from None


def require_safetensors() -> Any:
    """The module ``safetensors``.

    Raises :class:`MissingDependencyError`, an ImportError, if it is not installed.
    """
    try:
        import safetensors
    except ImportError:
        raise MissingDependencyError(
            explain(
                "safetensors",
                "it is not installed",
                because="files in its format are read by it",
                hint="pip install 'executorkit[safetensors]'",
            )
        ) from None
    return safetensors


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Writes arrays by name as NumPy's archive, which ``numpy.load`` reads.

    bfloat16, which NumPy does not have, is written as two bytes without a type (``V2``):
    ``x.view(ml_dtypes.bfloat16)`` gives them their meaning, and :func:`load_npz` does so. The file
    appears whole or not at all.
    """
    write_atomically(path, partial(write_npz, arrays=host_arrays(arrays)))


def write_npz(file: BinaryIO, arrays: Arrays) -> None:
    """Writes an uncompressed archive; the same arrays give the same bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                raw = array.view("V2") if array.dtype == _BFLOAT16 else array
                np.lib.format.write_array(member, raw, allow_pickle=False)


def load_npz(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays of an ``.npz`` file by name, on the CPU. Raises FileAccessError, FileFormatError
    (arrays of Python objects are never read) and DTypeError."""
    return {name: as_ndarray(array) for name, array in read_npz(path).items()}


def read_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file by name, as NumPy's; elements of two bytes without a type are
    bfloat16."""
    _check_kind(path, "an archive of NumPy's arrays (.npz)")
    try:
        with open_to_read(path) as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise FileFormatError(explain(os.fspath(path), str(error))) from None
    return {n: x.view(_BFLOAT16) if x.dtype == "V2" else x for n, x in arrays.items()}


def read_parameters(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a ``.params``, safetensors or ``.npz`` file by name, recognised by its first
    bytes; those of a ``.params`` file are mapped, not read."""
    with open_to_read(path) as file:
        kind = recognise(file.peek(HEAD)[:HEAD])
    if kind is not None and "safetensors" in kind.name:
        return read_safetensors(path)
    if kind is not None and ".npz" in kind.name:
        return read_npz(path)
    headers = ParamsHeaders(path)
    if any(array.name is None for array in headers):
        raise FileFormatError(explain(headers.path, "its arrays have no names"))
    return {array.name or "": headers.read(array) for array in headers}


def write_parameters(path: str | os.PathLike[str], arrays: Arrays, form: str) -> None:
    """Writes arrays as ``safetensors``, ``npz`` or ``params``."""
    if form == PARAMS_FORM:
        save_params(path, {name: as_ndarray(array) for name, array in arrays.items()})
    elif form == "npz":
        save_npz(path, arrays)
    else:
        save_safetensors(path, arrays)


PARAMS_FORM = "params"


def host_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays of any library as NumPy's, contiguous and little-endian."""
    if not isinstance(arrays, Mapping):
        problem = f"a {type(arrays).__name__}, expected a dict of arrays by name"
        raise InputTypeError(explain("arrays to write", problem))
    hosts = {}
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise InputTypeError(explain("arrays to write", f"the name {name!r} is no text"))
        host = array.asnumpy() if isinstance(array, NDArray) else np.asarray(array)
        if host.dtype.byteorder == ">":
            host = host.astype(host.dtype.newbyteorder("<"))
        hosts[name] = host if host.flags.c_contiguous else np.ascontiguousarray(host)
    return hosts


def as_ndarray(array: np.ndarray) -> NDArray:
    """An array of NumPy as an NDArray on the CPU, of the same type."""
    from ..ndarray import array as make_array

    return make_array(array, cpu(), dtype=array.dtype.name)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _chain(parts: list[bytes], rest: Iterator[memoryview]) -> Iterator[Any]:
    yield from parts
    yield from rest


def _check_kind(path: str | os.PathLike[str], expected: str) -> None:
    with open_to_read(path) as file:
        head = file.peek(HEAD)[:HEAD]
    kind = recognise(head)
    if kind is not None and kind.name != expected:
        misfit = describe_misfit(os.fspath(path), head, expected)
        if misfit is not None:
            raise FileFormatError(misfit)
