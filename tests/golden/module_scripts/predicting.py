"""score, predict, iter_predict, batches of other shapes, states."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, batch, bound, contexts, convnet, mlp, numbers, script, start


def _data(mx, rows=20, size=8):
    labels = np.arange(rows) % 4
    return mx.io.NDArrayIter(numbers("all", (rows, 5)), labels.astype(np.float32), size)


@script
def predictions(mx):
    answers = {}
    for count in (1, 2):
        module = bound(mx, mlp(mx), context=contexts(mx, count), for_training=False)
        data = _data(mx)
        answers[count] = {
            "merged": module.predict(data),
            "list": module.predict(data, always_output_list=True),
            "apart": module.predict(data, merge_batches=False),
            "two": module.predict(data, num_batch=2),
            "none": module.predict(data, num_batch=0),
            "array": module.predict(mx.nd.array(numbers("x", (8, 5)))),
            "numpy": module.predict(numbers("x", (8, 5))),
            "steps": [
                (i, one.pad, [o.asnumpy().copy() for o in outputs])
                for outputs, i, one in module.iter_predict(data, num_batch=3)
            ],
        }
        data.reset()
        next(data)
        answers[count]["rest"] = module.predict(data, reset=False)
        answers[count]["else"] = attempt(mx, lambda m=module: m.predict([1, 2]))
    return answers


@script
def predictions_of_two_heads(mx):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.Group([mx.sym.tanh(x, name="t"), mx.sym.softmax(x, name="s")])
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (8, 5))], for_training=False)
    start(mx, module)
    data = mx.io.NDArrayIter(numbers("all", (20, 5)), None, 8)
    return module.predict(data), module.predict(data, merge_batches=False), module.output_shapes


@script
def scores(mx):
    module = bound(mx, mlp(mx), for_training=False)
    data = _data(mx)
    calls = []
    answers = {
        "name": module.score(data, "acc"),
        "list": module.score(data, ["acc", "ce"]),
        "metric": module.score(data, mx.metric.TopKAccuracy(top_k=2)),
        "two": module.score(data, "ce", num_batch=2),
        "callbacks": module.score(
            data, "ce", epoch=3,
            batch_end_callback=lambda p: calls.append((p.epoch, p.nbatch, p.eval_metric.get())),
            score_end_callback=[
                lambda p: calls.append((p.epoch, p.nbatch)), lambda p: calls.append(len(p))
            ],
        ),
    }  # fmt: skip
    return answers, calls


@script
def other_shapes(mx):
    """Batches of other sizes and images of other sizes rebind by themselves; training goes on."""
    answers = []
    for count in (1, 2):
        x = mx.sym.Convolution(
            mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=3, name="conv1"
        )
        x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1))
        x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=4, name="fc1")
        net = mx.sym.SoftmaxOutput(x, name="softmax")
        module = bound(mx, net, (8, 1, 4, 4), context=contexts(mx, count))
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        for shape in ((8, 1, 4, 4), (4, 1, 4, 4), (8, 1, 6, 6), (8, 1, 4, 4), (6, 1, 5, 3)):
            module.forward_backward(batch(mx, 1, shape, shape[:1]))
            module.update()
            described = [*module.data_shapes, *module.label_shapes]
            outputs = module.get_outputs()[0].asnumpy()
            answers.append((outputs, [tuple(d) for d in described], module.output_shapes))
        module.reshape([("data", (2, 1, 4, 4))], [("softmax_label", (2,))])
        module.forward(batch(mx, 2, (2, 1, 4, 4), (2,)), is_train=False)
        answers.append((module.get_outputs()[0].asnumpy(), module.output_shapes))
        provided = batch(mx, 3, (4, 1, 4, 4), (4,))
        provided.provide_data = [mx.io.DataDesc("data", (4, 1, 4, 4), layout="NCHW")]
        provided.provide_label = [mx.io.DataDesc("softmax_label", (4,))]
        module.forward_backward(provided)
        answers.append(module.get_outputs()[0].asnumpy())
    return answers


@script
def states(mx):
    """A recurrent state that is carried from batch to batch."""
    h = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="in")
    h = h + 0.5 * mx.sym.Variable("h")
    h = mx.sym.Activation(h, act_type="tanh", name="h_new")
    loss = mx.sym.LinearRegressionOutput(h, mx.sym.Variable("y_label"), name="y")
    net = mx.sym.Group([loss, mx.sym.BlockGrad(h, name="carry")])
    answers = {}
    for count in (1, 2):
        module = mx.mod.Module(
            net, label_names=["y_label"], state_names=["h"], context=contexts(mx, count)
        )
        module.bind([("data", (4, 2))], [("y_label", (4, 3))])
        start(mx, module)
        module.init_optimizer(optimizer_params={"learning_rate": 0.2})
        module.set_states(value=0.5)
        steps = []
        for step in range(3):
            module.forward_backward(batch(mx, step, (4, 2), (4, 3)))
            module.update()
            carry = module.get_outputs(merge_multi_context=False)[1]
            module.set_states(states=[carry])
            carried = module.get_states(merge_multi_context=False)[0]
            outputs = [o.asnumpy() for o in module.get_outputs()]
            steps.append((outputs, [s.asnumpy() for s in carried]))
        answers[count] = steps
    return answers, attempt(mx, module.get_states), attempt(mx, module.set_states)


@script
def lists_of_batches(mx):
    """One batch for each device."""
    module = bound(mx, convnet(mx), (8, 1, 4, 4), context=contexts(mx, 2))
    halves = [batch(mx, i, (4, 1, 4, 4), (4,)) for i in range(2)]
    module.init_optimizer()
    metric = mx.metric.create("ce")
    module.forward(halves, is_train=True)
    module.update_metric(metric, [b.label for b in halves], pre_sliced=True)
    wrong = [batch(mx, 0, (4, 1, 4, 4), (4,)), batch(mx, 0, (2, 1, 4, 4), (2,))]
    return module.get_outputs(), metric.get(), attempt(mx, lambda: module.forward(wrong))
