"""Operators that loop, at the sizes of real detectors and recognisers, for either package.

As a program, it is MXNet's side of ``bench_detection``: it prints the size of every first result
as JSON, then for every name that it reads the seconds of another call.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ANCHORS = 8732  # of SSD300


def _boxes(rng: np.random.RandomState, *shape: int) -> np.ndarray:
    """Corner boxes within the unit square, of a fifth of it and less on each side."""
    corner = rng.uniform(0, 0.8, (*shape, 2))
    return np.concatenate([corner, corner + rng.uniform(0.02, 0.2, (*shape, 2))], axis=-1)


def questions(mx: Any) -> Iterator[tuple[str, Any, dict[str, np.ndarray], bool]]:
    """Name, symbol, inputs and whether the gradient of ``data`` is asked too."""
    rng, var = np.random.RandomState(0), mx.sym.Variable
    classes = rng.randint(0, 20, (4, ANCHORS, 1))
    found = np.concatenate([classes, rng.rand(4, ANCHORS, 1), _boxes(rng, 4, ANCHORS)], axis=-1)
    nms = {"overlap_thresh": 0.45, "valid_thresh": 0.01, "id_index": 0, "coord_start": 2}
    yield (
        "box_nms, 4 x 8732 boxes, best 400",
        mx.sym.contrib.box_nms(var("data"), topk=400, **nms),
        {"data": found},
        False,
    )
    yield (
        "box_nms, 8732 boxes, all",
        mx.sym.contrib.box_nms(var("data"), **nms),
        {"data": found[:1]},
        False,
    )
    yield (
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
        False,
    )  # fmt: skip
    truth = np.concatenate([rng.randint(0, 20, (8, 10, 1)), _boxes(rng, 8, 10)], axis=-1)
    yield (
        "MultiBoxTarget, 8 images, 8732 anchors",
        mx.sym.contrib.MultiBoxTarget(
            var("data"), var("label"), var("scores"), negative_mining_ratio=3,
            negative_mining_thresh=0.5,
        )[0],
        {
            "data": _boxes(rng, 1, ANCHORS),
            "label": truth,
            "scores": rng.randn(8, 21, ANCHORS),
        },
        False,
    )  # fmt: skip
    yield (
        "CTCLoss and its gradient, 200 steps, 32 texts of 30",
        mx.sym.CTCLoss(var("data"), var("label")),
        {"data": rng.randn(200, 32, 80), "label": rng.randint(1, 80, (32, 30))},
        True,
    )


def calls(mx: Any, wait: Callable[[Any], Any]) -> dict[str, Callable[[], Any]]:
    """What is timed, by name: one run of an executor, until ``wait`` has seen its result."""

    def call(symbol: Any, inputs: dict[str, np.ndarray], backward: bool) -> Callable[[], Any]:
        arrays = {name: mx.nd.array(value.astype("float32")) for name, value in inputs.items()}
        grads = {"data": mx.nd.zeros(inputs["data"].shape)} if backward else None
        request = "null" if grads is None else {"data": "write", "label": "null"}
        executor = symbol.bind(mx.cpu(), arrays, args_grad=grads, grad_req=request)
        head = mx.nd.ones((inputs["data"].shape[1],)) if backward else None

        def run() -> Any:
            outputs = executor.forward(is_train=backward)
            if head is None:
                return wait(outputs[0])
            executor.backward([head])
            return wait(executor.grad_dict["data"])

        return run

    return {
        name: call(symbol, inputs, backward) for name, symbol, inputs, backward in questions(mx)
    }


def size(result: np.ndarray) -> float:
    """The sum of magnitudes, by which two results are compared."""
    return float(np.abs(result.astype("float64")).sum())


def _answer() -> None:
    import mxnet as mx

    def wait(array: Any) -> Any:
        array.wait_to_read()
        return array

    def seconds(run: Callable[[], Any]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    runs = calls(mx, wait)
    print(json.dumps({name: size(run().asnumpy()) for name, run in runs.items()}), flush=True)
    for line in sys.stdin:
        print(seconds(runs[line.strip()]), flush=True)


if __name__ == "__main__":
    _answer()
