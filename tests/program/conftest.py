"""Counts of compilations and settings of JAX's own cache, for the tests of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache


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


@pytest.fixture
def jax_cache() -> Iterator[Callable[[str | None], None]]:
    """``jax_cache(directory)`` moves JAX's own cache, which the tests have, or turns it off."""
    names = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
    before = [getattr(jax.config, name) for name in names]

    def use(directory: str | None, seconds: float = 0) -> None:
        for name, setting in zip(names, (directory, seconds), strict=True):
            jax.config.update(name, setting)
        compilation_cache.reset_cache()

    yield use
    use(*before)
