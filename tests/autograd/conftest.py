"""Fixtures of tests of recorded calls."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import executorkit as mx
from executorkit.autograd._trace import tree


@contextmanager
def fresh_caches() -> Iterator[None]:
    """Nothing is compiled or recorded yet in this context."""
    with mx.program.fresh_caches():
        mx.nd.waitall()  # ends what is being recorded
        tree.reset()
        yield


@pytest.fixture
def fresh_traces() -> Iterator[None]:
    """Nothing is compiled or recorded yet in the test."""
    with fresh_caches():
        yield
