"""Modules one after the other, and modules in Python."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, batch, contexts, losses, numbers, script, trained


def _parts(mx):
    features = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    features = mx.sym.Activation(features, act_type="tanh", name="tanh1")
    top = mx.sym.FullyConnected(mx.sym.Variable("features"), num_hidden=4, name="fc2")
    return features, top


def _values(mx, shapes):
    return {n: mx.nd.array(0.3 * numbers(n, s)) for n, s in shapes.items()}


_SHAPES = {"fc1_weight": (6, 5), "fc1_bias": (6,), "fc2_weight": (4, 6), "fc2_bias": (4,)}


@script
def chain(mx):
    answers = {}
    for count in (1, 2):
        features, top = _parts(mx)
        top = mx.sym.SoftmaxOutput(top, name="softmax")
        module = mx.mod.SequentialModule()
        module.add(mx.mod.Module(features, label_names=None, context=contexts(mx, count)))
        module.add(
            mx.mod.Module(top, data_names=["features"], context=contexts(mx, count)),
            take_labels=True, auto_wiring=True,
        )  # fmt: skip
        module.bind([("data", (8, 5))], [("softmax_label", (8,))], inputs_need_grad=True)
        module.init_params(arg_params=_values(mx, _SHAPES), aux_params={})
        module.init_optimizer(optimizer_params={"learning_rate": 0.2, "momentum": 0.9})
        answers[count] = {
            "losses": losses(module, [batch(mx, i) for i in range(3)], 20, mx.metric.create("ce")),
            "trained": trained(module),
            "names": (module.data_names, module.output_names, module.output_shapes),
            "labels": [tuple(s) for s in module.label_shapes],
            "outputs": module.get_outputs(),
            "input gradients": module._modules[0].get_input_grads(),
        }
    return answers


@script
def chain_fit(mx):
    features, top = _parts(mx)
    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(features, label_names=None)).add(
        mx.mod.Module(mx.sym.SoftmaxOutput(top, name="softmax"), data_names=["features"]),
        take_labels=True, auto_wiring=True,
    )  # fmt: skip
    data = mx.io.NDArrayIter(numbers("x", (24, 5)), np.arange(24) % 4, 8)
    seen = []
    module.fit(
        data, eval_data=data, eval_metric="ce", num_epoch=3, arg_params=_values(mx, _SHAPES),
        aux_params={}, optimizer_params={"learning_rate": 0.3},
        batch_end_callback=lambda p: seen.append(p.eval_metric.get()[1]),
    )  # fmt: skip
    return seen, module.predict(data), trained(module), module.score(data, "ce")


def _softmax_gradient(mx):
    def gradient(scores, labels):
        scores, labels = scores.asnumpy(), labels.asnumpy().astype(int)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        odds[np.arange(len(labels)), labels] -= 1
        return odds

    return gradient


@script
def python_loss(mx):
    features, _ = _parts(mx)
    features = mx.sym.FullyConnected(features, num_hidden=4, name="fc2")
    answers = {}
    for count in (1, 2):
        module = mx.mod.SequentialModule()
        module.add(mx.mod.Module(features, label_names=None, context=contexts(mx, count)))
        module.add(
            mx.mod.PythonLossModule(grad_func=_softmax_gradient(mx)),
            take_labels=True, auto_wiring=True,
        )  # fmt: skip
        module.bind([("data", (8, 5))], [("softmax_label", (8,))])
        module.init_params(arg_params=_values(mx, _SHAPES), aux_params={})
        module.init_optimizer(optimizer_params={"learning_rate": 0.3})
        accuracy = losses(module, [batch(mx, i) for i in range(3)], 12, mx.metric.create("acc"))
        answers[count] = accuracy, trained(module), module.get_outputs(), module.output_shapes
    return answers


@script
def python_modules(mx):
    class Twice(mx.mod.PythonModule):
        def _compute_output_shapes(self):
            return [("twice_output", self._data_shapes[0][1])]

        def forward(self, data_batch, is_train=None):
            self._x = data_batch.data[0]

        def get_outputs(self, merge_multi_context=True):
            return [2 * self._x]

    module = Twice(("data",), ("softmax_label",), ["twice_output"])
    before = module.data_shapes, module.output_shapes, module.binded
    module.bind([("data", (8, 4))], [("softmax_label", (8,))])
    one = batch(mx, 0, (8, 4))
    module.forward(one)
    metric = mx.metric.create("acc")
    module.update_metric(metric, one.label)
    loss = mx.mod.PythonLossModule()
    return {
        "before": before,
        "after": (module.data_names, module.output_shapes, module.get_params(), module.binded),
        "outputs": module.get_outputs(),
        "metric": metric.get(),
        "sliced": attempt(mx, lambda: module.update_metric(metric, [], pre_sliced=True)),
        "requests": attempt(
            mx, lambda: Twice(["a"], None, ["b"]).bind([("a", (1,))], grad_req="add")
        ),
        "names": attempt(mx, lambda: Twice(["a"], None, ["b"]).bind([("c", (1,))])),
        "loss names": (loss.data_names, loss.output_names),
        "two": attempt(mx, lambda: mx.mod.PythonLossModule(data_names=["a", "b"])),
        "no function": attempt(mx, lambda: mx.mod.PythonLossModule(grad_func=3)),
        "no shapes": attempt(
            mx, lambda: mx.mod.PythonModule(["a"], None, ["b"]).bind([("a", (1,))])
        ),
        "heads": attempt(mx, lambda: loss.backward([1])),
        "monitor": attempt(mx, lambda: loss.install_monitor(None)),
    }


@script
def chain_refusals(mx):
    features, _ = _parts(mx)
    chain = mx.mod.SequentialModule()
    twice = mx.mod.SequentialModule()
    twice.add(mx.mod.Module(features, label_names=None))
    second = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    twice.add(mx.mod.Module(second, label_names=None), auto_wiring=True)
    return {
        "empty": attempt(mx, lambda: chain.bind([("data", (8, 5))])),
        "keyword": attempt(mx, lambda: mx.mod.SequentialModule().add(None, labels=True)),
        "unbound": [
            attempt(mx, act) for act in (
                chain.get_params, chain.init_params, chain.init_optimizer, chain.update,
                chain.backward, chain.get_outputs, chain.get_input_grads,
                lambda: chain.data_shapes, lambda: chain.label_shapes, lambda: chain.output_shapes,
                lambda: chain.install_monitor(None), lambda: chain.forward(None),
            )
        ],
        "names": (chain.data_names, chain.output_names),
        "wiring": attempt(mx, lambda: twice.bind([("data", (8, 6))])),
        "twice": attempt(mx, twice.init_params),
    }  # fmt: skip
