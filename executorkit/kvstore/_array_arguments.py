"""What the methods of a store are given: a key and its arrays, or lists of both."""

from __future__ import annotations

from typing import Any

from ..errors import InputTypeError, explain
from ..ndarray import NDArray
from ..parallel._replicated_array import PerDevice, ReplicatedArray

Key = int | str


def arrays_by_key(key: Any, arrays: Any, where: str) -> dict[Key, PerDevice]:
    """The arrays of each key; those of a key that is given twice together.

    key
        an int, a str, or a list of them, all of one type.
    arrays
        an NDArray or a list of NDArrays (a group's arrays of all devices, say); for a list of keys
        a list of as many of these.

    Raises :class:`InputTypeError` for anything else.
    """
    if not isinstance(key, list | tuple):
        return {_checked_key(key, where): _as_arrays(key, arrays, where)}
    if not isinstance(arrays, list | tuple) or len(key) != len(arrays):
        count = len(arrays) if isinstance(arrays, list | tuple) else repr(arrays)
        raise InputTypeError(
            explain(where, f"{len(key)} keys with {count} arrays", given_by=f"keys {key}")
        )
    if len({isinstance(_checked_key(k, where), str) for k in key}) > 1:
        raise InputTypeError(explain(where, f"keys of two types: {key}"))
    found: dict[Key, PerDevice] = {}
    for k, given in zip(key, arrays, strict=True):
        listed = _as_arrays(k, given, where)
        found[k] = [*found[k], *listed] if k in found else listed
    return found


def _checked_key(key: Any, where: str) -> Key:
    if not isinstance(key, int | str):
        raise InputTypeError(
            explain(where, f"a {type(key).__name__} as key, expected an int or a str")
        )
    return key


def _as_arrays(key: Key, given: Any, where: str) -> PerDevice:
    if isinstance(given, NDArray):
        return [given]
    if isinstance(given, ReplicatedArray):
        return given
    if not isinstance(given, list | tuple) or not all(isinstance(a, NDArray) for a in given):
        raise InputTypeError(
            explain(
                f"{where}: key {key!r}",
                f"a {type(given).__name__}, expected an NDArray or a list of NDArrays",
            )
        )
    return list(given)
