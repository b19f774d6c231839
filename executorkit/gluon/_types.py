"""Types of arguments that blocks share."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..context import Context
from ..initializer import Initializer

#: ``mx.nd`` or ``mx.sym``: the functions that ``hybrid_forward`` calls.
Ops: TypeAlias = Any
#: An NDArray or a Symbol, a list of them for the steps of a sequence, None if it is optional.
#: Code of ``hybrid_forward`` works on both kinds, which a union would not express.
Tensor: TypeAlias = Any
#: A list of tensors; None for the default states.
States: TypeAlias = Any
#: Shape, layout and other arguments of a state.
StateInfo: TypeAlias = dict[str, Any]
FilePath: TypeAlias = str | os.PathLike[str]
Shape: TypeAlias = tuple[int, ...]
#: A number for all axes, or one for each.
PerAxis: TypeAlias = int | Sequence[int]
#: Name, Python type or NumPy's dtype.
DType: TypeAlias = Any
#: An initializer, its name, or None for the network's.
Init: TypeAlias = Initializer | str | None
#: A device or several.
Contexts: TypeAlias = Context | Sequence[Context] | None
