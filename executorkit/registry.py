"""``mx.registry``: classes that users extend and create by name (metrics, initializers, ...). Each
base class has its own names, which are case-insensitive."""

import difflib
import json
import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .errors import RegistryError as RegistryError, shorten

Class = TypeVar("Class", bound=type)


class Registration(Protocol):
    """A function, also a decorator, that registers a class and returns it."""

    def __call__(self, klass: Class, name: str | None = None) -> Class: ...


_classes: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """Returns a copy of the classes registered under ``base_class``, by lower-case name."""
    return dict(_classes.setdefault(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Registration:
    """Returns a function (and decorator) that registers a subclass under a name."""
    registered = _classes.setdefault(base_class, {})

    def register(klass: Class, name: str | None = None) -> Class:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise RegistryError(
                f"{nickname}: register", f"{klass!r} is not a subclass of {base_class.__name__}"
            )
        key = (name or klass.__name__).lower()
        previous = registered.get(key)
        if previous is not None and previous is not klass:
            warnings.warn(
                f"{nickname} {key!r} was {previous.__module__}.{previous.__name__}, "
                f"is now {klass.__module__}.{klass.__name__}",
                UserWarning,
                stacklevel=2,
            )
        registered[key] = klass
        return klass

    register.__doc__ = f"Registers a {nickname} class under its lower-case name, or ``name``."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[Class], Class]]:
    """Returns a decorator factory that registers a subclass under further names."""
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[Class], Class]:
        def apply(klass: Class) -> Class:
            for name in names:
                register(klass, name)
            return klass

        return apply

    alias.__doc__ = f"A decorator that registers a {nickname} class under further names."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Returns a function that creates an instance. It takes a name and constructor arguments, a
    configuration dict with the name under ``nickname``, JSON text of either, or an instance, which
    it returns."""
    registered = _classes.setdefault(base_class, {})

    def create(*args: object, **kwargs: object) -> Any:
        if not args and nickname not in kwargs:
            raise RegistryError(f"{nickname}: create", "no name is given")
        target, *arguments = args or (kwargs.pop(nickname),)
        if isinstance(target, base_class):
            if arguments or kwargs:
                problem = "arguments are given beside an instance"
                hint = f"give the name of the {nickname}, or the instance alone"
                raise RegistryError(f"{nickname}: create", problem, hint=hint)
            return target
        if isinstance(target, dict):
            return create(**target)
        if not isinstance(target, str):
            problem = f"{target!r}, expected the name of a {nickname}"
            raise RegistryError(f"{nickname}: create", problem)
        if target[:1] in ("[", "{"):
            name, options = _parsed(target, nickname)
            return create(*name, **options)
        klass = registered.get(target.lower())
        if klass is None:
            similar = difflib.get_close_matches(target.lower(), registered, 3, 0.5)
            hint = " or ".join(map(repr, similar or sorted(registered)))
            raise RegistryError(f"{nickname}: create", f"{target!r} is not registered", hint=hint)
        return klass(*arguments, **kwargs)

    create.__doc__ = f"Creates a {nickname} by name, from a configuration, or returns an instance."
    return create


def _parsed(text: str, nickname: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict):
            return (), parsed
        name, options = parsed
        return (name,), dict(options)
    except (TypeError, ValueError, RecursionError):
        text = shorten(text)
        problem = f"{text!r} is neither [name, options] nor an object"
        raise RegistryError(f"{nickname}: create", problem) from None
