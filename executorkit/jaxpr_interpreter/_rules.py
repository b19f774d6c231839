"""The table of rules: how one equation of a jaxpr becomes a NumPy function."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from .._support.annotations import Raw

#: A function of arrays; it returns one array, or a sequence of a primitive with several results.
Kernel = Callable[..., Any]


class Aval(NamedTuple):
    """Shape and dtype of a value as the interpreter holds it. A typed key is one ``uint64``."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Call(NamedTuple):
    name: str
    params: Mapping[str, Any]
    ins: tuple[Aval, ...]
    outs: tuple[Aval, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outs[0].shape

    @property
    def dtype(self) -> np.dtype:
        return self.outs[0].dtype


class KernelRule(NamedTuple):
    """The factory of a primitive's kernel."""

    #: Makes the kernel of an equation; None if its parameters are not covered.
    make: Callable[[Call], Kernel | None]
    #: True if results never share memory with inputs or among each other.
    fresh: bool
    #: Time of an element of the results, in units of one addition.
    weight: float
    #: Makes a kernel that changes and returns the input of that number, for its last reader.
    in_place: Callable[[Call], Kernel] | None
    #: True if the same kernel serves calls with other shapes, which NumPy broadcasts.
    any_shape: bool
    changed_input: int
    #: Tells whether the same kernel serves calls that differ by sizes.
    any_sizes: Callable[[Call], bool]


RULES: dict[str, KernelRule] = {}


def rule(
    *names: str,
    fresh: bool = False,
    weight: float = 1.0,
    in_place: Callable[[Call], Kernel] | None = None,
    any_shape: bool = False,
    changed_input: int = 0,
    any_sizes: Callable[[Call], bool] | None = None,
) -> Callable[[Callable[[Call], Kernel | None]], Callable[[Call], Kernel | None]]:
    def register(make: Callable[[Call], Kernel | None]) -> Callable[[Call], Kernel | None]:
        serves = any_sizes or (lambda call: any_shape)
        common = KernelRule(
            make, fresh, weight, in_place, any_shape, changed_input=changed_input, any_sizes=serves
        )
        RULES.update(dict.fromkeys(names, common))
        return make

    return register


#: The dtype that stands for typed keys of JAX's default generator, two words each.
KEY = np.dtype(np.uint64)
_KEY_NAMES = frozenset({"key<fry>"})


def aval_of(value: Raw) -> Aval | None:
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biufc" or dtype.name in _SMALL_FLOATS:
            return Aval(value.shape, dtype)
        return None
    return Aval(value.shape, KEY) if str(dtype) in _KEY_NAMES else None


_SMALL_FLOATS = frozenset(
    np.dtype(t).name for t in (jax.numpy.bfloat16, jax.numpy.float8_e4m3fn, jax.numpy.float8_e5m2)
)


def is_small_float(dtype: np.dtype) -> bool:
    return dtype.itemsize <= 2 and (dtype.kind == "f" or dtype.name in _SMALL_FLOATS)


def is_floating(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype.name in _SMALL_FLOATS


def in_float32(kernel: Kernel, call: Call) -> Kernel:
    small = [is_small_float(x.dtype) for x in call.ins]
    if not any(small):
        return kernel
    dtype = call.dtype

    def widened(*operands: np.ndarray) -> np.ndarray:
        wide = [x.astype(np.float32) if s else x for x, s in zip(operands, small, strict=True)]
        return kernel(*wide).astype(dtype)

    return widened
