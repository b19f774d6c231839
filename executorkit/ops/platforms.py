"""Choices between platforms: a form of an operator for CPUs, and one for all other devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
from jax import lax

_cpus_only: ContextVar[bool] = ContextVar("executorkit_cpus_only", default=False)


@contextmanager
def this_process_only() -> Iterator[None]:
    """Traces in this context run in this process alone: where its default devices are CPUs, forms
    for other devices are not traced, which can be half of the time that a trace takes."""
    token = _cpus_only.set(jax.default_backend() == "cpu")
    try:
        yield
    finally:
        _cpus_only.reset(token)


def traced_for_cpus() -> bool:
    """True in a trace that only runs in this process, whose default devices are CPUs."""
    return _cpus_only.get()


def for_platform(*arrays: Any, cpu: Callable[..., Any], default: Callable[..., Any]) -> Any:
    """``cpu(*arrays)`` on CPUs, ``default(*arrays)`` on other devices."""
    if traced_for_cpus():
        return cpu(*arrays)
    return lax.platform_dependent(*arrays, cpu=cpu, default=default)
