"""Detection heads: anchors, their matching with labels, decoding and suppression."""

from __future__ import annotations

import numpy as np

from ._case import Case, Spec, normal, uniform, values

NONE = "decides; all gradients are zero and compared in one case"


def boxes(*lead: int, seed: int, extra: int = 0) -> Spec:
    """Boxes (x1, y1, x2, y2) within the unit square, after ``extra`` uniform columns."""
    rng = np.random.RandomState(seed)
    first = rng.uniform(0, 0.7, (*lead, 2))
    last = first + rng.uniform(0.08, 0.4, (*lead, 2))
    columns = [rng.uniform(size=(*lead, extra)), first, np.minimum(last, 1.0)]
    return values(np.concatenate(columns, axis=-1).round(4).tolist())


def labels(batch: int, rows: int, valid: tuple[int, ...], seed: int, extra: int = 0) -> Spec:
    """Ground truth (class, box, extra...) with ``valid[i]`` boxes in sample i, -1 behind."""
    rows_of_boxes = np.array(boxes(batch, rows, seed=seed, extra=1).options[0])
    rows_of_boxes[..., 0] = np.random.RandomState(seed + 1).randint(0, 3, (batch, rows))
    rows_of_boxes = np.concatenate([rows_of_boxes, np.zeros((batch, rows, extra))], axis=-1)
    for sample, count in zip(rows_of_boxes, valid, strict=True):
        sample[count:] = -1
    return values(rows_of_boxes.tolist())


def _prior(name: str, height: int, width: int, **attrs) -> Case:
    return Case(f"_contrib_MultiBoxPrior_{name}", "_contrib_MultiBoxPrior",
                {"data": normal(2, 3, height, width)}, attrs)  # fmt: skip


def _target(name: str, valid=(3, 1), anchors=40, extra=0, seed=0, classes=4, **attrs) -> Case:
    batch = len(valid)
    inputs = {
        "anchor": boxes(1, anchors, seed=seed),
        "label": labels(batch, 4, valid, seed + 1, extra),
        "cls_pred": normal(batch, classes, anchors),
    }
    return Case(f"_contrib_MultiBoxTarget_{name}", "_contrib_MultiBoxTarget", inputs, attrs,
                no_grad=None if name == "plain" else NONE)  # fmt: skip


def _detect(name: str, batch=2, anchors=24, classes=3, low=0.0, seed=0, **attrs) -> Case:
    inputs = {
        "cls_prob": uniform(batch, classes, anchors, low=low),
        "loc_pred": uniform(batch, anchors * 4, low=-1.0),
        "anchor": boxes(1, anchors, seed=seed),
    }
    return Case(f"_contrib_MultiBoxDetection_{name}", "_contrib_MultiBoxDetection", inputs, attrs,
                no_grad=None if name == "plain" else NONE)  # fmt: skip


CASES = [
    _prior("plain", 3, 4, sizes=(0.5, 0.3), ratios=(1, 2, 0.5)),
    _prior("square", 2, 2, sizes=(0.2, 0.272029), ratios=(1, 2, 0.5, 3, 0.333333333333)),
    _prior("text", 2, 3, sizes="(0.1,0.141421)", ratios="[1, 2, 0.5]", steps="(-1.0, -1.0)"),
    _prior("clip", 2, 5, sizes=(0.9,), ratios=(2.0, 0.5), clip=True),
    _prior("steps", 3, 2, sizes=(0.4,), steps=(0.3, 0.4), offsets=(0.25, 0.75)),
    _prior("default", 1, 1),
    _target("plain"),
    _target("threshold", overlap_threshold=0.2, seed=4),
    _target("no_threshold", overlap_threshold=-1.0, seed=4),
    _target("mining", overlap_threshold=0.3, negative_mining_ratio=3, negative_mining_thresh=0.5,
            seed=7),
    _target("mining_few", negative_mining_ratio=1.0, negative_mining_thresh=0.1, seed=2),
    _target("mining_minimum", negative_mining_ratio=1, minimum_negative_samples=12, seed=3,
            ignore_label=-2.0),
    _target("mining_no_threshold", overlap_threshold=0.0, negative_mining_ratio=2.0, seed=5),
    _target("none_valid", valid=(0, 2, 0), negative_mining_ratio=3.0),
    _target("full_and_wide", valid=(4, 3), extra=2, variances=(0.2, 0.1, 0.5, 0.4), seed=6),
    _target("one_anchor", valid=(1,), anchors=1),
    _target("more_labels_than_anchors", valid=(4,), anchors=2, overlap_threshold=0.01),
    _detect("plain"),
    _detect("ssd", nms_topk=6, nms_threshold=0.45, variances=(0.1, 0.1, 0.2, 0.2), seed=1),
    _detect("force", force_suppress=True, nms_threshold=0.3, seed=2),
    _detect("threshold", threshold=0.7, clip=False, seed=3),
    _detect("nothing", threshold=2.0),
    _detect("no_nms", nms_threshold=-1.0, threshold=0.5),
    _detect("background", background_id=1, anchors=8),
    _detect("variances", variances=(0.2, 0.1, 0.3, 0.1), anchors=6),
    _detect("topk_one", nms_topk=1, anchors=6),
]  # fmt: skip
