"""Detection heads of SSD: anchors, their matching with labels, decoding and suppression.

Loops run on the device, over the labels or the remaining boxes, and each iteration works on all
anchors at once.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..schema.attrs import Floats
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from ..schema.traits import NAMED_DATA
from ..tensor.ordering import argmax, order
from .bounding_boxes import greedy_suppression, iou, to_center

VARIANCES = (0.1, 0.1, 0.2, 0.2)


@register("_contrib_MultiBoxPrior", traits={NAMED_DATA})
def multibox_prior(
    data: Array,
    *,
    sizes: Floats = (1.0,),
    ratios: Floats = (1.0,),
    clip: bool = False,
    steps: Floats = (-1.0, -1.0),
    offsets: Floats = (0.5, 0.5),
):
    """Generates anchor boxes around every position of a feature map, relative to the image.

    data (N, C, H, W), of which only H and W are used; returns corners (1, H * W * A, 4) with A =
    len(sizes) + len(ratios) - 1: at each position every size with the first ratio, then the first
    size with every other ratio. A box of size s and ratio r is ``s * sqrt(r) * H / W`` wide and ``s
    / sqrt(r)`` high. ``steps`` and ``offsets`` (y before x) place the positions, by default spread
    evenly; ``clip`` cuts the boxes at 0 and 1. float32. Liu et al., SSD, 2016.
    """
    height, width = data.shape[2:]
    axes = zip(steps, (height, width), strict=True)
    step_y, step_x = (1.0 / size if step <= 0 else step for step, size in axes)
    shapes = [(s, ratios[0] ** 0.5) for s in sizes] + [(sizes[0], r**0.5) for r in ratios[1:]]
    half = jnp.array([(s * height / width * r / 2, s / r / 2) for s, r in shapes], data.dtype)
    y = (jnp.arange(height, dtype=data.dtype) + offsets[0]) * step_y
    x = (jnp.arange(width, dtype=data.dtype) + offsets[1]) * step_x
    middle = jnp.stack(jnp.broadcast_arrays(x[None, :], y[:, None]), axis=-1)[:, :, None]
    box = jnp.concatenate([middle - half, middle + half], axis=-1).reshape(1, -1, 4)
    return jnp.clip(box, 0, 1) if clip else box


def _infer_target_shape(s: ShapeFacts, p: Params) -> None:
    anchor, label, scores = s["anchor"], s["label"], s["cls_pred"]
    s.set("anchor", (1, scores[2] if scores else 0, 4), because=f"cls_pred is {scores}")
    s.set("label", (scores[0] if scores else 0, 0, 0), because=f"cls_pred is {scores}")
    s.set(
        "cls_pred",
        (label[0] if label else 0, 0, anchor[1] if anchor else 0),
        because=f"label is {label} and anchor is {anchor}",
    )


def _match_labels(overlap: Array, valid: Array, threshold: float):
    # First each label takes the anchor that overlaps it most, best pair first; then every other
    # anchor takes the label that it overlaps most, if by more than ``threshold`` (if positive).
    # Returns mask, label and largest overlap of every anchor.
    anchors, labels = overlap.shape

    def assign_best_pair(_, state):
        matched, used_labels, label_of = state
        free = ~matched[:, None] & ~used_labels
        pair = jnp.argmax(jnp.where(free, overlap, -1.0)).astype(jnp.int32)
        anchor, label = pair // labels, pair % labels
        overlaps = jnp.where(free[anchor, label], overlap[anchor, label], -1.0) > 1e-6
        matched = matched.at[anchor].set(matched[anchor] | overlaps)
        used_labels = used_labels.at[label].set(used_labels[label] | overlaps)
        label_of = label_of.at[anchor].set(jnp.where(overlaps, label, label_of[anchor]))
        return matched, used_labels, label_of

    init = jnp.zeros(anchors, bool), ~valid, jnp.zeros(anchors, jnp.int32)
    matched, _, label_of = lax.fori_loop(0, jnp.sum(valid, dtype=jnp.int32), assign_best_pair, init)
    within = jnp.where(valid, overlap, -1.0)
    best = jnp.max(within, axis=1)
    if threshold > 0:
        second_match = ~matched & (best > threshold)
        label_of = jnp.where(second_match, argmax(within, 1), label_of)
        matched |= second_match
    return matched, label_of, best


@register(
    "_contrib_MultiBoxTarget",
    outputs=("loc_target", "loc_mask", "cls_target"),
    infer_shape=_infer_target_shape,
    loss=True,
)
def multibox_target(
    anchor: Array,
    label: Array,
    cls_pred: Array,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Floats = VARIANCES,
):
    """Computes training targets of every anchor: offsets to regress, their mask, and the class.

    anchor (1, A, 4) corners; label (N, M, 5 or more), rows (class, corner box, ...) up to the first
    whose class is -1; cls_pred (N, K, A) scores, class 0 being the background. Returns

    - loc_target (N, 4 A): for matched anchors ``((gx - x) / w, (gy - y) / h, log(gw / w),
      log(gh / h)) / variances``, in center form, g being the label's box; 0 elsewhere;
    - loc_mask (N, 4 A): 1 for matched anchors, else 0;
    - cls_target (N, A): the label's class + 1 for matched anchors, 0 for negative ones, else
      ``ignore_label`` - for all anchors of a sample without labels.

    Each label takes the anchor that overlaps it most, best pair first; each other anchor then takes
    the label that it overlaps most, if by more than ``overlap_threshold`` (if that is positive).
    All others are negative, or with ``negative_mining_ratio`` > 0 that many times the number of
    matched ones: the anchors that overlap every label by less than ``negative_mining_thresh`` and
    have the lowest background probability. (Where there are too few of these, MXNet refuses; here
    all are taken.) ``minimum_negative_samples`` has no effect, as in MXNet on CPU. Gradients are
    zero, and no head gradient is needed. float32. Liu et al., SSD, 2016.
    """
    thresholds = overlap_threshold, ignore_label, negative_mining_ratio, negative_mining_thresh
    arrays = (lax.stop_gradient(a) for a in (anchor[0], label, cls_pred))
    return _targets(*thresholds, tuple(variances), *arrays)


# JAX keeps the trace, so that inference of shapes and the program share one, of 0.1 s.
@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4), inline=True)
def _targets(
    overlap_threshold: float,
    ignore_label: float,
    negative_mining_ratio: float,
    negative_mining_thresh: float,
    variances: tuple[float, ...],
    anchor: Array,
    label: Array,
    scores: Array,
) -> tuple[Array, ...]:
    count = anchor.shape[0]
    x, y, w, h = jnp.moveaxis(to_center(anchor), -1, 0)

    def sample(label: Array, scores: Array):
        valid = jnp.cumsum(label[:, 0] == -1) == 0
        boxes = lax.slice_in_dim(label, 1, 5, axis=1)
        overlap = iou(anchor[:, None], boxes)
        matched, label_of, best = _match_labels(overlap, valid, overlap_threshold)
        negative = ~matched
        if negative_mining_ratio > 0:
            positives = jnp.sum(matched, dtype=jnp.int32)
            negative_count = positives.astype(jnp.float32) * negative_mining_ratio
            negative_count = negative_count.astype(jnp.int32)
            negative_count = jnp.minimum(negative_count, count - positives)
            candidate = negative & (best < negative_mining_thresh)
            hardest = order(jnp.where(candidate, jax.nn.softmax(scores, axis=0)[0], jnp.inf), 0)
            chosen = jnp.arange(count, dtype=jnp.int32) < negative_count
            negative = candidate & jnp.zeros(count, bool).at[hardest].set(chosen)
        truth = label[label_of]
        gx, gy, gw, gh = jnp.moveaxis(to_center(boxes[label_of]), -1, 0)
        shift = [(gx - x) / w, (gy - y) / h, jnp.log(gw / w), jnp.log(gh / h)]
        shift = jnp.stack(shift, axis=-1) / jnp.asarray(variances, anchor.dtype)
        hit = matched[:, None]
        class_target = jnp.where(matched, truth[:, 0] + 1, jnp.where(negative, 0, ignore_label))
        return (
            jnp.where(hit, shift, 0).reshape(-1),
            jnp.broadcast_to(hit, shift.shape).astype(anchor.dtype).reshape(-1),
            jnp.where(jnp.any(valid), class_target, ignore_label).astype(anchor.dtype),
        )

    return jax.vmap(sample)(label, scores)


def _infer_detection_shape(s: ShapeFacts, p: Params) -> None:
    scores, anchor = s["cls_prob"], s["anchor"]
    batch, count = (scores[0], scores[2]) if scores else (0, 0)
    count = count or (anchor[1] if anchor else 0)
    s.set("cls_prob", (0, 0, count), because=f"anchor is {anchor}")
    s.set("loc_pred", (batch, 4 * count), because=f"cls_prob is {scores}")
    s.set("anchor", (1, count, 4), because=f"cls_prob is {scores}")


@register("_contrib_MultiBoxDetection", infer_shape=_infer_detection_shape)
def multibox_detection(
    cls_prob: Array,
    loc_pred: Array,
    anchor: Array,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Floats = VARIANCES,
    nms_topk: int = -1,
):
    """Detects objects from class probabilities and regressed boxes, with suppression.

    cls_prob (N, K, A), class 0 being the background; loc_pred (N, 4 A), offsets in the form of
    ``MultiBoxTarget``; anchor (1, A, 4) corners. Returns (N, A, 6), rows (class, score, corner
    box): first every anchor whose best foreground class reaches ``threshold``, best score first,
    with classes counted from 0; then rows of -1. Of these, boxes that a better one of their class
    (any, with ``force_suppress``) overlaps by ``nms_threshold`` or more keep their row, but their
    class becomes -1; so do all after the ``nms_topk`` best, whose rows stay in anchor order.
    ``clip`` cuts boxes at 0 and 1. An ``nms_threshold`` outside (0, 1] skips suppression and
    sorting. ``background_id`` has no effect, as in MXNet. Gradients are zero. float32.
    """
    batch, _, count = cls_prob.shape
    scores, loc_pred, anchor = (lax.stop_gradient(a) for a in (cls_prob, loc_pred, anchor[0]))
    foreground = scores[:, 1:]
    score = jnp.max(foreground, axis=1)
    kind = argmax(foreground, 1).astype(scores.dtype)
    valid = score >= threshold

    center = to_center(anchor)
    shift = loc_pred.reshape(batch, count, 4) * jnp.asarray(variances, anchor.dtype)
    middle = shift[..., :2] * center[:, 2:] + center[:, :2]
    half = jnp.exp(shift[..., 2:]) * center[:, 2:] / 2
    box = jnp.concatenate([middle - half, middle + half], axis=-1)
    box = jnp.clip(box, 0, 1) if clip else box
    rows = jnp.concatenate([kind[..., None], score[..., None], box], axis=-1)

    def in_order(index: Array) -> Array:
        return jnp.take_along_axis(rows, index[..., None], axis=1)

    filled = jnp.sum(valid, axis=1, keepdims=True)
    at = jnp.arange(count, dtype=jnp.int32)
    is_detection = (at < filled)[..., None]
    by_anchor = in_order(order(~valid, 1))
    if not 0 < nms_threshold <= 1:
        return jnp.where(is_detection, by_anchor, -1)
    by_score = in_order(order(jnp.where(valid, score, -jnp.inf), 1, ascending=False))
    limit = min(nms_topk, count) if nms_topk > 0 else count
    candidate = at < jnp.minimum(filled, limit)
    box, candidate = by_score[:, :limit, 2:], candidate[:, :limit]
    kind = None if force_suppress else by_score[:, :limit, 0]
    keep = greedy_suppression(box, candidate, kind, nms_threshold, inclusive=True)
    out = jnp.where((at < limit)[:, None], by_score, by_anchor)
    keep = jnp.pad(keep, ((0, 0), (0, count - limit)))
    out = out.at[..., 0].set(jnp.where(keep, out[..., 0], -1))
    return jnp.where(is_detection, out, -1)
