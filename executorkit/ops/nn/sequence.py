"""Sequences of different lengths in one padded array."""

import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Attrs
from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Shape
from ..schema.inference import Params, ShapeFacts, TypeFacts, inputs_with
from ..schema.operator_registry import register
from ..schema.traits import NAMED_DATA
from ..tensor.binary_arithmetic import convert
from ..tensor.indexing import integer_indices


def _infer_lengths_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is None or len(data) < 2 or p.axis not in (0, 1):
        return
    batch = 1 - p.axis
    s.set("sequence_length", (data[batch],), because=f"data is {data}, sequences along {p.axis}")
    if s["sequence_length"] is not None:
        s.set("data", (s["sequence_length"][0] if i == batch else 0 for i in range(len(data))))


def _infer_sequence_last_shape(s: ShapeFacts, p: Params) -> None:
    data, out = s["data"], s["out0"]
    if data is not None and out is not None and len(data) == len(out) + 1 and p.axis in (0, 1):
        s.set("data", (*out[: p.axis], 0, *out[p.axis :]))
    _infer_lengths_shape(s, p)


def _infer_same_shape(s: ShapeFacts, p: Params) -> None:
    s.same("data", "out0")
    _infer_lengths_shape(s, p)


def _infer_type(t: TypeFacts, p: Params) -> None:
    t.same("data", "out0")
    if t["sequence_length"] is None:
        t.set("sequence_length", t["data"])


def _lengths(data: Array, lengths: Array | None, axis: int, axes: Shape = (0, 1)) -> Array | None:
    if axis not in axes:
        raise AttributeValueError(f"axis={axis}, expected {' or '.join(map(str, axes))}")
    if data.ndim < 2:
        raise ShapeError(f"'data' is {data.shape}, expected two axes or more")
    if lengths is None:
        return None
    if lengths.shape != (data.shape[1 - axis],):
        problem = f"'sequence_length' is {lengths.shape}, expected ({data.shape[1 - axis]},)"
        raise ShapeError(problem, because=f"data is {data.shape}, sequences along axis {axis}")
    return lax.expand_dims(integer_indices(lengths), (axis,))


_RULES: Attrs = {
    "inputs": inputs_with("data", sequence_length="use_sequence_length"),
    "infer_type": _infer_type,
    "traits": {NAMED_DATA},
}


@register("SequenceLast", **_RULES, infer_shape=_infer_sequence_last_shape)
def sequence_last(
    data: Array,
    sequence_length: Array | None = None,
    *,
    use_sequence_length: bool = False,
    axis: int = 0,
):
    """Returns the last entry of every sequence.

    data (T, N, ...), or with ``axis=1`` (N, T, ...); sequence_length (N,), only with
    ``use_sequence_length``, between 1 and T (clipped to it). Returns (N, ...).
    """
    lengths = _lengths(data, sequence_length, axis)
    if lengths is None:
        return lax.index_in_dim(data, data.shape[axis] - 1, axis, keepdims=False)
    last = jnp.clip(lengths - 1, 0, data.shape[axis] - 1)
    last = lax.expand_dims(last, range(2, data.ndim))
    return lax.squeeze(jnp.take_along_axis(data, last, axis, mode="promise_in_bounds"), (axis,))


@register("SequenceMask", **_RULES, infer_shape=_infer_same_shape)
def sequence_mask(
    data: Array,
    sequence_length: Array | None = None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
):
    """Replaces every entry past the end of its sequence by ``value``.

    data (T, N, ...), or with ``axis=1`` (N, T, ...); sequence_length (N,), only with
    ``use_sequence_length``. The gradient of replaced entries is zero.
    """
    lengths = _lengths(data, sequence_length, axis)
    if lengths is None:
        return data
    step = lax.broadcasted_iota(lengths.dtype, data.shape[:2], axis)
    inside = lax.broadcast_in_dim(step < lengths, data.shape, (0, 1))
    return jnp.where(inside, data, convert(jnp.asarray(value, jnp.float32), data.dtype.name))


@register("SequenceReverse", **_RULES, infer_shape=_infer_same_shape)
def sequence_reverse(
    data: Array,
    sequence_length: Array | None = None,
    *,
    use_sequence_length: bool = False,
    axis: int = 0,
):
    """Reverses every sequence; entries past its end do not move.

    data (T, N, ...); sequence_length (N,), only with ``use_sequence_length``, at most T; without
    it all sequences have length T. ``axis`` must be 0, as in MXNet.
    """
    lengths = _lengths(data, sequence_length, axis, axes=(0,))
    if lengths is None:
        return lax.rev(data, (0,))
    step = lax.broadcasted_iota(lengths.dtype, data.shape[:2], 0)
    lengths = jnp.clip(lengths, 0, data.shape[0])
    source = jnp.where(step < lengths, lengths - 1 - step, step)
    batch = lax.broadcasted_iota(source.dtype, source.shape, 1)
    # Said to be unique, so that the gradient's scatter needs no atomic additions.
    return data.at[source, batch].get(
        mode="promise_in_bounds", unique_indices=True, wrap_negative_indices=False
    )
