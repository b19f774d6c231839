"""Operators by the precision in which ``amp.init("float16")`` computes them."""

from .. import _lists

FP16_FUNCS = _lists.list_lp16_ops("float16")
FP16_FP32_FUNCS = _lists.list_lp16_fp32_ops("float16")
FP32_FUNCS = _lists.list_fp32_ops("float16")
CONDITIONAL_FP32_FUNCS = _lists.list_conditional_fp32_ops("float16")
WIDEST_TYPE_CASTS = _lists.list_widest_type_cast("float16")
LOSS_OUTPUT_FUNCTIONS = _lists.list_loss_output_functions("float16")
