"""The RecordIO format: records of bytes, one after the other, in one file.

A part of a record is a magic word, a word with the part's kind (3 bits) and its length in bytes (29
bits), both little-endian, its bytes, and zeros up to a multiple of 4. A record is one part, unless
it holds the magic word at a multiple of 4 bytes: it is split there, and the word itself is not
stored. So a magic word at a multiple of 4 always begins a part, and a reader can start in the
middle of a file.
"""

import errno
import os
import stat
import struct
import weakref
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import FileAccessError, RecordError, explain

MAGIC = struct.pack("<I", 0xCED7230A)
#: Kinds of parts: a whole record; the first, a middle and the last part of a split one.
WHOLE, FIRST, MIDDLE, LAST = range(4)
#: Maximum length of a record in bytes, exclusive.
MAX_LENGTH = 1 << 29
_HEADER = struct.Struct("<4sI")


#: Length in bytes of the blocks in which a record's begin is searched.
_BLOCK = 1 << 16


class StoredRecord(NamedTuple):
    content: bytes
    end: int


class RecordFile:
    """A file that is read at any offset, from any thread and any process.

    Reads are system calls: if another process truncates the file, a read is short, where a mapped
    page would end the process. A record is copied once. A pipe, which has no offsets, is read
    whole. Raises :class:`FileAccessError` if the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._whole: bytes | None = None
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._close = weakref.finalize(self, os.close, self._descriptor)
            mode = os.fstat(self._descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(mode):
                with open(self._descriptor, "rb", closefd=False) as file:
                    self._whole = file.read()
        except OSError as error:
            raise FileAccessError(path, _unreadable(error)) from None

    @property
    def size(self) -> int:
        """The length in bytes at present."""
        if self._whole is not None:
            return len(self._whole)
        return os.fstat(self._descriptor).st_size

    def read(self, begin: int, length: int) -> bytes:
        """Returns the bytes from an offset on; fewer at the end of the file."""
        if self._whole is not None:
            return self._whole[begin : begin + length]
        try:
            data = os.pread(self._descriptor, length, begin)
            while len(data) < length:
                piece = os.pread(self._descriptor, length - len(data), begin + len(data))
                if not piece:
                    break
                data += piece
        except OSError as error:
            raise FileAccessError(self.path, _unreadable(error)) from None
        return data

    def close(self) -> None:
        """Closes the file at once, instead of with the object."""
        self._close()


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


def read_whole(path: str) -> bytes:
    file = RecordFile(path)
    try:
        return file.read(0, file.size)
    finally:
        file.close()


def encode_record(content: bytes | bytearray | memoryview, where: str) -> list[bytes]:
    """Returns the record with these bytes, in pieces. :class:`RecordError` if it is too long."""
    data = bytes(content)
    if len(data) >= MAX_LENGTH:
        raise RecordError(where, f"a record of {len(data)} bytes, expected fewer than {MAX_LENGTH}")
    parts = _split(data)
    pieces = []
    for number, part in enumerate(parts):
        kind = WHOLE if len(parts) == 1 else FIRST if number == 0 else MIDDLE
        kind = LAST if number and number == len(parts) - 1 else kind
        pieces += [_HEADER.pack(MAGIC, kind << 29 | len(part)), part, bytes(-len(part) % 4)]
    return pieces


def _split(data: bytes) -> list[bytes]:
    parts, begin, position = [], 0, data.find(MAGIC)
    while position >= 0:
        if position % 4 == 0:
            parts.append(data[begin:position])
            begin = position + 4
            position = data.find(MAGIC, begin)
        else:
            position = data.find(MAGIC, position + 1)
    return [*parts, data[begin:]]


def decode_record(file: RecordFile, begin: int) -> StoredRecord | None:
    """Returns the record that begins at an offset; None at the end of the file. Raises
    :class:`RecordError`, which names the file and the offset, if it is not whole."""
    part = _part(file, begin)
    if part is None:
        return None
    kind, content, end = part
    if kind == WHOLE:
        return StoredRecord(content, end)
    if kind != FIRST:
        raise _broken(file, begin, "a part of a record, expected its first")
    contents = [content]
    while kind != LAST:
        offset = end
        part = _part(file, offset)
        if part is None:
            because = "the file ends there"
            raise _broken(file, begin, "a record whose last part is missing", because)
        kind, content, end = part
        if kind not in (MIDDLE, LAST):
            raise _broken(file, offset, f"the start of a record in the one from offset {begin} on")
        contents.append(content)
    return StoredRecord(MAGIC.join(contents), end)


def _part(file: RecordFile, offset: int) -> tuple[int, bytes, int] | None:
    header = _part_header(file, offset)
    if header is None:
        return None
    kind, length = header
    begin = offset + _HEADER.size
    padded = length + -length % 4
    content = file.read(begin, padded)
    if len(content) < padded:
        because = f"the file ends at offset {begin + len(content)}"
        raise _broken(file, offset, f"a record of {length} bytes", because)
    return kind, content[:length], begin + padded


def _part_header(file: RecordFile, offset: int) -> tuple[int, int] | None:
    header = file.read(offset, _HEADER.size)
    if not header and offset == file.size:
        return None
    if len(header) < _HEADER.size:
        problem = "the header of a record is incomplete"
        raise _broken(file, offset, problem, f"the file ends at offset {file.size}")
    magic, word = _HEADER.unpack(header)
    if magic != MAGIC:
        because = f"{magic.hex(' ')} stands where {MAGIC.hex(' ')} is expected"
        raise _broken(file, offset, "not a record", because)
    return word >> 29, word & (MAX_LENGTH - 1)


def _broken(file: RecordFile, offset: int, problem: str, because: str | None = None) -> RecordError:
    return RecordError(f"{file.path}, offset {offset}", problem, because=because)


def record_offsets(file: RecordFile, begin: int, end: int) -> Iterator[int]:
    """Returns the offsets of the records that begin in a range, which begins at a record. Raises
    :class:`RecordError` for a malformed header."""
    offset = begin
    while offset < end:
        header = _part_header(file, offset)
        if header is None:
            return
        kind, length = header
        if kind in (WHOLE, FIRST):
            yield offset
        offset += _HEADER.size + length + -length % 4


def next_record(file: RecordFile, offset: int) -> int:
    """Returns the offset of the first record at or after a multiple of 4, or the file's end."""
    while block := file.read(offset, _BLOCK + _HEADER.size):
        position = -1
        while 0 <= (position := block.find(MAGIC, position + 1)) < _BLOCK:
            header = block[position : position + _HEADER.size]
            if position % 4 == 0 and len(header) == _HEADER.size:
                word = _HEADER.unpack(header)[1]
                if word >> 29 in (WHOLE, FIRST):
                    return offset + position
        offset += _BLOCK
    return file.size


def read_index(path: str | os.PathLike[str]) -> list[tuple[str, int]]:
    """Returns the lines of an index file: keys, and offsets of their records. Raises
    FileNotFoundError or :class:`FileAccessError` if the file cannot be read, :class:`RecordError`
    if a line is not a key, a tabulator and an offset."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        raise FileNotFoundError(explain(name, "cannot be read: it does not exist")) from None
    except OSError as error:
        raise FileAccessError(name, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RecordError(name, "it is not an index file of records") from None
    if lines[-1] == "":
        del lines[-1]
    entries = []
    for number, line in enumerate(lines, start=1):
        key, _, remainder = line.strip().partition("\t")
        offset = remainder.partition("\t")[0]
        if not offset.strip().isdecimal():
            problem = f"{line!r}, expected a key, a tabulator and an offset"
            raise RecordError(f"{name}, line {number}", problem)
        entries.append((key, int(offset)))
    return entries
