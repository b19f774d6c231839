"""``amp.init``: from then on every call of a listed operator casts its inputs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import ArgumentValueError
from ...ops import OpDef, lookup
from ...ops.precisions import CONDITIONS, LOSSES, PRECISIONS
from ...ops.schema.call_rules import WIDEST, call_rules
from ._lists import dtype_name
from .loss_scaler import LossScaler


class MixedPrecision:
    """Casts of inputs by operator; losses multiply their gradients by ``loss_scaler``'s scale."""

    def __init__(
        self,
        dtype: str,
        low: Iterable[str],
        float32: Iterable[str],
        conditions: Iterable[tuple[str, str, Sequence[str]]],
    ) -> None:
        lists = PRECISIONS[dtype]
        self.loss_scaler = LossScaler()
        self.is_scaler_taken = False
        self._types: dict[str, str] = {}
        self._conditions = {name: (attr, tuple(values)) for name, attr, values in conditions}
        for name in {*low, *float32, *self._conditions} - lists.low - lists.float32:
            if lookup(name) is None:
                raise AttributeError(f"amp.init: unknown operator {name!r}")
        for names, to in ((lists.widest, WIDEST), (float32, "float32"), (low, dtype)):
            for name in names:
                op = lookup(name)
                if op is not None:
                    self._types[op.name] = to

    def input_type(self, op: OpDef, attrs: Mapping[str, object]) -> str | None:
        """Returns the type that an operator's inputs are cast to, :data:`WIDEST`, or None. As in
        MXNet, only an attribute given by keyword decides."""
        condition = self._conditions.get(op.name)
        if condition is not None and attrs.get(condition[0]) in condition[1]:
            return "float32"
        return self._types.get(op.name)

    def array_attrs(self, op: OpDef, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        if op.name not in LOSSES:
            return attrs
        return {**attrs, "grad_scale": attrs.get("grad_scale", 1.0) * self.loss_scaler.loss_scale}

    def symbol_call(self, op: OpDef) -> None:
        if op.name in LOSSES:
            logging.warning(
                "%s does not support dynamic loss scaling in symbolic and hybridized execution.",
                op.name,
            )


def installed() -> MixedPrecision | None:
    rule = call_rules.rule
    return rule if isinstance(rule, MixedPrecision) else None


def init(
    target_dtype: object = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Sequence[str]]] | None = None,
    fp32_ops: Iterable[str] | None = None,
) -> None:
    """Computes in mixed precision for the rest of the process.

    Inputs of listed operators are cast by ``amp_cast``, from float16, bfloat16 and float32 only.
    Parameters and their gradients stay float32. Hybridized networks and existing symbols stay as
    they are. A second call does nothing.

    target_dtype
        'float16' or 'bfloat16' (NumPy's too); AssertionError (ArgumentValueError) for others.
    target_precision_ops, fp32_ops
        operators that compute in ``target_dtype`` and in float32, instead of :func:`list_lp16_ops`
        and :func:`list_fp32_ops`. AttributeError for an unknown operator.
    conditional_fp32_ops
        ``(operator, attribute, values)``: operators that compute in float32 if an attribute, given
        by keyword, is one of ``values``; instead of :func:`list_conditional_fp32_ops`.

    float16 arrays are cast on a CPU, too (in MXNet on a GPU only).
    """
    if installed() is not None:
        return
    dtype = dtype_name("amp.init", target_dtype)
    lists = PRECISIONS[dtype]
    rule = MixedPrecision(
        dtype,
        lists.low if target_precision_ops is None else target_precision_ops,
        lists.float32 if fp32_ops is None else fp32_ops,
        CONDITIONS if conditional_fp32_ops is None else conditional_fp32_ops,
    )
    logging.info("Using AMP")
    call_rules.rule = rule


def require_init(where: str) -> MixedPrecision:
    rule = installed()
    if rule is None:
        raise ArgumentValueError(where, "AMP is not initialized", hint="amp.init()")
    return rule
