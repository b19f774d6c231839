"""Connectionist temporal classification (Graves et al., 2006).

The recursions run over time, in the logarithm; every step works on all samples and all positions of
the extended label (a blank before, between and after the labels) at once.
"""

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..schema.inference import Params, ShapeFacts, inputs_with, same_dtype_among
from ..schema.operator_registry import register
from ..schema.traits import LABEL_FOR_GRADIENT
from ..tensor.ordering import order
from ..tensor.reverse_rules import with_vjp
from ..tracing import is_known
from .loss_heads import label_missing

#: Logarithm of probability 0: finite, so that the difference of two of them is not NaN.
_LOG_ZERO = -1e30


def _shifted(x: Array, by: int) -> Array:
    return jnp.pad(x, ((0, 0), (by, 0)), constant_values=_LOG_ZERO)[:, : x.shape[1]]


def _paths(score: Array, skip: Array, start: Array) -> Array:
    # Log probability, (T, N, S), of all paths from ``start`` (N, S) that are at a position at a
    # time; ``score`` (T, N, S) is the log probability of each position's symbol.
    def step(alpha: Array, x: Array) -> tuple[Array, Array]:
        moved = jnp.logaddexp(alpha, _shifted(alpha, 1))
        moved = jnp.logaddexp(moved, jnp.where(skip, _shifted(alpha, 2), _LOG_ZERO))
        alpha = moved + x
        return alpha, alpha

    first = start + score[0]
    return jnp.concatenate([first[None], lax.scan(step, first, score[1:])[1]])


def _align(log_p, label, label_length, data_length, blank: Array | int):
    # After its last time step, a sample's symbols cost nothing and its paths stay where they are:
    # the loss is always in the last row.
    steps, count, _ = log_p.shape
    size = 2 * label.shape[1] + 1
    position = jnp.arange(size, dtype=jnp.int32)
    extended = jnp.full((count, size), blank, jnp.int32).at[:, 1::2].set(label)
    # A path may leave out the blank before these positions.
    before = jnp.pad(extended, ((0, 0), (2, 0)), constant_values=-1)[:, :-2]
    skip = (position % 2 == 1) & (extended != before) & (position > 1)
    score = jnp.take_along_axis(log_p, jnp.broadcast_to(extended, (steps, count, size)), axis=2)
    start = jnp.where(position < 2, 0.0, _LOG_ZERO).astype(log_p.dtype)
    alpha = _paths(score, skip, jnp.broadcast_to(start, (count, size)))
    last = jnp.take_along_axis(alpha, (data_length - 1)[None, :, None], axis=0)[0]
    end = 2 * label_length[:, None]
    ends = (position == end) | (position == end - 1)
    return -jax.nn.logsumexp(jnp.where(ends, last, _LOG_ZERO), axis=1), (alpha, score, skip, ends)


def _occupancy(alpha, score, skip, ends, data_length):
    # Log probability of being at a position at a time and finishing: alpha times beta.
    steps = score.shape[0]

    def step(beta: Array, xs: tuple[Array, Array]) -> tuple[Array, Array]:
        next_score, last = xs
        stay = beta + next_score
        jump = jnp.where(skip, stay, _LOG_ZERO)
        previous = jnp.logaddexp(stay, _shifted_back(stay, 1))
        previous = jnp.logaddexp(previous, _shifted_back(jump, 2))
        beta = jnp.where(last[:, None], finish, previous)
        return beta, beta

    finish = jnp.where(ends, 0.0, _LOG_ZERO).astype(score.dtype)
    last = jnp.arange(steps, dtype=jnp.int32)[:, None] == data_length - 1
    next_score = jnp.concatenate([score[1:], jnp.zeros_like(score[:1])])
    _, beta = lax.scan(step, finish, (next_score, last), reverse=True)
    return alpha + beta


def _shifted_back(x: Array, by: int) -> Array:
    return jnp.pad(x, ((0, 0), (0, by)), constant_values=_LOG_ZERO)[:, by:]


def _gradient(log_p, label, label_length, data_length, blank: Array | int):
    loss, (alpha, score, skip, ends) = _align(log_p, label, label_length, data_length, blank)
    occupancy = jnp.exp(_occupancy(alpha, score, skip, ends, data_length) + loss[:, None])
    count = jnp.arange(label.shape[0], dtype=jnp.int32)[:, None]
    by_class = jnp.zeros_like(log_p).at[:, count, label].add(occupancy[:, :, 1::2])
    by_class = by_class.at[:, :, blank].add(jnp.sum(occupancy[:, :, ::2], axis=2))
    steps = jnp.arange(log_p.shape[0], dtype=jnp.int32)[:, None]
    # With a blank between equal neighbours, a label may exceed its time steps.
    position = jnp.arange(1, label.shape[1], dtype=jnp.int32)
    repeats = (label[:, 1:] == label[:, :-1]) & (position < label_length[:, None])
    impossible = label_length + jnp.sum(repeats, axis=1, dtype=jnp.int32) > data_length
    valid = (steps < data_length) & ~impossible
    return jnp.where(impossible, 0, loss), jnp.where(valid[..., None], jnp.exp(log_p) - by_class, 0)


def _packed(label: Array, keep: Array) -> Array:
    return jnp.take_along_axis(label, order(~keep, 1), axis=1)


