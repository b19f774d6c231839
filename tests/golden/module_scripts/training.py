"""Losses of 20 steps from fixed parameters."""

from __future__ import annotations

from functools import partial

import numpy as np

from ._facts import (
    attempt,
    batch,
    bound,
    contexts,
    convnet,
    load_digits,
    losses,
    mlp,
    numbers,
    script,
    start,
    trained,
)  # fmt: skip

_OPTIMIZERS = {
    "sgd": {"learning_rate": 0.3},
    "momentum": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "nag": {"learning_rate": 0.1, "momentum": 0.9, "clip_gradient": 0.02},
    "adam": {"learning_rate": 0.02},
    "rmsprop": {"learning_rate": 0.02, "centered": True},
    "adagrad": {"learning_rate": 0.2},
    "ftrl": {"learning_rate": 0.3},
    "nadam": {"learning_rate": 0.02},
    "signum": {"learning_rate": 0.01},
}


@script
def mlp_by_optimizer(mx):
    answers = {}
    batches = [batch(mx, i) for i in range(4)]
    for name, options in _OPTIMIZERS.items():
        for count in (1, 2):
            module = bound(mx, mlp(mx), context=contexts(mx, count))
            kind = "sgd" if name == "momentum" else name
            module.init_optimizer(optimizer=kind, optimizer_params=options)
            answers[f"{name} on {count}"] = losses(module, batches, 20, mx.metric.create("ce"))
    return answers


@script
def mlp_with_everything(mx):
    """Multipliers as attributes, a schedule, weight decay, a fixed parameter."""
    w = mx.sym.Variable("fc1_weight", lr_mult=0.5, wd_mult=2.0)
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), weight=w, num_hidden=6, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=4, name="fc2")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    answers = {}
    for count in (1, 2, 4):
        module = bound(mx, net, context=contexts(mx, count), fixed_param_names=["fc2_bias"])
        schedule = mx.lr_scheduler.FactorScheduler(step=4, factor=0.7, base_lr=0.4)
        module.init_optimizer(
            optimizer="sgd",
            optimizer_params={
                "learning_rate": 0.4, "momentum": 0.5, "wd": 0.05, "lr_scheduler": schedule,
            },
        )  # fmt: skip
        batches = [batch(mx, i) for i in range(4)]
        answers[count] = losses(module, batches, 20, mx.metric.create("ce")), trained(module)
    return answers


@script
def batch_normalisation(mx):
    answers = {}
    for count in (1, 2):
        module = bound(mx, convnet(mx), (8, 1, 4, 4), context=contexts(mx, count))
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        batches = [batch(mx, i, (8, 1, 4, 4)) for i in range(4)]
        answers[count] = losses(module, batches, 20, mx.metric.create("ce")), trained(module)
    return answers


@script
def stores(mx):
    answers = {}
    for store in (None, "local", "device", mx.kv.create("local")):
        module = bound(mx, mlp(mx), context=contexts(mx, 2))
        module.init_optimizer(store, optimizer_params={"learning_rate": 0.3, "momentum": 0.9})
        answers[str(getattr(store, "type", store))] = (
            losses(module, [batch(mx, i) for i in range(2)], 6, mx.metric.create("ce")),
            trained(module),
        )
    return answers


@script
def lenet(mx):
    x = mx.sym.Variable("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=6, name="conv1")
    x = mx.sym.Activation(x, act_type="tanh")
    x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = mx.sym.Convolution(x, kernel=(2, 2), num_filter=8, name="conv2")
    x = mx.sym.Activation(x, act_type="tanh")
    x = mx.sym.Flatten(x)
    x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=20, name="fc1"), act_type="tanh")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    images, labels, _, _ = load_digits(160)
    data = mx.io.NDArrayIter(images, labels, 16)
    module = bound(mx, net, (16, 1, 8, 8), (16,))
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01})
    return losses(module, list(data), 20, mx.metric.create("ce"))


@script
def two_heads(mx):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    x = mx.sym.Activation(x, act_type="relu")
    first = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(x, num_hidden=4, name="fc2"),
        mx.sym.Variable("kind_label"),
        name="kind",
    )
    second = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(x, num_hidden=1, name="fc3"), mx.sym.Variable("size_label"),
        name="size", grad_scale=0.3,
    )  # fmt: skip
    net = mx.sym.Group([first, second])
    module = mx.mod.Module(net, label_names=["kind_label", "size_label"])
    data = mx.io.NDArrayIter(
        {"data": numbers("data", (32, 5))},
        {
            "kind_label": np.abs(numbers("kind", (32,)) * 10).astype(int) % 4,
            "size_label": numbers("size", (32, 1)),
        },
        8,
    )
    module.bind(data.provide_data, data.provide_label)
    start(mx, module)
    module.init_optimizer(optimizer_params=(("learning_rate", 0.1),))
    answers = []
    kinds = mx.metric.CrossEntropy(output_names=["kind_output"], label_names=["kind_label"])
    sizes = mx.metric.MSE(output_names=["size_output"], label_names=["size_label"])
    batches = list(data)
    for step in range(20):
        one = batches[step % 4]
        module.forward_backward(one)
        module.update()
        kinds.reset()
        sizes.reset()
        for metric in (kinds, sizes):
            module.update_metric(metric, one.label)
        answers.append([kinds.get()[1], sizes.get()[1]])
    return np.array(answers, np.float32), module.output_names, module.output_shapes


