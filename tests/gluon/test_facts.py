"""Gluon scripts give the answers that they give under MXNet; deviations have a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

import executorkit as mx
from tests._answers import differences, with_answer
from tests._golden import GOLDEN
from tests.golden import gluon_scripts

pytestmark = pytest.mark.golden

ANSWERS = json.loads((GOLDEN / "data" / "gluon.json").read_text())

#: Places (script/key/...) where another answer is meant: why, and the answer.
DEVIATIONS: dict[str, tuple[str, Any]] = {}


@pytest.mark.parametrize("name", gluon_scripts.SCRIPTS)
def test_script_sees_the_same_as_under_mxnet(name):
    """The second run takes up what the first one has traced and compiled."""
    meant = {p: a for p, (_, a) in DEVIATIONS.items() if p.split("/")[0] == name}
    expected = ANSWERS[name]
    for place, answer in meant.items():
        expected = with_answer(expected, place.split("/")[1:], answer)
    for _ in range(2):
        seen = json.loads(json.dumps(gluon_scripts.run(name, mx)))
        assert dict(differences(seen, expected, name)) == {}
        agreeing = meant.keys() - dict(differences(seen, ANSWERS[name], name))
        assert not agreeing, "it agrees by now: remove it from the table"


def test_every_place_is_one_of_a_script():
    assert {p.split("/")[0] for p in DEVIATIONS} <= set(ANSWERS)
    assert set(gluon_scripts.SCRIPTS) == set(ANSWERS)