def _rounded(numbers: Array) -> Array:
    if jnp.issubdtype(numbers.dtype, jnp.floating):
        numbers = lax.round(numbers, lax.RoundingMethod.AWAY_FROM_ZERO)
    return numbers.astype(jnp.int32)


def _infer_ctc_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0, 0), because="scores are (T, N, C)")
    batch = data[1] if data else 0
    s.set("label", (batch, 0), because=f"data is {data}")
    s.set("data_lengths", (batch,), because=f"data is {data}")
    s.set("label_lengths", (batch,), because=f"data is {data}")


@register(
    "CTCLoss", "_contrib_CTCLoss", "_contrib_ctc_loss", "ctc_loss",
    inputs=inputs_with(
        "data", "label", data_lengths="use_data_lengths", label_lengths="use_label_lengths"
    ),
    outputs=("output0", "output1"), visible=1, infer_shape=_infer_ctc_shape,
    infer_type=same_dtype_among("data", "out0", "out1"),
)  # fmt: skip
def ctc_loss(
    data: Array,
    label: Array,
    data_lengths: Array | None = None,
    label_lengths: Array | None = None,
    *,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
):
    """Computes the CTC loss of each sample, ``-log P(label | softmax(data))`` over all alignments.

    data (T, N, C), scores before the softmax, floating; label (N, L), class numbers, padded at the
    end. The blank is class 0 and the padding 0 (``blank_label="first"``), or the blank is class C -
    1 and the padding -1 (``"last"``). data_lengths (N,), with ``use_data_lengths``, is the number
    of steps that count; label_lengths (N,), with ``use_label_lengths``, the number of labels, in
    place of padding. Fractions are rounded. Returns (N,); the hidden second output is the
    gradient, (T, N, C).

    A label that does not fit into the steps has loss and gradient 0. Graves et al., 2006.
    """
    steps, batch, classes = data.shape
    last = classes - 1 if is_known(classes) else jnp.asarray(classes - 1, "int32")
    blank, padding = (0, 0) if blank_label == "first" else (last, -1)
    label = _rounded(label)
    if label_lengths is not None:
        length = _rounded(label_lengths)
    else:
        length = jnp.sum(jnp.cumprod(label != padding, axis=1, dtype=jnp.int32), axis=1)
    label = jnp.where(jnp.arange(label.shape[1], dtype=jnp.int32) < length[:, None], label, blank)
    if data_lengths is not None:
        until = _rounded(data_lengths)
    else:
        until = jnp.full((batch,), steps, jnp.int32)

    def solve(data: Array, *counts: Any) -> tuple[Array, Array]:
        label, length, until = counts
        return _gradient(jax.nn.log_softmax(data, axis=2), label, length, until, blank)

    def fwd(*inputs: Array):
        out = solve(*inputs)
        return out, out[1]

    def bwd(gradient: Array, heads: tuple[Array, Array]) -> tuple[Array, None, None, None]:
        return gradient * heads[0][:, None], None, None, None

    def tangent(gradient: Array, tangents: tuple[Array, ...]) -> tuple[Array, None]:
        return jnp.sum(gradient * tangents[0], (0, 2)), None

    return with_vjp(solve, fwd, bwd, tangent)(data, label, length, until)


def _infer_warp_ctc_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0), because="scores are (input_length * N, C)")
    if data is not None and data[0]:
        length = p.label_length * (data[0] // p.input_length)
        s.set("label", (length,), because=f"data is {data}, label_length={p.label_length}")
    s.same("data", "out0")


@register(
    "WarpCTC", infer_shape=_infer_warp_ctc_shape, loss=True, traits={LABEL_FOR_GRADIENT},
    infer_type=same_dtype_among("data", "out0", label="int32"),
)  # fmt: skip
def warp_ctc(
    data: Array, label: Array | None = None, *, label_length: int = 0, input_length: int = 0
):
    """Computes ``softmax(data)``, with the gradient of the CTC loss: the head of MXNet's Warp-CTC
    plugin.

    data (T N, C), the scores of N samples at T = ``input_length`` steps, time before samples,
    floating; label (N L,), L = ``label_length`` class numbers for each sample, int32. Class 0 is
    the blank; zeros among the labels are padding, anywhere. Returns the probabilities, in data's
    shape. The head gradient is ignored; the gradient is the derivative of the sum of the samples'
    losses. A label that does not fit into the steps has gradient 0.
    """
    classes = data.shape[1]

    def forward(data: Array, label: Array | None) -> Array:
        return jax.nn.softmax(data, axis=1)

    def bwd(residuals, _):
        data, label = residuals
        if label is None:
            raise label_missing()
        log_p = jax.nn.log_softmax(data.reshape(input_length, -1, classes), axis=2)
        rows = label.reshape(-1, label_length).astype(jnp.int32)
        until = jnp.full((len(rows),), input_length, jnp.int32)
        counts = jnp.sum(rows != 0, axis=1, dtype=jnp.int32)
        _, grad = _gradient(log_p, _packed(rows, rows != 0), counts, until, blank=0)
        return grad.reshape(data.shape), None

    def fwd(data: Array, label: Array | None):
        return forward(data, label), (data, label)

    return with_vjp(forward, fwd, bwd)(data, label)
