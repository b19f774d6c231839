"""Small classics: operators in Python, several tasks, margins, factors of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import classes, numbers, numpy_of, script, start


def _mlp(mx: Any, count: int = 3, hidden: int = 5) -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    x = mx.sym.Activation(x, act_type="relu", name="relu1")
    return mx.sym.FullyConnected(x, num_hidden=count, name="fc2")


def _register_softmax(mx: Any) -> None:
    """Registers ``numpy_softmax``, an operator of the present interface."""

    class Softmax(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            y = np.exp(x - x.max(axis=1, keepdims=True))
            self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1, keepdims=True)))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            label = in_data[1].asnumpy().ravel().astype(int)
            y = out_data[0].asnumpy()
            y[np.arange(len(label)), label] -= 1
            self.assign(in_grad[0], req[0], mx.nd.array(y))

    @mx.operator.register("numpy_softmax")
    class SoftmaxProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def list_outputs(self):
            return ["output"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

        def infer_type(self, in_type):
            return in_type, [in_type[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Softmax()


def _old_softmax(mx: Any) -> Any:
    """The same of the interface before."""

    class OldSoftmax(mx.operator.NumpyOp):
        def __init__(self):
            super().__init__(False)

        def list_arguments(self):
            return ["data", "label"]

        def list_outputs(self):
            return ["output"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

        def forward(self, in_data, out_data):
            y = np.exp(in_data[0] - in_data[0].max(axis=1, keepdims=True))
            out_data[0][:] = y / y.sum(axis=1, keepdims=True)

        def backward(self, out_grad, in_data, out_data, in_grad):
            gradient = in_grad[0]
            gradient[:] = out_data[0]
            gradient[np.arange(len(gradient)), in_data[1].astype(int)] -= 1.0

    return OldSoftmax()


@script
def softmax_in_numpy(mx):
    """The same loss as an operator of NumPy, of NDArrays, and of the present interface."""

    _register_softmax(mx)
    nets = {
        "custom": mx.sym.Custom(_mlp(mx), name="softmax", op_type="numpy_softmax"),
        "numpy": _old_softmax(mx)(data=_mlp(mx), name="softmax"),
        "built in": mx.sym.SoftmaxOutput(_mlp(mx), name="softmax"),
    }
    data, label = numbers("rows", (12, 4)), classes("kinds", (12,), 3)
    answers = {}
    for name, net in nets.items():
        batches = mx.io.NDArrayIter(data, label, 4)
        module = mx.mod.Module(net)
        module.bind(batches.provide_data, batches.provide_label)
        start(mx, module)
        module.fit(
            batches,
            num_epoch=2,
            optimizer_params={"learning_rate": 0.3, "momentum": 0.5, "wd": 0.01},
        )
        answers[name] = module.score(batches, "ce"), numpy_of(module.get_params()[0])
    return answers


@script
def two_tasks_at_once(mx):
    """Two losses, two labels under names of their own, and a metric for each output."""
    body = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1"), act_type="relu"
    )
    kind = mx.sym.FullyConnected(body, num_hidden=3, name="kind")
    odd = mx.sym.FullyConnected(body, num_hidden=2, name="odd")
    net = mx.sym.Group([
        mx.sym.SoftmaxOutput(kind, mx.sym.Variable("softmax1_label"), name="softmax1"),
        mx.sym.SoftmaxOutput(odd, mx.sym.Variable("softmax2_label"), name="softmax2"),
    ])  # fmt: skip

    class TwoLabels(mx.io.DataIter):
        """Another iterator's batches, with a label for each task."""

        def __init__(self, batches: Any) -> None:
            super().__init__(batches.batch_size)
            self.batches = batches

        provide_data = property(lambda self: self.batches.provide_data)

        @property
        def provide_label(self):
            shape = self.batches.provide_label[0][1]
            return [("softmax1_label", shape), ("softmax2_label", shape)]

        def reset(self):
            self.batches.reset()

        def next(self):
            batch = self.batches.next()
            label = batch.label[0]
            return mx.io.DataBatch(
                batch.data, [label, mx.nd.array(label.asnumpy() % 2)], pad=batch.pad,
                index=batch.index,
            )  # fmt: skip

    class EachAccuracy(mx.metric.EvalMetric):
        def __init__(self) -> None:
            self.tasks = 2
            super().__init__("each")

        def reset(self):
            self.right = [0] * 2
            self.rows = [0] * 2

        reset_local = reset

        def update(self, labels, preds):
            for k in range(self.tasks):
                mx.metric.check_label_shapes(labels[k], preds[k][:, 0])
                guess = preds[k].asnumpy().argmax(axis=1)
                self.right[k] += int((guess == labels[k].asnumpy()).sum())
                self.rows[k] += len(guess)

        def get(self):
            shares = [
                r / n if n else float("nan") for r, n in zip(self.right, self.rows, strict=True)
            ]
            return [f"task{k}" for k in range(2)], shares

        def get_name_value(self):
            return list(zip(*self.get(), strict=True))

    batches = TwoLabels(mx.io.NDArrayIter(numbers("rows", (16, 4)), classes("kinds", (16,), 3), 4))
    module = mx.mod.Module(net, label_names=["softmax1_label", "softmax2_label"])
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    lines = []
    module.fit(
        batches, eval_data=batches, eval_metric=EachAccuracy(), num_epoch=3,
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        batch_end_callback=lambda p: lines.append([p.epoch, p.nbatch, *p.eval_metric.get()[1]]),
    )  # fmt: skip
    return lines, module.score(batches, EachAccuracy()), numpy_of(module.get_params()[0])


