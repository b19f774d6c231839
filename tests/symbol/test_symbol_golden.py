"""Scripts that build symbols give, text by text, what MXNet 1.9.1 gave."""

from __future__ import annotations

import json
import re

import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.golden.cases._graphs import DOCUMENTS, ERRORS, GRAPHS, VALUES
from tests.golden.make_symbol import facts

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("symbol")


#: Graphs in which MXNet's version numbers of auxiliary states count compositions; ours follow from
#: the graph alone.
VERSIONS_DIFFER = ("composed_statistics", "v08_statistics_are_missing")


def _compare(ours, theirs, name):
    if name in VERSIONS_DIFFER:
        ours, theirs = _without_versions(ours), _without_versions(theirs)
    assert ours == theirs


def _without_versions(answer):
    text = re.sub(r"(\[\d+, \d+), \d+\]", r"\1]", answer["json"])
    return {**answer, "json": text, "debug": re.sub(r"version=\d+", "", answer["debug"])}


def _plain(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name):
    with mx.name.NameManager():
        ours = facts(GRAPHS[name](mx))
    _compare(ours, ANSWERS["graphs"][name], name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document(name):
    _compare(facts(mx.sym.load_json(DOCUMENTS[name])), ANSWERS["documents"][name], name)


@pytest.mark.parametrize("name", VALUES)
def test_value(name):
    with mx.name.NameManager():
        assert _plain(VALUES[name](mx)) == ANSWERS["values"][name]


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_of_the_same_class(name):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        ERRORS[name](mx)
    assert ANSWERS["errors"][name] in [cls.__name__ for cls in type(caught.value).__mro__]


@pytest.mark.parametrize("name", GRAPHS)
def test_graph_survives_its_own_json(name):
    with mx.name.NameManager():
        symbol = GRAPHS[name](mx)
    again = mx.sym.load_json(symbol.tojson())
    assert facts(again) == facts(symbol)
