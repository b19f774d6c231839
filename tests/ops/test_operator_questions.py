"""Operators give MXNet's answers where it takes more than one call to ask: errors that depend on
values, gradients of integers, shapes that are left open."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.golden import operator_questions as oq

ANSWERS = stored_answers("operators")


def _differs(ours: Any, theirs: Any) -> bool:
    """True if an answer is not MXNet's: arrays to 1e-5, errors of all of its classes."""
    if isinstance(theirs, list) and isinstance(ours, list) and theirs and ours:
        if theirs[0] == ours[0] == "error":
            return not set(theirs[1]) <= set(ours[1])
        if theirs[0] == ours[0] == "array":
            same = ours[1:3] == theirs[1:3]
            return not (same and np.allclose(ours[3], theirs[3], 1e-5, 1e-6))
        return len(ours) != len(theirs) or any(map(_differs, ours, theirs))
    return ours != theirs


@pytest.mark.golden
@pytest.mark.parametrize("theme", oq.THEMES)
def test_operators_answer_as_mxnet(theme):
    assert list(ANSWERS[theme]) == oq.questions(theme), "ask again: make_scripts.py operators"
    assert ["error", ["NameError"]] not in ANSWERS[theme].values()
    wrong = []
    for question, theirs in ANSWERS[theme].items():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(shapes|types) do not follow")
            ours = json.loads(json.dumps(oq.ask(question, mx, np)))
        if _differs(ours, theirs):
            wrong.append(f"{question}\n    ours {ours}\n    MXNet {theirs}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("shape", "axes", "result"),
    [((2, 0), None, (2, 0, 2)), ((0, 3), (1,), (0, 3, 1)), ((), (0, -1), (2,))],
)
def test_coordinates_of_no_elements_and_of_scalars(shape, axes, result):
    """MXNet divides by zero once the result is computed, but its shape is known before."""
    with mx.np_shape():
        assert mx.nd.contrib.index_array(mx.nd.zeros(shape), axes=axes).shape == result


def test_a_wrong_answer_is_noticed():
    array = ["array", [2], "int32", [1, 2]]
    assert not _differs(array, array)
    assert _differs(["array", [2], "int32", [1, 3]], array)
    assert _differs(["array", [2], "int64", [1, 2]], array)
    assert _differs(["error", ["MXNetError"]], array)
    assert _differs(["error", ["MXNetError"]], ["error", ["IndexError"]])
    assert _differs([array], [array, array])
