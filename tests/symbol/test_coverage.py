"""The report on the operators of a file that are supported."""

from __future__ import annotations

import json

import executorkit as mx


def _text(*nodes):
    raw = {"nodes": nodes, "arg_nodes": [], "heads": [[len(nodes) - 1, 0, 0]]}
    return json.dumps({**raw, "attrs": {"mxnet_version": ["int", 10901]}})


X = {"op": "null", "name": "x", "inputs": []}
BAD = {"op": "FullyConnected", "name": "f", "inputs": [[0, 0]], "attrs": {"zz": "1"}}


def test_rows_by_operator():
    nope = [{"op": "Nope", "name": f"n{i}", "inputs": [[0, 0]]} for i in range(10)]
    relu = {"op": "relu", "name": "r", "inputs": [[0, 0]]}
    report = mx.sym.coverage(_text(X, *nope, relu, BAD))
    assert not report.complete
    assert str(report) == "\n".join([
        "operator        nodes  status                where",
        "--------------  -----  --------------------  " + 53 * "-",
        "Nope               10  absent                n0, n1, n2, n3, n4, n5, n6, n7, ... 2 more",
        "FullyConnected      1  attribute not served  (zz='1': unknown attribute): f",
        "FullyConnected      1  attribute not served  "
        "(num_hidden: missing, expected a positive integer): f",
        "relu                1  served",
    ])  # fmt: skip
    assert [row.operator for row in report.missing] == ["Nope", "FullyConnected", "FullyConnected"]
    assert report.rows[0].nodes == tuple(f"n{i}" for i in range(10))


def test_a_served_graph_is_complete():
    report = mx.sym.coverage((mx.sym.var("x") + 1).tojson())
    assert report.complete
    assert [(row.operator, row.status) for row in report.rows] == [("_plus_scalar", "served")]


def test_what_is_left_out_on_purpose_says_why():
    report = mx.sym.coverage(_text(X, {"op": "_npi_share_memory", "name": "e", "inputs": [[0, 0]]}))
    (row,) = report.missing
    assert str(row) == ("_npi_share_memory: absent (Python here: mx.np.shares_memory): e")
