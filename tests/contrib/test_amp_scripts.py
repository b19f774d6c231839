"""Scripts of mixed precision give the answers that they give under MXNet; deviations have a
reason."""

from __future__ import annotations

from typing import Any

import pytest

import executorkit as mx
from executorkit.ops.schema.call_rules import call_rules
from tests._tools.answers import check_script, f32, stored_answers
from tests.golden import amp_scripts

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("amp")
WHOLE = "a call that is refused changes nothing; in MXNet half of the casts are there"
CHECKED = "the store's step is skipped, too; in MXNet it has been taken when gradients are checked"
_STORE = "every_mode_skips_steps/two on store"


#: Places (script/key/...) where another answer is meant: why, and the answer.
DEVIATIONS: dict[str, tuple[str, Any]] = {
    "it_begins_once/1": (WHOLE, "bfloat16"),
    f"{_STORE}/1/0": (CHECKED, [f32(0.0, -1.0), f32(0.0, -1.0)]),
    f"{_STORE}/1/2": (CHECKED, 1),
    f"{_STORE}/2/0": (CHECKED, [f32(-1.0, -3.0), f32(-1.0, -3.0)]),
    f"{_STORE}/2/2": (CHECKED, 2),
}


@pytest.mark.parametrize("name", amp_scripts.SCRIPTS)
def test_script_sees_the_same_as_under_mxnet(name, monkeypatch):
    monkeypatch.setattr(call_rules, "rule", None)
    check_script(name, amp_scripts.run(name, mx), ANSWERS[name], DEVIATIONS)


def test_every_place_is_one_of_a_script():
    assert {p.split("/")[0] for p in DEVIATIONS} <= set(ANSWERS)
    assert set(amp_scripts.SCRIPTS) == set(ANSWERS)
