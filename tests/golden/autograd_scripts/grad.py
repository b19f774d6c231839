"""``autograd.grad``: gradients as arrays, and of gradients."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, attempts, leaf, recorded, script


@script
def forms(mx):
    ag, seen = mx.autograd, {}
    for name, function in {
        "array": lambda y, x, z: ag.grad(y, x), "list": lambda y, x, z: ag.grad([y], [x]),
        "two": lambda y, x, z: ag.grad(y, [x, z]), "tuple": lambda y, x, z: ag.grad(y, (z, x)),
        "same twice": lambda y, x, z: ag.grad(y, [x, x]),
        "heads": lambda y, x, z: ag.grad([y, y], [x]),
        "head_grads": lambda y, x, z: ag.grad(y, x, mx.nd.array([10.0, 20.0])),
        "head_grads list": lambda y, x, z: ag.grad([y], [x], [mx.nd.array([10.0, 20.0])]),
        "None": lambda y, x, z: ag.grad([y], [x], [None]),
        "no variables": lambda y, x, z: ag.grad(y, []),
        "text": lambda y, x, z: ag.grad(y, "x"),
    }.items():  # fmt: skip
        x, z = leaf(mx), leaf(mx, [3.0, 4.0], "add")
        y = recorded(mx, lambda x=x, z=z: x * x * z)
        result = attempt(mx, lambda f=function, y=y, x=x, z=z: f(y, x, z))
        seen[name] = [result, x.grad, z.grad, x._fresh_grad, attempt(mx, y.backward)]
    return seen


@script
def kind_of_result(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    result = mx.autograd.grad(y, x)
    return type(result).__name__, len(result), type(result[0]).__name__, result[0].grad


@script
def retained_or_not(mx):
    ag, x = mx.autograd, leaf(mx)
    seen = []
    for kwargs in ({}, {"retain_graph": True}, {"create_graph": True}, {"retain_graph": False}):
        y = recorded(mx, lambda: x * mx.nd.log(x))
        first = attempt(mx, lambda y=y, kwargs=kwargs: ag.grad(y, [x], **kwargs))
        seen.append([first, attempt(mx, lambda y=y: [y.backward(), x.grad])])
    return seen


@script
def of_what(mx):
    ag = mx.autograd
    x, c, other, null = leaf(mx), mx.nd.ones((2,)), leaf(mx), leaf(mx, req="null")
    with ag.record():
        h = x * x * null
        y = h * c
    return attempts(
        mx,
        intermediate=lambda: ag.grad(y, [h], retain_graph=True),
        unmarked=lambda: ag.grad(y, [c], retain_graph=True),
        stranger=lambda: ag.grad(y, [mx.nd.ones((2,))], retain_graph=True),
        unreached=lambda: ag.grad(y, [other], retain_graph=True),
        null=lambda: ag.grad(y, [null], retain_graph=True),
        head=lambda: ag.grad(y, [y], retain_graph=True),
        unrecorded_head=lambda: ag.grad(c, [x], retain_graph=True),
        leaf_head=lambda: ag.grad(x, [x], retain_graph=True),
        at_last=lambda: ag.grad(y, [x]),
    )


@script
def marked_intermediate(mx):
    ag, x = mx.autograd, leaf(mx)
    with ag.record():
        h = x * x
        h.attach_grad()
        y = h * h * x
    return attempts(
        mx, both=lambda: ag.grad(y, [h, x], retain_graph=True), h=lambda: ag.grad(y, [h])
    )


@script
def second_order(mx):
    ag, nd = mx.autograd, mx.nd
    seen = {}
    for name, function in {
        "log": nd.log, "sin": nd.sin, "exp": nd.exp, "sigmoid": nd.sigmoid, "tanh": nd.tanh,
        "product": lambda x: nd.elemwise_mul(x, x), "relu": nd.relu, "sqrt": nd.sqrt,
        "chain": lambda x: nd.sin(nd.log(x)), "square of log": lambda x: nd.log(x) * nd.log(x),
    }.items():  # fmt: skip

        def run(function=function):
            x = leaf(mx, [1.0, 2.0, 0.25])
            with ag.record():
                y = function(x)
                (g,) = ag.grad(y, [x], create_graph=True, retain_graph=True)
            first = g.copy()
            g.backward()
            return first, x.grad

        seen[name] = attempt(mx, run)
    return seen


@script
def third_order(mx):
    ag, x = mx.autograd, leaf(mx, [1.0, 2.0, 0.25])

    def run():
        with ag.record():
            y = mx.nd.log(x)
            (g,) = ag.grad(y, [x], create_graph=True, retain_graph=True)
            (h,) = ag.grad(g, [x], create_graph=True, retain_graph=True)
        h.backward()
        return g, h, x.grad

    return attempt(mx, run)


@script
def gradient_penalty(mx):
    ag, nd = mx.autograd, mx.nd
    w, x = leaf(mx, [[1.0, 2.0], [3.0, -4.0]]), leaf(mx, [[0.5, 1.0]])

    def run():
        with ag.record():
            y = nd.log(1 + nd.exp(nd.dot(x, w)))
            (g,) = ag.grad(y, [x], create_graph=True, retain_graph=True)
            loss = (g * g).sum() + y.sum()
        loss.backward()
        return loss, g, w.grad, x.grad

    return attempt(mx, run)


@script
def superset_of_second_order(mx):
    """Operators of which MXNet has no second gradient."""
    ag, nd = mx.autograd, mx.nd
    image = np.arange(16, dtype="float32").reshape(1, 1, 4, 4) / 8
    seen = {}
    for name, (function, values) in {
        "x * x * x": (lambda x: x * x * x, [1.0, 2.0]),
        "x ** 3": (lambda x: x**3, [1.0, 2.0]),
        "softmax": (lambda x: nd.softmax(x) * x, [1.0, 2.0]),
        "convolution": (
            lambda x: nd.Convolution(
                x * x, nd.ones((1, 1, 2, 2)), kernel=(2, 2), num_filter=1, no_bias=True
            ),
            image,
        ),
        "fully connected": (
            lambda x: nd.tanh(nd.FullyConnected(x, nd.ones((2, 2)), num_hidden=2, no_bias=True)),
            [[0.5, 1.0]],
        ),
    }.items():

        def run(function=function, values=values):
            x = leaf(mx, values)
            with ag.record():
                y = function(x)
                (g,) = ag.grad(y, [x], create_graph=True, retain_graph=True)
                z = (g * g).sum()
            z.backward()
            return g, x.grad

        seen[name] = attempt(mx, run)
    return seen


@script
def created_graph_outside_record(mx):
    ag, x = mx.autograd, leaf(mx)
    y = recorded(mx, lambda: mx.nd.log(x))
    (g,) = ag.grad(y, [x], create_graph=True, retain_graph=True)
    return g, attempt(mx, lambda: [g.backward(), x.grad])


@script
def inside_record_without_create_graph(mx):
    ag, x = mx.autograd, leaf(mx)
    with ag.record():
        y = mx.nd.log(x)
        (g,) = ag.grad(y, [x], retain_graph=True)
        z = g * x * x
    return attempt(mx, g.backward), attempt(mx, lambda: [z.backward(), x.grad])


@script
def result_keeps_its_values(mx):
    ag, x = mx.autograd, leaf(mx)
    y = recorded(mx, lambda: x * x)
    (first,) = ag.grad(y, [x], retain_graph=True)
    (second,) = ag.grad(y, [x], mx.nd.array([5.0, 5.0]))
    first[:] = first * 10
    return first, second, x.grad


@script
def train_mode_of_grad(mx):
    seen = []
    for train_mode in (True, False):
        x = leaf(mx, [1.0] * 100)
        y = recorded(mx, lambda x=x: mx.nd.Dropout(x, p=0.5))
        (g,) = mx.autograd.grad(y, [x], train_mode=train_mode)
        seen.append(bool((g.asnumpy() == y.asnumpy()).all()))
    return seen
