"""``mx.np`` answers as MXNet does, question by question; deviations are named with their reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import executorkit as mx
from tests.golden import numpy_questions as nq

pytestmark = pytest.mark.golden

ANSWERS = json.loads((Path(nq.__file__).parent / "data" / "numpy.json").read_text())
#: Questions with another answer here, and why.
MORE = "it works here"
DEVIATIONS = {
    "npx.reset_np(); np.array(3) + 1": MORE,
    "np.deg2rad(v)": MORE,
    "np.sum(a, initial=5)": MORE,
    "z[...]": MORE,
    "np.pad(a, ((1, 0), (0, 1)), constant_values=5)": "MXNet ignores constant_values",
    "a @= np.ones((3, 3)); a": "MXNet writes into its own input",
    "grad(lambda a: np.allclose(a, a))": "a ValueError; MXNet fails while it formats one",
}


def _close(ours: object, theirs: object) -> bool:
    # MXNet has no kernels for some pairs of types.
    if theirs in (ours, ["value", "'refused'"]):
        return True
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_close, ours, theirs))
    try:
        return bool(np.isclose(float(str(ours)), float(str(theirs)), 1e-5, 1e-6, equal_nan=True))
    except ValueError:
        return False


def _agree(ours: list, theirs: list) -> bool:
    if theirs[0] == "error":
        return ours[0] == "error" and theirs[1][0] in ours[1]
    return _close(ours, theirs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("theme", "question"), [(t, q) for t in nq.THEMES for q in nq.questions(t)]
)
def test_answer_is_that_of_mxnet(theme, question):
    theirs = ANSWERS[theme][question]
    ours = nq.ask(question, mx, np)
    if question in DEVIATIONS:
        assert not _agree(ours, theirs), "it agrees by now: remove it from DEVIATIONS"
    else:
        assert _agree(ours, theirs), f"ours {ours}, MXNet {theirs}"
