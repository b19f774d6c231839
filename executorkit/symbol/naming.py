"""Names and annotations of the symbols created in a ``with`` statement, in its thread."""

import threading
from collections import defaultdict
from typing import Any, ClassVar, Self

from ..errors import AttributeValueError, InputTypeError


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entered: list[Any] = []


class _Scoped(type):
    """Class of the scope classes: gives them the class property ``current``."""

    _stack: _Stack

    @property
    def current(cls) -> Any:
        if not cls._stack.entered:
            base = cls.__mro__[-2]  # the outermost scope of a thread is not a Prefix
            cls._stack.entered.append(base())
        return cls._stack.entered[-1]

    @current.setter
    def current(cls, scope: Any) -> None:
        base = cls.__mro__[-2]
        if not isinstance(scope, base):
            raise InputTypeError(
                f"{cls.__name__}.current", f"expected {base.__name__}, got {scope!r}"
            )
        cls._stack.entered[-1:] = [scope]


class NameManager(metaclass=_Scoped):
    """Names symbols without a name: ``fullyconnected0``, ``fullyconnected1``, ... As a context
    manager it starts counting again.

    >>> NameManager().get(None, "fc"), NameManager().get("mine", "fc")
    ('fc0', 'mine')
    """

    _stack: ClassVar[_Stack] = _Stack()

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """Returns ``name`` if there is one, otherwise ``hint`` with the next free number."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> Self:
        _ = NameManager.current
        self._stack.entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.entered.pop()


class Prefix(NameManager):
    """Puts a prefix before every name.

    >>> Prefix("layer1_").get(None, "fc"), Prefix("layer1_").get("mine", "fc")
    ('layer1_fc0', 'layer1_mine')
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)


class AttrScope(metaclass=_Scoped):
    """Annotates every symbol created in it: ``with AttrScope(ctx_group="stage1"): ...``.

    Values are texts. An inner scope adds to the outer one and wins if both name an attribute; the
    ``attr`` argument of a call wins over both.

    >>> AttrScope(ctx_group="stage1").get({"lr_mult": "2"})
    {'ctx_group': 'stage1', 'lr_mult': '2'}
    """

    _stack: ClassVar[_Stack] = _Stack()
    #: The numbers of the next subgraphs, by name.
    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise AttributeValueError(f"AttrScope: {name}={value!r} is not a text")
        self._own_attr = kwargs
        self._attr = dict(kwargs)

    def get(self, attr: dict[str, Any] | None) -> dict[str, Any]:
        """Returns the annotations of a symbol that was given ``attr``, as a new dict."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> Self:
        self._attr = {**AttrScope.current._attr, **self._own_attr}
        self._stack.entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.entered.pop()
        self._attr = dict(self._own_attr)
