"""The examples of MXNet's reference pages for the executor, as printed there."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ._facts import attempt, fill, numbers, script


def _mlp(mx: Any) -> Any:
    net = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(net, name="fc", num_hidden=6)
    net = mx.sym.Activation(net, name="relu", act_type="relu")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _sum(mx: Any) -> Any:
    return 2 * mx.sym.Variable("a") + mx.sym.Variable("b")


@script
def reference_bind(mx):
    texec = _sum(mx).bind(mx.cpu(), {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])})
    return texec.forward(), texec.grad_arrays, texec.arg_dict, texec.output_dict, texec.aux_dict


@script
def reference_loss(mx):
    net = _mlp(mx)
    args = {
        "data": mx.nd.ones((1, 4)),
        "fc_weight": mx.nd.ones((6, 4)),
        "fc_bias": mx.nd.array((1, 4, 4, 4, 5, 6)),
        "softmax_label": mx.nd.ones(1),
    }
    args_grad = {"fc_weight": mx.nd.zeros((6, 4)), "fc_bias": mx.nd.zeros(6)}
    texec = net.bind(ctx=mx.cpu(), args=args, args_grad=args_grad)
    out = texec.forward(is_train=True)[0].copy()
    texec.backward()
    return out, texec.grad_arrays


@script
def reference_not_a_loss(mx):
    args = {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])}
    args_grad = {"a": mx.nd.zeros(2), "b": mx.nd.zeros(2)}
    texec = _sum(mx).bind(ctx=mx.cpu(), args=args, args_grad=args_grad)
    out = texec.forward(is_train=True)[0].copy()
    texec.backward(out)
    return out, texec.grad_arrays


@script
def reference_forward(mx):
    texec = fill(_mlp(mx).simple_bind(mx.cpu(), data=(3, 4)), skip=("softmax_label",))
    mydata = mx.nd.array(numbers("mine", (3, 4)))
    seen = [texec.forward(is_train=True, data=mydata)[0].copy()]
    mydata = mydata * 2
    mydata.copyto(texec.arg_dict["data"])
    texec.forward(is_train=True)
    seen.append(texec.outputs[0].copy())
    outputs = texec.forward(is_train=True, data=mydata - 1)
    return seen, outputs[0].asnumpy()


@script
def reference_copy_params_from(mx):
    net = _mlp(mx)
    first = fill(net.simple_bind(mx.cpu(), data=(2, 4)))
    params = {n: a for n, a in first.arg_dict.items() if n.startswith("fc")}
    with tempfile.TemporaryDirectory() as folder:
        model_prefix = os.path.join(folder, "mx_mlp")
        mx.model.save_checkpoint(model_prefix, 0, net, params, {})
        sym, arg_params, aux_params = mx.model.load_checkpoint(model_prefix, 0)
    texec = sym.simple_bind(mx.cpu(), data=(2, 4))
    texec.copy_params_from(arg_params, aux_params)
    return texec.forward(data=first.arg_dict["data"]), first.forward()


@script
def reference_reshape(mx):
    texec = _sum(mx).bind(mx.cpu(), {"a": mx.nd.zeros((2, 1)), "b": mx.nd.ones((2, 1))})
    new_shape = {"a": (4, 2), "b": (4, 2)}
    larger = texec.reshape(allow_up_sizing=True, **new_shape)
    for array in larger.arg_arrays:
        array[:] = 1
    return larger.forward(), [a.shape for a in texec.arg_arrays]


@script
def reference_monitor(mx):
    seen = []

    def mon_callback(*args, **kwargs):
        name = args[0].decode() if isinstance(args[0], bytes) else args[0]
        seen.append((name, len(args), len(kwargs)))

    texe = _mlp(mx).simple_bind(mx.cpu(), data=(1, 4))
    texe.set_monitor_callback(mon_callback)
    texe.forward()
    return seen


@script
def reference_debug_str(mx):
    a = mx.sym.Variable("a")
    b = mx.sym.sin(a)
    c = 2 * a + b
    texec = c.bind(mx.cpu(), {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])})
    return [s for s in texec.debug_str().splitlines() if not s.startswith(("Total", "XLA", "\t"))]


@script
def reference_dicts_raise_for_repeated_names(mx):
    a = mx.sym.Variable("a") + mx.sym.Variable("a")
    texec = a.bind(mx.cpu(), [mx.nd.ones(2), mx.nd.ones(2)], [mx.nd.zeros(2), mx.nd.zeros(2)])
    texec.forward(is_train=True)
    texec.backward(mx.nd.ones(2))
    return (
        attempt(mx, lambda: texec.arg_dict),
        attempt(mx, lambda: texec.grad_dict),
        texec.arg_arrays,
        texec.grad_arrays,
        texec.outputs,
    )


@script
def reference_output_names_repeat(mx):
    a = mx.sym.Variable("a")
    both = mx.sym.Group([mx.sym.sin(a, name="f"), mx.sym.cos(a, name="f")])
    texec = both.bind(mx.cpu(), [mx.nd.ones(2)])
    texec.forward()
    return attempt(mx, lambda: texec.output_dict), texec.outputs
