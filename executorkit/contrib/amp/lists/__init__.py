"""MXNet's import path of the lists of mixed precision: copies, which change nothing when they are
changed. ``amp.init`` takes further operators for its lists."""

from . import symbol_bf16 as symbol_bf16, symbol_fp16 as symbol_fp16
