"""Views of symbols: drawn, folded, bounded, escaped."""

from __future__ import annotations

import time

import pytest

import executorkit as mx
from executorkit.display import view_of

from ..display._html import checked
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
    assert html.count("<details>") > 10
    assert "stage3: " in checked(html)
    matches("symbol_resnet50", "\n".join(view.text().split("\n")[:40]))


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
    start = time.process_time()
    html = net._repr_html_()
    # 0.1 s where it was measured; the bound leaves room for a busy machine.
    assert time.process_time() - start < 1
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
