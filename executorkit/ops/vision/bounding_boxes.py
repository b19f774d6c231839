"""Bounding boxes: overlap, non-maximum suppression, encoding against anchors, matching.

A box is (x1, y1, x2, y2) ("corner") or (x, y, width, height) about its middle ("center").
"""

from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.core import min_dim

from ...errors import AttributeValueError
from ..schema.inference import Params, ShapeFacts, same_shapes
from ..schema.operator_registry import FileFormat, register
from ..tensor.ordering import order

BoxFormat = Literal["corner", "center"]
#: x1, y1, x2, y2 of corner boxes as separate arrays, so that loops run on whole vectors.
Sides = tuple[Array, Array, Array, Array]


def to_corner(box: Array) -> Array:
    middle, half = box[..., :2], box[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], axis=-1)


def to_center(box: Array) -> Array:
    first, last = box[..., :2], box[..., 2:]
    return jnp.concatenate([(first + last) / 2, last - first], axis=-1)


def _overlap(a: Sides, b: Sides) -> Array:
    def area(x1: Array, y1: Array, x2: Array, y2: Array) -> Array:
        return jnp.maximum(x2 - x1, 0) * jnp.maximum(y2 - y1, 0)

    first = (jnp.maximum(p, q) for p, q in zip(a[:2], b[:2], strict=True))
    shared = area(*first, *(jnp.minimum(p, q) for p, q in zip(a[2:], b[2:], strict=True)))
    union = area(*a) + area(*b) - shared
    return jnp.where(union > 0, shared / jnp.where(union > 0, union, 1), 0)


def _sides(box: Array) -> Sides:
    return box[..., 0], box[..., 1], box[..., 2], box[..., 3]


def iou(a: Array, b: Array) -> Array:
    """Computes intersection over union of boxes, broadcast; 0 for negative sides or empty union."""
    return _overlap(_sides(a), _sides(b))


def greedy_suppression(
    box, candidate, kind, threshold, inclusive: bool, max_kept: int | None = None
):
    """Suppresses boxes sorted by score greedily; returns the mask of the boxes that remain.

    candidate (B, K) is the mask of the boxes to compare. Each iteration takes every sample's next
    remaining box and drops the later ones that overlap it by more than ``threshold``
    (``inclusive``: by as much) and are of its ``kind`` (None: of any kind). After ``max_kept``
    iterations that many boxes are final; later ones have not been compared.
    """
    count = candidate.shape[1]
    at = jnp.arange(count, dtype=jnp.int32)

    sides = _sides(box)

    def following(keep: Array, current: Array) -> Array:
        return jnp.min(jnp.where(keep & (at > current[:, None]), at, count), axis=1)

    def visit_next(state):
        keep, current, visited = state
        column = jnp.minimum(current, count - 1)[:, None]
        x1, y1, x2, y2 = (jnp.take_along_axis(side, column, axis=1) for side in sides)
        overlap = _overlap((x1, y1, x2, y2), sides)
        drop = overlap >= threshold if inclusive else overlap > threshold
        if kind is not None:
            drop &= jnp.take_along_axis(kind, column, axis=1) == kind
        keep &= ~(drop & (at > current[:, None]))
        return keep, following(keep, current), visited + 1

    def unfinished(state):
        _, current, visited = state
        any_left = jnp.any(current < count)
        return any_left if max_kept is None else any_left & (visited < max_kept)

    first = following(candidate, jnp.full(candidate.shape[:1], -1, jnp.int32))
    return lax.while_loop(unfinished, visit_next, (candidate, first, jnp.int32(0)))[0]


def _infer_iou_shape(s: ShapeFacts, p: Params) -> None:
    for name in ("lhs", "rhs"):
        if s[name] is not None:
            s.set(name, (*s[name][:-1], 4), because="a box has four numbers")


