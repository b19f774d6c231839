"""MXNet's ``.params`` files: a list or a dictionary of arrays.

    uint64 0x112, uint64 0, uint64 number of arrays, the arrays,
    uint64 number of names (0 for a list), each uint64 length and UTF-8 bytes

An array is, since MXNet 1.0 (V2; V3 where shapes may be () or hold 0), little-endian throughout:

    uint32 magic, int32 storage type (0: dense), uint32 ndim, int64 sizes,
    int32 device type, int32 device number, int32 element type, elements

A sparse array has the axes of its stored values before its own. Before the values stand the type
and axes of its index arrays (``row_sparse``: rows; ``csr``: row pointers, columns), and after the
values the indices. It is read as a dense array.

MXNet 0.12 (V1) had no storage type, earlier versions no magic number and sizes of uint32. All are
read; scalars and arrays without elements of V3 under ``mx.np_shape()`` only. Files are written as
MXNet 1.9.1 writes them, byte for byte: under ``mx.np_shape()`` as V3, otherwise as V2, except
arrays of shape (), which MXNet writes unreadably: they are V3.
"""

import io
import itertools
import math
import os
import stat
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, TypeVar

import jax
import numpy as np

from .._files import HEAD, PARAMS, describe_misfit, open_to_read, write_atomically
from .._support.shape_semantics import is_known, numpy_shapes
from ..arrays.values import to_device
from ..context import Context, cpu
from ..errors import ArgumentValueError, FileFormatError, InputTypeError, MXNetError
from ..ops.schema.attrs import DTYPE_NUMBERS, DTYPES
from ._ndarray import NDArray, reads_records

_T = TypeVar("_T")

_LIST = 0x112
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
#: The versions of MXNet that write arrays of a magic number, oldest first; None: without one.
_WRITERS = {
    None: "MXNet before 0.12",
    _V1: "MXNet 0.12",
    _V2: "MXNet 1.0 or newer",
    _V3: "MXNet 1.6 or newer",
}
#: Storage types of sparse arrays, and their numbers of index arrays.
_STORAGE = {1: ("row_sparse", 1), 2: ("csr", 2)}
#: MXNet's own limit on the number of axes; a larger number is a sign of another kind of data.
_MAX_NDIM = 32
#: Alignment in bytes with which XLA takes over memory on CPUs without a copy.
_ALIGNMENT = 64


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Writes an NDArray, a list of NDArrays, or a dictionary of them by name, as MXNet does.

    The file ``fname`` appears whole or not at all. ValueError, TypeError for other data.

    >>> import tempfile
    >>> import executorkit as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/x.params", {"arg:w": mx.nd.array([1, 2])})
    ...     load(f"{folder}/x.params")["arg:w"].asnumpy().tolist()
    [1.0, 2.0]
    """
    names: list[str] = []
    if isinstance(data, NDArray):
        arrays: Sequence[Any] = [data]
    elif isinstance(data, Mapping):
        names, arrays = list(data.keys()), list(data.values())
    elif isinstance(data, list):
        arrays = data
    else:
        hint = "an NDArray, a list of NDArrays, or a dict of them"
        raise ArgumentValueError("nd.save", f"data is a {type(data).__name__}", hint=hint)
    for noun, kind, items in (("name", str, names), ("array", NDArray, arrays)):
        for x in items:
            if not isinstance(x, kind):
                raise InputTypeError("nd.save", f"{noun} {x!r} is not of type {kind.__name__}")
    header = uint64_bytes(_LIST, 0, len(arrays))
    parts = itertools.chain((header,), array_records(arrays), _name_parts(names))
    write_atomically(_path(fname), parts)


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """Returns the arrays of a file, on the CPU: a list, or a dictionary if they have names.

    Arrays that were saved from a GPU go to the same one if it is present. Of entries of the same
    name the last one counts, as in MXNet. Time and memory are bounded by the length of the file.
    FileAccessError for a file that cannot be read; FileFormatError for one that is truncated,
    malformed, of another kind (which the message says, if it is a common one), or has bytes after
    the end, a sign of damage that MXNet ignores. Sparse arrays become dense ones, with one warning;
    FileFormatError names one that would not fit into memory.
    """
    path = _path(fname)
    with open_to_read(path) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):  # a pipe has no length
            return load_contents(file.read(), path)
        return _ParamsReader(file, status.st_size, path).read_all()


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """An array within a file: ``offset`` and type of its elements, its ``name`` (None in a list)
    and the type and number of its device. ``parts`` are the shapes and dtypes of the stored arrays:
    the elements, or a sparse array's values and indices."""

    name: str | None
    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int
    device: tuple[int, int]
    storage: str
    parts: tuple[tuple[tuple[int, ...], np.dtype], ...]

    @property
    def nbytes(self) -> int:
        """Bytes that are stored."""
        return sum(math.prod(shape) * dtype.itemsize for shape, dtype in self.parts)

    def elements(self, raw: np.ndarray) -> np.ndarray:
        """Returns the array whose stored bytes are ``raw``. Raises IndexError or ValueError for
        indices that do not fit, MemoryError for a sparse array that is too large."""
        arrays = []
        for shape, dtype in self.parts:
            size = math.prod(shape) * dtype.itemsize
            arrays.append(raw[:size].view(dtype).reshape(shape))
            raw = raw[size:]
        if self.storage == "default":
            return arrays[0]
        values, *indices = arrays
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if math.prod(self.shape) * self.dtype.itemsize > memory:
            raise MemoryError("it is larger than memory as a dense array")
        dense = np.zeros(self.shape, self.dtype)
        if values.size:
            rows = indices[0]
            if self.storage == "csr":
                rows = np.repeat(np.arange(len(rows) - 1), np.diff(rows))
            if any(np.min(i) < 0 for i in (rows, indices[-1])):
                raise IndexError("an index is negative")
            dense[(rows, *indices[1:])] = values
        return dense


