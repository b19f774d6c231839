"""Operators that look entries up, order them, or treat sequences of unequal length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._operators import Case, both


def cases(mx: Any) -> Iterator[Case]:
    """Each operator forward, and forward with backward where it has a gradient."""
    rng, sym, var = np.random.RandomState(0), mx.sym, mx.sym.Variable
    data, index = var("data"), var("index")
    words = {"data": rng.randint(0, 20000, (64, 100)), "weight": rng.randn(20000, 256)}
    yield from both(
        "Embedding, 64 x 100 of 20000 words, 256 numbers",
        sym.Embedding(var("data"), var("weight"), input_dim=20000, output_dim=256),
        words,
        "weight",
    )
    yield from both(
        "take, 6400 rows of 20000 x 256",
        sym.take(data, index),
        {"data": words["weight"], "index": words["data"].reshape(-1)},
        "data",
    )
    yield from both(
        "take, 6400 columns of 256 x 20000",
        sym.take(data, index, axis=1),
        {"data": words["weight"].T, "index": words["data"].reshape(-1)},
        "data",
    )
    points = np.stack([rng.randint(0, n, 100000) for n in (500, 600)])
    yield from both(
        "gather_nd, 100000 numbers of 500 x 600",
        sym.gather_nd(data, index),
        {"data": rng.randn(500, 600), "index": points},
        "data",
    )
    yield from both(
        "gather_nd, 20000 rows of 500 x 600 x 16",
        sym.gather_nd(data, index),
        {"data": rng.randn(500, 600, 16), "index": points[:, :20000]},
        "data",
    )
    unique_points = np.stack(np.unravel_index(rng.permutation(300000)[:100000], (500, 600)))
    yield from both(
        "scatter_nd, 100000 numbers into 500 x 600",
        sym.scatter_nd(data, index, shape=(500, 600)),
        {"data": rng.randn(100000), "index": unique_points},
        "data",
    )
    yield from both(
        "pick, 1 of 1000 of 4096",
        sym.pick(data, index),
        {"data": rng.randn(4096, 1000), "index": rng.randint(0, 1000, 4096)},
        "data",
    )
    yield Case(
        "batch_take, 1 of 1000 of 4096",
        sym.batch_take(data, index),
        {"data": rng.randn(4096, 1000), "index": rng.randint(0, 1000, 4096).astype("int32")},
    )
    yield Case("one_hot, 4096 of 1000", sym.one_hot(data, depth=1000),
                   {"data": rng.randint(0, 1000, 4096)})  # fmt: skip
    scores = {"data": rng.randn(64, 20000)}
    yield from both(
        "topk, 100 of 20000, 64 rows", sym.topk(data, k=100, ret_typ="value"), scores, "data"
    )
    yield Case("topk, indices of 5 of 1000, 256 rows", sym.topk(data, k=5),
                   {"data": rng.randn(256, 1000)})  # fmt: skip
    yield Case("topk, mask of 100 of 20000, 64 rows",
                   sym.topk(data, k=100, ret_typ="mask"), scores)  # fmt: skip
    yield from both("sort, 64 rows of 20000", sym.sort(data, axis=1), scores, "data")
    yield Case("argsort, 64 rows of 20000", sym.argsort(data), scores)
    yield Case("argmax, 64 rows of 20000", sym.argmax(data, axis=1), scores)
    sequence = {"data": rng.randn(100, 64, 512), "lengths": rng.randint(1, 101, 64)}
    for name in ("SequenceMask", "SequenceLast", "SequenceReverse"):
        yield from both(
            f"{name}, 100 x 64 x 512",
            getattr(sym, name)(data, var("lengths"), use_sequence_length=True),
            sequence,
            "data",
        )
    yield from both(
        "where, 64 x 20000",
        sym.where(var("condition"), data, var("other")),
        {"condition": rng.randint(0, 2, (64, 20000)), **scores, "other": rng.randn(64, 20000)},
        "data", "other",
    )  # fmt: skip
