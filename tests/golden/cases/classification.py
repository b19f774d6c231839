"""Heads of classifiers: outputs, and gradients that ignore the head gradient."""

from __future__ import annotations

from ._case import Case, integers, normal, uniform, values

LABELS = values([2, -1, 0, 1, 2, 7])
SPATIAL = integers(2, 4, low=-1, high=3)


def _softmax(name: str, *shape: int, label=LABELS, also=(), **attrs) -> Case:
    inputs = {"data": normal(*shape), "label": label}
    return Case(f"SoftmaxOutput_{name}", "SoftmaxOutput", inputs, attrs, also=also)


def _pair(op: str, name: str, *shape: int, label=None, also=(), grad=None, **attrs) -> Case:
    inputs = {"data": normal(*shape), "label": label or normal(*shape)}
    return Case(f"{op}_{name}", op, inputs, attrs, grad=grad, also=also)


CASES = [
    _softmax("plain", 6, 3, also=("float16", "float64"), grad_scale=0.75),
    _softmax("batch", 6, 3, normalization="batch"),
    _softmax("valid", 6, 3, normalization="valid", grad_scale=2.0),
    _softmax("ignore", 6, 3, use_ignore=True),
    _softmax("ignore_valid", 6, 3, use_ignore=True, ignore_label=2, normalization="valid"),
    _softmax("ignore_all", 2, 3, label=values([-1, -1]), use_ignore=True, normalization="valid"),
    _softmax("ignore_batch", 6, 3, use_ignore=True, normalization="batch", smooth_alpha=0.2),
    _softmax("smooth", 6, 3, smooth_alpha=0.1, grad_scale=3.0),
    _softmax("smooth_one_class", 2, 1, label=values([0, 0]), smooth_alpha=0.1),
    _softmax("out_grad", 6, 3, out_grad=True, normalization="batch"),
    _softmax("soft_labels", 6, 3, label=uniform(6, 3), grad_scale=0.5, normalization="batch"),
    _softmax("soft_labels_smooth", 2, 3, 2, label=uniform(2, 3, 2), smooth_alpha=0.1,
             out_grad=True),
    _softmax("soft_labels_multi", 2, 3, 4, label=uniform(2, 3, 4), multi_output=True),
    _softmax("flattened", 3, 2, 4, label=integers(3, 2, low=0, high=8)),
    _softmax("flattened_valid", 3, 2, 4, label=values([[0, -1], [2, 2], [-1, 1]]),
             normalization="valid", use_ignore=True),
    _softmax("flattened_batch", 3, 2, 4, label=integers(3, 2, high=8), normalization="batch"),
    _softmax("preserve_shape", 3, 2, 4, label=integers(3, 2, high=4), preserve_shape=True),
    _softmax("preserve_shape_batch", 3, 2, 4, label=integers(3, 2, low=-1, high=4),
             preserve_shape=True, normalization="batch", use_ignore=True, smooth_alpha=0.1),
    _softmax("preserve_shape_valid", 3, 2, 4, label=integers(3, 2, low=-1, high=4),
             preserve_shape=True, normalization="valid", use_ignore=True),
    _softmax("preserve_shape_out_grad", 3, 2, 4, label=integers(3, 2, high=4), preserve_shape=True,
             out_grad=True),
    _softmax("multi", 2, 3, 4, label=SPATIAL, multi_output=True, also=("float16", "float64")),
    _softmax("multi_batch", 2, 3, 2, 2, label=integers(2, 4, high=3), multi_output=True,
             normalization="batch"),
    _softmax("multi_valid", 2, 3, 2, 2, label=integers(2, 2, 2, high=3), multi_output=True,
             normalization="valid"),
    _softmax("multi_valid_negative", 2, 3, 4, label=SPATIAL, multi_output=True,
             normalization="valid"),
    _softmax("multi_ignore_valid", 2, 3, 2, 2, label=integers(2, 1, 2, 2, low=-1, high=3),
             multi_output=True, normalization="valid", use_ignore=True, grad_scale=2.0),
    _softmax("multi_ignore", 2, 3, 4, label=SPATIAL, multi_output=True, use_ignore=True,
             ignore_label=0.0, normalization="batch"),
    _softmax("multi_smooth", 2, 3, 4, label=SPATIAL, multi_output=True, smooth_alpha=0.1,
             use_ignore=True),
    _softmax("multi_smooth_only", 2, 3, 4, label=SPATIAL, multi_output=True, smooth_alpha=0.1),
    _softmax("fractional_valid", 3, 3, label=values([0.9, 1.5, -1.5]), use_ignore=True,
             ignore_label=-1.2, normalization="valid"),
    _softmax("multi_out_grad", 2, 3, 4, label=SPATIAL, multi_output=True, out_grad=True),
    _softmax("multi_preserve", 2, 3, 4, label=SPATIAL, multi_output=True, preserve_shape=True),
    _softmax("one_class", 2, 1, label=values([0, 0]), smooth_alpha=0.0),
    _softmax("vector", 4, label=values([1.0, 0.0, 0.0, 2.0])),
    _softmax("fractional_labels", 3, 3, label=values([0.9, 1.5, -0.5]), use_ignore=True),
    _pair("SVMOutput", "squared", 6, 3, label=LABELS, also=("float16", "float64")),
    _pair("SVMOutput", "linear", 6, 3, label=LABELS, use_linear=True, margin=0.5,
          regularization_coefficient=0.3),
    _pair("SVMOutput", "margin", 6, 3, label=LABELS, margin=2.0, regularization_coefficient=0.7),
    _pair("SVMOutput", "deep", 2, 3, 2, label=integers(2, 3, high=6)),
    _pair("softmax_cross_entropy", "plain", 4, 3, label=values([0, 2, 1, 2]),
          grad=("data",), also=("float16", "float64")),
    _pair("softmax_cross_entropy", "certain", 1, 3, label=values([1]), grad=("data",)),
]  # fmt: skip
