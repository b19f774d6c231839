"""Loss heads: operators that pass predictions on and have the gradient of a loss.

The loss is never computed, the head gradient is ignored, and labels get zero gradients.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Raw
from ...errors import MXNetError
from ..schema.attrs import Aux, Shape, Train, UnitInterval
from ..schema.inference import Params, ShapeFacts, is_fully_known, merge_shapes, same_shapes
from ..schema.operator_registry import named, register
from ..schema.traits import IGNORES_UNKNOWN, LABEL_FOR_GRADIENT, NAMED_DATA
from ..tensor.reverse_rules import with_vjp

Normalization = Literal["null", "batch", "valid"]


def loss_head(
    forward: Callable[[Array], Array],
    gradient: Callable[[Array, Array], Array],
    data: Array,
    label: Array | None,
    tangent: Callable[[Array, Array], Array] | None = None,
) -> Array:
    """Returns ``forward(data)``, whose gradient is ``gradient(out, label)`` in reverse mode.

    Forward mode differentiates ``forward`` by ``tangent(out, tangent of data)``, linear in the
    latter (default: the tangent itself). Without a label, a gradient raises :class:`MXNetError`.
    """

    def fwd(data, label):
        out = forward(data)
        return out, (out, label)

    def bwd(residuals, _):
        out, label = residuals
        if label is None:
            raise label_missing()
        return gradient(out, label).astype(data.dtype), None

    def forward_mode(residuals, tangents):
        t = tangents[0]
        return t if t is None or tangent is None else tangent(residuals[0], t)

    return with_vjp(lambda data, label: forward(data), fwd, bwd, forward_mode)(data, label)


def label_missing() -> MXNetError:
    return MXNetError(
        "gradient of a loss",
        "it is computed from the label, which is not given",
        hint="give the label's array among the arguments",
    )


def identity(data: Array) -> Array:
    return data


def _infer_regression_shape(s: ShapeFacts, p: Params) -> None:
    data, label = s["data"], s["label"]
    if data is None or not is_fully_known(data):
        return
    if is_fully_known(label) and label[:1] == data[:1] and math.prod(label) == math.prod(data):
        return
    s.set("label", data[:1] if len(data) == 2 and data[1] == 1 else data, because=f"data is {data}")


_REGRESSION = """{}, scaled.
{}
data (N, ...), floating; label of the same shape, or any other of N and as many entries
((N,) for data (N, 1)). The gradient is multiplied by ``grad_scale`` and divided by the number
of outputs per sample - not by N. Returns data's shape and dtype.
"""


#: Operator name: (function, its gradient's factor, words, remark, tangent).
_REGRESSIONS: dict[str, tuple[Any, Any, str, str, Any]] = {
    "LinearRegressionOutput": (
        identity, jnp.subtract,
        "data itself, with the gradient of half the squared error: ``out - label``", "", None,
    ),
    "LogisticRegressionOutput": (
        jax.nn.sigmoid, jnp.subtract,
        "``sigmoid(data)``, with the gradient of the binary cross entropy: ``out - label``", "",
        lambda out, t: t * out * (1 - out),
    ),
    "MAERegressionOutput": (
        identity, lambda out, label: jnp.where(out > label, 1, -1).astype(out.dtype),
        "data itself, with the gradient of the absolute error: ``sign(out - label)``",
        "\nWhere both are equal, the sign is -1.", None,
    ),
}  # fmt: skip


def _regression_op(
    name: str, forward: Any, difference: Any, words: str, remark: str, tangent: Raw
) -> Callable[..., Array]:
    def op(data: Array, label: Array | None = None, *, grad_scale: float = 1.0) -> Array:
        def gradient(out: Array, label: Array) -> Array:
            per_sample = label.size // label.shape[0]
            return difference(out, label.reshape(out.shape)) * (grad_scale / per_sample)

        return loss_head(forward, gradient, data, label, tangent)

    return named(op, name, _REGRESSION.format(words, remark))


for _name, _row in _REGRESSIONS.items():
    register(
        _name, infer_shape=_infer_regression_shape, loss=True,
        traits={IGNORES_UNKNOWN, LABEL_FOR_GRADIENT}, kind="loss",
    )(_regression_op(_name, *_row))  # fmt: skip


@register("MakeLoss", infer_shape=same_shapes, loss=True, traits={NAMED_DATA}, kind="loss")
def make_loss_scaled(
    data: Array,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Normalization = "null",
):
    """Returns data as a loss to be minimised: its gradient is a constant.

    data (...), floating. The gradient is ``grad_scale`` everywhere, divided by the number of rows
    for ``batch`` (the product of all axes but the last, as in MXNet: the batch only for data
    (N, C), 1 for data (N,)) and by the number of entries above ``valid_thresh`` for ``valid``.
    Shape and dtype are data's.
    """

    def gradient(out: Array, _: Array) -> Array:
        if normalization == "valid":
            count = jnp.maximum(jnp.sum(out > valid_thresh, dtype=jnp.int32), 1)
            return jnp.broadcast_to(grad_scale / count, out.shape)
        rows = math.prod(out.shape[:-1]) if normalization == "batch" else 1
        return jnp.full_like(out, grad_scale / rows)

    return loss_head(identity, gradient, data, data)


@register("make_loss", outputs=("loss",), infer_shape=same_shapes, loss=True)
def make_loss(data: Array):
    """Returns data as a loss to be minimised: its gradient is one. data (...), floating."""
    return loss_head(identity, lambda out, _: jnp.ones_like(out), data, data)


def _infer_sparse_reg_shape(s: ShapeFacts, p: Params) -> None:
    s.same("data", "out0")
    if s["data"] is not None and len(s["data"]) > 1:
        s.set("moving_avg", s["data"][1:2], because=f"data is {s['data']}")


@register("IdentityAttachKLSparseReg", infer_shape=_infer_sparse_reg_shape)
def identity_attach_kl_sparse_reg(
    data: Array,
    moving_avg: Aux,
    *,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    train: Train = False,
):
    """Returns data, adding the gradient of a sparseness penalty to the head gradient.

    data (N, C, ...), activations in (0, 1), float32. ``moving_avg`` (C,), auxiliary, follows the
    mean activation m of each channel, ``momentum * moving_avg + (1 - momentum) * m``. With its new
    value a and t = ``sparseness_target``, the added term is
    ``penalty * ((1 - t) / (1 - a) - t / a)``.
    """
    axes = (0, *range(2, data.ndim))
    average = moving_avg * momentum + jnp.mean(data, axis=axes) * (1 - momentum)
    shape = (1, -1, *[1] * (data.ndim - 2))

    def attach(data, average):
        return data

    def bwd(average, head):
        a = average.reshape(shape)
        return head + penalty * ((1 - sparseness_target) / (1 - a) - sparseness_target / a), None

    attached = with_vjp(attach, lambda *kept: kept, bwd, lambda _, tangents: tangents[0])
    out = attached(data, jax.lax.stop_gradient(average))
    return out, jax.lax.stop_gradient(average) if train else moving_avg


def _infer_label_shape(s: ShapeFacts, candidates: list[Shape], because: str) -> None:
    for shape in candidates:
        try:
            merge_shapes(s["label"], shape)
        except ValueError:
            continue
        return s.set("label", shape)
    s.set("label", candidates[0], because=because)


def _class_probabilities(x: Array) -> Array:
    # Without the derivative of ``jax.nn.softmax`` the trace takes a third of the time.
    others = (0, *range(2, x.ndim))
    e = lax.exp(lax.sub(x, lax.broadcast_in_dim(lax.reduce_max(x, (1,)), x.shape, others)))
    total = lax.reduce_sum(e.astype(jnp.promote_types(x.dtype, jnp.float32)), (1,)).astype(x.dtype)
    return lax.div(e, lax.broadcast_in_dim(total, x.shape, others))


def _infer_softmax_output_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is None:
        return
    if p.multi_output and len(data) > 1:
        batch, _, *spatial = data
        shapes = [(batch, math.prod(spatial)), (batch, *spatial), (batch, 1, *spatial), data]
    else:
        shapes = [data[:-1], data] if len(data) > 1 else [data]
    _infer_label_shape(s, shapes, because=f"data is {data} and multi_output={p.multi_output}")


@register(
    "SoftmaxOutput", "Softmax", infer_shape=_infer_softmax_output_shape, loss=True,
    output_shapes=lambda p, shapes: shapes[:1] if len(shapes[0]) > 1 else None,
    traits={LABEL_FOR_GRADIENT}, kind="loss",
)  # fmt: skip
def softmax_output(
    data: Array,
    label: Array | None = None,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: UnitInterval = 0.0,
):
    """Computes softmax, with the gradient of the cross entropy: ``(p - onehot(label)) * scale``.

    data (N, ...), floating; returns its softmax p, in data's shape, over

    - axis 1 with ``multi_output``: data (N, K, d...), label (N, d...), (N, 1, d...) or (N, prod d);
    - the last axis with ``preserve_shape``: data (..., K), label (...);
    - otherwise all axes but the first, as one: data (N, K), label (N,). For more axes, (N, ..., L),
      MXNet gives the label shape (N, ...) and reads only its first N entries; so does this.

    A label of data's own shape holds probabilities: the gradient is ``(p - label) * grad_scale``.

    ``scale`` is ``grad_scale``, divided by: nothing for ``null`` (``multi_output``: the number of
    positions d), the number of labels for ``batch``, and for ``valid`` the number of labels other
    than ``ignore_label``, at least 1. ``use_ignore`` zeroes the gradient at ignored labels (and
    does not change the count of ``valid``). ``smooth_alpha`` takes that much from the label's class
    and spreads it over the others; ``multi_output`` disregards it. ``out_grad`` does not use the
    head gradient: 1.9.1 multiplies the gradient by p itself. Labels are truncated to integers; one
    out of range matches no class.
    """
    batch = data.shape[0]
    if multi_output:
        rows = (batch, data.shape[1], -1)
    else:
        rows = (-1, data.shape[-1], 1) if preserve_shape else (batch, -1, 1)

    # Without a last axis of length 1: with it, XLA's loops over classes are not vectorised on CPU.
    table = rows[:2] if rows[2] == 1 else rows

    def forward(data: Array) -> Array:
        return _class_probabilities(data.reshape(table)).reshape(data.shape)

    def tangent(out: Array, t: Array) -> Array:
        p, t = out.reshape(table), t.reshape(table)
        return (p * (t - jnp.sum(p * t, axis=1, keepdims=True))).reshape(out.shape)

    def gradient(out: Array, label: Array) -> Array:
        if label.shape == out.shape:
            grad = (out - label) * grad_scale
            return grad * out if out_grad else grad
        p = out.reshape(rows)
        count, classes, positions = p.shape
        index = label.astype(jnp.int32).reshape(-1)
        read = index[: count * positions].reshape(count, 1, positions)
        target = (lax.broadcasted_iota(jnp.int32, (1, classes, 1), 1) == read).astype(p.dtype)
        if smooth_alpha and not multi_output:
            other = smooth_alpha / (classes - 1) if classes > 1 else math.inf
            target = jnp.where(target > 0, 1 - smooth_alpha, other)
        grad = p - target.astype(p.dtype)
        if use_ignore:
            grad = jnp.where(read == int(ignore_label), 0, grad)
        if normalization == "valid":
            valid = jnp.maximum(jnp.sum(index != int(ignore_label), dtype=jnp.int32), 1)
            grad = grad * (grad_scale / valid).astype(p.dtype)
        else:
            grad = grad * (grad_scale / (label.size if normalization == "batch" else positions))
        return (grad * p if out_grad else grad).reshape(out.shape)

    return loss_head(forward, gradient, data, label, tangent)


def _infer_svm_output_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is not None and len(data) > 1:
        s.set("label", data[:-1], because=f"data is {data}")


@register(
    "SVMOutput", infer_shape=_infer_svm_output_shape, loss=True,
    traits={LABEL_FOR_GRADIENT}, kind="loss",
)  # fmt: skip
def svm_output(
    data: Array,
    label: Array | None = None,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
):
    """Returns data, with the gradient of a one-against-all hinge loss.

    data (..., K), floating, holds a score per class; label (...) the class. With ``y`` = 1 for the
    label's class and -1 for the others and ``v = margin - y * data``, the gradient is
    ``-y * c * [v > 0]`` for ``use_linear`` and ``-2 * y * c * max(v, 0)`` otherwise, with c =
    ``regularization_coefficient``. Shape and dtype are data's.
    """

    def gradient(out: Array, label: Array) -> Array:
        index = label.astype(jnp.int32)[..., None]
        hit = jnp.arange(out.shape[-1], dtype=jnp.int32) == index
        sign = jnp.where(hit, 1, -1).astype(out.dtype)
        violation = margin - sign * out
        slope = (violation > 0).astype(out.dtype) if use_linear else 2 * jnp.maximum(violation, 0)
        return -regularization_coefficient * sign * slope

    return loss_head(identity, gradient, data, label)


def _infer_cross_entropy_shape(s: ShapeFacts, p: Params) -> None:
    if s["data"] is not None:
        s.set("label", s["data"][:1], because=f"data is {s['data']}")


@register("softmax_cross_entropy", infer_shape=_infer_cross_entropy_shape, kind="loss")
def softmax_cross_entropy(data: Array, label: Array):
    """Sums ``-log(softmax(data)[label])`` over the batch, each probability at least 1e-8.

    data (N, K), floating; label (N,) with classes in the same dtype. Returns shape (1,). The
    gradient, ``(softmax(data) - onehot(label)) * head``, ignores the bound; the label's is zero
    (MXNet refuses to compute it).
    """

    def loss(p: Array, hit: Array) -> Array:
        chosen = jnp.sum(jnp.where(hit, p, 0), axis=1)
        return -jnp.sum(jnp.log(jnp.maximum(chosen, 1e-8)), dtype=data.dtype)[None]

    def fwd(data, label):
        p = _class_probabilities(data)
        hit = jnp.arange(data.shape[1], dtype=jnp.int32) == label[:, None].astype(jnp.int32)
        return loss(p, hit), (p, hit)

    def bwd(residuals, head):
        p, hit = residuals
        return (p - hit.astype(p.dtype)) * head, None

    def tangent(residuals, tangents):
        if tangents[0] is None:
            return None
        p, hit = residuals
        return jnp.sum((p - hit.astype(p.dtype)) * tangents[0], dtype=data.dtype)[None]

    return with_vjp(lambda *inputs: fwd(*inputs)[0], fwd, bwd, tangent)(data, label)