class ParamsHeaders(Sequence[ArrayHeader]):
    """The arrays of a ``.params`` file by their headers; elements are read on request.

    Opening it reads a few hundred bytes per array, whatever their sizes. ``writer`` names the
    versions of MXNet that write this format, such as ``MXNet 1.0 or newer``. Raises the errors of
    :func:`load`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _path(path)
        with open_to_read(self.path) as file:
            reader = _ParamsReader(file, os.fstat(file.fileno()).st_size, self.path)
            self._arrays = tuple(reader.read_headers())
        self.writer = _WRITERS[min(reader.magics, key=list(_WRITERS).index, default=_V2)]

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: Any) -> Any:
        return self._arrays[index]

    @property
    def nbytes(self) -> int:
        """Bytes of the elements of all arrays."""
        return sum(array.nbytes for array in self)

    def read(self, array: ArrayHeader) -> np.ndarray:
        """Returns the elements, mapped from the file: they take no memory until they are read."""
        if not array.nbytes:
            return np.zeros(array.shape, array.dtype)
        return array.elements(np.memmap(self.path, np.uint8, "r", array.offset, array.nbytes))

    def blocks(self, array: ArrayHeader, size: int = 1 << 20) -> Iterator[np.ndarray]:
        """Returns the stored elements, at most ``size`` at a time, in one reused buffer."""
        count = math.prod(array.parts[0][0])
        buffer = np.empty(min(size, count), array.dtype)
        with open(self.path, "rb", buffering=0) as file:
            file.seek(array.offset)
            for start in range(0, count, size):
                block = buffer[: min(size, count - start)]
                if file.readinto(block.view(np.uint8).data) != block.nbytes:
                    raise FileFormatError(self.path, "it became shorter while it was read")
                yield block


def load_frombuffer(buf: bytes | bytearray | memoryview) -> list[NDArray] | dict[str, NDArray]:
    """Loads ``buf``, the contents of a file, as :func:`load` does."""
    if isinstance(buf, str) or not isinstance(buf, bytes | bytearray | memoryview):
        raise FileFormatError("load_frombuffer", f"{type(buf).__name__} given, expected bytes")
    return load_contents(buf, "buffer")


def load_contents(
    content: bytes | bytearray | memoryview, source: str
) -> list[NDArray] | dict[str, NDArray]:
    data = bytes(content)  # the same object if it is bytes, which do not change
    return _ParamsReader(io.BytesIO(data), len(data), source, data).read_all()


def load_record(content: bytes | bytearray, source: str) -> NDArray:
    return _ParamsReader(io.BytesIO(content), len(content), source).read_one()


@reads_records
def _read_one(record: bytes) -> NDArray:
    content = uint64_bytes(_LIST, 0, 1) + record + uint64_bytes(0)
    (array,) = load_contents(content, "pickled NDArray")
    return array  # type: ignore[return-value]


def _path(fname: Any) -> str:
    if not isinstance(fname, str | os.PathLike):
        raise InputTypeError("file name", f"{fname!r} is neither a string nor a path")
    return os.fspath(fname)


def uint64_bytes(*numbers: int) -> bytes:
    return np.array(numbers, "<u8").tobytes()


def array_records(arrays: Sequence[NDArray]) -> Iterator[bytes | memoryview]:
    """Returns the bytes of each array, made only when the previous ones are written."""
    for x in arrays:
        host = np.ascontiguousarray(x.asnumpy())
        context = x.context if x.context.device_type != "tpu" else cpu()
        magic = _V3 if numpy_shapes() or not x.ndim else _V2
        numbers = [context.device_typeid, context.device_id, DTYPE_NUMBERS[host.dtype.name]]
        yield np.array((magic, 0, x.ndim), "<u4").tobytes()
        yield np.array(x.shape, "<i8").tobytes()
        yield np.array(numbers, "<i4").tobytes()
        yield host.reshape(-1).view(np.uint8).data


def _name_parts(names: Sequence[str]) -> Iterator[bytes]:
    yield uint64_bytes(len(names))
    for name in names:
        text = name.encode()
        yield uint64_bytes(len(text))
        yield text


class _ParamsReader:
    """Parses a file; every number is checked against the file's length. ``content`` are contents in
    memory: XLA copies arrays while the next are parsed."""

    def __init__(
        self, file: BinaryIO, size: int, source: str, content: bytes | None = None
    ) -> None:
        self._file = file
        self._content = content
        self._size = size
        self._source = source
        self._at = 0
        self.graph_entry = "header"
        #: That of the array that was read last.
        self._magic = 0
        #: The magic numbers of the arrays so far, None for arrays without one.
        self.magics: set[int | None] = set()
        self._sparse = 0

    def read_all(self) -> list[NDArray] | dict[str, NDArray]:
        arrays, names = self._read(self._known_array)
        if self._sparse:
            text = f"{self._source}: sparse arrays ({self._sparse}) are read as dense ones"
            warnings.warn(text, stacklevel=3)
        return dict(zip(names, arrays, strict=True)) if names else arrays

    def read_headers(self) -> list[ArrayHeader]:
        arrays, names = self._read(self._skipped)
        if not names:
            return arrays
        return [replace(a, name=name) for a, name in zip(arrays, names, strict=True)]

    def _read(self, read_array: Callable[[], _T]) -> tuple[list[_T], list[str]]:
        self._check_kind()
        magic, _ = self._numbers("QQ", "magic number")
        if magic != _LIST:
            raise self._error(f"it begins with {magic:#x}, expected {_LIST:#x}: no .params file")
        (count,) = self._numbers("Q", "number of arrays")
        arrays = []
        for i in range(count):
            self.graph_entry = f"array {i} of {count}"
            arrays.append(read_array())
        self.graph_entry = "names"
        (n_names,) = self._numbers("Q", "number of names")
        if n_names not in (0, count):
            raise self._error(f"{n_names} names for {count} arrays")
        names = []
        for i in range(n_names):
            self.graph_entry = f"name {i} of {n_names}"
            (length,) = self._numbers("Q", "length")
            try:
                names.append(self._take(length, "text").tobytes().decode())
            except UnicodeDecodeError:
                raise self._error("it is not UTF-8 text") from None
        if self._at != self._size:
            self.graph_entry = "end"
            raise self._error(f"expected {self._at} bytes, found {self._size}: something follows")
        return arrays, names

    def read_one(self) -> NDArray:
        self.graph_entry = "array"
        array = self._array()
        if self._at != self._size:
            raise self._error(f"expected {self._at} bytes, found {self._size}: something follows")
        return array

    def _check_kind(self) -> None:
        head = self._file.read(HEAD)
        self._file.seek(0)
        misfit = describe_misfit(self._source, head, PARAMS)
        if misfit is not None:
            raise FileFormatError(misfit)

    def _array(self) -> NDArray:
        header = self._header()
        raw = self._take(header.nbytes, f"elements {header.dtype.name}{header.shape}")
        if header.dtype == np.bool_ and header.storage == "default":
            raw = raw != 0
        context = _home(*header.device)
        self._sparse += header.storage != "default"
        try:
            host = header.elements(raw)
        except (IndexError, ValueError, MemoryError) as error:
            raise self._error(f"{header.storage} array of shape {header.shape}: {error}") from None
        return NDArray.from_jax(to_device(host, context.device), context, shared=False)

    def _known_array(self) -> NDArray:
        array = self._array()
        if self._magic == _V3 and not is_known(array.shape):
            problem = f"shape {array.shape} was saved under mx.np_shape(), and is unknown outside"
            raise self._error(problem, hint="load it under mx.np_shape() too")
        return array

    def _skipped(self) -> ArrayHeader:
        header = self._header()
        self._check_rest(header.nbytes, f"elements {header.dtype.name}{header.shape}")
        self._at += header.nbytes
        self._file.seek(self._at)
        return header

    def _header(self) -> ArrayHeader:
        (magic,) = self._numbers("I", "magic number")
        self._magic = magic
        storage = 0
        if magic in (_V2, _V3):
            (storage,) = self._numbers("i", "storage type")
        if storage not in (0, *_STORAGE):
            raise self._error(f"unknown storage type {storage}")
        name, n_indices = _STORAGE.get(storage, ("default", 0))
        stored = self._shape("axes of values") if n_indices else None
        shape = self._shape("ndim")
        if not shape and magic != _V3:
            raise self._error("it has no shape: an array without contents was saved")
        device_type, device_id = self._numbers("2i", "context")
        dtype = self._dtype()
        parts = [(shape if stored is None else stored, dtype)]
        for _ in range(n_indices):
            index_dtype = self._dtype()
            parts.append((self._shape("axes of indices"), index_dtype))
        if math.prod(d for d in shape if d) * dtype.itemsize > 2**63 - 1:
            # Not left to the length of the file, because another size may be 0.
            raise self._error(f"shape {shape} is larger than any memory")
        self.magics.add(magic if magic in _WRITERS else None)
        return ArrayHeader(
            None, shape, dtype, self._at, device=(device_type, device_id), storage=name,
            parts=tuple(parts),
        )  # fmt: skip

    def _shape(self, part: str) -> tuple[int, ...]:
        dated = self._magic in (_V1, _V2, _V3)
        (ndim,) = self._numbers("I", part) if dated else (self._magic,)
        if ndim > _MAX_NDIM:
            raise self._error(f"{ndim} axes, at most {_MAX_NDIM} expected")
        shape = self._numbers(f"{ndim}{'q' if dated else 'I'}", "shape")
        if any(d < 0 for d in shape):
            raise self._error(f"shape {shape} holds a negative size")
        return shape

    def _dtype(self) -> np.dtype:
        (number,) = self._numbers("i", "dtype")
        if number not in DTYPES:
            raise self._error(f"unknown element type {number}")
        return jax.numpy.dtype(DTYPES[number])

    def _take(self, size: int, part: str) -> np.ndarray:
        self._check_rest(size, part)
        if self._content is not None:
            self._at += size
            self._file.seek(self._at)
            return np.frombuffer(self._content, np.uint8, size, self._at - size)
        block = np.empty(size + _ALIGNMENT, np.uint8)
        start = -block.ctypes.data % _ALIGNMENT
        raw = block[start : start + size]
        if self._file.readinto(raw.data) != size:  # type: ignore[attr-defined]
            raise self._error(f"{part}: the file became shorter while it was read")
        self._at += size
        return raw

    def _numbers(self, form: str, part: str) -> tuple[int, ...]:
        numbers = struct.Struct(f"<{form}")
        self._check_rest(numbers.size, part)
        self._at += numbers.size
        return numbers.unpack(self._file.read(numbers.size))

    def _check_rest(self, size: int, part: str) -> None:
        rest = self._size - self._at
        if size > rest:
            raise self._error(f"{part}: expected {size} bytes at {self._at}, found {rest}")

    def _error(self, problem: str, hint: str | None = None) -> FileFormatError:
        return FileFormatError(f"{self._source}: {self.graph_entry}", problem, hint=hint)


def _home(device_type: int, device_id: int) -> Context:
    if Context.devtype2str.get(device_type) == "gpu":
        context = Context("gpu", device_id)
        try:
            _ = context.device
        except MXNetError:
            return cpu()
        return context
    return cpu()
