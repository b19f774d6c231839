"""The RecordIO format: records of bytes, one after the other, in one file.

A part of a record is a magic word, a word with the part's kind (3 bits) and its length in bytes (29
bits), both little-endian, its bytes, and zeros up to a multiple of 4. A record is one part, except
where the magic word stands in it at a multiple of 4 bytes: it is split there, and the word itself
is not stored. So a magic word at a multiple of 4 always begins a part, and a reader can start in
the middle of a file.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from .errors import FileAccessError, RecordError, explain

MAGIC = struct.pack("<I", 0xCED7230A)
#: Kinds of parts: a whole record; the first, a middle and the last part of a split one.
WHOLE, FIRST, MIDDLE, LAST = range(4)
#: Maximum length of a record in bytes, exclusive.
MAX_LENGTH = 1 << 29
_HEADER = struct.Struct("<4sI")


class StoredRecord(NamedTuple):
    """The bytes of a record, a view of the file where it is stored in one part, and its end."""

    content: memoryview | bytes
    end: int


def map_file(path: str) -> memoryview:
    """The contents of a file: mapped into memory, or read if the file cannot be mapped.

    Raises :class:`FileAccessError` if it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            try:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            except (ValueError, OSError):  # empty, or not an ordinary file
                return memoryview(file.read())
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise FileAccessError(explain(path, problem)) from None


def encode_record(content: bytes | bytearray | memoryview, where: str) -> list[bytes]:
    """The record with these bytes as it stands in a file, in pieces.

    Raises :class:`RecordError` if it is too long.
    """
    data = bytes(content)
    if len(data) >= MAX_LENGTH:
        raise RecordError(
            explain(where, f"a record of {len(data)} bytes, expected fewer than {MAX_LENGTH}")
        )
    parts = _split(data)
    pieces = []
    for number, part in enumerate(parts):
        kind = WHOLE if len(parts) == 1 else FIRST if number == 0 else MIDDLE
        kind = LAST if number and number == len(parts) - 1 else kind
        pieces += [_HEADER.pack(MAGIC, kind << 29 | len(part)), part, bytes(-len(part) % 4)]
    return pieces


def _split(data: bytes) -> list[bytes]:
    """The bytes between magic words at multiples of 4."""
    parts, begin, position = [], 0, data.find(MAGIC)
    while position >= 0:
        if position % 4 == 0:
            parts.append(data[begin:position])
            begin = position + 4
            position = data.find(MAGIC, begin)
        else:
            position = data.find(MAGIC, position + 1)
    return [*parts, data[begin:]]


def decode_record(view: memoryview, begin: int, path: str) -> StoredRecord | None:
    """The record that begins at an offset; None at the end of the file.

    Raises :class:`RecordError`, which names the file and the offset, if there is no whole record.
    """
    if begin == len(view):
        return None
    kind, content, end = _part(view, begin, path)
    if kind == WHOLE:
        return StoredRecord(content, end)
    if kind != FIRST:
        raise _broken(path, begin, "a part of a record, expected its first")
    contents = [bytes(content)]
    while kind != LAST:
        if end == len(view):
            raise _broken(path, begin, "a record whose last part is missing", "the file ends there")
        offset = end
        kind, content, end = _part(view, offset, path)
        if kind not in (MIDDLE, LAST):
            raise _broken(path, offset, f"the begin of a record in the one from offset {begin} on")
        contents.append(bytes(content))
    return StoredRecord(MAGIC.join(contents), end)


def _part(view: memoryview, offset: int, path: str) -> tuple[int, memoryview, int]:
    """The kind of the part at an offset, its bytes, and its end."""
    kind, length = _part_header(view, offset, path)
    begin = offset + _HEADER.size
    end = begin + length + -length % 4
    if end > len(view):
        raise _broken(
            path, offset, f"a record of {length} bytes", f"the file ends at offset {len(view)}"
        )
    return kind, view[begin : begin + length], end


def _part_header(view: memoryview, offset: int, path: str) -> tuple[int, int]:
    if not 0 <= offset <= len(view) - _HEADER.size:
        problem = "the header of a record is incomplete"
        raise _broken(path, offset, problem, f"the file ends at offset {len(view)}")
    magic, word = _HEADER.unpack_from(view, offset)
    if magic != MAGIC:
        because = f"{magic.hex(' ')} stands where {MAGIC.hex(' ')} is expected"
        raise _broken(path, offset, "there is no record", because)
    return word >> 29, word & (MAX_LENGTH - 1)


def _broken(path: str, offset: int, problem: str, because: str | None = None) -> RecordError:
    return RecordError(explain(f"{path}, offset {offset}", problem, because=because))


def record_offsets(view: memoryview, begin: int, end: int, path: str) -> Iterator[int]:
    """Offsets of the records that begin in a range, whose begin is that of a record.

    Raises :class:`RecordError` if a header is not one.
    """
    offset = begin
    while offset < end:
        kind, length = _part_header(view, offset, path)
        if kind in (WHOLE, FIRST):
            yield offset
        offset += _HEADER.size + length + -length % 4


def next_record(view: memoryview, offset: int) -> int:
    """The offset of the first record at or after a multiple of 4; the file's end if none is."""
    data = view.obj
    assert isinstance(data, bytes | mmap.mmap)
    while (offset := data.find(MAGIC, offset)) >= 0:
        if offset % 4 == 0 and offset + _HEADER.size <= len(view):
            (word,) = struct.unpack_from("<I", view, offset + 4)
            if word >> 29 in (WHOLE, FIRST):
                return offset
        offset += 1
    return len(view)


def read_index(path: str | os.PathLike[str]) -> list[tuple[str, int]]:
    """The lines of an index file: keys, and offsets of their records.

    Raises FileNotFoundError or :class:`FileAccessError` if the file cannot be read,
    :class:`RecordError` if a line is not a key, a tabulator and an offset.
    """
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        raise FileNotFoundError(explain(name, "cannot be read: there is no such file")) from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise FileAccessError(explain(name, problem)) from None
    except UnicodeDecodeError:
        raise RecordError(explain(name, "it is not an index file of records")) from None
    if lines[-1] == "":
        del lines[-1]
    entries = []
    for number, line in enumerate(lines, start=1):
        key, _, remainder = line.strip().partition("\t")
        offset = remainder.partition("\t")[0]
        if not offset.strip().isdecimal():
            raise RecordError(
                explain(
                    f"{name}, line {number}", f"{line!r}, expected a key, a tabulator and an offset"
                )
            )
        entries.append((key, int(offset)))
    return entries
