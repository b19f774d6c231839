"""Loops and branches: scripts that build a symbol, run with MXNet as ``mx`` and with executorkit.

Each is called with ``mx`` and returns a symbol; ``ARRAYS`` has the arrays that it is bound to.
"""

from __future__ import annotations

import numpy as np

LOOPS = {}
ARRAYS = {}


def _array(name, shape):
    rng = np.random.RandomState(sum(map(ord, name)) + sum(shape))
    return rng.uniform(-1, 1, shape).astype("float32")


def head(name, index, shape):
    """The head gradient of an output."""
    return _array(f"{name}{index}", shape)


def loop(**shapes):
    """Shapes of the arguments, or values where no shape is given."""

    def add(function):
        LOOPS[function.__name__] = function
        ARRAYS[function.__name__] = {
            n: _array(n, s) if isinstance(s, tuple) else np.array(s, "float32")
            for n, s in shapes.items()
        }
        return function

    return add


@loop(data=(4, 2, 3), state=(2, 5), fc_weight=(5, 3), fc_bias=(5,), h=(2, 5))
def recurrent(mx):
    """A weight that the body creates, and an outer operator's output that it reads."""
    outer = mx.sym.Variable("h") * 2

    def step(x, states):
        now = mx.sym.FullyConnected(x, num_hidden=5, name="fc")
        now = mx.sym.tanh(now + states[0] + outer)
        return now, [now]

    outs, states = mx.sym.contrib.foreach(step, mx.sym.Variable("data"), [mx.sym.Variable("state")])
    return mx.sym.Group([outs, states[0]])


@loop(a=(3, 2), b=(3, 2), s=(2,), t=(2,))
def several(mx):
    """Several data and states, an output that is also a state, an input returned as it is."""

    def step(xs, states):
        x, y = xs
        s, t = states
        new = x * s + y
        return [new, x], [new, t]

    data = [mx.sym.Variable("a"), mx.sym.Variable("b")]
    outs, states = mx.sym.contrib.foreach(step, data, [mx.sym.Variable("s"), mx.sym.Variable("t")])
    return mx.sym.Group(outs + states)


@loop(data=(3, 2))
def only_outputs(mx):
    outs, _ = mx.sym.contrib.foreach(lambda x, _: (mx.sym.exp(x), []), mx.sym.Variable("data"), [])
    return outs * 2


@loop(data=(3, 2, 2), s=(2,), w=(2,))
def nested(mx):
    """A loop in a loop; the inner one reads what the outer one and the graph around compute."""
    w = mx.sym.sin(mx.sym.Variable("w"))

    def outer(row, total):
        scale = mx.sym.cos(total)

        def inner(x, state):
            new = state + x * w * scale
            return new, new

        outs, last = mx.sym.contrib.foreach(inner, row, total)
        return outs, last

    outs, last = mx.sym.contrib.foreach(outer, mx.sym.Variable("data"), mx.sym.Variable("s"))
    return mx.sym.Group([outs, last])


@loop(i=[0], s=[1.5], q=[0.5])
def counting(mx):
    def step(i, s):
        return [i + s], [i + 1, s + i * mx.sym.Variable("q")]

    outs, final = mx.sym.contrib.while_loop(
        lambda i, s: i <= 4, step, [mx.sym.Variable("i"), mx.sym.Variable("s")], max_iterations=5
    )
    return mx.sym.Group(outs + final)


@loop(i=[0], x=(2, 3), w=(3, 3))
def stopping(mx):
    """A loop that ends before its limit, so that only the last variables are defined."""
    w = mx.sym.Variable("w") * 0.5

    def step(i, x):
        return [], [i + 1, mx.sym.tanh(mx.sym.dot(x, w))]

    _, final = mx.sym.contrib.while_loop(
        lambda i, x: i < 3, step, [mx.sym.Variable("i"), mx.sym.Variable("x")], max_iterations=10
    )
    return mx.sym.Group(final)


@loop(a=[1.5], b=[2.0])
def chosen(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return mx.sym.contrib.cond(a * b < 5, lambda: (a + 5) * (b + 5), lambda: (a - 5) * (b - 5))


@loop(a=[3.0], b=[2.0], c=(2, 2))
def otherwise(mx):
    """Several outputs; only one branch reads ``c``."""
    a, b, c = (mx.sym.Variable(n) for n in "abc")
    outs = mx.sym.contrib.cond(
        a * b < 5, lambda: [a * 1, mx.sym.zeros((2, 2))], lambda: [b * a, c * c]
    )
    return mx.sym.Group(outs)
