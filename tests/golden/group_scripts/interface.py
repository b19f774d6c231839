"""Attributes of groups and managers: names, slices, arrays, states, layouts, contexts."""

from __future__ import annotations

from typing import Any

from ._facts import Shapes, contexts, convnet, fill, mlp, numbers, parameters, script, workloads

_INPUTS = ("data", "softmax_label")


def _group(mx: Any, symbol: Any, place: str, data: Any, label: Any, names: Any, *flags: Any,
           **kwargs: Any) -> Any:  # fmt: skip
    flags = flags or (True, False)
    return mx.module.executor_group.DataParallelExecutorGroup(
        symbol, contexts(mx, place), workloads(place), data, label, names, *flags, **kwargs
    )


def _shapes(arrays: Any) -> Any:
    """Shapes and contexts in nested lists of arrays and (slice, array) pairs."""
    if arrays is None:
        return None
    if hasattr(arrays, "asnumpy"):
        return arrays.shape, str(arrays.context), arrays.dtype
    if isinstance(arrays, slice):
        return str(arrays)
    return [_shapes(a) for a in arrays]


@script
def module_group_attributes(mx):
    answers = {}
    for place in ("one device", "four devices", "uneven"):
        symbol = convnet(mx)
        group = _group(
            mx, symbol, place, [mx.io.DataDesc("data", (8, 1, 3, 3))], [("softmax_label", (8,))],
            parameters(symbol, _INPUTS), True, True, fixed_param_names=["fc_bias"],
        )  # fmt: skip
        answers[place] = {
            "names": (group.arg_names, group.param_names, group.aux_names, group.data_names,
                      group.label_names, group.output_names, group.state_names,
                      group.fixed_param_names),
            "numbers": (group.batch_size, group.num_outputs, group.for_training,
                        group.inputs_need_grad),
            "slices": [str(s) for s in group.slices],
            "layouts": (group.data_layouts, group.label_layouts, group.output_layouts),
            "requests": group.grad_req,
            "arrays": [_shapes(a) for a in (
                group.data_arrays, group.label_arrays, group.param_arrays, group.grad_arrays,
                group.aux_arrays, group.input_grad_arrays, group.state_arrays)],
            "descriptions": [list(map(str, d)) for d in (group.data_shapes, group.label_shapes)],
            "shapes": group.get_output_shapes(),
            "execs": [_shapes([e.arg_dict["data"], e.outputs]) for e in group.execs],
        }  # fmt: skip
    return answers


@script
def module_group_for_inference(mx):
    group = _group(
        mx, mlp(mx), "two devices", [mx.io.DataDesc("data", (4, 5))], None,
        parameters(mlp(mx), _INPUTS), False, False,
    )  # fmt: skip
    fill(group, group.param_names, group.execs)
    group.forward(mx.io.DataBatch([mx.nd.array(numbers("x", (4, 5)))], None))
    return {
        "outputs": group.get_outputs(),
        "arrays": [_shapes(a) for a in (group.grad_arrays, group.label_arrays)],
        "requests": group.grad_req,
    }


@script
def manager_group_attributes(mx):
    symbol = convnet(mx)
    names = parameters(symbol, _INPUTS)[::-1]
    train = Shapes([("data", (8, 1, 3, 3))], [("softmax_label", (8,))], 8)
    group = mx.executor_manager.DataParallelExecutorGroup(
        symbol, symbol.list_arguments(), names[:4], contexts(mx, "uneven"),
        [slice(0, 2), slice(2, 6), slice(6, 8)], train,
    )  # fmt: skip
    return {
        "names": (group.data_names, group.label_names, group.aux_names, group.param_names),
        "numbers": group.param_idx,
        "arrays": [_shapes(a) for a in (
            group.data_arrays, group.label_arrays, group.param_arrays, group.grad_arrays,
            group.aux_arrays)],
        "gradients": {n: g is not None for n, g in group.train_execs[0].grad_dict.items()},
    }  # fmt: skip


