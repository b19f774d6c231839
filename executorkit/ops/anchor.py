"""Boxes against anchors: offsets between them, both ways, and matching by score."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ._boxes import BoxFormat, to_center, to_corner
from ._facts import Params, ShapeFacts
from ._registry import register


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
    samples: jax.Array,
    matches: jax.Array,
    anchors: jax.Array,
    refs: jax.Array,
    means: jax.Array,
    stds: jax.Array,
):
    """Offsets from anchors to the boxes that they are matched with: targets of a regression.

    samples (B, N), positive above 0.5; matches (B, N), which of the M boxes each anchor belongs to;
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
    data: jax.Array,
    anchors: jax.Array,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: BoxFormat = "center",
):
    """Corner boxes from offsets to anchors: what ``box_encode`` does, backwards.

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
def bipartite_matching(
    data: jax.Array, *, is_ascend: bool = False, threshold: float, topk: int = -1
):
    """Pairs of rows and columns, best score first, each row and each column at most once.

    data (..., N, M), scores, floating; the best one is the largest, or with ``is_ascend`` the
    smallest. Scores have to be beyond ``threshold``; at most ``topk`` + 1 pairs are made, as in
    MXNet, if ``topk`` is positive. Returns the column of each row, (..., N), and the row of each
    column, (..., M), -1 for those without. Gradients are zero.
    """
    *batch, rows, columns = data.shape
    score = lax.stop_gradient(data).reshape(-1, rows, columns)
    score, limit = (-score, -threshold) if is_ascend else (score, threshold)
    turns = min(rows, columns, topk + 1 if topk > 0 else rows)

    def match(score: jax.Array) -> tuple[jax.Array, jax.Array]:
        def turn(_, state):
            column_of, row_of = state
            free = (column_of < 0)[:, None] & (row_of < 0)
            best = jnp.argmax(jnp.where(free, score, -jnp.inf)).astype(jnp.int32)
            row, column = best // columns, best % columns
            good = free[row, column] & (score[row, column] > limit)
            column_of = column_of.at[row].set(jnp.where(good, column, column_of[row]))
            row_of = row_of.at[column].set(jnp.where(good, row, row_of[column]))
            return column_of, row_of

        none = jnp.full(rows, -1, jnp.int32), jnp.full(columns, -1, jnp.int32)
        return lax.fori_loop(0, turns, turn, none)

    column_of, row_of = (m.astype(data.dtype) for m in jax.vmap(match)(score))
    return column_of.reshape(*batch, rows), row_of.reshape(*batch, columns)
