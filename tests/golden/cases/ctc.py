"""Connectionist temporal classification."""

from __future__ import annotations

from ._case import Case, normal, values

FIRST = values([[1, 2, 2, 0], [3, 0, 0, 0], [1, 2, 3, 1]])
LAST = values([[0, 1, 1, -1], [2, -1, -1, -1], [0, 1, 2, 0]])


def _loss(name: str, label, steps: int = 7, classes: int = 5, op="CTCLoss",
          grad=("data",), no_grad=None, why=None, **options) -> Case:  # fmt: skip
    lengths = {k: options.pop(k) for k in ("data_lengths", "label_lengths") if k in options}
    attrs = {**options, **{f"use_{k}": True for k in lengths}}
    inputs = {"data": normal(steps, label.shape[0], classes), "label": label, **lengths}
    return Case(f"{op}_{name}", op, inputs, attrs, grad=grad, no_grad=no_grad,
                rtol=3e-5 if why else None, why=why)  # fmt: skip


CASES = [
    _loss("plain", FIRST, grad=("data", "label")),
    _loss("alias", FIRST, op="_contrib_ctc_loss"),
    _loss("last", LAST, blank_label="last"),
    _loss("label_lengths", FIRST, label_lengths=values([2, 1, 4])),
    _loss("label_lengths_last", LAST, label_lengths=values([3, 1, 2]), blank_label="last"),
    _loss("data_lengths", FIRST, data_lengths=values([7, 3, 5])),
    _loss("both", FIRST, data_lengths=values([4, 1, 6]), label_lengths=values([3, 1, 1])),
    _loss("impossible", values([[1, 1, 1], [2, 1, 0]]), steps=4,
          no_grad="MXNet leaves that of an impossible label undefined"),
    _loss("empty", values([[0, 0], [1, 0]])),
    _loss("one", values([[1]]), steps=1, classes=2),
    _loss("long", values([[(i * 7) % 11 + 1 for i in range(20)]]), steps=60, classes=12,
          why="MXNet adds up 60 steps in single precision"),
]  # fmt: skip
