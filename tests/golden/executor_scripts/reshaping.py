"""Executor.reshape: which memory is shared, and what is refused."""

from __future__ import annotations

from typing import Any

from ._facts import attempt, fill, gradients, numbers, script


def _network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), name="out")


def _bound(mx: Any, **shapes: Any) -> Any:
    return fill(_network(mx).simple_bind(mx.cpu(), **(shapes or {"data": (4, 5)})))


def _shapes(executor: Any) -> Any:
    arrays = {**executor.arg_dict, **executor.output_dict}
    return {n: a.shape for n, a in arrays.items()}


@script
def reshape_shares_parameters(mx):
    first = _bound(mx)
    second = first.reshape(data=(2, 5), label=(2,))
    second.arg_dict["fc_weight"][:] = 1
    first.arg_dict["fc_bias"][:] = 2
    return _shapes(second), first.arg_dict["fc_weight"], second.arg_dict["fc_bias"]


@script
def reshape_shares_inputs(mx):
    first = _bound(mx)
    second = first.reshape(data=(2, 5), label=(2,))
    seen = [second.arg_dict["data"].copy()]
    second.arg_dict["data"][:] = 1
    seen.append(first.arg_dict["data"].copy())
    first.arg_dict["data"][:] = 2
    seen.append(second.arg_dict["data"].copy())
    second.forward(data=mx.nd.ones((2, 5)) * 3)
    return seen, first.arg_dict["data"], second.outputs


@script
def reshape_shares_gradients(mx):
    first = _bound(mx)
    second = first.reshape(data=(2, 5), label=(2,))
    for g in first.grad_arrays:
        g[:] = 9
    second.forward(is_train=True)
    second.backward()
    return gradients(second), gradients(first)


@script
def reshape_infers_the_rest(mx):
    first = _bound(mx)
    return {
        "label follows": attempt(mx, lambda: _shapes(first.reshape(data=(2, 5)))),
        "with partial_shaping": attempt(
            mx, lambda: _shapes(first.reshape(data=(2, 5), partial_shaping=True))
        ),
        "same shapes": attempt(mx, lambda: _shapes(first.reshape(data=(4, 5)))),
        "nothing": attempt(mx, lambda: _shapes(first.reshape())),
    }


@script
def reshape_grows(mx):
    first = _bound(mx)
    shapes = {"data": (8, 5), "label": (8,)}
    refused = attempt(mx, lambda: first.reshape(**shapes))
    second = first.reshape(allow_up_sizing=True, **shapes)
    second.arg_dict["data"][:] = numbers("grown", (8, 5))
    second.arg_dict["label"][:] = 1
    second.forward(is_train=True)
    second.backward()
    third = second.reshape(data=(4, 5), label=(4,))
    return {
        "refused": refused,
        "output": second.outputs,
        "gradients": {n: g for n, g in gradients(second).items() if n.startswith("fc")},
        "first's data": first.arg_dict["data"],
        "first's gradient": first.grad_dict["fc_weight"],
        "third": third.forward(),
    }


@script
def reshape_changes_parameters(mx):
    first = _bound(mx)
    return {
        "refused": attempt(mx, lambda: first.reshape(data=(4, 3), label=(4,))),
        "allowed": attempt(
            mx, lambda: _shapes(first.reshape(partial_shaping=True, data=(4, 3), label=(4,)))
        ),
        "grown": attempt(
            mx, lambda: _shapes(first.reshape(partial_shaping=True, data=(4, 8), label=(4,)))
        ),
        "grown, allowed": attempt(
            mx,
            lambda: _shapes(
                first.reshape(partial_shaping=True, allow_up_sizing=True, data=(4, 8), label=(4,))
            ),
        ),
    }


@script
def reshape_refusals(mx):
    first = _bound(mx)
    return {
        "unknown": attempt(mx, lambda: first.reshape(zz=(2,))),
        "contradiction": attempt(mx, lambda: first.reshape(data=(2, 5), label=(3,))),
        "rank": attempt(mx, lambda: first.reshape(data=(2,), label=(2,))),
        "number": attempt(mx, lambda: first.reshape(data=2)),
        "list": attempt(mx, lambda: _shapes(first.reshape(data=[2, 5], label=[2]))),
        "positional": attempt(
            mx, lambda: _shapes(first.reshape(True, True, data=(6, 5), label=(6,)))
        ),
    }


@script
def reshape_back_and_forth(mx):
    executor = _bound(mx)
    seen = []
    for batch in (2, 4, 1, 3, 4):
        executor = executor.reshape(allow_up_sizing=True, data=(batch, 5), label=(batch,))
        executor.arg_dict["label"][:] = 0
        executor.arg_dict["data"][:] = numbers(f"batch{batch}", (batch, 5))
        executor.forward(is_train=True)
        executor.backward()
        seen.append([executor.outputs[0].copy(), executor.grad_dict["fc_weight"].copy()])
    return seen


