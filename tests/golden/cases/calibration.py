"""Thresholds for heavy tails, empty bins, and nothing to cut off."""

from __future__ import annotations

import numpy as np

from ._case import Case, values


def histogram(samples: np.ndarray, bins: int, limit: float):
    counts, edges = np.histogram(samples, bins, (-limit, limit))
    return {"hist": values(counts.tolist()), "hist_edges": values(edges.astype("float32").tolist())}


_rng = np.random.RandomState(0)
NONE = "MXNet has none"
LOOSE = {"atol": 5e-6, "no_grad": NONE, "why": "MXNet adds up in float32"}

CASES = [
    Case("heavy_tails", "_contrib_calibrate_entropy",
         histogram(_rng.standard_t(2, 20000), 501, 30.0), {"num_quantized_bins": 63}, **LOOSE),
    Case("normal", "_contrib_calibrate_entropy",
         histogram(_rng.standard_normal(5000), 401, 5.0), **LOOSE),
    Case("positive", "_contrib_calibrate_entropy",
         histogram(np.abs(_rng.standard_normal(3000)), 301, 4.0), {"num_quantized_bins": 31},
         **LOOSE),
    Case("flat", "_contrib_calibrate_entropy",
         {"hist": values([1.0] * 15), "hist_edges": values(np.linspace(-1, 1, 16).tolist())},
         {"num_quantized_bins": 7}, **LOOSE),
]  # fmt: skip
