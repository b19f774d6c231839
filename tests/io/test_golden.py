"""Iterators give, batch by batch, what MXNet 1.9.1's gave."""

from __future__ import annotations

import json

import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.golden.cases._io import ERRORS, VALUES

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("io")


def test_every_script_has_an_answer():
    assert set(ANSWERS["values"]) == set(VALUES)
    assert set(ANSWERS["errors"]) == set(ERRORS)


@pytest.mark.parametrize("name", VALUES)
def test_value(name, tmp_path):
    assert json.loads(json.dumps(VALUES[name](mx, tmp_path))) == ANSWERS["values"][name]


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_of_the_same_class(name, tmp_path):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        ERRORS[name](mx, tmp_path)
    assert ANSWERS["errors"][name] in [cls.__name__ for cls in type(caught.value).__mro__]
