"""Scripts of mixed precision give the answers that they give under MXNet; deviations have a
reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

import executorkit as mx
from executorkit.ops.schema.call_rules import call_rules
from tests._tools.answers import differences, with_answer
from tests._tools.golden import GOLDEN
from tests.golden import amp_scripts

pytestmark = pytest.mark.golden

ANSWERS = json.loads((GOLDEN / "data" / "amp.json").read_text())
WHOLE = "a call that is refused changes nothing; in MXNet half of the casts are there"
CHECKED = "the store's step is skipped, too; in MXNet it has been taken when gradients are checked"
_STORE = "every_mode_skips_steps/two on store"


def _f32(*values: float) -> list[Any]:
    return ["float32", list(values)]


#: Places (script/key/...) where another answer is meant: why, and the answer.
DEVIATIONS: dict[str, tuple[str, Any]] = {
    "it_begins_once/1": (WHOLE, "bfloat16"),
    f"{_STORE}/1/0": (CHECKED, [_f32(0.0, -1.0), _f32(0.0, -1.0)]),
    f"{_STORE}/1/2": (CHECKED, 1),
    f"{_STORE}/2/0": (CHECKED, [_f32(-1.0, -3.0), _f32(-1.0, -3.0)]),
    f"{_STORE}/2/2": (CHECKED, 2),
}


@pytest.mark.parametrize("name", amp_scripts.SCRIPTS)
def test_script_sees_the_same_as_under_mxnet(name, monkeypatch):
    monkeypatch.setattr(call_rules, "rule", None)
    meant = {p: a for p, (_, a) in DEVIATIONS.items() if p.split("/")[0] == name}
    expected = ANSWERS[name]
    for place, answer in meant.items():
        expected = with_answer(expected, place.split("/")[1:], answer)
    seen = json.loads(json.dumps(amp_scripts.run(name, mx)))
    assert dict(differences(seen, expected, name)) == {}
    differing = dict(differences(seen, ANSWERS[name], name))
    agreeing = [place for place in meant if not any(d.startswith(place) for d in differing)]
    assert not agreeing, "it agrees by now: remove it from the table"


def test_every_place_is_one_of_a_script():
    assert {p.split("/")[0] for p in DEVIATIONS} <= set(ANSWERS)
    assert set(amp_scripts.SCRIPTS) == set(ANSWERS)
