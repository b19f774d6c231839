"""Dropout where it is not random; its randomness is tested in tests/ops/test_dropout.py."""

from __future__ import annotations

from ._case import Case, normal

CASES = [
    Case("Dropout_inference", "Dropout", {"data": normal(3, 4)}, {"p": 0.5}, train=False,
         also=("float16", "float64")),
    Case("Dropout_p_0", "Dropout", {"data": normal(3, 4)}, {"p": 0.0}),
    Case("Dropout_inference_axes", "Dropout", {"data": normal(3, 4)},
         {"p": 0.2, "axes": (1,), "cudnn_off": True}, train=False),
    Case("Dropout_always_p_0", "Dropout", {"data": normal(3, 4)}, {"p": 0.0, "mode": "always"},
         train=False),
]  # fmt: skip
