"""Whether the arrays of an operator's call fit it: inputs when it is traced, outputs when done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ..errors import DTypeError, InputTypeError, MXNetError, ShapeError, explain
from ..ops import OpDef, Params
from ..ops._facts import ShapeFacts, TypeFacts
from ._handle import Handle


def check_inputs(op: OpDef, p: Params, arrays: Sequence[Any]) -> None:
    """Has the operator's own rules look at the inputs, for errors that say what does not fit."""
    names = op.inputs(p)
    if len(names) != len(arrays):
        raise MXNetError(
            explain(
                f"operator {op.name}",
                f"it takes {len(names)} arrays with these attributes ({', '.join(names)}), "
                f"got {len(arrays)}",
            )
        )
    outputs = {f"out{i}": None for i in range(len(op.outputs(p)))}
    try:
        op.types(TypeFacts(op.name, _facts(names, arrays, "dtype") | outputs), p)
        if op.infer_shape is not None:
            op.infer_shape(ShapeFacts(op.name, _facts(names, arrays, "shape") | outputs), p)
    except (ShapeError, DTypeError) as error:
        problem, because, *_ = (*error.args, None)
        raise type(error)(
            explain(
                f"operator {op.name}",
                str(problem),
                because=because,
                given_by=given(op, p, arrays),
            )
        ) from None


def _facts(names: Sequence[str], arrays: Sequence[Any], what: str) -> dict[str, Any]:
    if what == "dtype":
        return {n: a.dtype.name for n, a in zip(names, arrays, strict=True)}
    return {n: a.shape for n, a in zip(names, arrays, strict=True)}


def given(op: OpDef, p: Params, arrays: Sequence[Any]) -> str:
    names = op.inputs(p)
    names = names if len(names) == len(arrays) else [f"array {i}" for i in range(len(arrays))]
    return ", ".join(
        f"{n} {a.dtype.name}{tuple(a.shape)}" for n, a in zip(names, arrays, strict=True)
    )


def assign_out(op: OpDef, out: Any, results: Sequence[jax.Array]) -> None:
    """Assigns results to the caller's arrays, all or none."""
    targets = [out] if isinstance(out, Handle) else out
    if not isinstance(targets, list | tuple) or not all(isinstance(t, Handle) for t in targets):
        raise InputTypeError(explain(f"operator {op.name}", f"out is {out!r}, expected NDArrays"))
    if len(targets) != len(results):
        raise MXNetError(
            explain(
                f"operator {op.name}", f"out holds {len(targets)} arrays, expected {len(results)}"
            )
        )
    for target, value in zip(targets, results, strict=True):
        if target.shape != value.shape:
            raise ShapeError(
                explain(f"operator {op.name}", f"out is {target.shape}, expected {value.shape}")
            )
        if target.storage.dtype != value.dtype:
            raise DTypeError(
                explain(
                    f"operator {op.name}",
                    f"out is {target.dtype_name}, expected {value.dtype.name}",
                )
            )
    for target, value in zip(targets, results, strict=True):
        device = target._context.device
        target.assign(value if value.devices() == {device} else jax.device_put(value, device))
