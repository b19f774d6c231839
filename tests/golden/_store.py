"""Storage of golden results: one compressed .npz per family. NumPy only; works with 1.23.

An array of more than ``LIMIT`` elements is stored as a fixed sample of its entries, its sum and the
sum of its magnitudes.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
LIMIT = 4096
SAMPLE = 512


def condense(array: np.ndarray, limit: int = LIMIT, sample: int = SAMPLE) -> np.ndarray:
    """The stored form of an array, flat for large ones: sampled entries, sum, sum of magnitudes."""
    if array.size <= limit:
        return array
    flat = array.reshape(-1)
    wide = flat.astype(np.float64)
    rng = np.random.RandomState(zlib.crc32(str(array.size).encode()))
    entries = wide[np.sort(rng.randint(array.size, size=sample))]
    return np.concatenate([entries, [wide.sum(), np.abs(wide).sum()]])


def condense_network(name: str, array: np.ndarray) -> np.ndarray:
    """The same for a network's results: outputs nearly whole, few entries of each gradient."""
    return condense(array) if name.startswith("out") else condense(array, 64, 24)


def save(family: str, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Path:
    """Writes a family's answers; ``facts`` is anything that JSON can hold."""
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{family}.npz"
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    packed = {"facts": np.frombuffer(text.encode(), np.uint8)}
    packed.update(sorted(arrays.items()))
    np.savez_compressed(path, **packed)
    return path


class Answers:
    """A family's stored answers: ``answers.facts`` and ``answers["case|dtype|out0"]``."""

    def __init__(self, family: str) -> None:
        path = DATA / f"{family}.npz"
        if not path.exists():
            raise FileNotFoundError(
                f"no golden data for {family}; run tests/golden/make.py {family}"
            )
        with np.load(path) as stored:
            self._arrays = dict(stored)
        self.facts: dict[str, Any] = json.loads(self._arrays["facts"].tobytes())

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays
