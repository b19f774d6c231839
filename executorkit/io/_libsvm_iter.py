"""LibSVMIter: dense batches of the rows of a text file of numbered values."""

import os
from dataclasses import dataclass

import numpy as np

from .._support.record_format import read_whole
from ..errors import DataArgumentError, FileFormatError
from ._file_iter import RowIter
from ._iterator_options import parse_options, warn_of_unknown
from ._record_source import Order


@dataclass(frozen=True, kw_only=True)
class LibSVMOptions:
    data_libsvm: str
    data_shape: tuple[int, ...]
    batch_size: int
    label_libsvm: str = "NULL"
    label_shape: tuple[int, ...] = (1,)
    num_parts: int = 1
    part_index: int = 0
    round_batch: bool = True
    prefetch_buffer: int = 4
    ctx: str = "gpu"
    device_id: int = 0
    dtype: str | None = None
    data_name: str = "data"
    label_name: str = "softmax_label"


class LibSVMIter(RowIter):
    """Batches of rows of a file whose lines are a label and pairs of an index and a value: ``1.0
    0:0.5 2:1.2``. Indices begin at 0; a '#' begins a comment.

    data_libsvm, data_shape
        the file, or a folder of files, and the length of a row, (columns,).
    label_libsvm, label_shape
        such a file whose rows are the labels, and their length. Without it, the labels at the start
        of the lines, in batches of shape (batch_size,).
    num_parts, part_index
        reads the lines of one of several parts of the file, about equally long in bytes.
    round_batch
        has to be True: the last batch is filled with the first rows, and the next epoch begins
        after them. ``batch.pad`` counts them.
    dtype
        float32.
    prefetch_buffer, ctx, device_id
        without effect. Every other keyword is ignored, too, with a warning.

    Batches are dense (of storage type 'csr' in MXNet); the file is kept in memory without its
    zeros. ``batch.index`` holds row numbers. Raises OSError if a file cannot be read,
    FileFormatError (a ValueError), naming the line, if malformed or with an index beyond the shape.
    """

    def __init__(self, **keywords: object) -> None:
        where = "LibSVMIter"
        warn_of_unknown(where, [k for k in keywords if k not in LibSVMOptions.__annotations__])
        options = parse_options(LibSVMOptions, where, keywords)
        _check(where, options)
        rows = SparseRows(options.data_libsvm, options.data_shape[0], options)
        if options.label_libsvm == "NULL":
            label = rows.labels
        else:
            label = SparseRows(options.label_libsvm, options.label_shape[0], options)
        if len(label) < len(rows):
            problem = f"it has {len(label)} rows, expected {len(rows)}"
            raise FileFormatError(options.label_libsvm, problem)
        super().__init__(
            options.batch_size, rows, label, True, options.data_name, options.label_name
        )


def _check(where: str, options: LibSVMOptions) -> None:
    for name in ("data_shape", "label_shape"):
        shape = getattr(options, name)
        if len(shape) != 1 or shape[0] < 1:
            problem = f"{shape}, expected a tuple of one positive length"
            raise DataArgumentError(f"{where}: {name}", problem)
    if options.label_libsvm != "NULL" and options.label_shape == (1,):
        problem = "(1,), expected a length of at least 2"
        raise DataArgumentError(f"{where}: label_shape", problem, because="label_libsvm is given")
    if not options.round_batch:
        raise DataArgumentError(f"{where}: round_batch", "False, expected True")
    if options.dtype not in (None, "None", "float32"):
        raise DataArgumentError(f"{where}: dtype", f"{options.dtype}, expected float32")
    Order(options.num_parts, options.part_index).check(where)


class SparseRows:
    dtype = np.dtype(np.float32)

    def __init__(self, path: str, columns: int, options: LibSVMOptions) -> None:
        self._path, self._columns = path, columns
        labels, starts, indices, values = [], [0], [], []
        for where, line in _lines(path, options.num_parts, options.part_index):
            label, row = _parse(line, where)
            labels.append(label)
            indices += row
            values += row.values()
            starts.append(len(indices))
            if max(row, default=0) >= columns:
                raise FileFormatError(where, f"index {max(row)}, expected at most {columns - 1}")
        if not labels:
            raise FileFormatError(path, "it has no rows")
        self.labels = np.array(labels, np.float32)
        self._starts = np.array(starts, np.int64)
        self._indices = np.array(indices, np.int64)
        self._values = np.array(values, np.float32)
        self.shape = (len(labels), columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        dense = np.zeros((len(rows), self._columns), np.float32)
        for target, row in zip(dense, rows.tolist(), strict=True):
            part = slice(*self._starts[row : row + 2].tolist())
            target[self._indices[part]] = self._values[part]
        return dense


def _lines(path: str, parts: int, part: int) -> list[tuple[str, str]]:
    paths = [path]
    if os.path.isdir(path):
        paths = sorted(e.path for e in os.scandir(path) if e.is_file())
    contents = [read_whole(p) for p in paths]
    length = -(-sum(map(len, contents)) // parts)
    lines, offset = [], 0
    for name, content in zip(paths, contents, strict=True):
        for number, line in enumerate(content.split(b"\n"), start=1):
            first = part == 0 and offset == 0
            text = line.decode("utf-8", "replace").partition("#")[0].strip()
            if text and (first or length * part < offset <= length * (part + 1)):
                lines.append((f"{name}, line {number}", text))
            offset += len(line) + 1
    return lines


def _parse(line: str, where: str) -> tuple[float, dict[int, float]]:
    label, *pairs = line.split()
    row = {}
    try:
        number = float(label.partition(":")[0])
    except ValueError:
        raise FileFormatError(where, f"{label!r}, expected a label") from None
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if index == "qid":
            continue
        try:
            if not colon or not index.isdecimal():
                raise ValueError
            row[int(index)] = float(value)
        except ValueError:
            problem = f"{pair!r}, expected an index from 0 on, a colon and a number"
            raise FileFormatError(where, problem) from None
    return number, row
