"""Reading of one ONNX node: what imports are written with, and their registry.

@imports("Relu")
def _relu(r):
    return sym.relu(r[0], name=r.name)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from .. import symbol as sym
from ..errors import NotSupportedError
from ..symbol import Symbol
from ..symbol.naming import NameManager

#: Lengths of a value's axes, as far as they are known.
KnownShape = tuple[int | None, ...]
#: Maximum number of axes of an array.
_MAX_AXES = 32


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of unknown shapes: the symbol ``shape_of``'s, or ``lengths``, None where unknown."""

    shape_of: Symbol | None = None
    lengths: tuple[int | None, ...] | None = None


#: A value of the model: a constant, a symbol, or neither yet.
Imported = np.ndarray | Symbol | Unknown


class NodeNames(NameManager):
    """Names of the symbols of one node: its own for one, and continuations of it for others."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node
        self._is_next = False

    def name_next(self) -> None:
        self._is_next = True

    def get(self, name: str | None, hint: str) -> str:
        if name:
            return name
        if self._is_next:
            self._is_next = False
            return self._node
        return super().get(None, f"{self._node}_{hint}")


@dataclass(kw_only=True)
class NodeReader:
    """A node of a model: ``reader[0]`` is its first input as a symbol (None for a missing one).
    ``shapes`` and ``output_shape`` are known as far as inferred; ``variable(name, array)`` makes a
    parameter."""

    name: str
    op_type: str
    values: Sequence[Imported | None]
    names: Sequence[str]
    attrs: Mapping[str, Any]
    shapes: Sequence[KnownShape | None]
    output_shape: KnownShape | None
    n_outputs: int
    opset: int
    variable: Callable[[str, np.ndarray], Symbol]

    @cached_property
    def scope(self) -> NodeNames:
        return NodeNames(self.name)

    def __len__(self) -> int:
        return len(self.values)

    def name_next(self) -> None:
        self.scope.name_next()

    def has(self, position: int) -> bool:
        return position < len(self.values) and self.values[position] is not None

    def __getitem__(self, position: int) -> Symbol:
        value = self.values[position]
        if isinstance(value, Symbol):
            return value
        if isinstance(value, np.ndarray):
            return self.variable(self.names[position], value)
        return self.refuse("an input depends on shapes that are not in the file")

    def symbols(self) -> list[Symbol]:
        return [self[i] for i in range(len(self))]

    def get(self, attr: str, default: object = None) -> Any:
        return self.attrs.get(attr, default)

    def only(self, attr: str, default: object, *others: object) -> Any:
        value = self.get(attr, default)
        if value not in (default, *others):
            self.refuse(f"{attr}={value!r}")
        return value

    def constant(self, position: int) -> np.ndarray:
        value = self.values[position]
        if not isinstance(value, np.ndarray):
            self.refuse(f"input {position} is not a constant")
        return value

    def optional(self, position: int) -> np.ndarray | None:
        return self.constant(position) if self.has(position) else None

    def ints(self, attr: str, position: int) -> tuple[int, ...] | None:
        value = self.attrs[attr] if attr in self.attrs else self.optional(position)
        numbers = None if value is None else tuple(int(n) for n in np.atleast_1d(value))
        if attr == "axes" and any(not -_MAX_AXES <= n < _MAX_AXES for n in numbers or ()):
            self.refuse(f"axes beyond the first {_MAX_AXES}")
        return numbers

    def number(self, attr: str, position: int, default: float) -> float:
        if attr in self.attrs:
            return float(self.attrs[attr])
        value = self.optional(position)
        return default if value is None else float(value.reshape(-1)[0])

    def scalar(self, position: int) -> float | None:
        value = self.values[position]
        if isinstance(value, np.ndarray) and value.size == 1:
            return float(value.reshape(-1)[0])
        return None

    def rank(self, position: int) -> int:
        shape = self.shapes[position]
        if shape is None:
            self.refuse(f"the number of axes of input {position} is not known")
        return len(shape)

    def sizes(self, position: int, axes: Sequence[int]) -> list[int]:
        shape = self.shapes[position] or ()
        lengths = [shape[a] if a < len(shape) else None for a in axes]
        if any(n is None for n in lengths):
            self.refuse(f"the lengths of axes {list(axes)} of input {position} are not known")
        return [n for n in lengths if n is not None]

    def refuse(self, reason: str) -> NoReturn:
        raise NotSupportedError(reason)


Import = Callable[[NodeReader], Any]
_IMPORTS: dict[str, Import] = {}
#: Functions that make a symbol of an ONNX node, by ONNX's operator.
IMPORTS: Mapping[str, Import] = MappingProxyType(_IMPORTS)
#: Operators whose import takes inputs that depend on unknown shapes.
TAKES_UNKNOWN: set[str] = set()
#: Operators that draw random numbers, also where all inputs are constants.
DRAWS: set[str] = set()


def imports(
    *op_types: str, takes_unknown: bool = False, draws: bool = False
) -> Callable[[Import], Import]:
    """Registers the import of operators of ONNX. ``takes_unknown``: it decides about inputs that
    depend on unknown shapes. ``draws``: random numbers, never computed as a constant."""

    def add(function: Import) -> Import:
        for op_type in op_types:
            if op_type in _IMPORTS:
                raise ValueError(f"operator {op_type!r} of ONNX has an import already")
            _IMPORTS[op_type] = function
        TAKES_UNKNOWN.update(op_types if takes_unknown else ())
        DRAWS.update(op_types if draws else ())
        return function

    return add


def with_leading_axes(data: Symbol, count: int) -> Symbol:
    for _ in range(count):
        data = sym.expand_dims(data, axis=0)
    return data


def same(data: Symbol, name: str) -> Symbol:
    return sym.identity(data, name=name)
