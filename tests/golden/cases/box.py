"""Boxes in general: overlap and suppression."""

from __future__ import annotations

import numpy as np

from ._case import Case, Spec, values
from .detection import boxes


def scored(batch: int, rows: int, seed: int, classes: int = 2) -> Spec:
    """Rows (class, score, box) as box_nms takes them, with distinct scores."""
    rng = np.random.RandomState(seed)
    rows_of_boxes = np.array(boxes(batch, rows, seed=seed, extra=2).options[0])
    rows_of_boxes[..., 0] = rng.randint(-1, classes, (batch, rows))
    rows_of_boxes[..., 1] = rng.permutation(batch * rows).reshape(batch, rows) / (batch * rows)
    rows_of_boxes[..., 4:] = rows_of_boxes[..., 2:4] + rng.uniform(0.2, 0.6, (batch, rows, 2))
    return values(rows_of_boxes.round(4).tolist())


def _nms(name: str, batch=2, rows=12, seed=0, also=(), data=None, **attrs) -> Case:
    inputs = {"data": data or scored(batch, rows, seed)}
    return Case(f"_contrib_box_nms_{name}", "_contrib_box_nms", inputs, attrs, also=also)


CASES = [
    _nms("plain", also=("float64",)),
    _nms("file", overlap_thresh=0.45, valid_thresh=0.01, topk=400, coord_start=2, score_index=1,
         id_index=0, force_suppress=False),
    _nms("topk", overlap_thresh=0.6, topk=5, id_index=0, seed=2),
    _nms("force", overlap_thresh=0.3, id_index=0, force_suppress=True, seed=3),
    _nms("background", overlap_thresh=0.3, id_index=0, background_id=0, seed=4),
    _nms("valid", overlap_thresh=0.7, valid_thresh=0.6, seed=5),
    _nms("none_valid", valid_thresh=5.0),
    _nms("center", overlap_thresh=0.2, in_format="center", out_format="corner", id_index=0, seed=6),
    _nms("to_center", overlap_thresh=0.2, out_format="center", valid_thresh=0.3, seed=7),
    _nms("flat", data=values(scored(1, 6, 9).options[0][0]), overlap_thresh=0.2),
    _nms("deep", data=values([scored(2, 5, 10).options[0]] * 2), overlap_thresh=0.2, topk=3),
    _nms("columns", data=values([[[0.1, 0.1, 0.6, 0.5, 7.0, 0.9], [0.1, 0.15, 0.6, 0.5, 8.0, 0.8],
                                  [0.7, 0.7, 0.9, 0.9, 9.0, 0.95]]]),
         coord_start=0, score_index=5),
    _nms("ties", data=values([[[0, 0.5, 0.1, 0.1, 0.2, 0.2], [0, 0.5, 0.3, 0.3, 0.4, 0.4],
                               [0, 0.5, 0.1, 0.1, 0.2, 0.2]]])),
    Case("_contrib_box_iou_corner", "_contrib_box_iou",
         {"lhs": boxes(2, 3, seed=1), "rhs": boxes(5, seed=2)}, also=("float64",)),
    Case("_contrib_box_iou_center", "_contrib_box_iou",
         {"lhs": boxes(3, seed=3), "rhs": boxes(2, 2, seed=4)}, {"format": "center"}),
    Case("_contrib_box_iou_odd", "_contrib_box_iou",
         {"lhs": values([[0.5, 0.5, 0.2, 0.2], [0.1, 0.1, 0.1, 0.1], [0.0, 0.0, 1.0, 1.0]]),
          "rhs": values([[0.0, 0.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.1]])}),
]  # fmt: skip
