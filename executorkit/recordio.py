"""``mx.recordio``: files of records, and records of labelled images. A record is a sequence of
bytes. Files are MXNet's (dmlc's RecordIO), byte for byte. Images are packed and unpacked by OpenCV
(the extra ``image``)."""

import contextlib
import io
import numbers
import os
import struct
from collections import namedtuple
from typing import Any

import numpy as np

from ._support.record_format import RecordFile, decode_record, encode_record, read_index
from .errors import (
    ArgumentValueError,
    FileAccessError,
    InputTypeError,
    ModuleUsageError,
    RecordError,
    UnknownNameError,
)
from .opencv import imdecode, require_opencv


class MXRecordIO:
    """Reads or writes a file of records, one after the other.

    uri, flag
        the path of the file; 'r' to read, 'w' to write a new file.

    Writing appends every record to the file at once, without a buffer. Pickling closes the object;
    the copy opens the file again (and empties one for writing). A forked process calls ``reset``
    first. A file truncated in the middle of a split record is an error (None in MXNet). Raises
    OSError if the file cannot be opened, ValueError for another flag.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.rec")
    >>> record = MXRecordIO(path, "w")
    >>> record.write(b"first"), record.write(b"second"), record.close()
    (None, None, None)
    >>> record = MXRecordIO(path, "r")
    >>> record.read(), record.read(), record.read()
    (b'first', b'second', None)
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.pid: int | None = None
        self.is_open = False
        self.writable = False
        self._source: RecordFile | None = None
        self._file: io.FileIO | None = None
        self._offset = 0
        self.open()

    def open(self) -> None:
        """Opens the file, at its begin; one for writing is emptied."""
        if self.flag not in ("r", "w"):
            problem = f"{self.flag!r}, expected 'r' or 'w'"
            raise ArgumentValueError(f"{type(self).__name__}: flag", problem)
        self._release()
        self.writable = self.flag == "w"
        if self.writable:
            self._file = _create(self.uri)
        else:
            self._source = RecordFile(self.uri)
        self._offset = 0
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Closes the file, if it is open."""
        if self.is_open:
            self._release()
            self.is_open = False
            self.pid = None

    def _release(self) -> None:
        for file in (self._source, self._file):
            if file is not None:
                file.close()
        self._source = self._file = None

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):  # if the constructor failed
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        is_open = self.is_open
        self.close()
        return {**self.__dict__, "is_open": is_open}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        is_open, self.is_open = self.is_open, False
        if is_open:
            self.open()

    def _check_process(self) -> None:
        if self.pid != os.getpid():
            problem = "it was opened by another process" if self.is_open else "it is closed"
            raise ModuleUsageError(self.uri, problem, hint="call reset() first")

    def _check_mode(self, writable: bool) -> None:
        if self.writable != writable:
            mode, call = ("writing", "reads") if self.writable else ("reading", "writes")
            raise ModuleUsageError(self.uri, f"it is open for {mode}, and the call {call}")

    def reset(self) -> None:
        """Goes back to the first record; a file for writing is emptied."""
        self.close()
        self.open()

    def write(self, buf: bytes | bytearray | memoryview) -> None:
        """Appends a record. Raises TypeError if it is not bytes."""
        self._check_mode(writable=True)
        self._check_process()
        if not isinstance(buf, bytes | bytearray | memoryview):
            hint = "text.encode()" if isinstance(buf, str) else None
            problem = f"a {type(buf).__name__}, expected bytes"
            raise InputTypeError(f"{type(self).__name__}.write", problem, hint=hint)
        pieces = encode_record(buf, self.uri)
        assert self._file is not None
        _write_whole(self._file, b"".join(pieces), self.uri)
        self._offset += sum(map(len, pieces))

    def read(self) -> bytes | None:
        """Returns the next record; None after the last. :class:`FileFormatError` (a ValueError)
        names the offset if the file is truncated or not a file of records."""
        self._check_mode(writable=False)
        self._check_process()
        return self._read_at(self._offset)

    def _read_at(self, offset: int) -> bytes | None:
        assert self._source is not None
        record = decode_record(self._source, offset)
        if record is None:
            return None
        self._offset = record.end
        return record.content


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with an index file, which has the offset of every record by its key.

    idx_path, uri
        paths of the index file (lines of a key, a tabulator and an offset) and of the records.
    flag, key_type
        'r' to read, 'w' to write new files; the type of the keys, called with their text.

    ``keys`` lists the keys in order, ``idx`` maps them to offsets. Raises OSError if a file cannot
    be opened, ValueError if the index file is malformed.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> paths = os.path.join(folder, "a.idx"), os.path.join(folder, "a.rec")
    >>> record = MXIndexedRecordIO(*paths, "w")
    >>> for i in range(5):
    ...     record.write_idx(i, b"record %d" % i)
    >>> record.close()
    >>> MXIndexedRecordIO(*paths, "r").read_idx(3)
    b'record 3'
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Any = int,
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: io.FileIO | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        super().open()
        self.idx, self.keys = {}, []
        if self.writable:
            self.fidx = _create(self.idx_path)
            return
        for key, offset in read_index(self.idx_path):
            name = self._key(key)
            self.idx[name] = offset
            self.keys.append(name)

    def _key(self, key: object) -> Any:
        try:
            return self.key_type(key)
        except (TypeError, ValueError):
            problem = f"{key!r}, expected a key of type {self.key_type.__name__}"
            raise RecordError(self.idx_path, problem) from None

    def _release(self) -> None:
        super()._release()
        if self.fidx is not None:
            self.fidx.close()
            self.fidx = None

    def seek(self, idx: Any) -> None:
        """Goes to the record with this key; KeyError if there is none."""
        self._check_mode(writable=False)
        if not self.is_open:
            self.reset()
        self.pid = os.getpid()  # a forked process reads the same file at offsets of its own
        if idx not in self.idx:
            raise UnknownNameError(self.idx_path, f"it has no key {idx!r}")
        self._offset = self.idx[idx]

    def tell(self) -> int:
        """Returns the offset at which the next record will be written."""
        self._check_mode(writable=True)
        return self._offset

    def read_idx(self, idx: object) -> bytes | None:
        """Returns the record with this key, else raises KeyError; opens a closed file again.
        Threads and forked processes may call it at once."""
        self.seek(idx)
        return self._read_at(self.idx[idx])

    def write_idx(self, idx: object, buf: bytes | bytearray | memoryview) -> None:
        """Appends a record, and its key to the index file."""
        key = self._key(idx)
        offset = self.tell()
        self.write(buf)
        assert self.fidx is not None
        _write_whole(self.fidx, f"{key}\t{offset}\n".encode(), self.idx_path)
        self.idx[key] = offset
        self.keys.append(key)


