"""Printed tables and drawn graphs equal MXNet's, character for character."""

from __future__ import annotations

import importlib
import sys

import pytest

import executorkit as mx
from tests.golden import _store
from tests.golden.cases import _visualization as cases

pytestmark = pytest.mark.golden

ANSWERS = _store.Answers("visualization").facts


@pytest.mark.parametrize("name", cases.TABLES)
def test_tables(name):
    assert cases.table(mx, *cases.TABLES[name]) == ANSWERS["tables"][name]


@pytest.fixture
def without_graphviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)


@pytest.mark.parametrize("name", cases.PICTURES)
@pytest.mark.usefixtures("without_graphviz")
def test_sources_of_our_own_pictures(name):
    graph, warned = cases.picture(mx, *cases.PICTURES[name])
    assert isinstance(graph, mx.viz.NetworkPicture)
    assert [graph.source, graph.format, warned] == ANSWERS["pictures"][name]


@pytest.mark.parametrize("name", cases.PICTURES)
def test_graphs_of_graphviz(name, monkeypatch):
    graphviz = pytest.importorskip("graphviz")
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    graph, warned = cases.picture(mx, *cases.PICTURES[name])
    assert isinstance(graph, graphviz.Digraph)
    assert [graph.source, graph.format, warned] == ANSWERS["pictures"][name]


def test_pictures_are_our_own_where_graphviz_cannot_draw(monkeypatch):
    pytest.importorskip("graphviz")
    monkeypatch.setattr("shutil.which", lambda program: None)
    assert isinstance(mx.viz.plot_network(mx.sym.Variable("x") + 1), mx.viz.NetworkPicture)


@pytest.mark.parametrize("name", cases.ERRORS)
def test_errors_are_of_mxnets_classes(name):
    builtin = getattr(importlib.import_module("builtins"), ANSWERS["errors"][name])
    with pytest.raises(builtin):
        cases.fail(mx, *cases.ERRORS[name])
