"""``mx.nd`` answers as MXNet does, question by question; deviations are named with their reason."""

from __future__ import annotations

import types

import numpy as np
import pytest

from executorkit import base, context, ndarray, random
from tests._tools.answers import answer_agrees, stored_answers
from tests.golden import ndarray_questions as nq

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("ndarray")
MX = types.SimpleNamespace(
    nd=ndarray, random=random, cpu=context.cpu, gpu=context.gpu, base=base, Context=context.Context
)

ZERO_SHAPES = "arrays of shape () and without elements are arrays like others here"
MORE = "it works here"
NEW_AXES = "a new axis after a list stands where NumPy has it; in MXNet an axis before"
#: Questions with another answer here, and why.
DEVIATIONS = {
    "nd.array([]) + 1": ZERO_SHAPES,
    "nd.array([]).copy()": ZERO_SHAPES,
    "z + 1": ZERO_SHAPES,
    "z[...]": ZERO_SHAPES,
    "z[None]": ZERO_SHAPES,
    "z[:] = 5; z": ZERO_SHAPES,
    "y[[]]": ZERO_SHAPES,
    "y[nd.array(1)]": ZERO_SHAPES,
    "y[[1, 0], None]": NEW_AXES,
    "y[[1, 0], ..., None]": NEW_AXES,
    "nd.array([1], dtype=np.uint16)": MORE,
    'nd.array([1], dtype="bfloat16")': MORE,
    "float(nd.array([2.5]))": MORE,
    '[1, 2][nd.array([1], dtype="int32")]': MORE,
    "nd.array([3]).item()": MORE,
    "np.asarray(x).dtype": MORE,
    "x.as_in_ctx(mx.cpu(0)) is x": MORE,
    "x.slice_assign_scalar(5, (0, 0), (1, 2))": MORE,
    "nd.contrib.foreach(lambda d, s: (d, s), [x, nd.ones((3, 1))], [nd.ones(1)])": (
        "data of different lengths are an error; MXNet takes the first one's"
    ),
    'nd.concatenate([nd.ones((1, 2)), nd.zeros((2, 2), dtype="int32")])': (
        "different dtypes are a DTypeError, not an AssertionError"
    ),
}


@pytest.mark.parametrize(
    ("theme", "question"), [(t, q) for t in nq.THEMES for q in nq.questions(t)]
)
def test_answer_is_that_of_mxnet(theme, question):
    theirs = ANSWERS[theme][question]
    ours = nq.ask(question, MX, np)
    agree = answer_agrees(ours, theirs, 2e-6, 1e-8)
    if question in DEVIATIONS:
        assert not agree, "it agrees by now: remove it from DEVIATIONS"
    else:
        assert agree, f"ours {ours}, MXNet {theirs}"
