"""Parameters in safetensors and NumPy's ``.npz`` files, under their names in ``.params`` files.
Arrays are written one by one, without a second copy in memory."""

from __future__ import annotations

import itertools
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import jax.numpy as jnp
import numpy as np

from .._files import HEAD, describe_misfit, open_to_read, recognise, write_atomically
from ..errors import DTypeError, FileFormatError, MissingDependencyError, MXNetError
from ..ndarray import NDArray, save as save_params
from ..ndarray.comparison import as_ndarray, host_arrays
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
    arrays: Mapping[str, object],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes arrays by name in the format of the safetensors library, which is not needed for it.

    arrays
        NDArrays, or arrays of NumPy or JAX; every element type of MXNet, bfloat16 too. The keys of
        ``mx.nd.load`` (``arg:fc_weight``) stay as they are.
    metadata
        texts by name that the file keeps (``format`` is ``np`` by default).

    The file appears whole or not at all. Raises DTypeError for an element type that the format does
    not have, before anything is written, FileAccessError if the file cannot be written.
    """
    hosts = host_arrays(arrays)
    for name, array in hosts.items():
        if array.dtype.name not in _SAFETENSORS_TYPES:
            problem = f"safetensors has no element type {array.dtype}"
            raise DTypeError(f"save_safetensors: {name!r}", problem)
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
    contents = (hosts[name].reshape(-1).view(np.uint8).data for name in order)
    write_atomically(path, itertools.chain([len(text).to_bytes(8, "little"), text], contents))


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """Returns a safetensors file's arrays by name, on the CPU. :class:`MissingDependencyError`
    without the safetensors library, FileAccessError, FileFormatError and DTypeError."""
    with _open_safetensors(path) as arrays:
        return {name: as_ndarray(array) for name, array in arrays.items()}


@contextmanager
def _open_safetensors(path: str | os.PathLike[str]) -> Iterator[LazyArrays]:
    library = require_safetensors()
    _check_kind(path, "a safetensors file")
    try:
        with library.safe_open(os.fspath(path), "np") as file:
            yield LazyArrays(file.offset_keys(), file.get_tensor)
    except library.SafetensorError as error:
        raise FileFormatError(os.fspath(path), str(error)) from None


def require_safetensors() -> Any:
    try:
        import safetensors
    except ImportError:
        problem = "it is not installed"
        because = "files in its format are read by it"
        hint = "pip install 'executorkit[safetensors]'"
        raise MissingDependencyError("safetensors", problem, because=because, hint=hint) from None
    return safetensors


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, object]) -> None:
    """Writes arrays by name as NumPy's archive, which ``numpy.load`` reads; whole or not at all.
    bfloat16, which NumPy does not have, is written as two bytes without a type (``V2``):
    :func:`load_npz` restores them, and so does ``x.view(ml_dtypes.bfloat16)``."""
    write_atomically(path, partial(write_npz, arrays=host_arrays(arrays)))


def write_npz(file: BinaryIO, arrays: Arrays) -> None:
    # The same arrays give the same bytes.
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                raw = array.view("V2") if array.dtype == _BFLOAT16 else array
                np.lib.format.write_array(member, raw, allow_pickle=False)


def load_npz(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """Returns the arrays of an ``.npz`` file by name, on the CPU. Raises FileAccessError,
    FileFormatError (arrays of Python objects are never read) and DTypeError."""
    with _open_npz(path) as arrays:
        return {name: as_ndarray(array) for name, array in arrays.items()}


@contextmanager
def _open_npz(path: str | os.PathLike[str]) -> Iterator[LazyArrays]:
    _check_kind(path, "an archive of NumPy's arrays (.npz)")
    try:
        with open_to_read(path) as file, np.load(file, allow_pickle=False) as archive:

            def read(name: str) -> np.ndarray:
                array = archive[name]
                return array.view(_BFLOAT16) if array.dtype == "V2" else array

            yield LazyArrays(archive.files, read)
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        if isinstance(error, MXNetError):
            raise
        raise FileFormatError(os.fspath(path), str(error)) from None


def read_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    # Elements of two bytes without a type are bfloat16.
    with _open_npz(path) as arrays:
        return dict(arrays)


class LazyArrays(Mapping[str, np.ndarray]):
    def __init__(self, names: Iterable[str], read: Callable[[str], np.ndarray]) -> None:
        self._names = dict.fromkeys(names)
        self._read = read

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@contextmanager
def open_parameters(path: str | os.PathLike[str]) -> Iterator[LazyArrays]:
    with open_to_read(path) as file:
        kind = recognise(file.peek(HEAD)[:HEAD])
    if kind is not None and "safetensors" in kind.name:
        with _open_safetensors(path) as arrays:
            yield arrays
    elif kind is not None and ".npz" in kind.name:
        with _open_npz(path) as arrays:
            yield arrays
    else:
        headers = ParamsHeaders(path)
        stored = {array.name: array for array in headers if array.name is not None}
        if len(stored) < len(headers) and any(array.name is None for array in headers):
            raise FileFormatError(headers.path, "its arrays have no names")
        yield LazyArrays(stored, lambda name: headers.read(stored[name]))


def read_parameters(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Returns the arrays of a ``.params``, safetensors or ``.npz`` file by name, recognised by its
    first bytes; a ``.params`` file is mapped, not read."""
    with open_parameters(path) as arrays:
        return dict(arrays)


def write_parameters(path: str | os.PathLike[str], arrays: Arrays, form: str) -> None:
    if form == PARAMS_FORM:
        save_params(path, {name: as_ndarray(array) for name, array in arrays.items()})
    elif form == "npz":
        save_npz(path, arrays)
    else:
        save_safetensors(path, arrays)


PARAMS_FORM = "params"


def _check_kind(path: str | os.PathLike[str], expected: str) -> None:
    with open_to_read(path) as file:
        head = file.peek(HEAD)[:HEAD]
    kind = recognise(head)
    if kind is not None and kind.name != expected:
        misfit = describe_misfit(os.fspath(path), head, expected)
        if misfit is not None:
            raise FileFormatError(misfit)
