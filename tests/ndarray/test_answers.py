"""``mx.nd`` answers as MXNet does, question by question; deviations are named with their reason."""

from __future__ import annotations

import json
import types
from pathlib import Path

import numpy as np
import pytest

from executorkit import base, context, ndarray, random
from tests.golden import ndarray_questions as nq

ANSWERS = json.loads((Path(nq.__file__).parent / "data" / "ndarray.json").read_text())
MX = types.SimpleNamespace(
    nd=ndarray, random=random, cpu=context.cpu, gpu=context.gpu, base=base, Context=context.Context
)

ZERO_SHAPES = "arrays of shape () and without elements are arrays like others here"
#: Questions with another answer here, and why.
DEVIATIONS: dict[str, str] = {}


def _close(ours: object, theirs: object) -> bool:
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_close, ours, theirs))
    if ours == theirs:
        return True
    try:
        return bool(np.isclose(float(str(ours)), float(str(theirs)), rtol=2e-6, equal_nan=True))
    except ValueError:
        return False


def _agree(ours: list, theirs: list) -> bool:
    if theirs[0] == "error":
        return ours[0] == "error" and theirs[1][0] in ours[1]
    return _close(ours, theirs)


@pytest.mark.parametrize(
    ("theme", "question"), [(t, q) for t in nq.THEMES for q in nq.questions(t)]
)
def test_answer_is_that_of_mxnet(theme, question):
    theirs = ANSWERS[theme][question]
    ours = nq.ask(question, MX, np)
    if question in DEVIATIONS:
        assert not _agree(ours, theirs), "it agrees by now: remove it from DEVIATIONS"
    else:
        assert _agree(ours, theirs), f"ours {ours}, MXNet {theirs}"
