"""Operators that loop, at the sizes of SSD300, Faster R-CNN and lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._operators import Case

ANCHORS = 8732  # of SSD300


def _boxes(rng: np.random.RandomState, *shape: int) -> np.ndarray:
    """Corner boxes within the unit square, of a fifth of it and less on each side."""
    corner = rng.uniform(0, 0.8, (*shape, 2))
    return np.concatenate([corner, corner + rng.uniform(0.02, 0.2, (*shape, 2))], axis=-1)


def cases(mx: Any) -> Iterator[Case]:
    """The operators as networks of that size call them."""
    rng, var = np.random.RandomState(0), mx.sym.Variable
    classes = rng.randint(0, 20, (4, ANCHORS, 1))
    detections = np.concatenate(
        [classes, rng.rand(4, ANCHORS, 1), _boxes(rng, 4, ANCHORS)], axis=-1
    )
    nms = {"overlap_thresh": 0.45, "valid_thresh": 0.01, "id_index": 0, "coord_start": 2}
    yield Case(
        "box_nms, 4 x 8732 boxes, best 400",
        mx.sym.contrib.box_nms(var("data"), topk=400, **nms),
        {"data": detections},
    )
    yield Case(
        "box_nms, 8732 boxes, all",
        mx.sym.contrib.box_nms(var("data"), **nms),
        {"data": detections[:1]},
    )
    yield Case(
        "Proposal, 6000 of 38 x 50 x 12 anchors",
        mx.sym.contrib.Proposal(
            var("data"), var("offsets"), var("info"), rpn_pre_nms_top_n=6000,
            rpn_post_nms_top_n=300, threshold=0.7, feature_stride=16,
        ),
        {
            "data": rng.rand(1, 24, 38, 50),
            "offsets": rng.randn(1, 48, 38, 50) * 0.1,
            "info": np.array([[608, 800, 1]]),
        },
    )  # fmt: skip
    yield Case(
        "MultiProposal, 2 images, 6000 of 38 x 50 x 12 anchors",
        mx.sym.contrib.MultiProposal(
            var("data"), var("offsets"), var("info"), rpn_pre_nms_top_n=6000,
            rpn_post_nms_top_n=300, threshold=0.7, feature_stride=16,
        ),
        {
            "data": rng.rand(2, 24, 38, 50),
            "offsets": rng.randn(2, 48, 38, 50) * 0.1,
            "info": np.array([[608, 800, 1]] * 2),
        },
    )  # fmt: skip
    yield Case(
        "MultiBoxPrior, 64 x 64 places, 6 boxes each",
        mx.sym.contrib.MultiBoxPrior(
            var("data"), sizes=(0.2, 0.27), ratios=(1, 2, 0.5, 3, 1 / 3), clip=True
        ),
        {"data": rng.rand(1, 3, 64, 64)},
    )
    anchors = _boxes(rng, 1, ANCHORS)
    truth = np.concatenate([rng.randint(0, 20, (8, 10, 1)), _boxes(rng, 8, 10)], axis=-1)
    yield Case(
        "MultiBoxTarget, 8 images, 8732 anchors",
        mx.sym.contrib.MultiBoxTarget(
            var("data"), var("label"), var("scores"), negative_mining_ratio=3,
            negative_mining_thresh=0.5,
        )[0],
        {"data": anchors, "label": truth, "scores": rng.randn(8, 21, ANCHORS)},
    )  # fmt: skip
    scores = np.exp(rng.randn(4, 21, ANCHORS) * 2)
    scores /= scores.sum(axis=1, keepdims=True)
    yield Case(
        "MultiBoxDetection, 4 images, 8732 anchors, best 400",
        mx.sym.contrib.MultiBoxDetection(
            var("data"), var("offsets"), var("anchors"), nms_threshold=0.45, nms_topk=400
        ),
        {"data": scores, "offsets": rng.randn(4, ANCHORS * 4) * 0.1, "anchors": anchors},
    )
    yield Case(
        "CTCLoss and its gradient, 200 steps, 32 texts of 30",
        mx.sym.CTCLoss(var("data"), var("label")),
        {"data": rng.randn(200, 32, 80), "label": rng.randint(1, 80, (32, 30))},
        ("data",),
    )
    yield Case(
        "box_iou, 8732 and 100 boxes",
        mx.sym.contrib.box_iou(var("lhs"), var("rhs"), format="corner"),
        {"lhs": anchors[0], "rhs": _boxes(rng, 100)},
    )
    yield Case(
        "bipartite_matching, 8 images, 8732 boxes, 50 objects",
        mx.sym.contrib.bipartite_matching(var("data"), threshold=0.1)[0],
        {"data": rng.rand(8, ANCHORS, 50)},
    )
    yield Case(
        "box_decode, 8 images, 8732 boxes",
        mx.sym.contrib.box_decode(var("data"), var("anchors"), format="corner"),
        {"data": rng.randn(8, ANCHORS, 4) * 0.1, "anchors": anchors},
    )
