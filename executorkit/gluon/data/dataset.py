"""Datasets: samples by index, and datasets derived from them."""

import os
from collections.abc import Callable
from typing import Any, NoReturn

from ..._support.annotations import Function
from ...errors import ArgumentValueError, FileAccessError, InputTypeError, NotSupportedError
from ...ndarray import NDArray
from ...recordio import MXIndexedRecordIO
from .sampler import FilterSampler, Sampler, SequentialSampler

#: The address of MXNet's copies of files, by the folder of a dataset.
_SOURCE = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset"


class Dataset:
    """Samples by index: a class with ``__getitem__`` and ``__len__``. A sample is any object;
    several parts, such as data and label, are a tuple. The methods return datasets that read this
    one when a sample is needed.

    >>> numbers = SimpleDataset([1, 2, 3, 4, 5])
    >>> list(numbers.filter(lambda x: x % 2).transform(lambda x: 10 * x))
    [10, 30, 50]
    >>> [list(numbers.shard(2, index)) for index in range(2)]
    [[1, 2, 3], [4, 5]]
    """

    def __getitem__(self, idx: int) -> Any:
        raise _undefined(self, "__getitem__")

    def __len__(self) -> int:
        raise _undefined(self, "__len__")

    def filter(self, fn: Callable[[Any], Any]) -> "Dataset":
        """Returns the samples for which ``fn(sample)`` is true. All samples are read now."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> "Dataset":
        """Returns part ``index`` of ``num_shards`` parts of successive samples; the first parts may
        have one sample more. Raises AssertionError for an index outside the parts."""
        if not 0 <= index < num_shards:
            problem = f"{index} of {num_shards} shards"
            raise ArgumentValueError("shard: index", problem, hint="0 <= index < num_shards")
        length, remainder = divmod(len(self), num_shards)
        start = length * index + min(index, remainder)
        return _SampledDataset(self, SequentialSampler(length + (index < remainder), start))

    def take(self, count: int | None) -> "Dataset":
        """Returns the first ``count`` samples, None: all. ValueError for a negative count."""
        if count is None or count > len(self):
            count = len(self)
        if count < 0:
            raise ArgumentValueError("take: count", f"{count}, expected 0 or more")
        return _SampledDataset(self, SequentialSampler(count))

    def sample(self, sampler: Sampler) -> "Dataset":
        """Returns the samples in the order of a sampler, read now. Raises TypeError for others."""
        if not isinstance(sampler, Sampler):
            problem = f"{type(sampler).__name__}, expected gluon.data.Sampler"
            raise InputTypeError("sample: sampler", problem)
        return _SampledDataset(self, sampler)

    def transform(self, fn: Function, lazy: bool = True) -> "Dataset":
        """Returns ``fn(*sample)`` of samples that are a tuple, ``fn(sample)`` of others: if
        ``lazy`` whenever a sample is read, otherwise once for all samples, now."""
        transformed: Any = _LazyTransformDataset(self, fn)
        return transformed if lazy else SimpleDataset(list(transformed))

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> "Dataset":
        """Applies ``fn`` to the first part of each sample, such as an image without its label."""
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """The items of a list, or of anything with ``__getitem__`` and ``__len__``."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class ArrayDataset(Dataset):
    """Tuples of the samples of several arrays, lists or datasets of one length; samples of a single
    one. The samples of an NDArray with one axis, such as labels, are numbers. Raises AssertionError
    without arrays, and for different lengths.

    >>> ArrayDataset([[1, 2], [3, 4]], ["a", "b"])[1]
    ([3, 4], 'b')
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise ArgumentValueError("ArrayDataset", "no arrays are given, expected one or more")
        self._length = len(args[0])
        self._data: list[Any] = []
        for place, data in enumerate(args):
            if len(data) != self._length:
                problem = f"{len(data)} samples, expected {self._length} as in the first"
                raise ArgumentValueError(f"ArrayDataset: array {place}", problem)
            is_vector = isinstance(data, NDArray) and data.ndim == 1
            self._data.append(data.asnumpy() if is_vector else data)

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records (bytes) of a RecordIO file with an index file of the same name (``.idx``), which
    threads and forked processes may read at once. OSError if a file cannot be read."""

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class _SampledDataset(Dataset):
    def __init__(self, dataset: Dataset, sampler: Sampler) -> None:
        self._dataset = dataset
        self._sampler = sampler
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class _LazyTransformDataset(Dataset):
    def __init__(self, data: Any, fn: Function) -> None:
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class _TransformFirstClosure:
    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _DownloadedDataset(Dataset):
    """Base of datasets whose ``_get_data`` reads ``_data`` and ``_label`` from files in ``root``.
    Samples are tuples of both, or ``transform(data, label)``."""

    #: The folder of MXNet's copies of the files.
    _namespace = ""

    def __init__(self, root: str | os.PathLike[str], transform: Function | None) -> None:
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def __getitem__(self, idx: int) -> Any:
        if self._transform is not None:
            return self._transform(self._data[idx], self._label[idx])
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise _undefined(self, "_get_data")

    def _refuse_missing(self, files: str, name: str) -> NoReturn:
        problem = f"cannot find {files} in {self._root}"
        source = f"{_SOURCE}/{self._namespace}/{name}"
        hint = f"put it there, from {source}, or say where it is with root="
        raise FileAccessError(
            type(self).__name__, problem, because="nothing is downloaded", hint=hint
        )


def _undefined(instance: object, method: str) -> NotSupportedError:
    return NotSupportedError(f"{type(instance).__name__}.{method}", "the class does not define it")