@register("_contrib_box_iou", infer_shape=_infer_iou_shape)
def box_iou(lhs: Array, rhs: Array, *, format: BoxFormat = "corner"):
    """Computes intersection over union of every box of one array with every box of another.

    lhs (a..., 4), rhs (b..., 4), floating; returns (a..., b...), 0 for boxes without area. The
    gradient is zero, as in MXNet.
    """
    lhs, rhs = lax.stop_gradient(lhs), lax.stop_gradient(rhs)
    if format == "center":
        lhs, rhs = to_corner(lhs), to_corner(rhs)
    return iou(lhs.reshape(*lhs.shape[:-1], *[1] * (rhs.ndim - 1), 4), rhs)


@register(
    "_contrib_box_nms",
    "_contrib_box_non_maximum_suppression",
    outputs=("output0",),
    infer_shape=same_shapes,
    file_format=FileFormat(scratch_outputs=lambda p: 1),
)
def box_nms(
    data: Array,
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
    """Applies non-maximum suppression: of overlapping boxes, only the one with the best score
    stays.

    data (..., N, W), floating: N boxes of W numbers, of which ``coord_start`` and the three behind
    it are the box, ``score_index`` its score and ``id_index`` (if not negative) its class. Boxes
    count whose score is above ``valid_thresh`` and whose class is not ``background_id``; the
    ``topk`` best of them (all, if negative) are compared; a box goes if a better one overlaps
    it by more than ``overlap_thresh`` and has its class, without its fraction (any class with
    ``force_suppress`` or without ``id_index``). Returns data's shape: the boxes that stay, best
    first, then rows of -1; with ``topk=0``, data.

    The gradient is routed back to the rows that stay; a change of format does not enter it.
    """
    used = [score_index, *range(coord_start, coord_start + 4), *[id_index] * (id_index >= 0)]
    if len(set(used)) < len(used) or min(used) < 0 or max(used) >= data.shape[-1]:
        raise AttributeValueError(
            f"score_index={score_index}, id_index={id_index}, coord_start={coord_start}, expected "
            f"different numbers of rows of {data.shape[-1]}"
        )
    if topk == 0:
        return data
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
    kind = None if force_suppress or id_index < 0 else jnp.trunc(best[..., id_index])
    corners = to_corner(box) if in_format == "center" else box
    keep = greedy_suppression(corners, candidate, kind, overlap_thresh, inclusive=False)

    front = order(~keep, 1)[..., None]
    stays = jnp.take_along_axis(keep[..., None], front, axis=1)
    out = jnp.take_along_axis(rows, jnp.take_along_axis(by_score, front, axis=1), axis=1)
    if in_format != out_format:
        box = out[..., coord_start : coord_start + 4]
        unscaled = lax.stop_gradient(box)
        changed = to_corner(unscaled) if out_format == "corner" else to_center(unscaled)
        box = box + (changed - unscaled)
        out = out.at[..., coord_start : coord_start + 4].set(box)
    out = jnp.where(stays, out, -1)
    padding = jnp.full((rows.shape[0], count - limit, rows.shape[2]), -1, data.dtype)
    return jnp.concatenate([out, padding], axis=1).reshape(data.shape)


def _infer_encode_shape(s: ShapeFacts, p: Params) -> None:
    anchors, refs = s["anchors"], s["refs"]
    batch = anchors[0] if anchors else 0
    s.set("anchors", (0, 0, 4), because="a box has four numbers")
    s.set("refs", (batch, refs[1] if refs else 0, 4), because=f"anchors is {anchors}")
    for name in ("samples", "matches"):
        s.set(name, anchors[:2] if anchors else None, because=f"anchors is {anchors}")
    for name in ("means", "stds"):
        s.set(name, (4,), because="a box has four numbers")


@register("_contrib_box_encode", outputs=("output0", "output1"), infer_shape=_infer_encode_shape)
def box_encode(
    samples: Array, matches: Array, anchors: Array, refs: Array, means: Array, stds: Array
):
    """Computes offsets from anchors to their matched boxes: targets of a regression.

    samples (B, N), positive above 0.5; matches (B, N), the index of each anchor's box among M;
    anchors (B, N, 4) and refs (B, M, 4), corner boxes; means and stds (4,). Returns
    ``(((gx - x) / w, (gy - y) / h, log(gw / w), log(gh / h)) - means) / stds`` for positive
    samples, in center form, and a mask that is 1 there, each (B, N, 4) and 0 elsewhere. Gradients
    are zero. Floating.
    """
    samples, matches, anchors, refs, means, stds = (
        lax.stop_gradient(a) for a in (samples, matches, anchors, refs, means, stds)
    )
    matched = matches.astype(jnp.int32)[..., None]
    box, anchor = to_center(jnp.take_along_axis(refs, matched, axis=1)), to_center(anchors)
    shift = (box[..., :2] - anchor[..., :2]) / anchor[..., 2:]
    scale = jnp.log(box[..., 2:] / anchor[..., 2:])
    offset = (jnp.concatenate([shift, scale], axis=-1) - means) / stds
    mask = jnp.broadcast_to((samples > 0.5)[..., None], offset.shape)
    return jnp.where(mask, offset, 0), mask.astype(offset.dtype)


def _infer_decode_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0, 4), because="a box has four numbers")
    s.set("anchors", (1, data[1] if data else 0, 4), because=f"data is {data}")