@script
def module_group_time_major(mx):
    data = mx.sym.Variable("data")
    net = mx.sym.tanh(2 * data, name="out")
    net._set_attr(__layout__="TNC")
    answers = {}
    for place in ("two devices", "uneven"):
        group = _group(
            mx, net, place, [mx.io.DataDesc("data", (3, 4, 2), layout="TNC")], None, [], True, True
        )
        group.forward(mx.io.DataBatch([mx.nd.array(0.3 * numbers("x", (3, 4, 2)))], None))
        group.backward([mx.nd.array(numbers("head", (3, 4, 2)))])
        answers[place] = (
            group.data_layouts, group.output_layouts, group.batch_size, group.get_outputs(),
            group.get_output_shapes(), group.get_input_grads(), _shapes(group.data_arrays),
        )  # fmt: skip
    return answers


@script
def module_group_without_batch_axis(mx):
    net = mx.sym.broadcast_mul(mx.sym.Variable("data"), mx.sym.Variable("k"))
    total = mx.sym.sum(net, name="total")
    total._set_attr(__layout__="")
    data = [mx.io.DataDesc("data", (4, 2)), mx.io.DataDesc("k", (1, 2), layout="")]
    group = _group(mx, mx.sym.Group([net, total]), "two devices", data, None, [], True, True)
    arrays = [mx.nd.array(numbers("x", (4, 2))), mx.nd.array([[2, 3]])]
    group.forward(mx.io.DataBatch(arrays, None))
    group.backward([mx.nd.ones((4, 2)), mx.nd.ones((1,))])
    return (
        group.data_layouts, group.output_layouts, group.get_outputs(), group.get_output_shapes(),
        group.get_input_grads(False),
    )  # fmt: skip


