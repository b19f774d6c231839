"""Cells make MXNet's graphs, node for node, with MXNet's results and gradients."""

from __future__ import annotations

import json

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import differences
from tests.golden._store import Answers
from tests.golden.cases import _rnn_cells as cases
from tests.golden.make_rnn_cells import call, facts

ANSWERS = Answers("rnn_cells")


def test_every_script_has_an_answer():
    assert set(ANSWERS.facts["graphs"]) == set(cases.GRAPHS)
    assert set(ANSWERS.facts["values"]) == set(cases.VALUES)
    assert set(ANSWERS.facts["errors"]) == set(cases.ERRORS)
    assert set(cases.RUN) <= set(cases.GRAPHS)


@pytest.mark.parametrize("name", cases.GRAPHS)
def test_graph(name):
    symbol, _ = call(cases.GRAPHS[name], mx)
    ours, theirs = facts(symbol), ANSWERS.facts["graphs"][name]
    assert ours["arguments"] == theirs["arguments"]
    assert ours["outputs"] == theirs["outputs"]
    assert ours["graph"] == theirs["graph"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", cases.RUN)
def test_results_and_gradients(name):
    symbol, shapes = call(cases.GRAPHS[name], mx)
    for key, ours in cases.results(mx, symbol, shapes).items():
        theirs = ANSWERS[f"{name}|{key}"]
        np.testing.assert_allclose(ours, theirs, 1e-4, 2e-6, err_msg=key)


@pytest.mark.parametrize("name", cases.VALUES)
def test_value(name):
    ours = json.loads(json.dumps(call(cases.VALUES[name], mx)))
    assert not list(differences(ours, ANSWERS.facts["values"][name], name))


@pytest.mark.parametrize("name", cases.ERRORS)
def test_error_is_of_the_same_class(name):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call(cases.ERRORS[name], mx)
    assert ANSWERS.facts["errors"][name] in [c.__name__ for c in type(caught.value).__mro__]
