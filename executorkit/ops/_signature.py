"""Signatures for operators that are made from a table: the registry and ``help`` read them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax

from ._attrs import Aux, Key

#: ``run(arrays, attrs)`` or, for random operators, ``run(arrays, attrs, key)``.
ArrayFunction = Callable[..., Any]


def with_signature(
    run: ArrayFunction,
    name: str,
    doc: str,
    arrays: tuple[str, ...],
    attrs: Mapping[str, tuple[Any, Any]],
    *,
    states: tuple[str, ...] = (),
    random: bool = False,
) -> Callable[..., Any]:
    """``run`` as a function with array inputs and keyword-only attributes, as operators are.

    ``arrays`` are names, or one name with a star for any number of arrays; ``states`` those of them
    that are auxiliary. ``attrs`` maps names to (annotation, default), where
    ``inspect.Parameter.empty`` stands for a required attribute. A ``random`` operator gets a key.
    """
    variadic = arrays[0].startswith("*") if arrays else False

    def fn(*args: Any, **keywords: Any) -> Any:
        extra = (keywords.pop("key"),) if random else ()
        inputs = () if variadic else tuple(keywords.pop(n) for n in arrays[len(args) :])
        return run((*args, *inputs), keywords, *extra)

    kinds = inspect.Parameter
    kind = kinds.VAR_POSITIONAL if variadic else kinds.POSITIONAL_OR_KEYWORD
    parameters = [
        kinds(n.lstrip("*"), kind, annotation=Aux if n in states else jax.Array) for n in arrays
    ]
    parameters += [
        kinds(n, kinds.KEYWORD_ONLY, annotation=hint, default=default)
        for n, (hint, default) in attrs.items()
    ]
    if random:
        parameters.append(kinds("key", kinds.KEYWORD_ONLY, annotation=Key))
    fn.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    fn.__annotations__ = {p.name: p.annotation for p in parameters}
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    return fn