@script
def margins_instead_of_probabilities(mx):
    answers = {}
    for use_linear in (True, False):
        net = mx.sym.SVMOutput(
            _mlp(mx), name="svm", use_linear=use_linear, margin=1.0, regularization_coefficient=0.7
        )
        batches = mx.io.NDArrayIter(
            numbers("rows", (12, 4)), classes("kinds", (12,), 3), 4, label_name="svm_label"
        )
        module = mx.mod.Module(net, label_names=["svm_label"])
        module.bind(batches.provide_data, batches.provide_label)
        start(mx, module)
        module.fit(
            batches, num_epoch=3,
            optimizer_params={"learning_rate": 0.05, "momentum": 0.9, "wd": 0.00001},
        )  # fmt: skip
        answers[use_linear] = module.score(batches, "acc"), numpy_of(module.get_params()[0])
    return answers


@script
def ratings_as_products(mx):
    """Users and items as embeddings, with biases, and a deeper network beside the product."""
    user, item = mx.sym.Variable("user"), mx.sym.Variable("item")

    def features(name: str, ids: Any, count: int, width: int) -> Any:
        weight = mx.sym.Variable(f"{name}_weight")
        return mx.sym.Embedding(ids, weight, input_dim=count, output_dim=width, name=name)

    users, items = features("users", user, 8, 3), features("items", item, 6, 3)
    product = mx.sym.sum(users * items, axis=1)
    deep = mx.sym.FullyConnected(
        mx.sym.Activation(mx.sym.Concat(users, items, dim=1), act_type="relu"), num_hidden=1,
        name="deep",
    )  # fmt: skip
    biases = mx.sym.Flatten(features("user_bias", user, 8, 1) + features("item_bias", item, 6, 1))
    score = product + mx.sym.Reshape(deep + biases, shape=(-1,))
    net = mx.sym.LinearRegressionOutput(score, mx.sym.Variable("score"), name="rating")
    data = {"user": classes("users", (20,), 8), "item": classes("items", (20,), 6)}
    batches = mx.io.NDArrayIter(data, {"score": numbers("stars", (20,))}, 5)
    module = mx.mod.Module(net, data_names=["user", "item"], label_names=["score"])
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    metric = mx.metric.CustomMetric(
        lambda label, pred: float(np.sqrt(((label - pred.flatten()) ** 2).mean())), name="rmse"
    )
    seen = []
    module.fit(
        batches, eval_metric=metric, num_epoch=3, optimizer="adam",
        optimizer_params={"learning_rate": 0.05, "wd": 1e-4, "beta1": 0.9},
        batch_end_callback=mx.callback.log_train_metric(10),
        epoch_end_callback=lambda epoch, *_: seen.append([epoch, metric.get()[1]]),
    )  # fmt: skip
    return seen, module.score(batches, metric), numpy_of(module.get_params()[0])


@script
def linear_classes_with_weights(mx):
    """A linear model with a loss of rare classes that weighs more, on dense features."""
    data, weights = mx.sym.Variable("data"), mx.sym.Variable("class_weight", shape=(2, 1))
    score = mx.sym.broadcast_add(
        mx.sym.dot(data, mx.sym.Variable("weight", shape=(6, 2))),
        mx.sym.Variable("bias", shape=(2,)),
    )
    label = mx.sym.Variable("label")
    losses = -mx.sym.pick(mx.sym.log_softmax(score), label)
    weight = mx.sym.Reshape(
        mx.sym.Embedding(label, weights, input_dim=2, output_dim=1), shape=(-1,)
    )
    loss = mx.sym.MakeLoss(losses * mx.sym.BlockGrad(weight), normalization="batch", name="loss")
    net = mx.sym.Group([loss, mx.sym.BlockGrad(mx.sym.softmax(score))])
    batches = mx.io.NDArrayIter(
        numbers("clicks", (18, 6)), classes("clicked", (18,), 2), 6, label_name="label"
    )
    module = mx.mod.Module(net, label_names=["label"], fixed_param_names=["class_weight"])
    module.bind(batches.provide_data, batches.provide_label)
    params = {"weight": 0.1 * numbers("weight", (6, 2)), "bias": np.zeros(2),
              "class_weight": np.array([[1], [2.5]])}  # fmt: skip
    module.init_params(arg_params={n: mx.nd.array(v) for n, v in params.items()})
    store = mx.kv.create("local")
    module.init_optimizer(
        kvstore=store, optimizer="adagrad", optimizer_params={"learning_rate": 0.1}
    )
    metric, seen = mx.metric.Loss(), []
    for _ in range(2):
        batches.reset()
        metric.reset()
        for batch in batches:
            module.forward(batch)
            module.backward()
            module.update()
            metric.update(None, module.get_outputs()[:1])
        seen.append(metric.get())
    return seen, numpy_of(module.get_params()[0])