def _create(path: str) -> io.FileIO:
    try:
        return open(path, "wb", buffering=0)
    except OSError as error:
        raise FileAccessError(path, f"cannot be written: {error.strerror or error}") from None


def _write_whole(file: io.FileIO, data: bytes, path: str) -> None:
    remainder = memoryview(data)
    try:
        while remainder:
            remainder = remainder[file.write(remainder) or 0 :]
    except OSError as error:
        raise FileAccessError(path, f"cannot be written: {error.strerror or error}") from None


#: The header of an image's record: ``flag`` is the number of labels (0: one, in the header itself),
#: ``label`` a number or a float32 array, ``id`` the image's number, ``id2`` is usually 0.
IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])

_IR_FORMAT = "IfQQ"
_IR_SIZE = struct.calcsize(_IR_FORMAT)


def pack(header: Any, s: bytes) -> bytes:
    """Returns a record of a header and the bytes of an image.

    ``header`` is an :class:`IRHeader` or a sequence of its four values. Labels that are not one
    number are stored as float32, and ``flag`` is their number. Raises struct.error if a number is
    out of range, TypeError if ``s`` is not bytes.

    >>> unpack(pack(IRHeader(0, [1.0, 2.0], 7, 0), b"image"))
    (HEADER(flag=2, label=array([1., 2.], dtype=float32), id=7, id2=0), b'image')
    """
    flag, label, number, number2 = IRHeader(*header)
    if isinstance(label, numbers.Number):
        flag, labels = 0, b""
    else:
        array = np.asarray(label, np.float32)
        flag, label, labels = array.size, 0, array.tobytes()
    try:
        head = struct.pack(_IR_FORMAT, flag, label, number, number2)
    except struct.error as error:
        raise RecordError("pack: header", f"{header!r}: {error}") from None
    if isinstance(s, str):
        raise InputTypeError("pack: s", "a str, expected bytes", hint="text.encode()")
    return head + labels + s


def unpack(s: Any) -> tuple[IRHeader, Any]:
    """Returns the header of an image's record, and its other bytes. Raises :class:`RecordError` (a
    ValueError and a struct.error) if it is too short."""
    if len(s) < _IR_SIZE:
        raise RecordError("the record of an image", f"{len(s)} bytes, expected at least {_IR_SIZE}")
    header = IRHeader(*struct.unpack_from(_IR_FORMAT, s))
    content = s[_IR_SIZE:]
    if header.flag > 0:
        size = 4 * header.flag
        if len(content) < size:
            problem = f"{len(content)} bytes after its header, expected at least {size}"
            because = f"its header announces {header.flag} labels"
            raise RecordError("the record of an image", problem, because=because)
        labels = np.frombuffer(content, np.float32, header.flag)
        header = IRHeader(header.flag, labels, header.id, header.id2)
        content = content[size:]
    return header, content


def unpack_img(s: object, iscolor: int = -1) -> tuple[IRHeader, np.ndarray | None]:
    """Returns the header of an image's record, and the image, decoded by OpenCV.

    ``iscolor`` is the flag of ``cv2.imdecode``: 1 colours (blue, green, red), 0 grey, -1 as stored.
    The image is None if the bytes are not an image; without bytes OpenCV raises ``cv2.error``.
    :class:`FileFormatError` for an image of more pixels than are decoded.
    """
    header, content = unpack(s)
    return header, imdecode(bytes(content), iscolor, "unpack_img")


_JPEG, _PNG = (".JPG", ".JPEG"), (".PNG",)


def pack_img(header: object, img: object, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Returns a record of a header and an image, which ``cv2.imencode`` encodes.

    img
        (height, width) or (height, width, channels), colours in the order blue, green, red.
    quality, img_fmt
        1 to 100 for '.jpg', the level 1 to 9 for '.png'; or another extension of OpenCV.
    """
    cv2 = require_opencv()
    name, options = img_fmt.upper(), None
    if name in _JPEG:
        options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    elif name in _PNG:
        options = [cv2.IMWRITE_PNG_COMPRESSION, min(quality, 9)]
    encoded, buffer = cv2.imencode(img_fmt, np.asarray(img), options or [])
    if not encoded:
        raise ArgumentValueError("pack_img", f"OpenCV cannot encode it as {img_fmt!r}")
    return pack(header, buffer.tobytes())
