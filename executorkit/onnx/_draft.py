"""A graph of ONNX while it is written: nodes and constants in plain Python, without the library."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: A length of an axis: a number, or the name of a value (int64, one element) computed at run time.
Length = int | str


def claim_name(name: str, taken: set[str]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


@dataclass(frozen=True, slots=True)
class Value:
    """A value of nodes: its lengths (``shape``, None for variable ones; ``sizes`` as at export),
    and a constant's contents (``array``)."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    sizes: tuple[int, ...]
    array: np.ndarray | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return None not in self.shape

    @property
    def is_float(self) -> bool:
        return self.dtype in ("float16", "float32", "float64", "bfloat16")


@dataclass(slots=True)
class OnnxNode:
    op_type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any]


@dataclass(slots=True)
class GraphDraft:
    opset: int
    nodes: list[OnnxNode] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    _shared: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def unique(self, name: str) -> str:
        return claim_name(name, self.names)

    def constant(self, array: np.ndarray, name: str = "constant") -> str:
        # Small constants are shared.
        array = np.asarray(array)
        if array.size > 64:
            return self._store(array, name)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._shared:
            self._shared[key] = self._store(array, name)
        return self._shared[key]

    def _store(self, array: np.ndarray, name: str) -> str:
        name = self.unique(name)
        self.constants[name] = array
        return name
