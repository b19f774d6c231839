"""bind and simple_bind: what may be given, and in which form."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, fill, gradients, numbers, script


def _product(mx: Any) -> Any:
    return mx.sym.Variable("a") * mx.sym.Variable("b")


def _arrays(mx: Any) -> dict[str, Any]:
    return {"a": mx.nd.array([1, 2]), "b": mx.nd.array([3, 4])}


def _backward(executor: Any) -> Any:
    executor.forward(is_train=True)
    executor.backward(executor.outputs[0].copy())
    return executor.grad_arrays


def _network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=2, name="fc2")
    return mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), name="out")


@script
def bind_list_and_dict(mx):
    net = _product(mx)
    arrays = _arrays(mx)
    by_list = net.bind(mx.cpu(), [arrays["a"], arrays["b"]])
    by_dict = net.bind(mx.cpu(), arrays)
    with_more = net.bind(mx.cpu(), dict(arrays, zz=mx.nd.ones(7)))
    return [e.forward() for e in (by_list, by_dict, with_more)]


@script
def bind_aliases_the_users_arrays(mx):
    arrays = _arrays(mx)
    executor = _product(mx).bind(mx.cpu(), arrays)
    before = executor.forward()[0].copy()
    arrays["a"][:] = 10
    after = executor.forward()[0].copy()
    executor.arg_dict["b"][1:] = -1
    return before, after, executor.forward(), arrays


@script
def bind_args_grad_forms(mx):
    net = _product(mx)

    def gradient(args_grad: Any, grad_req: Any = "write") -> Any:
        return attempt(mx, lambda: _backward(net.bind(mx.cpu(), _arrays(mx), args_grad, grad_req)))

    return {
        "list": gradient([mx.nd.ones(2), mx.nd.ones(2)]),
        "list with None": gradient([None, mx.nd.ones(2)]),
        "dict": gradient({"a": mx.nd.ones(2), "b": mx.nd.ones(2)}),
        "dict of one": gradient({"b": mx.nd.ones(2)}),
        "dict of others": gradient({"zz": mx.nd.ones(2)}),
        "short list": gradient([mx.nd.ones(2)]),
        "req list": gradient([mx.nd.ones(2), mx.nd.ones(2)], ["null", "write"]),
        "req add": gradient([mx.nd.ones(2), mx.nd.ones(2)], "add"),
        "req mixed": gradient([mx.nd.ones(2), mx.nd.ones(2)], {"a": "add", "b": "write"}),
        "req dict of one": gradient([mx.nd.ones(2), mx.nd.ones(2)], {"a": "write"}),
        "req for nothing": gradient({"a": mx.nd.ones(2)}, {"b": "write"}),
        "req null": gradient([mx.nd.ones(2), mx.nd.ones(2)], "null"),
        "wrong shape": gradient([mx.nd.ones(3), mx.nd.ones(2)]),
        "wrong dtype": gradient([mx.nd.ones(2, dtype="float64"), mx.nd.ones(2)]),
    }


@script
def bind_without_args_grad(mx):
    executor = _product(mx).bind(mx.cpu(), _arrays(mx))
    executor.forward(is_train=True)
    executor.backward()
    return executor.grad_arrays, executor.outputs


@script
def bind_refusals(mx):
    net, arrays = _product(mx), _arrays(mx)

    def refused(*args: Any, **kwargs: Any) -> Any:
        return attempt(mx, lambda: net.bind(*args, **kwargs).forward())

    return {
        "missing": refused(mx.cpu(), {"a": arrays["a"]}),
        "short list": refused(mx.cpu(), [arrays["a"]]),
        "long list": refused(mx.cpu(), [arrays["a"]] * 3),
        "numpy": refused(mx.cpu(), {"a": np.ones(2), "b": np.ones(2)}),
        "number": refused(mx.cpu(), 3),
        "None": refused(mx.cpu(), None),
        "None inside": refused(mx.cpu(), [arrays["a"], None]),
        "shape": refused(mx.cpu(), {"a": mx.nd.ones(3), "b": mx.nd.ones(2)}),
        "rank": refused(mx.cpu(), {"a": mx.nd.ones((1, 2)), "b": mx.nd.ones(2)}),
        "dtype": refused(mx.cpu(), {"a": mx.nd.ones(2, dtype="int32"), "b": mx.nd.ones(2)}),
        "context": refused(mx.cpu(1), arrays),
        "no context": refused("cpu", arrays),
        "req": refused(mx.cpu(), arrays, grad_req="writes"),
        "req in list": refused(mx.cpu(), arrays, grad_req=["write", "writes"]),
        "req in dict": refused(mx.cpu(), arrays, grad_req={"a": "writes"}),
        "group2ctx": refused(mx.cpu(), arrays, group2ctx={"g": mx.cpu(1)}),
    }


@script
def bind_auxiliary_states(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False)
    args = {
        "x": mx.nd.array(numbers("x", (4, 2))),
        "bn_gamma": mx.nd.ones(2),
        "bn_beta": mx.nd.zeros(2),
    }
    aux = {"bn_moving_mean": mx.nd.ones(2), "bn_moving_var": mx.nd.ones(2) * 4}
    longer = [mx.nd.ones(2), mx.nd.ones(3)]
    return {
        "dict": attempt(mx, lambda: net.bind(mx.cpu(), args, aux_states=aux).forward()),
        "list": attempt(
            mx, lambda: net.bind(mx.cpu(), args, aux_states=list(aux.values())).forward()
        ),
        "more": attempt(
            mx, lambda: net.bind(mx.cpu(), args, aux_states=dict(aux, q=mx.nd.ones(1))).forward()
        ),
        "none": attempt(mx, lambda: net.bind(mx.cpu(), args).forward()),
        "one": attempt(mx, lambda: net.bind(mx.cpu(), args, aux_states=[mx.nd.ones(2)]).forward()),
        "missing": attempt(
            mx,
            lambda: net.bind(mx.cpu(), args, aux_states={"bn_moving_var": mx.nd.ones(2)}).forward(),
        ),
        "shape": attempt(mx, lambda: net.bind(mx.cpu(), args, aux_states=longer).forward()),
    }


@script
def simple_bind_defaults(mx):
    executor = _network(mx).simple_bind(mx.cpu(), data=(4, 5))
    return {
        "args": {n: a.shape for n, a in executor.arg_dict.items()},
        "grads": {n: a.shape for n, a in executor.grad_dict.items()},
        "aux": {n: a.shape for n, a in executor.aux_dict.items()},
        "outputs": {n: a.shape for n, a in executor.output_dict.items()},
        "zeros": executor.arg_dict["fc1_weight"],
        "aux values": executor.aux_dict,
    }


@script
def simple_bind_grad_reqs(mx):
    net = _product(mx)

    def grads(grad_req: Any) -> Any:
        return attempt(mx, lambda: gradients(net.simple_bind(mx.cpu(), grad_req, a=(2,), b=(2,))))

    return {
        "write": grads("write"),
        "null": grads("null"),
        "add": grads("add"),
        "list": grads(["write", "null"]),
        "dict": grads({"a": "add"}),
        "unknown": grads("foo"),
        "short": grads(["write"]),
        "dict of others": grads({"zz": "write"}),
    }


@script
def simple_bind_types(mx):
    net = _network(mx)

    def types(**type_dict: Any) -> Any:
        executor = net.simple_bind(mx.cpu(), type_dict=type_dict, data=(4, 5))
        arrays = {**executor.arg_dict, **executor.aux_dict, **executor.output_dict}
        return {n: np.dtype(a.dtype).name for n, a in arrays.items()}

    return {
        "nothing": attempt(mx, types),
        "data": attempt(mx, lambda: types(data="float64")),
        "class": attempt(mx, lambda: types(data=np.float64)),
        "weight": attempt(mx, lambda: types(fc2_weight="float64")),
        "half": attempt(mx, lambda: types(data="float16")),
        "contradiction": attempt(mx, lambda: types(data="float16", fc1_weight="float32")),
        "other name": attempt(mx, lambda: types(zz="float16")),
    }


@script
def simple_bind_refusals(mx):
    net = _network(mx)
    return {
        "nothing given": attempt(mx, lambda: net.simple_bind(mx.cpu())),
        "only the label": attempt(mx, lambda: net.simple_bind(mx.cpu(), label=(4,))),
        "contradiction": attempt(
            mx, lambda: net.simple_bind(mx.cpu(), data=(4, 5), fc1_weight=(3, 6))
        ),
        "other names": attempt(
            mx, lambda: net.simple_bind(mx.cpu(), data=(4, 5), zz=(1,)).arg_dict["data"].shape
        ),
        "no context": attempt(mx, lambda: net.simple_bind("cpu", data=(4, 5))),
        "list": attempt(mx, lambda: net.simple_bind(mx.cpu(), data=[4, 5]).outputs[0].shape),
        "number": attempt(mx, lambda: net.simple_bind(mx.cpu(), data=4).outputs[0].shape),
    }


@script
def simple_bind_shared_exec(mx):
    net = _network(mx)
    first = fill(net.simple_bind(mx.cpu(), data=(4, 5)), skip=("label",))
    names = ["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias", "bn_gamma", "bn_beta"]
    second = net.simple_bind(
        mx.cpu(), data=(2, 5), shared_exec=first, shared_arg_names=names, shared_buffer={}
    )
    second.arg_dict["fc1_bias"][:] = 0.5
    second.arg_dict["data"][:] = numbers("other", (2, 5))
    second.aux_dict["bn_moving_var"][:] = 1
    second.forward(is_train=True)
    second.backward()
    return {
        "bias": first.arg_dict["fc1_bias"],
        "gradient": first.grad_dict["fc1_weight"],
        "aux": first.aux_dict,
        "output": second.outputs,
        "data": first.arg_dict["data"],
    }


@script
def simple_bind_shared_buffer(mx):
    net = _product(mx)
    buffer = {}
    first = net.simple_bind(mx.cpu(), a=(4,), b=(4,), shared_buffer=buffer)
    first.arg_dict["a"][:] = [1, 2, 3, 4]
    names = sorted(buffer)
    second = net.simple_bind(mx.cpu(), a=(2,), b=(2,), shared_buffer=buffer)
    second.arg_dict["b"][:] = 3
    seen = [names, second.arg_dict["a"], first.arg_dict["b"], second.forward()]
    third = net.simple_bind(mx.cpu(), a=(8,), b=(8,), shared_buffer=buffer)
    third.arg_dict["a"][:] = 7
    return [*seen, first.arg_dict["a"], [buffer[n].shape for n in names]]


@script
def simple_bind_declared_variables(mx):
    def arguments(net: Any) -> Any:
        executor = net.simple_bind(mx.cpu())
        return {n: [a.shape, np.dtype(a.dtype).name] for n, a in executor.arg_dict.items()}

    data = mx.sym.Variable("data", shape=(2, 3))
    double = mx.sym.Variable("data", shape=(2, 3), dtype="float64")
    return {
        "shape": attempt(mx, lambda: arguments(mx.sym.FullyConnected(data, num_hidden=2))),
        "dtype": attempt(mx, lambda: arguments(mx.sym.FullyConnected(double, num_hidden=2))),
        "alone": attempt(mx, lambda: arguments(double * 2)),
    }


@script
def evaluation(mx):
    net = _product(mx)
    return {
        "eval": net.eval(**_arrays(mx)),
        "with context": net.eval(ctx=mx.cpu(), **_arrays(mx)),
        "missing": attempt(mx, lambda: net.eval(a=mx.nd.ones(2))),
    }


@script
def simple_bind_keywords_without_a_shape(mx):
    """Keywords are ignored unless they are tuples or lists."""
    net = _network(mx)
    extra = {
        "flag": {"force_rebind": True},
        "axis": {"axis": -1},
        "mode": {"mode": "clip"},
        "several": {"force_rebind": True, "axis": -1, "mode": "clip"},
        "nothing": {"zz": None},
        "number": {"zz": 3.5},
        "dict": {"zz": {}},
        "shape of nothing": {"zz": (3, 4)},
        "number of an argument": {"fc1_weight": 3},
        "text of an argument": {"fc1_bias": "a"},
        "nothing of an argument": {"fc1_weight": None, "label": True},
        "tuple of texts": {"zz": (1, "a")},
        "tuple of numbers": {"fc1_bias": (2.5,)},
    }

    def shapes(keywords: Any) -> Any:
        executor = net.simple_bind(mx.cpu(), data=(4, 5), **keywords)
        return {n: a.shape for n, a in executor.arg_dict.items()}

    answers = {name: attempt(mx, lambda k=k: shapes(k)) for name, k in extra.items()}
    answers["data"] = attempt(mx, lambda: net.simple_bind(mx.cpu(), data=-1).outputs[0].shape)
    return answers


@script
def simple_bind_shared_names_alone(mx):
    """Shared names without an executor: new arrays, which do not get into the buffer."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    seen = []
    for names in (["fc_weight"], [], ["data", "fc_weight", "fc_bias"], ["zz"]):
        buffer: dict[str, Any] = {}
        options = {"shared_arg_names": names, "shared_buffer": buffer}
        first = net.simple_bind(mx.cpu(), data=(2, 3), **options)
        shapes = [{n: a.shape for n, a in sorted(buffer.items())}]
        second = net.simple_bind(mx.cpu(), data=(4, 3), **options)
        shapes.append({n: a.shape for n, a in sorted(buffer.items())})
        first.arg_dict["fc_weight"][:] = 5
        first.arg_dict["fc_bias"][:] = 6
        if "fc_weight" in names:
            second.arg_dict["fc_weight"][:] = 1
        seen.append([shapes, second.arg_dict["fc_weight"], second.arg_dict["fc_bias"]])
    alone = net.simple_bind(mx.cpu(), data=(2, 3), shared_arg_names=["fc_weight"])
    alone.arg_dict["fc_weight"][:] = 4
    third = net.simple_bind(
        mx.cpu(), data=(2, 3), shared_arg_names=["fc_weight"], shared_exec=alone, shared_buffer={}
    )
    return seen, third.arg_dict["fc_weight"]
