"""``get_symbol``: the recorded graph as a symbol."""

from __future__ import annotations

import re

from ._facts import attempt, attempts, leaf, recorded, script


def _stems(names):
    """Names without their numbers."""
    return [re.sub(r"\d+", "#", name) for name in names]


def _operators(symbol):
    import json

    return [node["op"] for node in json.loads(symbol.tojson())["nodes"]]


@script
def symbol_of_a_graph(mx):
    x, c = leaf(mx), mx.nd.ones((2,))
    with mx.autograd.record():
        y = mx.nd.exp(x * c) + x
    symbol = mx.autograd.get_symbol(y)
    names = symbol.list_arguments()
    seen = [type(symbol).__name__, _stems(names), len(set(names)), _stems(symbol.list_outputs())]
    seen += [_operators(symbol), attempt(mx, lambda: [y.backward(), x.grad])]
    return seen


@script
def symbol_is_computed(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = mx.nd.sin(x) * 2 + x
    symbol = mx.autograd.get_symbol(y)
    (name,) = symbol.list_arguments()
    executor = symbol.bind(mx.cpu(), {name: x})
    return executor.forward()[0], y


@script
def symbols_that_are_not_there(mx):
    x, c = leaf(mx), mx.nd.ones((2,))
    y = recorded(mx, lambda: x * x)
    outside, unmarked = x * x, recorded(mx, lambda: c * c)
    y.backward()
    return attempts(
        mx, outside=lambda: mx.autograd.get_symbol(outside).list_arguments(),
        unmarked=lambda: mx.autograd.get_symbol(unmarked).list_arguments(),
        used=lambda: mx.autograd.get_symbol(y).list_arguments(),
        leaf=lambda: _stems(mx.autograd.get_symbol(x).list_arguments()),
        text=lambda: mx.autograd.get_symbol("x"),
    )  # fmt: skip


@script
def symbol_of_layers(mx):
    nd = mx.nd
    x, w = leaf(mx, [[1.0, 2.0]]), leaf(mx, [[1.0, 2.0], [3.0, 4.0]])
    with mx.autograd.record():
        h = nd.FullyConnected(x, w, num_hidden=2, no_bias=True)
        a, b = nd.split(nd.Activation(h, act_type="relu"), 2, axis=1)
        y = a * b
    symbol = mx.autograd.get_symbol(y)
    return (
        _stems(symbol.list_arguments()),
        _operators(symbol),
        attempt(mx, symbol.list_outputs) != [],
    )
