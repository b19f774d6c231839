"""Arguments of constructors: unknown keywords are refused with the similar names (Python names the
innermost function, ``Optimizer.__init__()``, and suggests nothing); NumPy's numbers become
Python's, which do not decide on the dtype of a product."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import numpy as np

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
    """Base of classes whose subclasses' constructors refuse unknown keywords by name, and take
    NumPy's scalars and arrays without axes as Python's numbers.

    The refusal is an UnknownArgumentError, so a TypeError as Python's, raised before the
    constructor runs. It names similar keywords, or all: the constructor's, and its base classes' as
    far as ``**kwargs`` hands arguments on. A constructor that takes ``**kwargs`` refuses none.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__init__")
        if inspect.isfunction(own):
            cls.__init__ = _checked(own)  # type: ignore[method-assign]


def _checked(init: Callable[Arguments, None]) -> Callable[Arguments, None]:
    @functools.lru_cache(1)  # at the first call: most classes that are imported are not used
    def names() -> frozenset[str] | None:
        return None if _takes_any(init) else frozenset(_names(init))

    @functools.wraps(init)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        known = names() if kwargs else None
        if known is not None and not kwargs.keys() <= known:
            unknown = next(name for name in kwargs if name not in known)
            raise _refusal(type(args[0]), unknown)
        init(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})  # type: ignore[arg-type]

    return checked


def _plain(value: Any) -> Any:
    is_number = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if is_number else value


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
