"""What users hand to bind, forward and backward, checked and put into the graph's order."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ..context import Context, Device
from ..errors import BindError, ShapeError, explain
from ..ndarray import NDArray
from ..ndarray._values import FittedValue, batch_to_device, fit, host_array

GRAD_REQS = ("null", "write", "add")


def parse_shape(value: Any, where: str) -> tuple[int, ...]:
    """A shape given by the user: any sequence of integers."""
    try:
        return tuple(operator.index(d) for d in value)
    except TypeError:
        raise BindError(
            explain(where, f"{value!r} is no shape, expected a tuple of integers")
        ) from None


def ordered_arrays(
    given: Any, names: Sequence[str], what: str, *, optional: bool = False
) -> list[NDArray | None]:
    """A list or dict of NDArrays in the order of ``names``; dict entries of other names are
    ignored, as in MXNet. ``optional`` allows missing entries (None)."""
    if isinstance(given, Mapping):
        missing = [n for n in names if given.get(n) is None]
        if missing and not optional:
            raise BindError(
                explain(
                    f"bind: {what}",
                    f"no array for {', '.join(map(repr, missing))}",
                    given_by=f"a dict with {', '.join(map(repr, given)) or 'no entries'}",
                    hint=f"add {missing[0]!r} to {what}, or let simple_bind make the arrays",
                )
            )
        arrays = [given.get(n) for n in names]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) != len(names):
            raise BindError(
                explain(
                    f"bind: {what}",
                    f"{count_phrase(given, 'array')}, expected {len(names)}: {', '.join(names)}",
                )
            )
        arrays = list(given)
    else:
        raise TypeError(
            explain(f"bind: {what}", f"{type_phrase(given)}, expected a list or a dict of NDArray")
        )
    for name, array in zip(names, arrays, strict=True):
        if not isinstance(array, NDArray) and not (array is None and optional):
            raise TypeError(
                explain(
                    f"bind: {what}[{name!r}]",
                    f"{type_phrase(array)}, expected an NDArray",
                    hint="mx.nd.array(value)",
                )
            )
    return arrays


def parse_grad_req(grad_req: Any, names: Sequence[str]) -> list[str]:
    """'null', 'write' or 'add' for every argument, from a text, a list or a dict (in which
    arguments that are not named get 'null')."""
    if isinstance(grad_req, str):
        reqs = [grad_req] * len(names)
    elif isinstance(grad_req, Mapping):
        reqs = [grad_req.get(name, "null") for name in names]
    elif isinstance(grad_req, Sequence):
        reqs = list(grad_req)
        if len(reqs) != len(names):
            raise BindError(
                explain(
                    "bind: grad_req",
                    f"{len(reqs)} for {count_phrase(names, 'argument')}: {', '.join(names)}",
                )
            )
    else:
        raise BindError(
            explain("bind: grad_req", f"{grad_req!r}, expected a text, a list or a dict of them")
        )
    for name, req in zip(names, reqs, strict=True):
        if req not in GRAD_REQS:
            raise BindError(
                explain(
                    f"bind: grad_req of {name!r}",
                    f"{req!r}, expected one of {', '.join(GRAD_REQS)}",
                )
            )
    return reqs


def check_contexts(
    arrays: Sequence[NDArray | None], names: Sequence[str], places: Sequence[Context], what: str
) -> None:
    """Every array lives where it belongs."""
    for name, array, place in zip(names, arrays, places, strict=True):
        if array is not None and array.context != place:
            raise BindError(
                explain(
                    f"bind: {what}[{name!r}]",
                    f"it is in {array.context}, expected {place}",
                    because="arrays are in the context that is bound to, or in that of their "
                    "ctx_group, and gradients beside their arguments",
                    hint=f"{name}.as_in_context(mx.{place})",
                )
            )


def is_assignable(value: NDArray, target: NDArray) -> bool:
    """Whether an array has the shape, dtype and place of another."""
    here, there = value._context, target._context
    return (
        value._shape == target._shape
        and value.storage.dtype == target.storage.dtype
        and (here is there or here == there)
    )


def convert_for(value: Any, target: NDArray, where: str) -> FittedValue:
    """An array as ``target`` can be assigned it: its shape (checked), its dtype, its device."""
    if isinstance(value, NDArray) and is_assignable(value, target):
        return FittedValue(value.jax, True)
    if not isinstance(value, NDArray | np.ndarray | jax.Array):
        raise TypeError(
            explain(
                where, f"{type_phrase(value)}, expected an NDArray, a NumPy or a JAX array",
                hint="mx.nd.array(value)",
            )
        )  # fmt: skip
    if value.shape != target.shape:
        raise ShapeError(explain(where, f"shape {tuple(value.shape)}, expected {target.shape}"))
    return fit(value, target.shape, target.storage.dtype, target.context.device, where)


def transfer_batch(value: Any, target: NDArray, where: str) -> FittedValue:
    """:func:`convert_for`, for what comes with every step: the faster way there costs a compilation
    for each shape, and is taken by NumPy arrays of a shape that keeps coming."""
    if not isinstance(value, np.ndarray) or value.shape != target.shape:
        return convert_for(value, target, where)
    device = target.context.device
    come = _transfers_of(device, value.shape, target.storage.dtype)
    if next(come) < _COMPILE_AFTER:
        return convert_for(value, target, where)
    return FittedValue(
        batch_to_device(host_array(value, target.storage.dtype, where), device), False
    )


#: So many times an array of a new shape is fed the slower way.
_COMPILE_AFTER = 3


@lru_cache(maxsize=256)
def _transfers_of(device: Device, shape: tuple[int, ...], dtype: Any) -> Iterator[int]:
    """Counts how often arrays of one shape have been fed to a device."""
    return itertools.count()


def count_phrase(things: Sequence[Any], noun: str) -> str:
    """``1 array``, ``2 arrays``."""
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def parse_is_train(is_train: Any) -> bool:
    """The flag of ``forward``; TypeError for an array that stands in its place."""
    try:
        return bool(is_train)
    except ValueError:
        problem = f"{type_phrase(is_train)}, expected True or False"
        hint = "give arrays by name: forward(is_train=False, data=...)"
        raise TypeError(explain("forward: is_train", problem, hint=hint)) from None


def type_phrase(value: Any) -> str:
    """What something is, with its article: ``an int``, ``a numpy.ndarray``."""
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
