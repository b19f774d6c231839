"""Boxes against anchors: encoding, decoding, matching."""

from __future__ import annotations

from ._case import Case, distinct, normal, uniform, values
from .detection import boxes


def _encode(name: str, batch: int, count: int, refs: int, samples, matches, also=()) -> Case:
    inputs = {
        "samples": values(samples), "matches": values(matches),
        "anchors": boxes(batch, count, seed=3), "refs": boxes(batch, refs, seed=5),
        "means": values([0.0, 0.1, 0.2, -0.1]), "stds": values([0.1, 0.1, 0.2, 0.3]),
    }  # fmt: skip
    return Case(f"_contrib_box_encode_{name}", "_contrib_box_encode", inputs, also=also)


def _decode(name: str, data=None, also=(), **attrs) -> Case:
    inputs = {"data": data or normal(2, 5, 4), "anchors": boxes(1, 5, seed=2)}
    return Case(f"_contrib_box_decode_{name}", "_contrib_box_decode", inputs, attrs, also=also)


def _match(name: str, data, also=(), **attrs) -> Case:
    op = "_contrib_bipartite_matching"
    return Case(f"{op}_{name}", op, {"data": data}, attrs, also=also)


CASES = [
    _encode("plain", 2, 3, 2, [[1, 0, -1], [1, 1, 0]], [[1, 0, 0], [0, 1, 1]], also=("float64",)),
    _encode("one", 1, 1, 1, [[1]], [[0]]),
    _decode("plain", also=("float64",)),
    _decode("corner", format="corner", std0=0.1, std1=0.1, std2=0.2, std3=0.3),
    _decode("clip", clip=0.5),
    _match("plain", uniform(2, 4, 3), threshold=0.3, also=("float64",)),
    _match("ascend", uniform(2, 3, 5), threshold=0.6, is_ascend=True),
    _match("topk", distinct(4, 5), threshold=0.25, topk=2),
    _match("topk_one", distinct(4, 5), threshold=0.25, topk=1),
    _match("topk_none", distinct(3, 2), threshold=0.25, topk=0),
    _match("ties", values([[0.5, 0.5, 0.2], [0.5, 0.5, 0.5]]), threshold=0.2),
    _match("threshold", values([[0.5, 0.1], [0.25, 0.25]]), threshold=0.25),
    _match("many", distinct(2, 2, 3, 4), threshold=1e-12),
]
