"""Unknown keyword arguments of constructors, refused with the similar names. Python names the
innermost function, ``Optimizer.__init__()``, and suggests nothing."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

from ..errors import UnknownArgumentError, similar_names

Arguments = ParamSpec("Arguments")

#: Names of other libraries, and what MXNet calls the same thing.
_SYNONYMS = {
    "alpha": "learning_rate",
    "batch": "batch_size",
    "contexts": "context",
    "ctx": "context",
    "decay": "wd",
    "device": "context",
    "devices": "context",
    "eps": "epsilon",
    "k": "top_k",
    "l2": "wd",
    "lr": "learning_rate",
    "rate": "learning_rate",
    "scheduler": "lr_scheduler",
    "std": "sigma",
    "stddev": "sigma",
    "weight_decay": "wd",
}


class CheckedKeywords:
    """Base of classes whose subclasses' constructors refuse unknown keywords by name.

    The refusal is an UnknownArgumentError, so a TypeError as Python's, raised before the
    constructor runs. It names similar keywords, or all: the constructor's, and its base classes' as
    far as ``**kwargs`` hands arguments on. A constructor that takes ``**kwargs`` is left as it is.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__init__")
        if inspect.isfunction(own) and not _takes_any(own):
            cls.__init__ = _checked(own)  # type: ignore[method-assign]


def _checked(init: Callable[Arguments, None]) -> Callable[Arguments, None]:
    names = frozenset(_names(init))

    @functools.wraps(init)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        if kwargs and not kwargs.keys() <= names:
            unknown = next(name for name in kwargs if name not in names)
            raise _refusal(type(args[0]), unknown)
        init(*args, **kwargs)

    return checked


def _refusal(kind: type, name: str) -> UnknownArgumentError:
    names = list(_constructor_names(kind))
    synonym = _SYNONYMS.get(name)
    hint = repr(synonym) if synonym in names else similar_names(name, names)
    problem = f"unknown argument {name!r}"
    return UnknownArgumentError(kind.__name__, problem, hint=hint or f"one of: {', '.join(names)}")


def _constructor_names(kind: type) -> Iterator[str]:
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
