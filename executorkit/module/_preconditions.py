"""Checks of the names, shapes, batches and iterators that a module is given."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BatchTypeError, BindError, explain
from ..io import DataDesc
from ..ndarray import NDArray
from ..symbol import Symbol
from ._group_arguments import as_data_desc


def check_input_names(symbol: Symbol, names: Sequence[str], kind: str, required: bool) -> None:
    """Raises ValueError for a name that is no argument of the symbol; warns if not ``required``."""
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        close = difflib.get_close_matches(name, arguments, 3) or arguments
        text = explain(
            f"Module: {kind}_names",
            f"{name!r} is not an argument of the symbol",
            given_by=f"{kind}_names={list(names)}",
            hint="one of: " + ", ".join(close),
        )
        if required:
            raise BindError(text)
        warnings.warn(text, UserWarning, stacklevel=4)


def data_descs(
    data_names: Sequence[str],
    label_names: Sequence[str],
    data_shapes: Sequence[Any],
    label_shapes: Sequence[Any] | None,
    method: str,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Shapes as DataDescs. Raises ValueError if those of the data are not of exactly the data's
    names, warns if those of the labels are not."""
    data = [as_data_desc(d) for d in data_shapes]
    labels = None if label_shapes is None else [as_data_desc(d) for d in label_shapes]
    if sorted(d.name for d in data) != sorted(data_names):
        raise BindError(_mismatch(method, "data", data_names, data))
    if sorted(d.name for d in labels or ()) != sorted(label_names):
        text = _mismatch(method, "label", label_names, labels or [])
        warnings.warn(text, UserWarning, stacklevel=4)
    return data, labels


def check_batch(batch: Any) -> None:
    """BatchTypeError (a TypeError and an AttributeError) for arrays in place of a batch."""
    if _is_of_arrays(batch):
        hint = "mx.io.DataBatch([data], [label]) of NDArrays"
        raise BatchTypeError("forward", f"the batch is {_kind(batch)}", hint=hint)


def check_iterator(data: Any, name: str) -> None:
    """BatchTypeError (a TypeError and an AttributeError) for arrays in place of an iterator."""
    if _is_of_arrays(data):
        hint = "mx.io.NDArrayIter(data, label, batch_size)"
        raise BatchTypeError(name, f"it is {_kind(data)}, expected an iterator", hint=hint)


def _is_of_arrays(value: Any) -> bool:
    """True for arrays, containers of them, and None; a named tuple may be a batch."""
    return isinstance(value, np.ndarray | NDArray) or type(value) in (tuple, list, dict, type(None))


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _mismatch(method: str, kind: str, names: Sequence[str], descs: Sequence[DataDesc]) -> str:
    return explain(
        f"{method}: {kind}_shapes",
        f"they are of [{', '.join(d.name for d in descs)}], expected those of [{', '.join(names)}]",
        because=f"{kind}_names of the module say so",
    )
