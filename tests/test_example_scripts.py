"""Example programs see what they see under MXNet, with the import line changed."""

from __future__ import annotations

import json

import pytest

import executorkit as mx
from tests._answers import differences
from tests._golden import GOLDEN
from tests.golden import example_scripts

pytestmark = pytest.mark.golden

ANSWERS = json.loads((GOLDEN / "data" / "examples.json").read_text())


# MXNet warns of deprecated operators and of doing things a second time, and so does executorkit.
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ANSWERS)
def test_program_sees_the_same_as_under_mxnet(name):
    assert list(differences(example_scripts.run(name, mx), ANSWERS[name], name)) == []


def test_every_program_has_an_answer():
    assert list(ANSWERS) == list(example_scripts.SCRIPTS)
