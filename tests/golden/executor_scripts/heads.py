"""Groups of a loss with something else: which heads need a gradient in ``backward()``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, fill, gradients, script


def _others(mx: Any, x: Any) -> dict[str, Any]:
    return {
        "BlockGrad": mx.sym.BlockGrad(x * 2),
        "blocked later": mx.sym.sin(mx.sym.BlockGrad(x)),
        "argmax": mx.sym.argmax(x, axis=1),
        "argmax, then sin": mx.sym.sin(mx.sym.argmax(x, axis=1)),
        "comparison": mx.sym.broadcast_greater(x, x * 2),
        "scalar comparison": x > 0,
        "one_hot": mx.sym.one_hot(mx.sym.argmax(x, axis=1), depth=3),
        "zeros_like": mx.sym.zeros_like(x) + 1,
        "round": mx.sym.round(x * 3),
        "make loss": mx.sym.MakeLoss(x * x),
        "loss, then scaled": mx.sym.MakeLoss(x * x) * 2,
        "softmax output": mx.sym.SoftmaxOutput(x, name="second"),
        "the variable": x,
        "sin": mx.sym.sin(x),
        "without variables": mx.sym.ones((2, 3)),
        "another variable": mx.sym.sin(mx.sym.Variable("unrelated")),
    }


@script
def heads_next_to_a_loss(mx):
    seen = {}
    x = mx.sym.Variable("x")
    for name, other in _others(mx, x).items():
        net = mx.sym.Group([mx.sym.SoftmaxOutput(x * 2, name="loss"), other])
        shapes = {n: (2, 3) for n in net.list_arguments() if n in ("x", "unrelated")}

        def run(net: Any = net, shapes: Any = shapes) -> Any:
            executor = fill(net.simple_bind(mx.cpu(), {"x": "write"}, **shapes))
            for label in ("loss_label", "second_label"):
                if label in executor.arg_dict:
                    executor.arg_dict[label][:] = 1
            executor.forward(is_train=True)
            executor.backward()
            return gradients(executor), executor.outputs

        seen[name] = attempt(mx, run)
    return seen


@script
def heads_of_losses_are_ignored(mx):
    x = mx.sym.Variable("x")
    nets = {
        "softmax": mx.sym.SoftmaxOutput(x, name="o"),
        "regression": mx.sym.LinearRegressionOutput(x, name="o"),
        "make loss": mx.sym.MakeLoss(x * x, name="o"),
        "svm": mx.sym.SVMOutput(x, name="o"),
    }
    seen = {}
    for name, net in nets.items():
        executor = fill(net.simple_bind(mx.cpu(), {"x": "write"}, x=(2, 3)))
        if "o_label" in executor.arg_dict:
            executor.arg_dict["o_label"][:] = 1
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2, 3)) * 5)
        seen[name] = gradients(executor)
    return seen


@script
def heads_where_no_gradient_is_wanted(mx):
    net = mx.sym.sin(mx.sym.Variable("x")) * mx.sym.Variable("y")
    executor = fill(net.simple_bind(mx.cpu(), "null", x=(2,), y=(2,)))
    executor.forward(is_train=True)
    return attempt(mx, executor.backward)


@script
def heads_of_other_shapes(mx):
    """At outputs without a gradient a head gradient is ignored; misfits elsewhere are refused."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    one, other = mx.nd.ones((2, 3)), mx.nd.ones((7,))
    double = x * 2
    nets = {
        "blocked": ([double, mx.sym.BlockGrad(x)], [one, other]),
        "blocked, then sin": ([double, mx.sym.sin(mx.sym.BlockGrad(x))], [one, other]),
        "blocked, integers": ([double, mx.sym.BlockGrad(x)], [one, other.astype("int32")]),
        "blocked, elsewhere": (
            [double, mx.sym.BlockGrad(x)], [one, other.as_in_context(mx.cpu(1))]
        ),
        "blocked first": ([mx.sym.BlockGrad(x), double], [other, one]),
        "argmax and comparison": (
            [double, mx.sym.argmax(x, axis=1), x > 2], [one, other, mx.nd.ones((4,))]
        ),
        "constants": ([double, mx.sym.zeros_like(x), mx.sym.ones((2, 2))], [one, other, other]),
        "loss": ([mx.sym.SoftmaxOutput(x, name="s"), double], [other, one]),
        "make loss": ([mx.sym.MakeLoss(x * x), double], [other, one]),
        "loss alone": ([mx.sym.SoftmaxOutput(x, name="s")], [other]),
        "null": ([double, y * 2], [one, other]),
        "null, missing": ([double, y * 2], [one]),
        "null variable": ([double, y], [one, other]),
        "missing": ([double, mx.sym.BlockGrad(x)], [one]),
        "needed": ([double, x * 3], [one, other]),
        "no array": ([double, mx.sym.BlockGrad(x)], [one, np.ones(7)]),
    }  # fmt: skip

    def run(outputs: Any, heads: Any) -> Any:
        net = mx.sym.Group(outputs)
        shapes = {n: (2, 3) for n in net.list_arguments() if n in ("x", "y")}
        executor = fill(net.simple_bind(mx.cpu(), {"x": "write"}, **shapes))
        if "s_label" in executor.arg_dict:
            executor.arg_dict["s_label"][:] = 1
        executor.forward(is_train=True)
        executor.backward(heads)
        return gradients(executor)

    return {
        name: attempt(mx, lambda case=case: run(*case)) for name, case in nets.items()
    }  # fmt: skip


@script
def heads_of_nothing(mx):
    x = mx.sym.Variable("x")
    executor = fill(mx.sym.Group([x * 2, x * 3]).simple_bind(mx.cpu(), "null", x=(2,)))
    executor.forward(is_train=True)
    return attempt(mx, lambda: executor.backward([mx.nd.ones(2), mx.nd.ones(7)]))
