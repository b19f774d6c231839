"""The states that methods of modules require, and methods that modules delegate to their parts."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar

from .._support.annotations import Function
from ..errors import ModuleUsageError

Class = TypeVar("Class", bound=type)

#: Problem and remedy for each state that a method may require.
_REMEDIES = {
    "binded": ("the module is not bound", "bind(data_shapes, label_shapes) first"),
    "params_initialized": ("the parameters are not initialised", "init_params() first"),
    "optimizer_initialized": ("the optimizer is missing", "init_optimizer() first"),
}


def require(module: Any, method: str, *states: str) -> None:
    for state in states:
        if not getattr(module, state):
            problem, remedy = _REMEDIES[state]
            raise ModuleUsageError(method, problem, hint=remedy)


def delegates(
    path: str, template: type, *names: str, states: Sequence[str] = ()
) -> Callable[[Class], Class]:
    """Decorates classes of modules with methods and properties of their parts.

    ``path`` is the attribute of each method, with ``{}`` for its name: ``"_curr_module.{}"``.
    ``template`` has the signatures and docstrings. ``states`` are required of the module.
    """

    def decorate(cls: Class) -> Class:
        for name in names:
            method = inspect.getattr_static(template, name)
            setattr(cls, name, _delegated(attrgetter(path.format(name)), name, method, states))
        return cls

    return decorate


def _delegated(
    read: Callable[[Any], Any], name: str, template: Any, states: Sequence[str]
) -> property | Function:
    def part(self: Any) -> Any:
        require(self, name, *states)
        return read(self)

    doc = inspect.getdoc(template)
    if isinstance(template, property):
        return property(part, doc=doc)

    @wraps(template)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return part(self)(*args, **kwargs)

    method.__doc__ = doc
    return method


def attribute_of_part(part: str, name: str, default: Any = None) -> Any:
    """Returns a property of an attribute of a part; ``default`` while the part is missing."""

    def read(module: Any) -> Any:
        return getattr(getattr(module, part), name, default)

    def write(module: Any, value: Any) -> None:
        setattr(getattr(module, part), name, value)

    return property(read, write)


def state_phrases(module: Any) -> list[str]:
    purpose = "training" if module.for_training else "inference"
    return [
        f"bound for {purpose}" if module.binded else "not bound",
        "parameters are there" if module.params_initialized else "no parameters yet",
        "with an optimizer" if module.optimizer_initialized else "no optimizer",
    ]
