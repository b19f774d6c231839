"""Files that do not load: each says what is wrong, where, and all of it at once."""

from __future__ import annotations

import io
import json
import os

import pytest

import executorkit as mx
from executorkit.errors import (
    AttributeValueError,
    FileFormatError,
    MXNetError,
    UnknownOperatorError,
)

GOOD = (mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc") + 1).tojson()


def _file(*nodes, heads=None, **fields):
    raw = {
        "nodes": [{"inputs": [], **node} for node in nodes],
        "arg_nodes": [],
        "heads": heads or [[len(nodes) - 1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
        **fields,
    }
    return json.dumps(raw)


X = {"op": "null", "name": "x"}


def _relu(name, *inputs, **parts):
    return {"op": "relu", "name": name, "inputs": [list(i) for i in inputs], **parts}


MALFORMED = {
    "empty": ("", "line 1, column 1: Expecting value\n"
              "  try: the text ends early: is the file complete?"),
    "list": ("[]", "expected an object with 'nodes' and 'heads', got a list"),
    "no nodes": ("{}", "'nodes' is missing"),
    "no arg_nodes": ('{"nodes": [], "heads": []}', "'arg_nodes' is missing"),
    "no head": (_file(heads=[]).replace("[[-1, 0, 0]]", "[]"),
                "'heads' is empty: the symbol has no output"),
    "node is a number": ('{"nodes": [3], "arg_nodes": [], "heads": [[0, 0]]}',
                         "node 0 is 3, expected an object"),
    "no name": (_file({"op": "null"}), "node 0: 'name' is null, expected a text"),
    "op is a number": (_file({"op": 3, "name": "x"}), "node 0: 'op' is 3, expected a text"),
    "attrs is a list": (_file({**X, "attrs": [1]}),
                        "node 'x': 'attrs' is a list, expected an object"),
    "attribute is a list": (_file({**X, "attrs": {"a": []}}),
                            "node 'x': attribute 'a' is a list, expected a text"),
    "inputs is a text": (_file({**X, "inputs": "a"}),
                         "node 'x': 'inputs' is a text, expected a list"),
    "input is a number": (_file(X, {"op": "relu", "name": "q", "inputs": [0]}),
                          "node 'q': input 0 is 0, expected two or three numbers"),
    "input is negative": (_file(X, _relu("r", (-1, 0))),
                          "node 'r': input 0 is [-1, 0], expected two or three numbers"),
    "input is not there": (_file(X, _relu("r", (7, 0))), "node 'r' reads node 7, but there are 2"),
    "input of a variable": (_file(X, {"op": "null", "name": "y", "inputs": [[0, 0]]}),
                            "node 'y' is a variable, but has inputs"),
    "output is not there": (_file(X, _relu("r", (0, 5))),
                            "node 'r' asks for output 5 of 'x', which has 1"),
    "head is not there": (_file(X, heads=[[4, 0]]), "head 0 is node 4, but there are 1"),
    "head has no such output": (_file(X, heads=[[0, 0], [0, 2]]),
                                "head 1 asks for output 2 of 'x', which has 1"),
    "argument is an operator": (_file(X, _relu("r", (0, 0)), arg_nodes=[1]),
                                "'arg_nodes' names node 'r', which is not a variable"),
    "argument is not there": (_file(X, arg_nodes=[3]), "'arg_nodes' names node 3, but there are 1"),
    "cycle of one": (_file(X, _relu("r", (1, 0))), "the graph has a cycle: r depend on each other"),
    "cycle of two": (_file(_relu("a", (1, 0)), _relu("b", (0, 0))),
                     "the graph has a cycle: a, b depend on each other"),
    "bytes": (b"\xff{", "this is not JSON: 'utf-8' codec can't decode byte 0xff in position 0: "
              "invalid start byte"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_text(name):
    text, message = MALFORMED[name]
    with pytest.raises(FileFormatError) as caught:
        mx.sym.load_json(text)
    assert str(caught.value) == f"symbol JSON: {message}"


@pytest.mark.parametrize("length", range(0, len(GOOD), 37))
def test_truncated_text(length):
    with pytest.raises(FileFormatError, match=r"^symbol JSON: line \d+, column \d+: "):
        mx.sym.load_json(GOOD[:length])


def test_deeply_nested_text():
    with pytest.raises(FileFormatError, match="this is not JSON"):
        mx.sym.load_json("[" * 200_000)


def test_inputs_that_are_missing_in_a_recent_file():
    text = _file(X, {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "3"},
                     "inputs": [[0, 0, 0]]})  # fmt: skip
    with pytest.raises(FileFormatError) as caught:
        mx.sym.load_json(text)
    assert str(caught.value) == (
        "node 'fc' (FullyConnected): it has 1 inputs, expected 3: data, weight, bias"
    )


def _bad():
    fc = {"op": "FullyConnected", "inputs": [[0, 0, 0]]}
    return [
        X,
        {"op": "Nope", "name": "a", "inputs": [[0, 0, 0]]},
        {"op": "Nope", "name": "b", "inputs": [[1, 0, 0]]},
        {**fc, "name": "c", "attrs": {"num_hidden": "three", "zz": "1", "workspace": "3"}},
        {**fc, "name": "d"},
        _relu("e", (0, 0)),
    ]


def test_everything_that_is_not_served_is_named_at_once():
    with pytest.raises(UnknownOperatorError) as caught:
        mx.sym.load_json(_file(*_bad()))
    assert str(caught.value) == (
        "this graph needs operators or attributes that are not served:\n"
        "  Nope: absent: a, b\n"
        "  FullyConnected: attribute not served "
        "(num_hidden='three': expected a positive integer): c\n"
        "  FullyConnected: attribute not served (zz='1': unknown attribute): c\n"
        "  FullyConnected: attribute not served "
        "(num_hidden: missing, expected a positive integer): d\n"
        "  try: before loading, @mx.ops.register('Nope') on a function of jax.Arrays"
    )
    assert isinstance(caught.value, NotImplementedError)
    assert isinstance(caught.value, mx.base.MXNetError)


def test_attributes_alone_are_another_error():
    with pytest.raises(AttributeValueError) as caught:
        mx.sym.load_json(_file(X, _bad()[4]))
    assert str(caught.value) == (
        "this graph needs operators or attributes that are not served:\n"
        "  FullyConnected: attribute not served "
        "(num_hidden: missing, expected a positive integer): d"
    )


def test_operators_of_the_user_are_absent_until_they_are_registered():
    custom = {"op": "Custom", "name": "c", "inputs": [[0, 0]], "attrs": {"op_type": "never_there"}}
    with pytest.raises(
        UnknownOperatorError, match=r"Custom never_there: absent: c\n  Nope: absent: a"
    ):
        mx.sym.load_json(_file(X, _bad()[1], custom))


def test_attributes_of_speed_are_dropped():
    node = {"op": "FullyConnected", "name": "fc", "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}
    for key in ("workspace", "cudnn_off", "cudnn_tune", "mkldnn_off"):
        attrs = {"num_hidden": "3", key: "1"}
        names = ({"op": "null", "name": name} for name in "xwb")
        symbol = mx.sym.load_json(_file(*names, {**node, "attrs": attrs}))
        assert symbol.attr_dict() == {"fc": {"num_hidden": "3"}}


@pytest.mark.parametrize("attrs", [{"type": "channel"}, {"mode": "channel", "type": "channel"}])
def test_attributes_under_their_former_name(attrs):
    node = {"op": "SoftmaxActivation", "name": "s", "inputs": [[0, 0]], "attrs": attrs}
    assert mx.sym.load_json(_file(X, node)).attr_dict() == {"s": {"mode": "channel"}}


def test_subgraphs_are_searched_too():
    body = {"nodes": [{"op": "Nope", "name": "inner", "inputs": []}], "arg_nodes": [],
            "heads": [[0, 0, 0]]}  # fmt: skip
    with pytest.raises(UnknownOperatorError, match=r"Nope: absent: inner"):
        mx.sym.load_json(_file(X, _relu("r", (0, 0), subgraphs=[body])))


def test_numbers_as_attribute_values():
    text = _file(X, {"op": "_plus_scalar", "name": "p", "attrs": {"scalar": 2}, "inputs": [[0, 0]]})
    assert mx.sym.load_json(text).attr("scalar") == "2"


def test_a_graph_of_18451_nodes():
    nodes = [X] + [_relu(f"r{i}", (i, 0, 0)) for i in range(18_450)]
    symbol = mx.sym.load_json(_file(*nodes))
    again = mx.sym.load_json(symbol.tojson())
    assert len(symbol.get_internals()) == len(again.get_internals()) == 18_451
    assert again.list_arguments() == ["x"]


def test_save_and_load(tmp_path):
    symbol = mx.sym.load_json(GOOD)
    path = tmp_path / "net-symbol.json"
    symbol.save(str(path))
    assert path.read_text("utf-8") == GOOD
    assert mx.sym.load(str(path)).tojson() == GOOD
    assert mx.sym.load(path).tojson() == GOOD
    text, binary = io.StringIO(), io.BytesIO()
    symbol.save(text)
    symbol.save(binary)
    assert text.getvalue() == binary.getvalue().decode() == GOOD
    assert mx.sym.load(io.StringIO(GOOD)).tojson() == GOOD


def test_a_failed_save_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "net-symbol.json"
    path.write_text("before")

    def fail(*args):
        raise OSError(28, "disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(MXNetError, match=r"net-symbol\.json: cannot be written: disk full$"):
        mx.sym.load_json(GOOD).save(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_load_of_neither_path_nor_file():
    with pytest.raises(TypeError, match=r"load\(3\), expected a path or an open file"):
        mx.sym.load(3)  # type: ignore[reportArgumentType]


def _nested(depth: int) -> str:
    graph = {"nodes": [X], "arg_nodes": [0], "heads": [[0, 0, 0]]}
    for _ in range(depth):
        loop = {
            "op": "_foreach", "name": "loop", "inputs": [[0, 0, 0]], "subgraphs": [graph],
            "attrs": {
                "num_args": "2", "num_outputs": "1", "num_out_data": "1", "in_state_locs": "()",
                "in_data_locs": "(0,)", "remain_locs": "()",
            },
        }  # fmt: skip
        graph = {"nodes": [X, loop], "arg_nodes": [0], "heads": [[1, 0, 0]]}
    return json.dumps(graph)


def test_subgraphs_are_nested_in_a_bounded_number_of_levels():
    assert len(mx.sym.load_json(_nested(32)).list_outputs()) == 1
    for depth in (33, 120):
        with pytest.raises(FileFormatError, match="nested in more than 32 levels"):
            mx.sym.load_json(_nested(depth))


@pytest.mark.parametrize(
    ("op", "attribute"), [("add_n", "num_args"), ("SliceChannel", "num_outputs"),
                          ("amp_multicast", "num_outputs")]
)  # fmt: skip
def test_attributes_do_not_ask_for_any_number_of_arrays(op, attribute):
    node = {"op": op, "name": "n", "inputs": [[0, 0, 0]], "attrs": {attribute: str(2**40)}}
    with pytest.raises(AttributeValueError, match="more than 65536 inputs or outputs"):
        mx.sym.load_json(_file(X, node))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("kernel", "(" * 10**6), ("kernel", "y" * 10**6), ("num_filter", "9" * 10**6)],
)
def test_long_attributes_are_refused_in_short_messages(attribute, value):
    attrs = {"kernel": "(1,)", "num_filter": "1", attribute: value}
    node = {"op": "Convolution", "name": "n" * 10**6, "inputs": [[0, 0, 0]], "attrs": attrs}
    with pytest.raises(AttributeValueError, match=attribute) as caught:
        mx.sym.load_json(_file(X, node))
    assert len(str(caught.value)) < 1000


def test_long_attributes_that_are_served():
    """A million sizes, and a million characters of an annotation."""
    node = {"op": "Reshape", "name": "n", "inputs": [[0, 0, 0]],
            "attrs": {"shape": f"({'1, ' * 10**6})", "__x__": "y" * 10**6}}  # fmt: skip
    symbol = mx.sym.load_json(_file(X, node))
    assert symbol.attr("__x__") == "y" * 10**6
    assert symbol.tojson().count("1, ") >= 10**6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r'{"nodes": [{"op": "null", "name": "\ud800", "inputs": []}], "arg_nodes": [0], '
         '"heads": [[0, 0, 0]]}', "not Unicode text"),
        (f'{{"nodes": [], "arg_nodes": [], "heads": [[{"9" * 5000}, 0, 0]]}}', "not JSON"),
        ("<!DOCTYPE html><html></html>", "it is an HTML page, expected a symbol in JSON"),
        (b"\xff\xfe\xfd", "this is not JSON"),
    ],
)  # fmt: skip
def test_other_texts(text, message):
    with pytest.raises(FileFormatError, match=message):
        mx.sym.load_json(text)


def test_errors_about_files_begin_with_their_path(tmp_path):
    path = tmp_path / "net-symbol.json"
    for content in ("{", "[]", _file({**X, "op": "Nope"})):
        path.write_text(content)
        with pytest.raises(MXNetError, match=f"^{path}: "):
            mx.sym.load(str(path))
