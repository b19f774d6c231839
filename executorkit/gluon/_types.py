"""Types of arguments that blocks share."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..context import Context
from ..initializer import Initializer

#: ``mx.nd`` or ``mx.sym``: the functions that ``hybrid_forward`` calls.
Namespace: TypeAlias = Any
#: An NDArray or a Symbol; code of ``hybrid_forward`` works on both, never on a mixture.
Tensor: TypeAlias = Any
#: One tensor, or a list of tensors for the steps of a sequence.
Tensors: TypeAlias = Any
#: The values of a cell's states.
States: TypeAlias = list[Any]
Shape: TypeAlias = tuple[int, ...]
#: A number for all axes, or one for each.
PerAxis: TypeAlias = int | Sequence[int]
#: Name, Python type or NumPy's dtype.
DType: TypeAlias = Any
#: An initializer, its name, or None for the network's.
Init: TypeAlias = Initializer | str | None
#: A device or several.
Contexts: TypeAlias = Context | Sequence[Context] | None