@register("_contrib_box_decode", infer_shape=_infer_decode_shape)
def box_decode(
    data: Array,
    anchors: Array,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: BoxFormat = "center",
):
    """Returns corner boxes from offsets to anchors, the inverse of ``box_encode``.

    data (B, N, 4) offsets, multiplied by ``std0`` to ``std3``; anchors (1, N, 4) in ``format``;
    returns (B, N, 4). Logarithms of sizes are at most ``clip``, if that is positive. Gradients are
    zero. Floating.
    """
    data, anchors = lax.stop_gradient(data), lax.stop_gradient(anchors)
    anchor = to_center(anchors) if format == "corner" else anchors
    offset = data * jnp.asarray([std0, std1, std2, std3], data.dtype)
    scale = jnp.minimum(offset[..., 2:], clip) if clip > 0 else offset[..., 2:]
    middle = offset[..., :2] * anchor[..., 2:] + anchor[..., :2]
    return to_corner(jnp.concatenate([middle, jnp.exp(scale) * anchor[..., 2:]], axis=-1))


@register("_contrib_bipartite_matching", outputs=("output0", "output1"))
def bipartite_matching(data: Array, *, is_ascend: bool = False, threshold: float, topk: int = -1):
    """Pairs rows and columns, best score first, each row and each column at most once.

    data (..., N, M), scores, floating; the best one is the largest, or with ``is_ascend`` the
    smallest. Scores must be beyond ``threshold``; at most ``topk`` + 1 pairs are made, as in
    MXNet, if ``topk`` is positive. Returns the column of each row, (..., N), and the row of each
    column, (..., M), -1 for unpaired ones. Gradients are zero.
    """
    *batch, rows, columns = data.shape
    score = lax.stop_gradient(data).reshape(-1, rows, columns)
    score, limit = (-score, -threshold) if is_ascend else (score, threshold)
    pair_count = min_dim(min_dim(rows, columns), topk + 1 if topk > 0 else rows)

    def match(score: Array) -> tuple[Array, Array]:
        def match_best_pair(_, state):
            column_of, row_of = state
            free = (column_of < 0)[:, None] & (row_of < 0)
            best = jnp.argmax(jnp.where(free, score, -jnp.inf)).astype(jnp.int32)
            row, column = best // columns, best % columns
            acceptable = free[row, column] & (score[row, column] > limit)
            column_of = column_of.at[row].set(jnp.where(acceptable, column, column_of[row]))
            row_of = row_of.at[column].set(jnp.where(acceptable, row, row_of[column]))
            return column_of, row_of

        unmatched = jnp.full(rows, -1, jnp.int32), jnp.full(columns, -1, jnp.int32)
        return lax.fori_loop(0, pair_count, match_best_pair, unmatched)

    column_of, row_of = (m.astype(data.dtype) for m in jax.vmap(match)(score))
    return column_of.reshape(*batch, rows), row_of.reshape(*batch, columns)
