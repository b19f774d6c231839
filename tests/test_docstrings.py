"""Examples in docstrings are run, and every public module says what it is for."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import executorkit

#: All but ``__main__``, which runs the command line when it is imported.
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(executorkit.__path__, "executorkit.")
    if not m.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