@script
def matrix_factorisation(mx):
    user, item = mx.sym.Variable("user"), mx.sym.Variable("item")
    user = mx.sym.Embedding(user, input_dim=9, output_dim=4, name="user_embed")
    item = mx.sym.Embedding(item, input_dim=7, output_dim=4, name="item_embed")
    score = mx.sym.Flatten(mx.sym.sum_axis(user * item, axis=1))
    net = mx.sym.LinearRegressionOutput(score, mx.sym.Variable("score_label"), name="score")
    rng = np.random.RandomState(3)
    data = mx.io.NDArrayIter(
        {"user": rng.randint(0, 9, 64), "item": rng.randint(0, 7, 64)},
        {"score_label": rng.uniform(1, 5, 64).astype(np.float32)},
        16,
    )
    answers = {}
    for count in (1, 2):
        module = mx.mod.Module(
            net, data_names=["user", "item"], label_names=["score_label"],
            context=contexts(mx, count),
        )  # fmt: skip
        module.bind(data.provide_data, data.provide_label)
        start(mx, module)
        module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.05})
        data.reset()
        answers[count] = losses(module, list(data), 20, mx.metric.create("rmse")), trained(module)
    return answers


@script
def rescaling(mx):
    """Gradient scale of an optimizer created by name, and of one passed as an object."""
    answers = []
    for count in (1, 2):
        module = bound(mx, mlp(mx), context=contexts(mx, count))
        module.init_optimizer()
        answers.append(module._optimizer.rescale_grad)
        module.init_optimizer(optimizer_params={"rescale_grad": 0.5}, force_init=True)
        answers.append(module._optimizer.rescale_grad)
        optimizer = mx.optimizer.SGD(rescale_grad=1 / 8, learning_rate=0.1)
        module.init_optimizer(optimizer=optimizer, force_init=True)
        answers += [module._optimizer is optimizer, optimizer.idx2name]
        for wrong in ({"optimizer": "none"}, {"optimizer": 3}, {"kvstore": 3}):
            act = partial(module.init_optimizer, force_init=True, **wrong)
            answers.append(attempt(mx, act))
    return answers


@script
def input_gradients_that_are_not_computed(mx):
    """None in the place of an input whose grad_req is null. With several devices MXNet fails to
    merge it, so that only the gradients of each device are asked for there."""
    data, mask = mx.sym.Variable("data"), mx.sym.Variable("mask")
    net = mx.sym.FullyConnected(mx.sym.sin(data) * mask, num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    requests = {
        "write": "write",
        "add": "add",
        "null": "null",
        "data null": {"data": "null", "mask": "write", "fc_weight": "write"},
        "mask null": {"data": "write", "mask": "null"},
        "weight null": {"fc_weight": "null"},
        "fixed": "write",
    }
    answers = {}
    for count in (1, 2):
        for name, request in requests.items():
            module = mx.mod.Module(
                net, data_names=["data", "mask"], context=contexts(mx, count),
                fixed_param_names=["mask"] if name == "fixed" else None,
            )  # fmt: skip
            module.bind(
                [("data", (4, 3)), ("mask", (4, 3))], [("softmax_label", (4,))],
                inputs_need_grad=True, grad_req=request,
            )  # fmt: skip
            start(mx, module)
            arrays = [mx.nd.array(numbers(n, (4, 3))) for n in ("data", "mask")]
            module.forward_backward(mx.io.DataBatch(arrays, [mx.nd.zeros((4,))]))
            answers[f"{count} {name}"] = [
                module.get_input_grads(merge_multi_context=False),
                module.get_input_grads() if count == 1 else None,
            ]
    return answers


@script
def labels_of_a_module_without_labels(mx):
    """Labels of batches are ignored, unless they come with a description and another shape."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    loss = mx.sym.SoftmaxOutput(net, name="softmax")
    answers = {}
    for name, symbol, names, rows, described in (
        ("no label", net, None, (4,), False),
        ("no label, described", net, None, (4,), True),
        ("loss", loss, ["softmax_label"], (4,), False),
        ("loss, described", loss, ["softmax_label"], (4,), True),
        ("loss, described, other rows", loss, ["softmax_label"], (4, 2, 4), True),
    ):
        for train in (True, False):
            module = mx.mod.Module(symbol, label_names=names)
            module.bind([("data", (4, 5))], None, for_training=train)
            start(mx, module)
            seen = []
            for count in rows:
                described_by = {
                    "provide_data": [("data", (count, 5))],
                    "provide_label": [("softmax_label", (count,))],
                }
                one = mx.io.DataBatch(
                    [mx.nd.array(numbers(f"data {count}", (count, 5)))], [mx.nd.ones((count,))],
                    **(described_by if described else {}),
                )  # fmt: skip
                module.forward(one, is_train=train)
                outputs = [o.asnumpy() for o in module.get_outputs()]
                seen.append([outputs, module.label_shapes is None])
                if train:
                    heads = None if symbol is loss else [mx.nd.ones((count, 3))]
                    module.backward(heads)
                    grads = module._exec_group.execs[0].grad_dict
                    seen.append([grads["fc_weight"].asnumpy(), grads["fc_bias"].asnumpy()])
            answers[f"{name}, {train}"] = seen
    return answers
