"""``mx.np`` answers as MXNet does, question by question; deviations are named with their reason."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import answer_agrees, stored_answers
from tests.golden import numpy_questions as nq

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("numpy")
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("theme", "question"), [(t, q) for t in nq.THEMES for q in nq.questions(t)]
)
def test_answer_is_that_of_mxnet(theme, question):
    theirs = ANSWERS[theme][question]
    ours = nq.ask(question, mx, np)
    agree = answer_agrees(ours, theirs, 1e-5, 1e-6)
    if question in DEVIATIONS:
        assert not agree, "it agrees by now: remove it from DEVIATIONS"
    else:
        assert agree, f"ours {ours}, MXNet {theirs}"
