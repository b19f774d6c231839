"""group2ctx: parts of a graph in different contexts."""

from __future__ import annotations

from typing import Any

from ._facts import attempt, fill, gradients, numbers, script


def _network(mx: Any) -> Any:
    with mx.AttrScope(ctx_group="first"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
        net = mx.sym.tanh(net, name="act")
    with mx.AttrScope(ctx_group="second"):
        net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
        return mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), name="out")


def _places(executor: Any) -> Any:
    return {
        "args": {n: str(a.context) for n, a in executor.arg_dict.items()},
        "grads": {n: str(a.context) for n, a in gradients(executor).items()},
        "aux": {n: str(a.context) for n, a in executor.aux_dict.items()},
        "outputs": {n: str(a.context) for n, a in executor.output_dict.items()},
    }


def _run(executor: Any) -> Any:
    fill(executor, skip=("label",))
    executor.forward(is_train=True)
    executor.backward()
    return executor.outputs, gradients(executor)


@script
def group2ctx_two_contexts(mx):
    groups = {"first": mx.cpu(0), "second": mx.cpu(1)}
    executor = _network(mx).simple_bind(mx.cpu(), group2ctx=groups, data=(2, 5))
    return _places(executor), _run(executor)


@script
def group2ctx_default_elsewhere(mx):
    groups = {"first": mx.cpu(1), "second": mx.cpu(2)}
    executor = _network(mx).simple_bind(mx.cpu(3), group2ctx=groups, data=(2, 5))
    return _places(executor), _run(executor)


@script
def group2ctx_missing_or_more(mx):
    def places(groups: Any) -> Any:
        return attempt(
            mx, lambda: _places(_network(mx).simple_bind(mx.cpu(), group2ctx=groups, data=(2, 5)))
        )

    return {
        "missing": places({"first": mx.cpu(1)}),
        "more": places({"first": mx.cpu(0), "second": mx.cpu(1), "third": mx.cpu(2)}),
        "empty": places({}),
        "none": places(None),
        "no context": places({"first": 3, "second": 4}),
    }


@script
def group2ctx_variables_of_their_own(mx):
    with mx.AttrScope(ctx_group="far"):
        w = mx.sym.Variable("w")
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), w, num_hidden=2, name="fc")

    def run() -> Any:
        executor = net.simple_bind(mx.cpu(), group2ctx={"far": mx.cpu(1)}, data=(2, 3))
        fill(executor)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2, 2)))
        return _places(executor), executor.outputs, gradients(executor)

    return attempt(mx, run)


@script
def group2ctx_some_nodes(mx):
    x = mx.sym.Variable("x")
    with mx.AttrScope(ctx_group="far"):
        y = mx.sym.sin(x, name="s")
    net = mx.sym.cos(y, name="c") * mx.sym.Variable("z")

    def run() -> Any:
        executor = net.simple_bind(mx.cpu(), group2ctx={"far": mx.cpu(1)}, x=(3,), z=(3,))
        fill(executor)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(3))
        return _places(executor), executor.outputs, gradients(executor)

    return attempt(mx, run)


@script
def group2ctx_bind(mx):
    net = _network(mx)
    shapes = {"data": (2, 5), "fc1_weight": (4, 5), "fc1_bias": (4,)}
    label_shapes = {"fc2_weight": (3, 4), "fc2_bias": (3,), "label": (2,)}

    def bound(near: Any, far: Any) -> Any:
        arrays, grads = {}, {}
        for part, ctx in ((shapes, near), (label_shapes, far)):
            for name, shape in part.items():
                arrays[name] = mx.nd.array(numbers(name, shape), ctx=ctx)
                grads[name] = mx.nd.zeros(shape, ctx=ctx)
        arrays["label"][:] = 0
        groups = {"first": mx.cpu(0), "second": mx.cpu(1)}
        executor = net.bind(mx.cpu(), arrays, grads, "write", group2ctx=groups)
        executor.forward(is_train=True)
        executor.backward()
        return _places(executor), executor.outputs, gradients(executor)

    return {
        "where they belong": attempt(mx, lambda: bound(mx.cpu(0), mx.cpu(1))),
        "exchanged": attempt(mx, lambda: bound(mx.cpu(1), mx.cpu(0))),
        "all in one": attempt(mx, lambda: bound(mx.cpu(0), mx.cpu(0))),
    }


@script
def group2ctx_reshape(mx):
    groups = {"first": mx.cpu(0), "second": mx.cpu(1)}
    executor = _network(mx).simple_bind(mx.cpu(), group2ctx=groups, data=(4, 5))
    smaller = executor.reshape(data=(2, 5), label=(2,))
    return _places(smaller), _run(smaller)


@script
def group2ctx_batch_norm(mx):
    with mx.AttrScope(ctx_group="first"):
        net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False, momentum=0.5)
    with mx.AttrScope(ctx_group="second"):
        net = mx.sym.sin(net, name="s")
    groups = {"first": mx.cpu(1), "second": mx.cpu(0)}
    executor = fill(net.simple_bind(mx.cpu(), group2ctx=groups, x=(4, 3)))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4, 3)))
    mx.nd.waitall()
    return _places(executor), executor.aux_dict, gradients(executor)


@script
def group2ctx_without_groups_in_the_graph(mx):
    net = mx.sym.sin(mx.sym.Variable("x"))
    executor = net.simple_bind(mx.cpu(), group2ctx={"a": mx.cpu(1)}, x=(2,))
    return _places(executor), executor.forward()
