"""Settings of the memory that NumPy allocates."""

from __future__ import annotations

from typing import Any

import pytest

import executorkit as mx
from executorkit._support import malloc


def test_interpreted_calls_ask_for_no_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Any] = []
    monkeypatch.setattr(malloc, "_ask_for_huge_pages", settings.append)
    with mx.program.options(interpret=True):
        executor = mx.sym.exp(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2, 3))
        executor.forward()[0].wait_to_read()
    assert settings == [False, malloc._asks_for_huge_pages]
