"""The lists of operators by the precision in which mixed precision computes them."""

from __future__ import annotations

from ...errors import ArgumentValueError
from ...ops.precisions import CONDITIONS, LOSSES, PRECISIONS

#: Name, attribute, and the values of the attribute with which an operator computes in float32.
Condition = tuple[str, str, list[str]]


def dtype_name(where: str, dtype: object) -> str:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    if name not in PRECISIONS:
        problem = f"{dtype!r}, expected 'float16' or 'bfloat16'"
        raise ArgumentValueError(f"{where}: target_dtype", problem)
    return name


def list_lp16_ops(target_dtype: object) -> list[str]:
    """Returns operators computed in ``target_dtype``: 'float16', 'bfloat16', or AssertionError."""
    return sorted(PRECISIONS[dtype_name("list_lp16_ops", target_dtype)].low)


def list_fp32_ops(target_dtype: object) -> list[str]:
    """Returns operators that compute in float32."""
    return sorted(PRECISIONS[dtype_name("list_fp32_ops", target_dtype)].float32)


def list_lp16_fp32_ops(target_dtype: object) -> list[str]:
    """Returns operators that compute in the type that their inputs have."""
    return sorted(PRECISIONS[dtype_name("list_lp16_fp32_ops", target_dtype)].either)


def list_conditional_fp32_ops(target_dtype: object) -> list[Condition]:
    """Returns (operator, attribute, values): float32 if the attribute has one of the values."""
    dtype_name("list_conditional_fp32_ops", target_dtype)
    return [(name, attribute, list(values)) for name, attribute, values in CONDITIONS]


def list_widest_type_cast(target_dtype: object) -> list[str]:
    """Returns operators that compute in the widest type that one of their inputs has."""
    return sorted(PRECISIONS[dtype_name("list_widest_type_cast", target_dtype)].widest)


def list_loss_output_functions(target_dtype: object) -> list[str]:
    """Returns operators that are losses, and scale their gradients themselves."""
    dtype_name("list_loss_output_functions", target_dtype)
    return list(LOSSES)


def list_lp16_use_fp32_params(target_dtype: object) -> dict[str, list[str]] | None:
    """Returns the inputs of bfloat16 operators that have to be float32, or ""; None for float16."""
    if dtype_name("list_lp16_use_fp32_params", target_dtype) == "float16":
        return None
    names = ["", "gamma", "beta", "moving_mean", "moving_var"]
    return {name: list(names) for name in ("BatchNorm", "BatchNormWithReLU")}
