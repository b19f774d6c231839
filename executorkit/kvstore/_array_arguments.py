"""Arguments of a store's methods: a key and its arrays, or lists of both."""

from __future__ import annotations

from typing import Any

from ..errors import InputTypeError
from ..ndarray import NDArray
from ..parallel import PerDevice, ReplicatedArray

Key = int | str


def arrays_by_key(key: Any, arrays: Any, where: str) -> dict[Key, PerDevice]:
    """The arrays of each key; those of a repeated key are joined.

    key
        an int, a str, or a list of them, all of one type.
    arrays
        an NDArray or a list of NDArrays (a group's arrays of all devices, say); for a list of keys
        a list of these with one entry for each key.

    Raises :class:`InputTypeError` for arguments of other types.
    """
    if not isinstance(key, list | tuple):
        return {_checked_key(key, where): _as_arrays(key, arrays, where)}
    if not isinstance(arrays, list | tuple) or len(key) != len(arrays):
        count = len(arrays) if isinstance(arrays, list | tuple) else repr(arrays)
        raise InputTypeError(where, f"{len(key)} keys with {count} arrays", given_by=f"keys {key}")
    if len({isinstance(_checked_key(k, where), str) for k in key}) > 1:
        raise InputTypeError(where, f"keys of two types: {key}")
    by_key: dict[Key, PerDevice] = {}
    for k, entry in zip(key, arrays, strict=True):
        key_arrays = _as_arrays(k, entry, where)
        by_key[k] = [*by_key[k], *key_arrays] if k in by_key else key_arrays
    return by_key


def _checked_key(key: Any, where: str) -> Key:
    if not isinstance(key, int | str):
        raise InputTypeError(where, f"a {type(key).__name__} as key, expected an int or a str")
    return key


def _as_arrays(key: Key, arrays: Any, where: str) -> PerDevice:
    if isinstance(arrays, NDArray):
        return [arrays]
    if isinstance(arrays, ReplicatedArray):
        return arrays
    if not isinstance(arrays, list | tuple) or not all(isinstance(a, NDArray) for a in arrays):
        raise InputTypeError(
            f"{where}: key {key!r}",
            f"a {type(arrays).__name__}, expected an NDArray or a list of NDArrays",
        )
    return list(arrays)
