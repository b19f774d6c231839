"""Boxes in general: their overlap, and non-maximum suppression."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ._boxes import BoxFormat, iou, suppress, to_center, to_corner
from ._facts import Params, ShapeFacts
from ._ordering import order
from ._registry import register


def _infer_iou_shape(s: ShapeFacts, p: Params) -> None:
    for name in ("lhs", "rhs"):
        if s[name] is not None:
            s.set(name, (*s[name][:-1], 4), because="a box has four numbers")


@register("_contrib_box_iou", infer_shape=_infer_iou_shape)
def box_iou(lhs: jax.Array, rhs: jax.Array, *, format: BoxFormat = "corner"):
    """Intersection over union of every box of one array with every box of another.

    lhs (a..., 4), rhs (b..., 4), floating; returns (a..., b...), 0 for boxes without area. MXNet's
    gradient is zero, and so is this one.
    """
    lhs, rhs = lax.stop_gradient(lhs), lax.stop_gradient(rhs)
    if format == "center":
        lhs, rhs = to_corner(lhs), to_corner(rhs)
    return iou(lhs.reshape(*lhs.shape[:-1], *[1] * (rhs.ndim - 1), 4), rhs)


def _infer_nms_shape(s: ShapeFacts, p: Params) -> None:
    s.same("data", "out0")


@register(
    "_contrib_box_nms",
    "_contrib_box_non_maximum_suppression",
    outputs=("output0",),
    infer_shape=_infer_nms_shape,
)
def box_nms(
    data: jax.Array,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: BoxFormat = "corner",
    out_format: BoxFormat = "corner",
):
    """Non-maximum suppression: of boxes that overlap, only the one with the best score stays.

    data (..., N, W), floating: N boxes of W numbers, of which ``coord_start`` and the three behind
    it are the box, ``score_index`` its score and ``id_index`` (if not negative) its class. Boxes
    count whose score is above ``valid_thresh`` and whose class is not ``background_id``; the
    ``topk`` best of them (all, if not positive) are compared; a box goes if a better one overlaps
    it by more than ``overlap_thresh`` and has its class (any class with ``force_suppress`` or
    without ``id_index``). Returns data's shape: the boxes that stay, best first, then rows of -1.

    The gradient is routed back to the rows that stay; a change of format does not enter it.
    """
    rows = data.reshape(-1, *data.shape[-2:])
    count = rows.shape[1]
    fixed = lax.stop_gradient(rows)
    score = fixed[..., score_index]
    valid = score > valid_thresh
    if id_index >= 0:
        valid &= fixed[..., id_index] != background_id
    by_score = order(jnp.where(valid, score, -jnp.inf), 1, ascending=False)
    limit = min(topk, count) if topk > 0 else count
    by_score = by_score[:, :limit, None]
    best = jnp.take_along_axis(fixed, by_score, axis=1)
    candidate = jnp.take_along_axis(valid, by_score[..., 0], axis=1)
    box = best[..., coord_start : coord_start + 4]
    kind = None if force_suppress or id_index < 0 else best[..., id_index]
    corners = to_corner(box) if in_format == "center" else box
    keep = suppress(corners, candidate, kind, overlap_thresh, inclusive=False)

    front = order(~keep, 1)[..., None]
    stays = jnp.take_along_axis(keep[..., None], front, axis=1)
    out = jnp.take_along_axis(rows, jnp.take_along_axis(by_score, front, axis=1), axis=1)
    if in_format != out_format:
        box = out[..., coord_start : coord_start + 4]
        seen = lax.stop_gradient(box)
        changed = to_corner(seen) if out_format == "corner" else to_center(seen)
        box = box + (changed - seen)
        out = out.at[..., coord_start : coord_start + 4].set(box)
    out = jnp.where(stays, out, -1)
    rest = jnp.full((rows.shape[0], count - limit, rows.shape[2]), -1, data.dtype)
    return jnp.concatenate([out, rest], axis=1).reshape(data.shape)
