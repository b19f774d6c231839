"""Steps and inference by networks of libraries see what they see under MXNet."""

from __future__ import annotations

import json
from typing import Any

import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.golden import library_scripts
from tests.libraries import zoo

ANSWERS = stored_answers("library_scripts")

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]


def _agrees(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_agrees(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, list) and len(theirs) == 5 and isinstance(theirs[1], str):
        return zoo.is_close(ours, theirs, 5e-4)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_agrees, ours, theirs))
    return ours == (pytest.approx(theirs, 1e-4) if isinstance(theirs, float) else theirs)


@pytest.mark.parametrize("name", ANSWERS)
def test_script_sees_the_same_as_under_mxnet(name: str) -> None:
    mx.install_as_mxnet()
    pytest.importorskip(library_scripts.LIBRARY[name])
    ours = json.loads(json.dumps(library_scripts.run(name, mx)))
    assert _agrees(ours, ANSWERS[name]), (ours, ANSWERS[name])
