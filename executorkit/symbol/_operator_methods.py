"""Operators as methods of a symbol."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..errors import MXNetError, NotImplementedForSymbol, explain
from ..ops import lookup
from ..ops._namespace import call_doc, call_signature

if TYPE_CHECKING:
    from ._symbol import Symbol

#: Operators that are methods under their own name, called with the symbol as first input.
OPERATOR_METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "broadcast_to",
    "cbrt", "ceil", "clip", "cos", "cosh", "degrees", "depth_to_space", "exp", "expm1", "fix",
    "flip", "floor", "log", "log10", "log1p", "log2", "log_softmax", "max", "mean", "min",
    "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt",
    "reciprocal", "relu", "repeat", "reshape", "reshape_like", "rint", "round", "rsqrt",
    "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis",
    "slice_like", "softmax", "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "sum",
    "swapaxes", "take", "tan", "tanh", "tile", "topk", "transpose", "trunc", "zeros_like",
)  # fmt: skip
#: Methods of NDArray that have no meaning for a symbol.
_ARRAY_METHODS = (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read",
)  # fmt: skip


class OperatorMethods:
    """Operators called on their first input: ``data.reshape(shape=(0, -1))``."""

    __slots__ = ()

    _call: Callable[..., Symbol]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Symbol]: ...

    def astype(self, *args: Any, **kwargs: Any) -> Symbol:
        """``mx.sym.cast`` of this symbol: ``astype("float16")``."""
        return self._call("cast", "cast", (self, *args), kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Symbol:
        """``mx.sym.diag`` of this symbol."""
        return self._call("diag", "diag", (self, k), kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Symbol:
        """``mx.sym.expand_dims`` of this symbol; ``inplace`` means nothing for a symbol."""
        return self._call("expand_dims", "expand_dims", (self, axis), kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Symbol:
        """``mx.sym.flatten`` of this symbol; ``inplace`` means nothing for a symbol."""
        return self._call("flatten", "flatten", (self,), kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Symbol:
        """``mx.sym.squeeze`` of this symbol; ``inplace`` means nothing for a symbol."""
        return self._call("squeeze", "squeeze", (self, axis), kwargs)

    def split_v2(self, *args: Any, **kwargs: Any) -> Symbol:
        """``mx.sym.split_v2`` of this symbol."""
        from ._creation import split_v2

        return split_v2(cast("Symbol", self), *args, **kwargs)

    def as_nd_ndarray(self) -> Symbol:
        """The symbol itself: there is only one kind."""
        return cast("Symbol", self)


def _operator_method(name: str) -> Callable[..., Symbol]:
    def method(self: OperatorMethods, *args: Any, **kwargs: Any) -> Symbol:
        return self._call(name, name, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    op = lookup(name)
    if op is None:
        raise MXNetError(explain(f"method {name}", "there is no such operator"))
    signature = call_signature(op, "symbol")
    _, *rest = signature.parameters.values()
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    method.__doc__ = f"``mx.sym.{name}`` of this symbol.\n\n{call_doc(op, 'symbol')}"
    return method


def _array_method(name: str) -> Callable[..., NoReturn]:
    def method(self: OperatorMethods) -> NoReturn:
        raise NotImplementedForSymbol(name)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    method.__doc__ = "Only arrays have this; raises NotImplementedForSymbol."
    return method


for _name in OPERATOR_METHODS:
    setattr(OperatorMethods, _name, _operator_method(_name))
for _name in _ARRAY_METHODS:
    setattr(OperatorMethods, _name, _array_method(_name))
