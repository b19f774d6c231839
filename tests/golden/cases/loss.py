"""Regression heads and made losses: gradients that ignore the head gradient."""

from __future__ import annotations

from ._case import Case, normal, uniform, values


def _pair(op: str, name: str, *shape: int, label=None, also=(), grad=None, **attrs) -> Case:
    inputs = {"data": normal(*shape), "label": label or normal(*shape)}
    return Case(f"{op}_{name}", op, inputs, attrs, grad=grad, also=also)


CASES = [
    _pair("LinearRegressionOutput", "plain", 3, 4, also=("float16", "float64"), grad_scale=0.5),
    _pair("LinearRegressionOutput", "column", 4, 1, label=normal(4)),
    _pair("LinearRegressionOutput", "deep", 2, 3, 2),
    _pair("LinearRegressionOutput", "vector", 5),
    _pair("LogisticRegressionOutput", "plain", 3, 4, also=("float16", "float64"), grad_scale=2.0),
    _pair("LogisticRegressionOutput", "column", 4, 1, label=uniform(4)),
    _pair("MAERegressionOutput", "plain", 3, 4, also=("float16", "float64"), grad_scale=0.25),
    _pair("MAERegressionOutput", "ties", 1, 3, label=normal(1, 3), grad_scale=3.0),
    Case("MAERegressionOutput_equal", "MAERegressionOutput",
         {"data": values([[1.0, 2.0]]), "label": values([[1.0, 3.0]])}),
    Case("MakeLoss_null", "MakeLoss", {"data": normal(3, 4)}, {"grad_scale": 0.375},
         also=("float16", "float64")),
    Case("MakeLoss_batch", "MakeLoss", {"data": normal(3, 4)}, {"normalization": "batch"}),
    Case("MakeLoss_batch_1d", "MakeLoss", {"data": normal(4)}, {"normalization": "batch"}),
    Case("MakeLoss_batch_4d", "MakeLoss", {"data": normal(2, 3, 4, 5)}, {"normalization": "batch"}),
    Case("MakeLoss_valid", "MakeLoss", {"data": normal(3, 4)},
         {"normalization": "valid", "valid_thresh": 0.2, "grad_scale": 2.0}),
    Case("MakeLoss_none_valid", "MakeLoss", {"data": normal(3, 4)},
         {"normalization": "valid", "valid_thresh": 100.0}),
    Case("MakeLoss_zero", "MakeLoss", {"data": normal(2)}, {"grad_scale": 0}),
    Case("make_loss", "make_loss", {"data": normal(3, 4)}, also=("float16", "float64")),
    Case("IdentityAttachKLSparseReg_plain", "IdentityAttachKLSparseReg",
         {"data": uniform(4, 3, low=0.1, high=0.9), "moving_avg": values([0.3, 0.5, 0.2])},
         {"penalty": 0.1}),
    Case("IdentityAttachKLSparseReg_momentum", "IdentityAttachKLSparseReg",
         {"data": uniform(2, 2, low=0.1, high=0.9), "moving_avg": values([0.3, 0.5])},
         {"sparseness_target": 0.2, "momentum": 0.5}),
]  # fmt: skip
