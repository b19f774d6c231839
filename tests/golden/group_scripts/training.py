"""Training steps on several devices: outputs, gradients and batch statistics of each device."""

from __future__ import annotations

from typing import Any

from ._facts import (
    PLACES,
    Shapes,
    batch,
    contexts,
    convnet,
    fill,
    mlp,
    parameters,
    script,
    seen,
    workloads,
)

_INPUTS = ("data", "softmax_label")


def _module_group(mx: Any, symbol: Any, place: str, data: Any, **options: Any) -> Any:
    group = mx.module.executor_group.DataParallelExecutorGroup(
        symbol,
        contexts(mx, place),
        workloads(place),
        [mx.io.DataDesc("data", data)],
        [mx.io.DataDesc("softmax_label", (data[0],))],
        parameters(symbol, _INPUTS),
        True,
        options.pop("inputs_need_grad", False),
        **options,
    )
    fill(group, parameters(symbol, _INPUTS), group.execs)
    return group


def _manager(mx: Any, symbol: Any, place: str, data: Any) -> Any:
    train = Shapes(
        [mx.io.DataDesc("data", data)], [mx.io.DataDesc("softmax_label", (data[0],))], data[0]
    )
    names = parameters(symbol, _INPUTS)
    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol,
        contexts(mx, place),
        train,
        symbol.list_arguments(),
        names,
        symbol.list_auxiliary_states(),
        work_load_list=workloads(place),
    )
    fill(manager, names, manager.execgrp.train_execs)
    return manager


def _two_steps(mx: Any, symbol: Any, place: str, data: Any, **options: Any) -> Any:
    group = _module_group(mx, symbol, place, data, **options)
    answers = []
    for number in range(2):
        group.forward(batch(mx, number, data, data[:1]))
        group.backward()
        answers.append(seen(mx, group))
        answers[-1]["merged"] = group.get_outputs()
        for weights, grads in zip(group.param_arrays, group.grad_arrays, strict=False):
            for weight, grad in zip(weights, grads, strict=False):
                if grad is not None:
                    weight[:] = weight - 0.1 * grad
    group.forward(batch(mx, 2, data, data[:1]), is_train=False)
    answers.append(group.get_outputs())
    args = {
        n: mx.nd.zeros(a[0].shape)
        for n, a in zip(group.param_names, group.param_arrays, strict=False)
    }
    aux = {
        n: mx.nd.zeros(a[0].shape) for n, a in zip(group.aux_names, group.aux_arrays, strict=False)
    }
    group.get_params(args, aux)
    return answers, args, aux


@script
def module_group_mlp(mx):
    return {place: _two_steps(mx, mlp(mx), place, (8, 5)) for place in PLACES}


@script
def module_group_convnet(mx):
    return {place: _two_steps(mx, convnet(mx), place, (8, 1, 3, 3)) for place in PLACES}


@script
def module_group_input_gradients(mx):
    answers = {}
    for place in ("two devices", "uneven"):
        group = _module_group(mx, mlp(mx), place, (8, 5), inputs_need_grad=True)
        group.forward(batch(mx, 0, (8, 5), (8,)))
        group.backward()
        answers[place] = group.get_input_grads(), group.get_input_grads(False)
    return answers


@script
def module_group_requests(mx):
    requests = {"add": "add", "some": {"fc1_weight": "add", "fc2_bias": "null"}}
    answers = {}
    for name, grad_req in requests.items():
        for place in ("four devices", "uneven"):
            group = _module_group(
                mx, mlp(mx), place, (8, 5), grad_req=grad_req, fixed_param_names=["fc1_bias"]
            )
            for number in range(2):
                group.forward(batch(mx, number, (8, 5), (8,)))
                group.backward()
            answers[f"{name}, {place}"] = group.grad_req, seen(mx, group)
    return answers


@script
def module_group_head_gradients(mx):
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    symbol = mx.sym.Group([symbol, mx.sym.tanh(symbol, name="t")])
    answers = {}
    for place in ("two devices", "uneven"):
        group = mx.module.executor_group.DataParallelExecutorGroup(
            symbol, contexts(mx, place), workloads(place), [mx.io.DataDesc("data", (4, 3))], None,
            ["fc_weight", "fc_bias"], True, False,
        )  # fmt: skip
        fill(group, ["fc_weight", "fc_bias"], group.execs)
        one = batch(mx, 0, (4, 3), (4,))
        group.forward(one)
        group.backward([mx.nd.array([[i, 1] for i in range(4)]), mx.nd.ones((4, 2))])
        answers[place] = seen(mx, group), group.get_output_shapes(), group.get_outputs(begin=1)
    return answers


@script
def module_group_reshape(mx):
    answers = {}
    for place in ("two devices", "four devices", "uneven"):
        group = _module_group(mx, convnet(mx), place, (8, 1, 3, 3))
        shapes = []
        for rows in (8, 4, 8, 12):
            data = (rows, 1, 3, 3)
            group.reshape(
                [mx.io.DataDesc("data", data)], [mx.io.DataDesc("softmax_label", (rows,))]
            )
            group.forward(batch(mx, rows, data, (rows,)))
            group.backward()
            shapes.append((group.batch_size, [str(s) for s in group.slices], seen(mx, group)))
        answers[place] = shapes
    return answers


@script
def manager_mlp(mx):
    answers = {}
    for place in PLACES:
        manager = _manager(mx, mlp(mx), place, (8, 5))
        steps = []
        for number in range(2):
            manager.load_data_batch(batch(mx, number, (8, 5), (8,)))
            manager.forward(is_train=True)
            manager.backward()
            steps.append(seen(mx, manager.execgrp))
            for weights, grads in zip(manager.param_arrays, manager.grad_arrays, strict=False):
                for weight, grad in zip(weights, grads, strict=False):
                    weight[:] = weight - 0.1 * grad
        args = {
            n: mx.nd.zeros(a[0].shape)
            for n, a in zip(manager.param_names, manager.param_arrays, strict=False)
        }
        manager.copy_to(args, {})
        answers[place] = steps, args
    return answers


@script
def manager_convnet(mx):
    answers = {}
    for place in ("two devices", "uneven"):
        manager = _manager(mx, convnet(mx), place, (8, 1, 3, 3))
        manager.load_data_batch(batch(mx, 0, (8, 1, 3, 3), (8,)))
        manager.forward(is_train=True)
        manager.backward()
        answers[place] = seen(mx, manager.execgrp)
    return answers
