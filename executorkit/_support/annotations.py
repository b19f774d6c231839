"""Names of types that Python's type system does not describe further, for annotations."""

from collections.abc import Callable, Mapping, Sequence
from logging import Logger as _Logger
from types import ModuleType
from typing import Any, TypeAlias

#: A ``jax.Array`` or a tracer in its place; where nothing is computed, its shape and dtype.
Raw: TypeAlias = Any
#: A pytree of arrays.
Tree: TypeAlias = Any
#: A PRNG key or its data; None where nothing is drawn.
Key: TypeAlias = Any
#: A name, a Python type or NumPy's dtype.
DType: TypeAlias = Any
#: Arrays in an order that caller and callee know.
Arrays: TypeAlias = Sequence[Raw]
#: Arrays by the numbers of values or positions.
NumberedArrays: TypeAlias = Mapping[int, Raw]
#: Arrays by name.
NamedArrays: TypeAlias = Mapping[str, Raw]
#: The arguments, or the results, of a function of arrays and trees.
Operands: TypeAlias = tuple[Tree, ...]
#: Attributes or options by name.
Attrs: TypeAlias = dict[str, Any]
#: A function of any arguments.
Function: TypeAlias = Callable[..., Any]
#: A logger, or the module ``logging``.
Logger: TypeAlias = _Logger | ModuleType
#: A jaxpr, closed or open.
Jaxpr: TypeAlias = Any
#: An equation of a jaxpr.
Equation: TypeAlias = Any