@script
def module_group_states(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = net + mx.sym.Variable("state")
    answers = {}
    for place in ("one device", "two devices", "uneven"):
        group = _group(
            mx, net, place, [mx.io.DataDesc("data", (4, 2))], None, ["fc_weight", "fc_bias"],
            state_names=["state"],
        )  # fmt: skip
        fill(group, ["fc_weight", "fc_bias"], group.execs)
        group.set_states(value=2)
        before = [s.copy() for s in group.get_states(False)[0]]
        one = mx.io.DataBatch([mx.nd.array(numbers("x", (4, 2)))], None)
        group.forward(one)
        first = group.get_outputs()[0].copy()
        group.set_states(states=group.get_outputs(False))
        group.forward(one)
        answers[place] = before, first, group.get_outputs(), group.get_states(False)
    return answers


@script
def module_group_set_and_get_params(mx):
    symbol = convnet(mx)
    answers = {}
    for place in ("one device", "four devices", "uneven"):
        group = _group(
            mx, symbol, place, [mx.io.DataDesc("data", (8, 1, 3, 3))], [("softmax_label", (8,))],
            parameters(symbol, _INPUTS),
        )  # fmt: skip
        shapes = {
            n: a[0].shape for n, a in zip(group.param_names, group.param_arrays, strict=False)
        }
        states = {n: a[0].shape for n, a in zip(group.aux_names, group.aux_arrays, strict=False)}
        group.set_params(
            {n: mx.nd.array(numbers(n, s)) for n, s in shapes.items()},
            {n: mx.nd.array(numbers(n, s)) for n, s in states.items()},
        )
        group.param_arrays[0][-1][:] = 3
        args = {n: mx.nd.zeros(s, dtype="float64") for n, s in shapes.items()}
        aux = {n: mx.nd.zeros(s) for n, s in states.items()}
        group.get_params(args, aux)
        answers[place] = args, aux
    return answers


@script
def module_group_group2ctx(mx):
    with mx.AttrScope(ctx_group="first"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    with mx.AttrScope(ctx_group="second"):
        net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=3, name="fc2")
        net = mx.sym.SoftmaxOutput(net, name="softmax")
    groups = [
        {"first": mx.cpu(0), "second": mx.cpu(1)}, {"first": mx.cpu(2), "second": mx.cpu(3)},
    ]  # fmt: skip
    group = _group(
        mx, net, "two devices", [mx.io.DataDesc("data", (4, 5))], [("softmax_label", (4,))],
        parameters(net, _INPUTS), group2ctxs=groups,
    )  # fmt: skip
    fill(group, group.param_names, group.execs)
    group.forward(mx.io.DataBatch([mx.nd.array(numbers("x", (4, 5)))], [mx.nd.array([0, 1, 2, 0])]))
    group.backward()
    return (
        _shapes(group.param_arrays), _shapes(group.grad_arrays),
        [list(g) for g in group.grad_arrays], group.get_outputs(),
    )  # fmt: skip


@script
def executors_by_themselves(mx):
    symbol = convnet(mx)
    group = _group(
        mx, symbol, "two devices", [mx.io.DataDesc("data", (8, 1, 3, 3))],
        [("softmax_label", (8,))], parameters(symbol, _INPUTS),
    )  # fmt: skip
    fill(group, group.param_names, group.execs)
    for k, executor in enumerate(group.execs):
        executor.forward(
            is_train=True,
            data=mx.nd.array(numbers(f"x{k}", (4, 1, 3, 3)), ctx=mx.cpu(k)),
            softmax_label=mx.nd.array([0, 1, 2, k], ctx=mx.cpu(k)),
        )
        executor.backward()
    mx.nd.waitall()
    merged = group.get_outputs()
    grads = [list(g) for g in group.grad_arrays]
    states = [list(a) for a in group.aux_arrays]
    return merged, [[g.copy() for g in gs] for gs in grads], states


@script
def module_group_states_among_the_data(mx):
    """Inputs that are states too: a batch that has no array for them leaves them as they were."""
    total = mx.sym.Variable("data") + mx.sym.Variable("state") * mx.sym.Variable("other")
    net = mx.sym.FullyConnected(total, num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    answers = {}
    for place in ("one device", "two devices"):
        group = _group(
            mx, net, place, [(n, (4, 3)) for n in ("data", "state", "other")],
            [("softmax_label", (4,))], ["fc_weight", "fc_bias"], True, True,
            state_names=["state", "other"],
        )  # fmt: skip
        fill(group, group.param_names, group.execs)
        group.set_states(value=2)
        arrays = [mx.nd.array(numbers(n, (4, 3))) for n in ("data", "state", "other")]
        for count in (1, 2, 3, 1):
            group.forward(mx.io.DataBatch(arrays[:count], [mx.nd.zeros((4,))]), is_train=True)
            group.backward()
            answers[f"{place} {len(answers)}"] = [
                group.get_outputs(),
                group.get_states(merge_multi_context=False),
                group.get_input_grads(),
                _shapes(group.data_arrays),
            ]
    return answers


@script
def module_group_heads_of_other_shapes(mx):
    """Head gradients at outputs that have no gradient may have any number of columns."""
    x = mx.sym.Variable("data")
    net = mx.sym.Group([x * 2, mx.sym.BlockGrad(x), mx.sym.argmax(x, axis=1)])
    answers = {}
    for place in ("one device", "two devices"):
        group = _group(mx, net, place, [("data", (4, 3))], None, [], True, True)
        one = mx.nd.array(numbers("head", (4, 3)))
        for name, heads in {
            "alone": [one],
            "rows": [one, mx.nd.ones((4,)), mx.nd.ones((4, 7))],
            "more rows": [one, mx.nd.ones((7, 2)), mx.nd.ones((9,))],
        }.items():
            group.forward(mx.io.DataBatch([one], None), is_train=True)
            group.backward(heads)
            answers[f"{place} {name}"] = group.get_input_grads()
    return answers
