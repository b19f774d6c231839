"""What the methods of a store are given: a key and its arrays, or lists of both."""

from __future__ import annotations

from typing import Any

from ..errors import explain
from ..ndarray import NDArray
from ..parallel._stacked import PerDevice, Stacked
from ._base import KVStoreArgumentError

Key = int | str


def by_key(key: Any, arrays: Any, where: str) -> dict[Key, PerDevice]:
    """The arrays of each key; those of a key that is given twice together.

    key
        an int, a str, or a list of them, all of one type.
    arrays
        an NDArray or a list of NDArrays (a group's arrays of all devices, say); for a list of keys
        a list of as many of these.

    Raises :class:`KVStoreArgumentError` for anything else.
    """
    if not isinstance(key, list | tuple):
        return {_checked(key, where): _listed(key, arrays, where)}
    if not isinstance(arrays, list | tuple) or len(key) != len(arrays):
        count = len(arrays) if isinstance(arrays, list | tuple) else repr(arrays)
        raise KVStoreArgumentError(
            explain(where, f"{len(key)} keys with {count} arrays", given_by=f"keys {key}")
        )
    if len({isinstance(_checked(k, where), str) for k in key}) > 1:
        raise KVStoreArgumentError(explain(where, f"keys of two types: {key}"))
    found: dict[Key, PerDevice] = {}
    for k, given in zip(key, arrays, strict=True):
        listed = _listed(k, given, where)
        found[k] = [*found[k], *listed] if k in found else listed
    return found


def _checked(key: Any, where: str) -> Key:
    if not isinstance(key, int | str):
        raise KVStoreArgumentError(
            explain(where, f"a {type(key).__name__} as key, expected an int or a str")
        )
    return key


def _listed(key: Key, given: Any, where: str) -> PerDevice:
    if isinstance(given, NDArray):
        return [given]
    if isinstance(given, Stacked):
        return given
    if not isinstance(given, list | tuple) or not all(isinstance(a, NDArray) for a in given):
        raise KVStoreArgumentError(
            explain(
                f"{where}: key {key!r}",
                f"a {type(given).__name__}, expected an NDArray or a list of NDArrays",
            )
        )
    return list(given)
