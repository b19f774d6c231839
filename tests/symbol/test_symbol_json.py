"""Any graph survives its JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

import executorkit as mx
from tests.golden.make_symbol import facts

pytestmark = pytest.mark.smoke

NAMES = st.text(min_size=1, max_size=6)
ANNOTATIONS = st.dictionaries(
    st.from_regex(r"__[a-z_]{1,6}__", fullmatch=True), st.text(max_size=9)
)


@st.composite
def symbols(draw):
    """Graphs of a few dozen nodes: shared inputs, several outputs, repeated names."""
    count = draw(st.integers(1, 3))
    nodes = [mx.sym.var(draw(NAMES), attr=draw(ANNOTATIONS)) for _ in range(count)]
    for _ in range(draw(st.integers(0, 8))):
        a, b = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
        kind = draw(st.sampled_from(["add", "scalar", "fc", "concat", "split"]))
        attr = draw(ANNOTATIONS)
        if kind == "add":
            nodes.append(mx.sym.elemwise_add(a, b, attr=attr, name=draw(NAMES)))
        elif kind == "scalar":
            nodes.append(a * draw(st.floats(allow_nan=False, allow_infinity=False)))
        elif kind == "fc":
            hidden = draw(st.integers(1, 9))
            nodes.append(mx.sym.FullyConnected(a, b, num_hidden=hidden, attr=attr))
        elif kind == "concat":
            nodes.append(mx.sym.Concat(a, b, a, dim=draw(st.integers(-2, 2))))
        else:
            nodes.extend(mx.sym.SliceChannel(a, num_outputs=draw(st.integers(2, 4))))
    return mx.sym.Group(draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4)))


@settings(max_examples=60, deadline=None)
@given(symbols())
def test_round_trip(symbol):
    assert facts(mx.sym.load_json(symbol.tojson())) == facts(symbol)


@settings(max_examples=30, deadline=None)
@given(symbols())
def test_text_is_json_with_inputs_first(symbol):
    raw = json.loads(symbol.tojson(), strict=False)
    for i, node in enumerate(raw["nodes"]):
        assert all(child < i for child, _, _ in node["inputs"])
    names = [node["name"] for node in raw["nodes"]]
    assert [names[i] for i in raw["arg_nodes"]] == symbol.list_inputs()
    assert len(raw["node_row_ptr"]) == len(names) + 1


def test_neither_a_path_nor_a_file():
    with pytest.raises(TypeError, match=r"save: 3 \(int\) is neither a path nor a file"):
        mx.sym.var("x").save(3)  # type: ignore[reportArgumentType]


def test_the_text_says_that_shapes_have_numpys_meaning():
    symbol = mx.sym.sin(mx.sym.var("x"), name="s")
    with mx.util.np_shape():
        text = symbol.tojson()
        again = mx.sym.load_json(text).tojson()
    assert again == text
    assert text.endswith("""\
  "attrs": {
    "is_np_shape": ["int", 1], 
    "mxnet_version": ["int", 10901]
  }
}""")
    assert json.loads(mx.sym.load_json(text).tojson())["attrs"] == {"mxnet_version": ["int", 10901]}
