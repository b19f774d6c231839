"""The language of the golden cases: an operator, seeded inputs, attributes. NumPy only.

Both sides read it: ``make.py`` under MXNet, which records what MXNet answers, and the tests under
executorkit, which compare. So nothing in ``cases/`` imports mxnet, jax or executorkit, and
everything works with NumPy 1.23 as well as NumPy 2.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Spec:
    """Recipe of one input array; ``dtype=None`` follows the case's dtype."""

    kind: str
    shape: tuple[int, ...]
    options: tuple[Any, ...] = ()
    dtype: str | None = None

    def make(self, seed_text: str, dtype: str) -> np.ndarray:
        rng = np.random.RandomState(zlib.crc32(seed_text.encode()))
        if self.kind == "normal":
            array = rng.standard_normal(self.shape)
        elif self.kind == "uniform":
            array = rng.uniform(*self.options, size=self.shape)
        elif self.kind == "integers":
            array = rng.randint(*self.options, size=self.shape)
        elif self.kind == "distinct":
            array = rng.permutation(int(np.prod(self.shape))).reshape(self.shape) / 8.0
        else:
            array = np.array(self.options[0]).reshape(self.shape)
        wanted = np.dtype(self.dtype or dtype)
        if wanted.kind == "u":  # C leaves the conversion of a negative number undefined
            array = np.abs(array)
        elif wanted.kind == "b":
            array = np.asarray(array) > 0
        return np.asarray(array).astype(wanted)


def normal(*shape: int, dtype: str | None = None) -> Spec:
    """Standard normal numbers."""
    return Spec("normal", shape, (), dtype)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str | None = None) -> Spec:
    """Numbers between ``low`` and ``high``."""
    return Spec("uniform", shape, (low, high), dtype)


def integers(*shape: int, low: int = 0, high: int = 10, dtype: str | None = None) -> Spec:
    """Integers in [low, high), as whole numbers of the dtype."""
    return Spec("integers", shape, (low, high), dtype)


def distinct(*shape: int, dtype: str | None = None) -> Spec:
    """0, 1/8, 2/8, ... shuffled: no ties, so that sorts and maxima are unambiguous."""
    return Spec("distinct", shape, (), dtype)


def values(data: Any, dtype: str | None = None) -> Spec:
    """The numbers written here."""
    return Spec("values", np.shape(data), (data,), dtype)


@dataclass(frozen=True)
class Case:
    """One question to MXNet: the results of ``op`` with these attributes for these inputs.

    name        unique within its family; starts with the operator's name
    op          any name that MXNet registers ("Convolution", "_plus_scalar", "_contrib_box_nms")
    inputs      name -> Spec, in MXNet's order; arg0, arg1, ... for variadic operators;
                auxiliary states included, under MXNet's names
    attrs       Python values, as a user would pass them
    grad        names of the inputs whose gradients are compared; None: all of floating type
    no_grad     why no gradient is compared (then none is)
    train       whether forward runs in training mode
    eager       the operator is called on arrays, for those that cannot be part of a graph: its
                results are compared, and which inputs it changes
    out         names of the inputs that an eager call is to write its results into
    dtype, also the main dtype, and those in which the case is asked again
    rtol, atol  tolerances for float32, where the default cannot hold, with ``why``: relative to
                the largest magnitude in the array, and absolute
    rtol64      the same for float64 (MXNet computes some operators in float32 throughout)
    rtol16      the same for float16
    steps       by how much whole numbers may differ, with ``why``: rounded sums of floats
    """

    name: str
    op: str
    inputs: Mapping[str, Spec] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    grad: tuple[str, ...] | None = None
    no_grad: str | None = None
    train: bool = True
    eager: bool = False
    out: tuple[str, ...] = ()
    dtype: str = "float32"
    also: tuple[str, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    rtol64: float | None = None
    rtol16: float | None = None
    steps: int = 0
    why: str | None = None

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Every dtype in which the case is asked."""
        return (self.dtype, *self.also)

    def key(self, dtype: str) -> str:
        """Key under which the answers for one dtype are stored."""
        return f"{self.name}|{dtype}"

    def compared(self, dtype: str) -> tuple[str, ...]:
        """Names of the inputs whose gradients are compared for ``dtype``."""
        if self.no_grad is not None or self.eager:
            return ()
        floating = [n for n, s in self.inputs.items() if "float" in (s.dtype or dtype)]
        return tuple(floating if self.grad is None else [n for n in self.grad if n in floating])

    @property
    def fingerprint(self) -> int:
        """Changes whenever the question does, so that outdated answers are noticed."""
        inputs = {
            n: (s.kind, s.shape, [np.asarray(o).tolist() for o in s.options], s.dtype)
            for n, s in self.inputs.items()
        }
        question = (self.op, inputs, dict(self.attrs), self.grad, self.no_grad, self.train)
        called = ("eager", self.out) if self.eager else ()
        return zlib.crc32(repr((*question, *called)).encode())

    def arrays(self, dtype: str) -> dict[str, np.ndarray]:
        """The inputs, the same on both sides."""
        return {n: s.make(f"{self.name}:{n}", dtype) for n, s in self.inputs.items()}

    def head(self, index: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """The head gradient of output ``index``."""
        return Spec("normal", tuple(shape)).make(f"{self.name}:head{index}", dtype)
