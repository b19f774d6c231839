"""Batches, their descriptions, and the base class of iterators: DataBatch, DataDesc, DataIter."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from .._support.keyword_arguments import CheckedKeywords
from ..display import brief, brief_arrays
from ..errors import DataArgumentError
from ..ndarray import NDArray


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """The name and shape of an input, a tuple of two, with its ``dtype`` and ``layout``.

    The layout names the axes: 'NCHW', or 'TNC' for sequences whose first axis is time. A batch is
    sliced for several devices along 'N'. Descriptions are equal if all four agree (MXNet compares
    name and shape alone); a plain tuple is compared by name and shape.

    >>> description = DataDesc("data", (32, 3, 224, 224))
    >>> description == ("data", (32, 3, 224, 224)), DataDesc.get_batch_axis("TNC")
    (True, 1)
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: object, dtype: Any = np.float32, layout: str | None = "NCHW"
    ) -> Self:
        self = super().__new__(cls, name, shape)
        self.dtype = dtype
        self.layout = layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DataDesc):
            return tuple.__eq__(self, other)  # type: ignore[arg-type]
        return (
            tuple.__eq__(self, other)
            and _same_type(self.dtype, other.dtype)
            and self.layout == other.layout
        )

    def __ne__(self, other: object) -> bool:
        equal = self == other
        return equal if equal is NotImplemented else not equal

    # Equal descriptions agree in name and shape, so the tuple's hash serves.
    __hash__ = tuple.__hash__

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Returns the position of 'N' in ``layout``: 0 without a layout, -1 if it has no 'N'."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Iterable[tuple[str, object]], types: Iterable[tuple[str, Any]] | None
    ) -> list[DataDesc]:
        """Returns descriptions of (name, shape) pairs, with dtypes from (name, dtype) pairs."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


def _same_type(a: Any, b: Any) -> bool:
    try:
        return np.dtype(a) == np.dtype(b)
    except TypeError:  # 'bfloat16' as a text, which NumPy does not know
        return bool(a == b)


class DataBatch:
    """One batch. Raises AssertionError if ``data`` or ``label`` is not a list.

    data, label
        lists of NDArrays; label may be None.
    pad
        number of examples at the end that only fill the batch.
    index
        numbers of the examples, or None.
    bucket_key
        key of the batch's network, with bucketing.
    provide_data, provide_label
        lists of DataDesc; None where the iterator's hold for every batch.
    """

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ) -> None:
        for kind, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, list | tuple):
                problem = f"a {type(arrays).__name__}, expected a list of NDArrays"
                raise DataArgumentError(f"DataBatch: {kind}", problem, hint=f"{kind}=[array]")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data = [d.shape for d in self.data or ()]
        labels = [x.shape for x in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {data} label shapes: {labels}"

    def __repr__(self) -> str:
        return f"<{self}>"


class DataIter(CheckedKeywords):
    """Base class of iterators; a subclass defines ``next``, or ``iter_next`` and the ``get``
    methods, and ``provide_data``, ``provide_label`` and ``batch_size``."""

    provide_data: Any
    provide_label: Any

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __repr__(self) -> str:
        # Subclasses of users may lack these attributes.
        names = ("provide_data", "provide_label")
        arrays = [(d[0], d[1]) for name in names for d in getattr(self, name, None) or ()]
        size = getattr(self, "batch_size", None)
        return brief(self, None, [f"batches of {size}" if size else "", *brief_arrays(arrays)])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Goes back to the first batch."""

    def next(self) -> DataBatch:
        """Returns the next batch; StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Moves to the next batch; False if there is none."""
        return False

    def getdata(self) -> Any:
        """Returns the data of the current batch: a list of NDArrays."""

    def getlabel(self) -> Any:
        """Returns the labels of the current batch: a list of NDArrays."""

    def getindex(self) -> Any:
        """Returns the numbers of the current batch's examples, or None."""

    def getpad(self) -> int | None:
        """Returns the number of examples of the current batch that only fill it."""


def rename_descriptions(items: Iterable[Any], names: Mapping[str, str] | None) -> list[DataDesc]:
    if names is None:
        return list(items)
    return [
        DataDesc(names[d.name], d.shape, d.dtype, d.layout)
        if isinstance(d, DataDesc)
        else DataDesc(*d)
        for d in items
    ]
