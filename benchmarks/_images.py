"""Operators that resample images, normalise across their channels or cut them into patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._operators import Case, both


def cases(mx: Any) -> Iterator[Case]:
    """Each operator forward, and forward with backward."""
    rng, sym, data = np.random.RandomState(0), mx.sym, mx.sym.Variable("data")
    contrib = sym.contrib
    images = {"data": rng.randn(8, 64, 56, 56)}
    yield from both(
        "BilinearResize2D, 8 x 64 x 56 x 56 to 112 x 112",
        contrib.BilinearResize2D(data, height=112, width=112),
        images,
        "data",
    )
    yield from both(
        "BilinearResize2D, 8 x 64 x 56 x 56 to 33 x 25",
        contrib.BilinearResize2D(data, height=33, width=25),
        images,
        "data",
    )
    yield from both(
        "AdaptiveAvgPooling2D, 8 x 64 x 56 x 56 to 6 x 6",
        contrib.AdaptiveAvgPooling2D(data, output_size=6),
        images,
        "data",
    )
    yield from both(
        "UpSampling, 8 x 64 x 56 x 56, nearest, 2",
        sym.UpSampling(data, scale=2, sample_type="nearest", num_args=1),
        images,
        "data",
    )
    yield from both(
        "UpSampling, 8 x 64 x 56 x 56, bilinear, 2",
        sym.UpSampling(
            data, sym.Variable("weight"), scale=2, sample_type="bilinear", num_filter=64,
            num_args=2,
        ),
        {**images, "weight": rng.rand(64, 1, 4, 4)},
        "data", "weight",
    )  # fmt: skip
    yield from both(
        "LRN, 16 x 96 x 55 x 55, 5 channels",
        sym.LRN(data, nsize=5, alpha=1e-4, beta=0.75, knorm=2),
        {"data": rng.randn(16, 96, 55, 55)},
        "data",
    )
    patches = {"kernel": (3, 3), "pad": (1, 1)}
    yield from both("im2col, 8 x 64 x 56 x 56, 3 x 3", sym.im2col(data, **patches), images, "data")
    yield from both(
        "col2im, 8 x 64 x 56 x 56, 3 x 3",
        sym.col2im(data, output_size=(56, 56), **patches),
        {"data": rng.randn(8, 576, 3136)},
        "data",
    )
    yield from both(
        "GridGenerator, 32 flows of 128 x 128",
        sym.GridGenerator(data, transform_type="warp"),
        {"data": rng.randn(32, 2, 128, 128)},
        "data",
    )
