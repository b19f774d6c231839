"""Proposals of a region proposal network: likely boxes of objects, after suppression."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._support.annotations import Attrs
from ..schema.attrs import Floats
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from .bounding_boxes import greedy_suppression


def _infer_proposal_shape(s: ShapeFacts, p: Params) -> None:
    scores = s["cls_prob"]
    if scores is None:
        return
    batch, channels, height, width = scores if len(scores) == 4 else (0, 0, 0, 0)
    s.set("cls_prob", (0, 0, 0, 0), because="scores are (N, 2 A, H, W)")
    s.set("bbox_pred", (batch, channels * 2, height, width), because=f"cls_prob is {scores}")
    s.set("im_info", (batch, 3), because="an image has height, width and scale")


def _anchors(stride: int, ratios: Floats, scales: Floats) -> np.ndarray:
    # The anchors of the first position, (A, 4): for each ratio (height by width) each scale.
    middle, area = (stride - 1) / 2, stride * stride
    boxes = []
    for ratio in ratios:
        width = math.floor(math.sqrt(math.floor(np.float32(area / np.float32(ratio)))) + 0.5)
        height = math.floor(np.float32(width * np.float32(ratio)) + 0.5)
        for scale in scales:
            x, y = (width * scale - 1) / 2, (height * scale - 1) / 2
            boxes.append((middle - x, middle - y, middle + x, middle + y))
    return np.array(boxes)


def _box_sizes(box: Array) -> Array:
    return box[..., 2:] - box[..., :2] + 1


def _apply_offsets(anchor: Array, offset: Array, directly: bool) -> Array:
    # Anchors moved by the predicted offsets: corner by corner, or in center form.
    if directly:
        return anchor + offset
    size = _box_sizes(anchor)
    middle = anchor[..., :2] + (size - 1) / 2 + offset[..., :2] * size
    half = (jnp.exp(offset[..., 2:]) * size - 1) / 2
    return jnp.concatenate([middle - half, middle + half], axis=-1)


def _best_boxes(scores, offsets, info, p: Params) -> tuple[Array, Array]:
    # The boxes (pre, 4) of one image that suppression compares, and scores (pre,), sorted.
    channels, rows, columns = scores.shape
    count, kind, stride = channels // 2, scores.dtype, p.feature_stride
    base = jnp.asarray(_anchors(stride, p.ratios, p.scales), kind)
    y, x = (jnp.arange(n, dtype=jnp.int32) for n in (rows, columns))
    at_x, at_y = (m.astype(kind) * stride for m in jnp.meshgrid(x, y))
    anchor = base + jnp.stack([at_x, at_y, at_x, at_y], axis=-1)[:, :, None]
    offset = jnp.moveaxis(offsets.reshape(count, 4, rows, columns), (0, 1), (2, 3))
    score = jnp.moveaxis(scores[count:], 0, 2)

    height, width, scale = info
    last = jnp.stack([width, height, width, height]) - 1
    box = jnp.clip(_apply_offsets(anchor, offset, p.iou_loss), 0, last)
    below = y[:, None] >= (height / stride).astype(jnp.int32)
    padding = below | (x >= (width / stride).astype(jnp.int32))
    min_size = p.rpn_min_size * scale
    small = jnp.any(_box_sizes(box) < min_size, axis=-1)
    grown = jnp.asarray([-0.5, -0.5, 0.5, 0.5], kind) * min_size
    box = jnp.where(small[..., None], box + grown, box).reshape(-1, 4)
    score = jnp.where(padding[..., None] | small, -1, score).reshape(-1)

    before = min(p.rpn_pre_nms_top_n, score.size) if p.rpn_pre_nms_top_n > 0 else score.size
    score, order = lax.top_k(score, before)  # of ties, the first comes first
    return box[order], score


def _kept_boxes(box, score, keep, p: Params) -> tuple[Array, Array]:
    # Boxes (post, 4) and scores (post, 1) of one image after suppression.
    before = len(score)
    after = min(p.rpn_post_nms_top_n, before)
    rank = jnp.cumsum(keep, dtype=jnp.int32) - 1
    slot = jnp.where(keep, rank, after)
    at = jnp.arange(before, dtype=jnp.int32)
    front = jnp.zeros(after, jnp.int32).at[slot].set(at, mode="drop")
    kept_count = jnp.minimum(rank[-1] + 1, after)
    chosen = front[jnp.arange(p.rpn_post_nms_top_n, dtype=jnp.int32) % kept_count]
    return box[chosen], score[chosen, None]


_RULES: Attrs = {
    "outputs": ("output", "score"),
    "visible": lambda p: 2 if p.output_score else 1,
    "infer_shape": _infer_proposal_shape,
    "loss": True,
}


@register("_contrib_Proposal", **_RULES)
@register("_contrib_MultiProposal", **_RULES)
def proposal(
    cls_prob: Array,
    bbox_pred: Array,
    im_info: Array,
    *,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Floats = (4.0, 8.0, 16.0, 32.0),
    ratios: Floats = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
):
    """Proposes regions of interest from a region proposal network's scores and offsets.

    cls_prob (N, 2 A, H, W), of which the last A channels are the scores of A anchors (each of
    ``ratios`` with each of ``scales``) at every position, ``feature_stride`` pixels apart;
    bbox_pred (N, 4 A, H, W), offsets in center form, or with ``iou_loss`` of the corners; im_info
    (N, 3), each (height, width, scale) of an image. Boxes are cut at the image; boxes smaller than
    ``rpn_min_size`` times the scale are grown by half of that on each side and get score -1, as do
    boxes whose position is outside the image. Of the ``rpn_pre_nms_top_n`` best, a box goes if a
    better one overlaps it by more than ``threshold``. Returns ``rpn_post_nms_top_n`` = R rows
    (index of the image, x1, y1, x2, y2) for each image, (N R, 5), the best first, repeated where
    there are fewer; and, shown with ``output_score``, their scores (N R, 1). Gradients are zero.
    float32. Ren et al., Faster R-CNN, 2015.
    """
    p = Params(locals())
    arrays = (lax.stop_gradient(a) for a in (cls_prob, bbox_pred, im_info))
    box, score = jax.vmap(lambda a, b, c: _best_boxes(a, b, c, p))(*arrays)
    after = min(p.rpn_post_nms_top_n, score.shape[1])
    # One loop for all images: a batch of loops could not be part of a program with checks.
    keep = greedy_suppression(
        box.at[..., 2:].add(1), jnp.ones(score.shape, bool), None, p.threshold,
        inclusive=False, max_kept=after,
    )  # fmt: skip
    box, score = jax.vmap(lambda b, s, k: _kept_boxes(b, s, k, p))(box, score, keep)
    image = jnp.arange(box.shape[0], dtype=box.dtype)[:, None, None]
    image = jnp.broadcast_to(image, (*box.shape[:2], 1))
    return jnp.concatenate([image, box], axis=-1).reshape(-1, 5), score.reshape(-1, 1)
