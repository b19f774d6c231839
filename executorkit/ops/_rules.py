"""Type rules that several families share. No jax in here."""

from __future__ import annotations

from ._registry import Params, TypeFacts, Types


def first_decides(t: TypeFacts, p: Params) -> None:
    """The output is of the first input's type; other inputs may be of any."""
    t.same(next(iter(t)), "out0")


def alike(*names: str) -> Types:
    """The arrays named are of one type; others may be of any."""

    def rule(t: TypeFacts, p: Params) -> None:
        t.same(*names)

    return rule
