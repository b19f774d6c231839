"""Views of symbols: drawn, folded, bounded, escaped."""

from __future__ import annotations

import re

import pytest

import executorkit as mx
from executorkit.display import view_of
from executorkit.symbol.node import topological_order

from ..display._calls import calls_of
from ..display._html import checked, drawn_texts
from ..display._snapshots import matches
from ..models.resnet import resnet50


def _block(x, name):
    y = mx.sym.Convolution(x, kernel=(3, 3), stride=(2, 2), num_filter=8, name=f"{name}_conv")
    y = mx.sym.BatchNorm(y, name=f"{name}_bn")
    return mx.sym.Activation(y, act_type="relu", name=f"{name}_relu")


def _small():
    x = mx.sym.var("data", shape=(2, 3, 8, 8))
    x = _block(x, "a")
    x = mx.sym.FullyConnected(mx.sym.flatten(x, name="flat"), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _chain(count, name):
    x = mx.sym.var("data")
    for i in range(count):
        x = mx.sym.Activation(x, act_type="relu", name=name(i))
    return x


def test_small_symbol():
    matches("symbol", view_of(_small()).text())
    assert "softmax_label" in checked(_small()._repr_html_())


def test_blocks_are_folded():
    with mx.name.NameManager():  # names count from 0, independent of other tests
        view = view_of(resnet50(mx))
    html = view.html()
    words = checked(html)
    assert [stage for stage in range(1, 5) if f"stage{stage} " in words] == [1, 2, 3, 4]
    assert "stage3_unit2 … stage3_unit6 x 5, each the same 10 nodes" in " ".join(words.split())
    matches("symbol_resnet50", "\n".join(view.text().split("\n")[:40]))


def _long_lstm(steps):
    cell = mx.rnn.LSTMCell(4, prefix="lstm_")
    outputs, _ = cell.unroll(steps, inputs=mx.sym.Variable("data"), layout="NTC")
    return mx.sym.FullyConnected(outputs[-1], num_hidden=2, name="out")


@pytest.mark.parametrize("make", [lambda: resnet50(mx, units=(3, 8, 36, 3)),
                                  lambda: _long_lstm(400)])  # fmt: skip
def test_every_node_of_a_large_graph_is_there(make):
    net = make()
    html, calls = calls_of(net._repr_html_)
    assert calls < 300_000
    assert len(html) < 150_000
    names = set(re.findall(r"[\w.]+", checked(html)))
    nodes = {node.name for node in topological_order(net.heads) if node.op is not None}
    assert len(nodes) > 500
    assert nodes <= names


def test_a_block_that_is_repeated_is_drawn_once():
    html = _long_lstm(50)._repr_html_()
    texts = drawn_texts(html)
    assert texts.count("FullyConnected 16") == 4
    words = " ".join(checked(html).split())
    assert "lstm_t1 … lstm_t49 x 49, each the same 13 nodes" in words


def test_names_are_escaped():
    name = "<script>alert(1)</script>"
    net = mx.sym.FullyConnected(mx.sym.var(name), num_hidden=2, name=f"{name}&'\"")
    html = net._repr_html_()
    assert "<script" not in html
    checked(html)


@pytest.mark.parametrize(
    "name",
    [lambda i: f"op{i}", lambda i: f"s{i // 100}_u{i // 10}_op{i}", lambda i: "same",
     lambda i: "x" * 200 + str(i), lambda i: "_".join("ab"[i >> k & 1] for k in range(11))],
)  # fmt: skip
def test_large_symbols_stay_small_views(name):
    net = _chain(2000, name)
    net._repr_html_()
    html, calls = calls_of(net._repr_html_)
    assert calls < 120_000
    assert len(html) < 300_000
    checked(html)


def test_plain_text_is_the_repr_as_in_mxnet():
    net = _small()
    assert net._repr_mimebundle_()["text/plain"] == "<Symbol softmax>"
    assert net._repr_mimebundle_()["text/html"] == net._repr_html_()


def test_groups_variables_and_loops_have_views():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    for net in (a, mx.sym.Group([a + b, b, mx.sym.split(a, num_outputs=3, name="s")])):
        assert "could not" not in checked(net._repr_html_())
        assert "<svg" in net._repr_html_()
