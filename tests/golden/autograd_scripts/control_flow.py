"""Loops and branches of ``nd.contrib`` under ``record``."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, leaf, script

_XS = np.arange(6, dtype="float32").reshape(3, 2) / 2


@script
def foreach(mx):
    x, w, s = leaf(mx, _XS), leaf(mx, [2.0, 3.0]), leaf(mx, [0.5, 0.25])

    def step(item, state):
        out = item * w + state
        return out * out, out * 0.5

    with mx.autograd.record():
        outs, last = mx.nd.contrib.foreach(step, x, s)
        y = outs.sum() + (last * last).sum()
    y.backward()
    return outs, last, x.grad, w.grad, s.grad


@script
def foreach_lists(mx):
    x, z, s = leaf(mx, _XS), leaf(mx, _XS + 1), leaf(mx, [0.5, 0.25])

    def step(items, states):
        a, b = items
        return [a * b, a + states[0]], [states[0] + b * a, states[1] * 2]

    with mx.autograd.record():
        outs, states = mx.nd.contrib.foreach(step, [x, z], [s, mx.nd.ones((2,))])
        y = (outs[0] * outs[1]).sum() + states[0].sum()
    y.backward()
    return outs, states, x.grad, z.grad, s.grad


@script
def while_loop(mx):
    x, w = leaf(mx, [1.0]), leaf(mx, [1.5])

    def condition(i, total):
        return i < 4

    def step(i, total):
        return total * w, [i + 1, total * w + x]

    with mx.autograd.record():
        outs, states = mx.nd.contrib.while_loop(
            condition, step, [mx.nd.zeros((1,)), x * 2], max_iterations=6
        )
        out = outs[0] if isinstance(outs, list) else outs
        y = out[0:4].sum() + states[1].sum()
    y.backward()
    return out[0:4], out.shape, states, x.grad, w.grad


@script
def while_loop_without_steps(mx):
    x = leaf(mx, [1.0])

    def run():
        with mx.autograd.record():
            outs, states = mx.nd.contrib.while_loop(
                lambda i: i < 0, lambda i: (i, [i + 1]), [x * 1], max_iterations=3
            )
            y = states[0] * 3
        y.backward()
        return len(outs), states, x.grad

    return attempt(mx, run)


@script
def cond(mx):
    seen = []
    for value in (1.0, -1.0):
        x, w = leaf(mx, [value, 2.0]), leaf(mx, [3.0, 4.0])
        with mx.autograd.record():
            y = mx.nd.contrib.cond(x[0] > 0, lambda x=x, w=w: x * w, lambda x=x, w=w: w * w)
            y = y[0] if isinstance(y, list) else y
            z = y * 2
        z.backward()
        seen.append([z, x.grad, w.grad])
    return seen


@script
def loops_outside_record(mx):
    x = leaf(mx, _XS)
    outs, last = mx.nd.contrib.foreach(lambda i, s: (i + s, i + s), x, mx.nd.zeros((2,)))
    return outs, last, attempt(mx, outs.backward)


@script
def python_branches(mx):
    x, seen = leaf(mx, [1.0, -2.0]), []
    for scale in (1, -1, 1, 1, -1):
        with mx.autograd.record():
            y = (x * scale).sum()
            y = y * 3 if y.asscalar() > 0 else y * y
        y.backward()
        seen.append([y, x.grad.copy()])
    return seen


@script
def python_loops_of_any_length(mx):
    w, seen = leaf(mx, [0.5, -0.5]), []
    for length in (1, 4, 2, 4, 7):
        h = mx.nd.zeros((2,))
        with mx.autograd.record():
            for i in range(length):
                h = mx.nd.tanh(h * w + i)
            loss = (h * h).sum()
        loss.backward()
        seen.append([loss, w.grad.copy()])
        w -= 0.1 * w.grad
    return seen, w


@script
def trees(mx):
    """A graph of another form at each step."""
    w, seen = leaf(mx, [0.5, -0.25]), []

    def value(tree):
        if isinstance(tree, int):
            return w * tree
        return mx.nd.tanh(value(tree[0]) + value(tree[1]) * w)

    for tree in (1, (1, 2), ((1, 2), 3), (1, (2, (3, 4))), ((1, 2), (3, 4)), (((1, 2), 3), 4)):
        with mx.autograd.record():
            y = value(tree).sum()
        y.backward()
        seen.append([y, w.grad.copy()])
        w[:] = w - 0.1 * w.grad
    return seen