@script
def reshape_same_size_other_shape(mx):
    net = mx.sym.sin(mx.sym.Variable("x"))
    first = fill(net.simple_bind(mx.cpu(), x=(2, 6)))
    second = first.reshape(x=(3, 4))
    second.arg_dict["x"][0:1] = 0
    return first.arg_dict["x"], second.forward(), second.arg_dict["x"]


@script
def reshape_without_gradients(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    first = (a * b).bind(mx.cpu(), {"a": mx.nd.ones((4, 2)), "b": mx.nd.ones((4, 2)) * 2})
    second = first.reshape(a=(2, 2), b=(2, 2))
    return second.forward(), second.grad_arrays


@script
def reshape_with_some_gradients(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    arrays = {"a": mx.nd.ones((4, 2)), "b": mx.nd.ones((4, 2)) * 2}
    grads = {"a": mx.nd.ones((4, 2)) * 5}
    first = (a * b).bind(mx.cpu(), arrays, grads, {"a": "add", "b": "null"})
    second = first.reshape(a=(2, 2), b=(2, 2))
    second.forward(is_train=True)
    second.backward(mx.nd.ones((2, 2)))
    return second.grad_arrays, grads


@script
def reshape_keeps_auxiliary_states(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False)
    first = fill(net.simple_bind(mx.cpu(), x=(4, 3)))
    second = first.reshape(x=(2, 3))
    second.forward(is_train=True)
    second.backward(mx.nd.ones((2, 3)))
    mx.nd.waitall()
    return first.aux_dict, second.aux_dict


@script
def reshape_shares_outputs(mx):
    """A smaller executor's outputs are the first elements of the larger one's."""
    x = mx.sym.Variable("x")
    nets = {
        "one": x * 2,
        "several": mx.sym.Group([x * 2, mx.sym.sum(x, axis=1), mx.sym.sum(x)]),
        "variable": mx.sym.Group([x, x * 2]),
        "flat": mx.sym.Flatten(x),
        "double": mx.sym.Cast(x, dtype="float64"),
    }

    def run(net: Any, shape: Any, **options: Any) -> Any:
        first = fill(net.simple_bind(mx.cpu(), x=(3, 2)))
        first.forward()
        second = first.reshape(x=shape, **options)
        seen = []

        def look() -> None:
            mx.nd.waitall()
            grown = options and len(seen) == 0  # in MXNet its outputs are not initialised yet
            arrays = first.outputs + ([] if grown else second.outputs)
            seen.append([a.asnumpy() for a in arrays])

        look()
        second.arg_dict["x"][:] = 100
        second.forward()
        look()
        first.arg_dict["x"][:] = 7
        first.forward()
        look()
        first.outputs[0][:] = 55
        look()
        second.outputs[0][:] = 66
        look()
        return seen

    answers = {
        f"{name} {shape}": run(net, shape)
        for name, net in nets.items()
        for shape in ((2, 2), (3, 2), (2, 3))
    }
    answers["larger"] = run(x * 2, (4, 2), allow_up_sizing=True)
    return answers


@script
def reshape_shares_outputs_in_a_chain(mx):
    first = fill((mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), x=(4, 1)))
    first.forward()
    second = first.reshape(x=(3, 1))
    third = second.reshape(x=(4, 1), allow_up_sizing=True)
    executors = [first, second, third, third.reshape(x=(2, 1))]
    seen = []
    for number, executor in enumerate(executors[::-1]):
        executor.arg_dict["x"][:] = 10 * number + 1
        executor.forward()
        mx.nd.waitall()
        seen.append([e.outputs[0].asnumpy() for e in executors])
    return seen


@script
def reshape_keeps_training(mx):
    """Steps of two sizes in turn; outputs are looked at after both."""
    first = _bound(mx)
    second = first.reshape(data=(2, 5), label=(2,))
    seen = []
    for executor in (first, second, first):
        executor.arg_dict["data"][:] = numbers(f"batch{len(seen)}", executor.arg_dict["data"].shape)
        executor.arg_dict["label"][:] = 1
        executor.forward(is_train=True)
        executor.backward()
        for name in ("fc_weight", "fc_bias"):
            executor.arg_dict[name][:] -= 0.1 * executor.grad_dict[name]
        mx.nd.waitall()
        seen.append([first.outputs[0].asnumpy(), second.outputs[0].asnumpy()])
    return seen, first.arg_dict["fc_weight"]
