"""forward and backward: gradients, requests, repeated calls, identities of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, fill, gradients, script


def _bound(mx: Any, net: Any, grad_req: Any = "write", **shapes: Any) -> Any:
    return fill(net.simple_bind(mx.cpu(), grad_req, **shapes))


def _product(mx: Any, grad_req: Any = "write") -> Any:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return _bound(mx, mx.sym.sin(a) * b, grad_req, a=(2,), b=(2,))


@script
def backward_repeated(mx):
    seen = []
    for req in ("write", "add"):
        executor = _product(mx, req)
        executor.forward(is_train=True)
        for scale in (1, 2, 3):
            executor.backward(mx.nd.ones(2) * scale)
            seen.append({n: g.copy() for n, g in executor.grad_dict.items()})
    return seen


@script
def backward_after_inference(mx):
    executor = _product(mx)
    executor.forward(is_train=False)
    executor.backward(mx.nd.ones(2))
    return executor.grad_arrays, executor.outputs


@script
def backward_uses_the_last_forward(mx):
    executor = _product(mx)
    executor.forward(is_train=True)
    executor.forward(is_train=True, a=mx.nd.array([0.5, 2]))
    executor.backward(mx.nd.ones(2))
    return executor.grad_arrays


@script
def backward_after_outputs_were_seen(mx):
    executor = _product(mx)
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(mx.nd.array(out))
    return executor.grad_arrays, executor.outputs


@script
def backward_add_accumulates_over_steps(mx):
    executor = _product(mx, {"a": "add", "b": "write"})
    for step in range(3):
        executor.forward(is_train=True, b=mx.nd.ones(2) * step)
        executor.backward(mx.nd.ones(2))
    seen = gradients(executor)
    seen = {n: g.copy() for n, g in seen.items()}
    executor.grad_dict["a"][:] = 0
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(2))
    return seen, gradients(executor)


@script
def head_gradient_forms(mx):
    executor = _product(mx)
    (name,) = executor._symbol.list_outputs()

    def backward(*heads: Any) -> Any:
        executor.forward(is_train=True)
        executor.backward(*heads)
        return executor.grad_arrays

    one = mx.nd.array([1, 2])
    return {
        "array": attempt(mx, lambda: backward(one)),
        "list": attempt(mx, lambda: backward([one])),
        "tuple": attempt(mx, lambda: backward((one,))),
        "dict": attempt(mx, lambda: backward({name: one})),
        "dict with more": attempt(mx, lambda: backward({name: one, "zz": one})),
        "dict of others": attempt(mx, lambda: backward({"zz": one})),
        "double": attempt(mx, lambda: backward(one.astype("float64"))),
        "elsewhere": attempt(mx, lambda: backward(one.as_in_context(mx.cpu(1)))),
        "none": attempt(mx, lambda: backward()),
        "empty": attempt(mx, lambda: backward([])),
        "None inside": attempt(mx, lambda: backward([None])),
        "shape": attempt(mx, lambda: backward(mx.nd.ones(3))),
        "rank": attempt(mx, lambda: backward(mx.nd.ones((1, 2)))),
        "numpy": attempt(mx, lambda: backward(np.ones(2, "float32"))),
        "numpy inside": attempt(mx, lambda: backward([np.ones(2, "float32")])),
        "number": attempt(mx, lambda: backward(3)),
        "positional is_train": attempt(mx, lambda: backward(one, False)),
    }


@script
def head_gradients_of_several_outputs(mx):
    a = mx.sym.Variable("a")
    net = mx.sym.Group([mx.sym.sin(a, name="s"), mx.sym.square(a, name="q"), a * 3])
    executor = _bound(mx, net, a=(3,))
    heads = [mx.nd.ones(3), mx.nd.ones(3) * 2, mx.nd.ones(3) * 4]
    names = net.list_outputs()
    pairs = list(zip(names, heads, strict=True))

    def backward(head_gradients: Any) -> Any:
        executor.forward(is_train=True)
        executor.backward(head_gradients)
        return executor.grad_arrays

    return {
        "names": names,
        "list": attempt(mx, lambda: backward(heads)),
        "dict": attempt(mx, lambda: backward(dict(pairs))),
        "reversed dict": attempt(mx, lambda: backward(dict(pairs[::-1]))),
        "two": attempt(mx, lambda: backward(heads[:2])),
        "one": attempt(mx, lambda: backward(heads[0])),
        "two in a dict": attempt(mx, lambda: backward(dict(pairs[:2]))),
    }


@script
def same_output_twice(mx):
    a = mx.sym.sin(mx.sym.Variable("a"), name="s")
    executor = _bound(mx, mx.sym.Group([a, a]), a=(2,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(2), mx.nd.ones(2) * 3])
    return executor.outputs, executor.grad_arrays


@script
def argument_as_output(mx):
    a = mx.sym.Variable("a")
    executor = _bound(mx, mx.sym.Group([a, a * 2]), a=(2,))
    before = [o.copy() for o in executor.forward(is_train=True)]
    executor.backward([mx.nd.ones(2), mx.nd.ones(2) * 3])
    executor.forward(is_train=True, a=mx.nd.array([5, 6]))
    return before, executor.outputs, executor.grad_arrays, executor.output_dict


@script
def argument_alone(mx):
    executor = mx.sym.Variable("a").bind(mx.cpu(), [mx.nd.array([1, 2])], [mx.nd.zeros(2)])
    executor.forward(is_train=True)
    executor.backward(mx.nd.array([3, 4]))
    return executor.outputs, executor.grad_arrays


@script
def one_gradient_array_for_two_arguments(mx):
    net = mx.sym.Variable("a") * mx.sym.Variable("b")
    seen = []
    for req in ("add",):
        both = mx.nd.ones(2)
        executor = net.bind(mx.cpu(), [mx.nd.array([1, 2]), mx.nd.array([3, 4])], [both, both], req)
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(mx.nd.array([1, 10]))
            seen.append(both.copy())
    return seen


@script
def one_array_for_two_arguments(mx):
    net = mx.sym.Variable("a") * mx.sym.sin(mx.sym.Variable("b"))
    both = mx.nd.array([1, 2])
    executor = net.bind(mx.cpu(), [both, both], [mx.nd.zeros(2), mx.nd.zeros(2)])
    executor.forward(is_train=True, a=mx.nd.array([3, 4]))
    executor.backward(mx.nd.ones(2))
    return executor.outputs, executor.grad_arrays, both


@script
def outputs_keep_their_identity(mx):
    executor = _product(mx)
    first = executor.forward()
    held = first[0]
    old = held.asnumpy()
    second = executor.forward(a=mx.nd.array([0.5, 1]))
    return {
        "new value": held,
        "old value": old,
        "and once more": second,
        "dict": executor.output_dict,
        "gradients": [g.shape for g in executor.grad_arrays],
    }


@script
def forward_arguments(mx):
    executor = _product(mx)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return attempt(mx, lambda: executor.forward(*args, **kwargs))

    return {
        "array": forward(a=mx.nd.array([1, 2])),
        "numpy": forward(a=np.array([3, 4])),
        "numpy half": forward(a=np.array([3, 4], "float16")),
        "double": forward(a=mx.nd.array([1, 2], dtype="float64")),
        "elsewhere": forward(a=mx.nd.array([7, 8], ctx=mx.cpu(1))),
        "positional": forward(True, b=mx.nd.array([1, 1])),
        "list": forward(a=[1, 2]),
        "number": forward(a=3),
        "shape": forward(a=mx.nd.ones(3)),
        "rank": forward(a=mx.nd.ones((1, 2))),
        "unknown": forward(zz=mx.nd.ones(2)),
        "after the refusals": executor.arg_dict,
    }


@script
def forward_feeds_auxiliary_states(mx):
    executor = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn").simple_bind(mx.cpu(), x=(2, 3))
    return attempt(mx, lambda: executor.forward(bn_moving_mean=mx.nd.ones(3)))


@script
def copy_params(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x") * mx.sym.Variable("w"), name="bn")
    executor = net.simple_bind(mx.cpu(), x=(2, 2), w=(2, 2))

    def copy(*args: Any, **kwargs: Any) -> Any:
        def action() -> Any:
            executor.copy_params_from(*args, **kwargs)
            return {**executor.arg_dict, **executor.aux_dict}

        return attempt(mx, action)

    ones = mx.nd.ones((2, 2))
    return {
        "arguments": copy({"w": ones}),
        "with states": copy({"w": ones * 2}, {"bn_moving_mean": mx.nd.ones(2)}),
        "converted": copy({"w": mx.nd.array([[1, 2], [3, 4]], dtype="int32")}),
        "elsewhere": copy({"w": mx.nd.ones((2, 2), ctx=mx.cpu(1)) * 5}),
        "extra allowed": copy({"zz": ones}, {"qq": ones}, True),
        "nothing": copy({}),
        "extra": copy({"zz": ones}),
        "extra state": copy({}, {"zz": ones}),
        "state as argument": copy({"bn_moving_mean": mx.nd.ones(2)}),
        "shape": copy({"w": mx.nd.ones((3, 2))}),
    }


@script
def unused_paths_get_zero_gradients(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = mx.sym.BlockGrad(a * b) + mx.sym.sin(a)
    executor = _bound(mx, net, a=(2,), b=(2,))
    for g in executor.grad_arrays:
        g[:] = 9
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(2))
    return executor.grad_arrays


@script
def small_network_trains(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    reqs = {n: "write" for n in net.list_arguments() if n.startswith("fc")}
    executor = net.simple_bind(mx.cpu(), grad_req=reqs, data=(6, 4), softmax_label=(6,))
    fill(executor)
    executor.arg_dict["softmax_label"][:] = np.arange(6) % 3
    seen = []
    for _ in range(5):
        executor.forward(is_train=True)
        executor.backward()
        for name in reqs:
            executor.arg_dict[name][:] -= 0.1 * executor.grad_dict[name]
        seen.append(executor.outputs[0].asnumpy()[0])
    return seen, executor.arg_dict["fc2_bias"], executor.forward()


@script
def dropout_at_inference_and_in_training(mx):
    executor = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5).simple_bind(mx.cpu(), x=(40, 40))
    executor.arg_dict["x"][:] = 1
    inference = executor.forward()[0].asnumpy()
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(mx.nd.ones((40, 40)))
    grad = executor.grad_arrays[0].asnumpy()
    again = executor.forward(is_train=True)[0].asnumpy()
    return {
        "inference": float(inference.min()),
        "values": sorted(set(out.ravel().tolist())),
        "kept": bool(abs((out > 0).mean() - 0.5) < 0.06),
        "same mask": bool((grad == out).all()),
        "another mask": bool((again != out).any()),
    }


@script
def backward_before_any_forward(mx):
    """Of operators that read their inputs or head gradients only; MXNet's outputs are not computed,
    so that those that read these differ."""
    x = mx.sym.Variable("x")
    nets = {
        "sin": mx.sym.sin(x),
        "square": x * x,
        "cos": mx.sym.cos(x),
        "dense": mx.sym.FullyConnected(x, num_hidden=2, name="fc"),
    }
    seen = {}
    for name, net in nets.items():
        executor = fill(net.simple_bind(mx.cpu(), x=(2, 3)))
        executor.backward(mx.nd.ones(executor.outputs[0].shape))
        seen[name] = gradients(executor)
    executor = fill(nets["sin"].simple_bind(mx.cpu(), "add", x=(2, 3)))
    executor.grad_dict["x"][:] = 5
    executor.backward(mx.nd.ones((2, 3)))
    seen["add"] = executor.grad_dict["x"].copy()
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))
    seen["add, then a step"] = gradients(executor)
    smaller = fill(nets["square"].simple_bind(mx.cpu(), x=(4, 3))).reshape(x=(2, 3))
    smaller.backward(mx.nd.ones((2, 3)))
    seen["reshaped"] = gradients(smaller)
    return seen
