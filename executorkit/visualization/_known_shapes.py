"""Checked symbols and fully known output shapes and types, for both forms of visualization."""

from typing import Any

from ..errors import InputTypeError, ShapeError
from ..symbol import Symbol
from ..symbol.symbol_json import without_casts


def checked_symbol(function: str, symbol: Any) -> Symbol:
    """Returns the symbol without mixed precision's casts, as it is written to files."""
    if not isinstance(symbol, Symbol):
        problem = f"{symbol!r} ({type(symbol).__name__}) is not a Symbol"
        raise InputTypeError(function, problem, hint="a network made with mx.sym")
    return Symbol(without_casts(symbol.heads))


def output_shapes(function: str, symbol: Symbol, known: Any) -> dict[str, tuple[int, ...]]:
    hint = "the shapes of all inputs, as in shape={'data': (1, 3, 224, 224)}"
    return _inferred(function, symbol, "shape", known, hint)


def output_types(function: str, symbol: Symbol, known: Any) -> dict[str, Any]:
    return _inferred(function, symbol, "type", known)


def _inferred(
    function: str, symbol: Symbol, kind: str, known: Any, hint: str | None = None
) -> dict[str, Any]:
    internals = symbol.get_internals()
    _, facts, _ = getattr(internals, f"infer_{kind}")(**known)
    if facts is None:
        raise ShapeError(function, f"not all {kind}s follow from {known!r}", hint=hint)
    return dict(zip(internals.list_outputs(), facts, strict=True))


def size_text(sizes: Any) -> str:
    return "x".join(str(size) for size in sizes)
