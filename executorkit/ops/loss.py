"""Loss heads: outputs whose gradient is the loss's, whatever head gradient arrives.

MXNet's training graphs end in such an operator: it passes predictions on, and its gradient is that
of a loss that is never computed, so that the head gradient is ignored; labels get zero gradients.
The heads of classifiers are in ``classification``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from ._attrs import Aux, Train
from ._facts import Params, ShapeFacts, is_fully_known
from ._registry import register
from ._rules import same_shapes

Normalization = Literal["null", "batch", "valid"]


def loss_head(
    forward: Callable[[jax.Array], jax.Array],
    gradient: Callable[[jax.Array, jax.Array], jax.Array],
    data: jax.Array,
    label: jax.Array,
) -> jax.Array:
    """``forward(data)``, with ``gradient(out, label)`` in place of its derivative."""
    head = jax.custom_vjp(lambda data, label: forward(data))

    def keep(data, label):
        out = forward(data)
        return out, (out, label)

    head.defvjp(keep, lambda kept, _: (gradient(*kept).astype(data.dtype), None))
    return head(data, label)


def identity(data: jax.Array) -> jax.Array:
    return data


def _infer_regression_shape(s: ShapeFacts, p: Params) -> None:
    data, label = s["data"], s["label"]
    if data is None or not is_fully_known(data):
        return
    if is_fully_known(label) and label[:1] == data[:1] and math.prod(label) == math.prod(data):
        return
    shape = data[:1] if len(data) == 2 and data[1] == 1 else data
    s.set("label", shape, because=f"data is {data}")


def _regression(forward, difference, data, label, grad_scale):
    def gradient(out: jax.Array, label: jax.Array) -> jax.Array:
        per_sample = label.size // label.shape[0]
        return difference(out, label.reshape(out.shape)) * (grad_scale / per_sample)

    return loss_head(forward, gradient, data, label)


@register(
    "LinearRegressionOutput", infer_shape=_infer_regression_shape, loss=True, ignore_unknown=True
)
def linear_regression_output(data: jax.Array, label: jax.Array, *, grad_scale: float = 1.0):
    """data itself, with the gradient of half the squared error: ``out - label``, scaled.

    data (N, ...), floating; label of the same shape, or any other of N and as many entries
    ((N,) for data (N, 1)). The gradient is multiplied by ``grad_scale`` and divided by the number
    of outputs per sample - not by N. Returns data's shape and dtype.
    """
    return _regression(identity, jnp.subtract, data, label, grad_scale)


@register(
    "LogisticRegressionOutput", infer_shape=_infer_regression_shape, loss=True, ignore_unknown=True
)
def logistic_regression_output(data: jax.Array, label: jax.Array, *, grad_scale: float = 1.0):
    """``sigmoid(data)``, with the gradient of the binary cross entropy: ``out - label``, scaled.

    data (N, ...), floating; label of the same shape, or any other of N and as many entries
    ((N,) for data (N, 1)). The gradient is multiplied by ``grad_scale`` and divided by the number
    of outputs per sample - not by N. Returns data's shape and dtype.
    """
    return _regression(jax.nn.sigmoid, jnp.subtract, data, label, grad_scale)


@register(
    "MAERegressionOutput", infer_shape=_infer_regression_shape, loss=True, ignore_unknown=True
)
def mae_regression_output(data: jax.Array, label: jax.Array, *, grad_scale: float = 1.0):
    """data itself, with the gradient of the absolute error: ``sign(out - label)``, scaled.

    Where both are equal, the sign is -1.
    data (N, ...), floating; label of the same shape, or any other of N and as many entries
    ((N,) for data (N, 1)). The gradient is multiplied by ``grad_scale`` and divided by the number
    of outputs per sample - not by N. Returns data's shape and dtype.
    """

    def sign(out: jax.Array, label: jax.Array) -> jax.Array:
        return jnp.where(out > label, 1, -1).astype(out.dtype)

    return _regression(identity, sign, data, label, grad_scale)


@register("MakeLoss", infer_shape=same_shapes, loss=True)
def make_loss_scaled(
    data: jax.Array,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Normalization = "null",
):
    """data itself, as a loss to be minimised: its gradient is a constant.

    data (...), floating. The gradient is ``grad_scale`` everywhere, divided by the number of rows
    for ``batch`` (the product of all axes but the last, as in MXNet: the batch only for data
    (N, C), 1 for data (N,)) and by the number of entries above ``valid_thresh`` for ``valid``.
    Returns data's shape and dtype.
    """

    def gradient(out: jax.Array, _: jax.Array) -> jax.Array:
        if normalization == "valid":
            count = jnp.maximum(jnp.sum(out > valid_thresh, dtype=jnp.int32), 1)
            return jnp.broadcast_to(grad_scale / count, out.shape)
        rows = math.prod(out.shape[:-1]) if normalization == "batch" else 1
        return jnp.full_like(out, grad_scale / rows)

    return loss_head(identity, gradient, data, data)


@register("make_loss", outputs=("loss",), infer_shape=same_shapes, loss=True)
def make_loss(data: jax.Array):
    """data itself, as a loss to be minimised: its gradient is one. data (...), floating."""
    return loss_head(identity, lambda out, _: jnp.ones_like(out), data, data)


def _infer_sparse_reg_shape(s: ShapeFacts, p: Params) -> None:
    s.same("data", "out0")
    if s["data"] is not None and len(s["data"]) > 1:
        s.set("moving_avg", s["data"][1:2], because=f"data is {s['data']}")


@register("IdentityAttachKLSparseReg", infer_shape=_infer_sparse_reg_shape)
def identity_attach_kl_sparse_reg(
    data: jax.Array,
    moving_avg: Aux,
    *,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    train: Train = False,
):
    """data itself, with the gradient of a sparseness penalty added to the head gradient.

    data (N, C, ...), activations in (0, 1), float32. ``moving_avg`` (C,), auxiliary, follows the
    mean activation m of each channel, ``momentum * moving_avg + (1 - momentum) * m``; with t being
    ``sparseness_target`` and a its new value, ``penalty * ((1 - t) / (1 - a) - t / a)`` is added.
    """
    axes = (0, *range(2, data.ndim))
    average = moving_avg * momentum + jnp.mean(data, axis=axes) * (1 - momentum)
    shape = (1, -1, *[1] * (data.ndim - 2))

    @jax.custom_vjp
    def attach(data, average):
        return data

    def back(average, head):
        a = average.reshape(shape)
        slope = (1 - sparseness_target) / (1 - a) - sparseness_target / a
        return head + penalty * slope, None

    attach.defvjp(lambda data, average: (data, average), back)
    out = attach(data, jax.lax.stop_gradient(average))
    return out, jax.lax.stop_gradient(average) if train else moving_avg
