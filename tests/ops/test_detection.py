"""Detection beyond the golden answers: real sizes, and overlap rules as properties."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from executorkit import ops


def program(name: str, *shapes: tuple[int, ...], **attrs: Any) -> str:
    op = ops.lookup(name)
    assert op is not None
    p = op.parse(attrs)
    arrays = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]
    with jax.enable_x64(True):
        return jax.jit(lambda *a: op.apply(p, a)).lower(*arrays).as_text()


@pytest.mark.parametrize(
    ("name", "shapes", "attrs"),
    [
        ("_contrib_MultiBoxTarget", lambda n: [(1, n, 4), (2, n, 5), (2, 3, n)],
         {"negative_mining_ratio": 3}),
        ("_contrib_MultiBoxDetection", lambda n: [(2, 3, n), (2, 4 * n), (1, n, 4)], {}),
        ("_contrib_box_nms", lambda n: [(2, n, 6)], {}),
    ],
)  # fmt: skip
def test_program_does_not_grow_with_the_boxes(name, shapes, attrs):
    small, large = (len(program(name, *shapes(n), **attrs).splitlines()) for n in (50, 8732))
    assert large == small


def test_too_few_negatives_takes_all_there_are():
    anchor = np.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1], [0.1, 0, 0.6, 0.5]]], "f4")
    label = np.array([[[2, 0, 0, 0.5, 0.5]]], "f4")
    op = ops.lookup("_contrib_MultiBoxTarget")
    p = op.parse({"negative_mining_ratio": 2, "negative_mining_thresh": 0.1,
                  "overlap_threshold": 0.9})  # fmt: skip
    *_, kind = op.apply(p, [anchor, label, np.zeros((1, 4, 3), "f4")])
    np.testing.assert_array_equal(kind, [[3, 0, -1]])


def test_selected_boxes_do_not_overlap_and_suppressed_ones_do():
    rng = np.random.default_rng(0)
    first = rng.uniform(0, 1, (1, 60, 2))
    box = np.concatenate([first, first + rng.uniform(0.1, 0.5, (1, 60, 2))], -1)
    data = np.concatenate([np.zeros((1, 60, 1)), rng.permutation(60)[None, :, None] + 1, box], -1)
    op = ops.lookup("_contrib_box_nms")
    (out,) = op.apply(op.parse({"overlap_thresh": 0.3}), [data.astype("f4")])
    remaining = np.asarray(out[0][out[0, :, 1] > 0])
    iou = ops.lookup("_contrib_box_iou")
    (between,) = iou.apply(iou.parse({}), [data[0, :, 2:].astype("f4"), remaining[:, 2:]])
    better = remaining[:, 1] > data[0, :, 1:2]
    dropped = ~np.isin(data[0, :, 1], remaining[:, 1])
    np.testing.assert_array_equal(np.any((np.asarray(between) > 0.3) & better, axis=1), dropped)
    assert 0 < len(remaining) < 60


def test_suppression_compares_classes_without_their_fractions():
    rows = [[1.9, 0.9, 0, 0, 1, 1], [1.2, 0.8, 0, 0, 1, 1], [0.9, 0.7, 0, 0, 1, 1]]
    op = ops.lookup("_contrib_box_nms")
    assert op is not None
    p = op.parse({"id_index": 0, "coord_start": 2, "score_index": 1})
    kept, *_ = op.apply(p, [jax.numpy.array(rows, np.float32)])
    np.testing.assert_array_equal(kept[:, 1], np.array([0.9, 0.7, -1], np.float32))
