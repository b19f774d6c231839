"""Attention on interleaved projections: one head and several, different lengths."""

from __future__ import annotations

from ._case import Case, normal, uniform, values

ALSO = ("float16", "float64")

CASES = [
    Case("selfatt_qk", "_contrib_interleaved_matmul_selfatt_qk",
         {"queries_keys_values": normal(5, 2, 36)}, {"heads": 3}),
    Case("selfatt_qk_one", "_contrib_interleaved_matmul_selfatt_qk",
         {"queries_keys_values": normal(1, 1, 3)}, {"heads": 1}),
    Case("selfatt_valatt", "_contrib_interleaved_matmul_selfatt_valatt",
         {"queries_keys_values": normal(5, 2, 36), "attention": uniform(6, 5, 5)}, {"heads": 3}),
    Case("encdec_qk", "_contrib_interleaved_matmul_encdec_qk",
         {"queries": normal(4, 2, 12), "keys_values": normal(5, 2, 24)}, {"heads": 3}),
    Case("encdec_valatt", "_contrib_interleaved_matmul_encdec_valatt",
         {"keys_values": normal(5, 2, 24), "attention": uniform(6, 4, 5)}, {"heads": 3}),
    Case("div_sqrt_dim", "_contrib_div_sqrt_dim", {"data": normal(2, 3, 5)}, also=(*ALSO, "int32")),
    Case("div_sqrt_dim_whole", "_contrib_div_sqrt_dim",
         {"data": values([[-6, 7, 100], [5, -1, 2]])}, dtype="int32", also=("int64", "int8")),
    Case("div_sqrt_dim_one", "_contrib_div_sqrt_dim", {"data": normal(1)}),
]  # fmt: skip
