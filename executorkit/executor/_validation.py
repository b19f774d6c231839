"""What users hand to bind, forward and backward, checked and put into the graph's order.

Head gradients, as users hand them to ``backward``.

Whether arrays fit a graph and each other, found out before anything is run.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ..context import Context, Device
from ..errors import BindError, DTypeError, MXNetError, ShapeError, UnknownNameError, explain
from ..lowering import Graph, infer
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ..ndarray.values import FittedValue, batch_to_device, fit, host_array
from ..ops.schema.inference import is_fully_known

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


def head_gradients(
    out_grads: Any, outputs: Sequence[NDArray], names: Sequence[str]
) -> tuple[jax.Array | None, ...]:
    """Head gradients in the order of the outputs; None for an output that is given none.

    In a dict that names every output, other names are ignored, as in MXNet.
    """
    if out_grads is None:
        given: list[Any] = [None] * len(outputs)
    elif isinstance(out_grads, NDArray):
        given = [out_grads]
    elif isinstance(out_grads, Mapping):
        unknown = [n for n in out_grads if n not in names]
        if unknown and not all(n in out_grads for n in names):
            raise UnknownNameError(
                explain(
                    "backward: out_grads",
                    f"{', '.join(map(repr, unknown))} is not an output",
                    hint="one of: " + ", ".join(names),
                )
            )
        given = [out_grads.get(n) for n in names]
    elif isinstance(out_grads, Sequence) and not isinstance(out_grads, str):
        given = list(out_grads)
    else:
        raise TypeError(
            explain(
                "backward: out_grads",
                f"{type_phrase(out_grads)}, expected an NDArray, or a list or dict of them",
                hint="mx.nd.array(value)",
            )
        )
    if len(given) > len(outputs):
        raise MXNetError(
            explain(
                "backward: out_grads",
                f"{len(given)} for {count_phrase(outputs, 'output')}: {', '.join(names)}",
            )
        )
    given += [None] * (len(outputs) - len(given))
    heads: list[jax.Array | None] = []
    for head, output, name in zip(given, outputs, names, strict=True):
        if head is None:
            heads.append(None)
            continue
        if head.__class__ is NDArray and is_assignable(head, output):
            heads.append(head.jax)
            continue
        where = f"backward: head gradient of {name!r}"
        if not isinstance(head, NDArray):
            raise TypeError(
                explain(
                    where, f"{type_phrase(head)}, expected an NDArray", hint="mx.nd.array(value)"
                )
            )
        heads.append(convert_for(head, output, where).value)
    return tuple(heads)


def check_head_gradients(
    heads: Sequence[Any], names: Sequence[str], needed: Sequence[bool]
) -> None:
    """Refuses to go back from an output whose head gradient is needed and missing."""
    for head, name, need in zip(heads, names, needed, strict=True):
        if head is None and need:
            raise UnknownNameError(
                explain(
                    f"backward: output {name!r}",
                    "it needs a head gradient, and none is given",
                    because="it is not the output of a loss operator",
                    hint="backward(out_grads=...), or wrap the output in mx.sym.MakeLoss",
                )
            )


def check_arrays(
    graph: Graph,
    arg_arrays: Sequence[NDArray],
    aux_arrays: Sequence[NDArray],
    grad_arrays: Sequence[NDArray | None] | None,
) -> InferenceResult:
    """The whole graph inferred from the arrays, so that what does not fit surfaces here.

    Raises ShapeError or DTypeError, naming the array.
    """
    arrays = [
        *zip(graph.arg_names, arg_arrays, strict=True),
        *zip(graph.aux_names, aux_arrays, strict=True),
    ]
    found = infer(
        graph,
        {name: array.shape for name, array in arrays},
        {name: array.dtype_name for name, array in arrays},
        bound=True,
    )
    shapes = (*found.arg_shapes, *found.aux_shapes)
    for (name, array), shape in zip(arrays, shapes, strict=True):
        if array.shape != shape:
            raise ShapeError(
                explain(f"bind: argument {name!r}", f"shape {array.shape}, expected {shape}")
            )
    for name, shape in zip(graph.output_names, found.out_shapes, strict=True):
        if not is_fully_known(shape):
            raise ShapeError(
                explain(f"bind: output {name!r}", f"its shape {shape} cannot be inferred")
            )
    for name, array, grad in zip(
        graph.arg_names, arg_arrays, grad_arrays or [None] * len(arg_arrays),
        strict=True,
    ):  # fmt: skip
        if grad is None:
            continue
        where = f"bind: args_grad[{name!r}]"
        if grad.shape != array.shape:
            problem = f"shape {grad.shape}, expected {array.shape}"
            because = f"that is the shape of argument {name!r}"
            raise ShapeError(explain(where, problem, because=because))
        if grad.dtype != array.dtype:
            problem = f"{grad.dtype_name}, expected {array.dtype_name}"
            because = f"that is the type of argument {name!r}"
            raise DTypeError(explain(where, problem, because=because))
    return found
