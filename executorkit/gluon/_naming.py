"""Prefixes of blocks and their parameters, counted as MXNet counts them."""

from __future__ import annotations

import threading
from typing import Any, Self

from ..symbol.naming import NameManager, Prefix
from .parameter import ParameterDict


class _Entered(threading.local):
    """The scopes that a thread has entered; the last one is current."""

    def __init__(self) -> None:
        self.scopes: list[BlockScope] = []


_entered = _Entered()


class BlockScope:
    """The scope of a block, ``block.name_scope()``: blocks and symbols that are created in it have
    names that begin with the block's prefix. A block whose prefix is empty has a scope without
    effect."""

    def __init__(self, block: Any) -> None:
        self._block = block
        self._counter: dict[str, int] = {}
        self._names: list[Prefix | None] = []

    @staticmethod
    def create(
        prefix: str | None, params: ParameterDict | None, hint: str
    ) -> tuple[str, ParameterDict]:
        """The prefix and the parameters of a new block, from what it was given."""
        scope = _entered.scopes[-1] if _entered.scopes else None
        if scope is None:
            own: str = NameManager.current.get(None, hint) + "_" if prefix is None else prefix
        else:
            if prefix is None:
                number = scope._counter.get(hint, 0)
                scope._counter[hint] = number + 1
                prefix = f"{hint}{number}_"
            parent = scope._block
            own = parent.prefix + prefix
            if params is None:
                return own, ParameterDict(parent.params.prefix + prefix, parent.params._shared)
        return own, ParameterDict(own) if params is None else ParameterDict(params.prefix, params)

    def __enter__(self) -> Self:
        if self._block._empty_prefix:
            self._names.append(None)
            return self
        names = Prefix(self._block.prefix)
        names.__enter__()
        self._names.append(names)
        _entered.scopes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        names = self._names.pop()
        if names is not None:
            _entered.scopes.pop()
            names.__exit__(*exc)
