"""Counts of compilations, for the tests of programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import pytest


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """Names of the programs that JAX compiles meanwhile."""
    names: list[str] = []

    def note(event: str, duration_secs: float, **kwargs: Any) -> None:
        if event.endswith("backend_compile_duration"):
            names.append(str(kwargs["fun_name"]).removeprefix("jit(").rstrip(")"))

    jax.monitoring.register_event_duration_secs_listener(note)
    yield names
    jax.monitoring.unregister_event_duration_listener(note)
