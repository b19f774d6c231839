"""Unknown keyword arguments of constructors and methods, refused with the similar names.

Python names the function that was called last, ``Optimizer.__init__() got an unexpected keyword
argument 'lr'``, and not what the caller could have written.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from .errors import UnknownArgumentError, explain, similar_names

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: Names of other libraries, and what MXNet calls the same thing.
_SYNONYMS = {
    "activation": "act_type",
    "alpha": "learning_rate",
    "batch": "batch_size",
    "contexts": "context",
    "ctx": "context",
    "decay": "wd",
    "device": "context",
    "devices": "context",
    "epochs": "num_epoch",
    "eps": "epsilon",
    "k": "top_k",
    "l2": "wd",
    "lr": "learning_rate",
    "optim": "optimizer",
    "rate": "learning_rate",
    "scheduler": "lr_scheduler",
    "std": "sigma",
    "stddev": "sigma",
    "weight_decay": "wd",
}


def checked_keywords(
    function: Callable[Arguments, Result],
) -> Callable[Arguments, Result]:
    """The constructor or method with unknown keywords refused by name, before it runs.

    A decorator. The refusal is an UnknownArgumentError, so a TypeError as Python's, which lists
    similar names, or all. A constructor's names are those of its base classes too, as far as
    ``**kwargs`` hands arguments on to these. One that takes ``**kwargs`` itself is not checked.
    """
    names = frozenset(_names(function)) if not _takes_any(function) else None

    @functools.wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        __tracebackhide__ = True
        if kwargs and names is not None and not kwargs.keys() <= names:
            raise _refusal(function, args[0], next(name for name in kwargs if name not in names))
        return function(*args, **kwargs)

    return checked


class CheckedKeywords:
    """Base of classes whose subclasses' constructors refuse unknown keywords by name."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__init__")
        if inspect.isfunction(own):
            cls.__init__ = checked_keywords(own)  # type: ignore[method-assign]


def _refusal(function: Callable[..., Any], receiver: Any, name: str) -> UnknownArgumentError:
    kind = type(receiver)
    where, names = f"{kind.__name__}.{function.__name__}", list(_names(function))
    if function.__name__ == "__init__":
        where, names = kind.__name__, list(_constructor_names(kind))
    synonym = _SYNONYMS.get(name)
    hint = repr(synonym) if synonym in names else similar_names(name, names)
    return UnknownArgumentError(
        explain(where, f"unknown argument {name!r}", hint=hint or f"one of: {', '.join(names)}")
    )


def _constructor_names(kind: type) -> Iterator[str]:
    """The keywords of a class: its constructor's, and those of the ones it hands others on to."""
    constructors = [c.__dict__["__init__"] for c in kind.__mro__ if "__init__" in c.__dict__]
    listed: set[str] = set()
    for constructor in constructors:
        for name in _names(constructor):
            if name not in listed:
                listed.add(name)
                yield name
        if not _takes_any(constructor):
            return


def _names(function: Callable[..., Any]) -> Iterator[str]:
    keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    _, *parameters = inspect.signature(function).parameters.values()
    return (parameter.name for parameter in parameters if parameter.kind in keyword)


def _takes_any(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
