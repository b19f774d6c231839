"""Boxes: their two forms, their overlap, and greedy suppression on the device.

A box is (x1, y1, x2, y2) ("corner") or (x, y, width, height) about its middle ("center").
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

BoxFormat = Literal["corner", "center"]
#: x1, y1, x2, y2 of corner boxes, apart: loops over them run on whole vectors.
Sides = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def to_corner(box: jax.Array) -> jax.Array:
    middle, half = box[..., :2], box[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], axis=-1)


def to_center(box: jax.Array) -> jax.Array:
    first, last = box[..., :2], box[..., 2:]
    return jnp.concatenate([(first + last) / 2, last - first], axis=-1)


def _overlap(a: Sides, b: Sides) -> jax.Array:
    """:func:`iou` of boxes whose four numbers are arrays of their own."""

    def area(x1: jax.Array, y1: jax.Array, x2: jax.Array, y2: jax.Array) -> jax.Array:
        return jnp.maximum(x2 - x1, 0) * jnp.maximum(y2 - y1, 0)

    first = (jnp.maximum(p, q) for p, q in zip(a[:2], b[:2], strict=True))
    last = (jnp.minimum(p, q) for p, q in zip(a[2:], b[2:], strict=True))
    shared = area(*first, *last)
    union = area(*a) + area(*b) - shared
    return jnp.where(union > 0, shared / jnp.where(union > 0, union, 1), 0)


def _sides(box: jax.Array) -> Sides:
    return box[..., 0], box[..., 1], box[..., 2], box[..., 3]


def iou(a: jax.Array, b: jax.Array) -> jax.Array:
    """Intersection over union of corner boxes, broadcast; 0 where a side is negative or the union
    is empty."""
    return _overlap(_sides(a), _sides(b))


def suppress(box, candidate, kind, threshold, inclusive: bool, enough: int | None = None):
    """Greedy suppression of boxes sorted by score: which of ``candidate`` (B, K) are kept.

    Each turn takes every sample's next kept box and drops the later ones that overlap it by more
    than ``threshold`` (``inclusive``: as much) and are of its ``kind`` (None: of any kind). After
    ``enough`` turns, that many are kept for good; what is kept behind them has not been compared.
    """
    count = candidate.shape[1]
    at = jnp.arange(count, dtype=jnp.int32)

    sides = _sides(box)

    def following(keep: jax.Array, current: jax.Array) -> jax.Array:
        return jnp.min(jnp.where(keep & (at > current[:, None]), at, count), axis=1)

    def turn(state):
        keep, current, taken = state
        here = jnp.minimum(current, count - 1)[:, None]
        x1, y1, x2, y2 = (jnp.take_along_axis(side, here, axis=1) for side in sides)
        overlap = _overlap((x1, y1, x2, y2), sides)
        drop = overlap >= threshold if inclusive else overlap > threshold
        if kind is not None:
            drop &= jnp.take_along_axis(kind, here, axis=1) == kind
        keep &= ~(drop & (at > current[:, None]))
        return keep, following(keep, current), taken + 1

    def goes_on(state):
        _, current, taken = state
        more = jnp.any(current < count)
        return more if enough is None else more & (taken < enough)

    start = following(candidate, jnp.full(candidate.shape[:1], -1, jnp.int32))
    return lax.while_loop(goes_on, turn, (candidate, start, jnp.int32(0)))[0]
