"""Small training scripts from beginning to end, for either package.

Every function takes the package and returns a number that the training has computed. Imports
neither mxnet nor jax nor executorkit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def perceptron(mx: Any) -> float:
    """Three epochs of ``Module.fit`` with a perceptron, and its score."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu"), num_hidden=10, name="fc2")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    rows, classes = np.random.rand(640, 64), np.random.randint(0, 10, 640)
    batches = mx.io.NDArrayIter(rows, classes, 64)
    module.fit(batches, num_epoch=3)
    return module.score(batches, "acc")[0][1]


def unrolled_lstm(mx: Any, steps: int = 10, words: int = 50) -> float:
    """Five epochs of a language model, an LSTM that is unrolled, with Adam and perplexity."""
    x = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=words, output_dim=16, name="embed")
    outputs, _ = mx.rnn.LSTMCell(32, prefix="lstm_").unroll(steps, x, merge_outputs=True)
    outputs = mx.sym.Reshape(outputs, shape=(-1, 32))
    labels = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    scores = mx.sym.FullyConnected(outputs, num_hidden=words)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(scores, labels, name="softmax"))
    data, label = (np.random.randint(0, words, (320, steps)).astype("f") for _ in range(2))
    batches = mx.io.NDArrayIter(data, label, 32)
    metric = mx.metric.Perplexity(None)
    module.fit(batches, num_epoch=5, optimizer="adam", eval_metric=metric)
    return module.score(batches, metric)[0][1]


def _generator(mx: Any) -> Any:
    x = mx.sym.Variable("noise")
    x = mx.sym.Deconvolution(x, kernel=(4, 4), num_filter=32, no_bias=True, name="g1")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=True, name="g1_bn"), act_type="relu")
    x = mx.sym.Deconvolution(
        x, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=1, no_bias=True, name="g2"
    )
    return mx.sym.Activation(x, act_type="tanh")


def _discriminator(mx: Any) -> Any:
    x = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=16, name="d1"
    )
    x = mx.sym.Flatten(mx.sym.LeakyReLU(x, slope=0.2))
    x = mx.sym.FullyConnected(x, num_hidden=1, name="d2")
    return mx.sym.LogisticRegressionOutput(x, mx.sym.Variable("label"), name="d_loss")


def _module(mx: Any, symbol: Any, data: str, shape: tuple[int, ...], label: str | None) -> Any:
    labels = [label] if label else None
    module = mx.mod.Module(symbol, data_names=(data,), label_names=labels)
    label_shapes = [(label, (shape[0], 1))] if label else None
    module.bind([(data, shape)], label_shapes, inputs_need_grad=bool(label))
    module.init_params(mx.init.Normal(0.02))
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 2e-4})
    return module


def adversarial(mx: Any, batch: int = 16) -> float:
    """Twenty steps of a generator and a discriminator, whose gradients two passes add up."""
    generator = _module(mx, _generator(mx), "noise", (batch, 8, 1, 1), None)
    judge = _module(mx, _discriminator(mx), "data", (batch, 1, 8, 8), "label")
    pictures = mx.nd.array(np.random.rand(batch, 1, 8, 8))

    def judged(data: list[Any], label: Any) -> list[list[Any]]:
        judge.forward(mx.io.DataBatch(data, [label]), is_train=True)
        judge.backward()
        return judge._exec_group.grad_arrays

    for _ in range(20):
        noise = mx.nd.random.normal(0, 1, (batch, 8, 1, 1))
        generator.forward(mx.io.DataBatch([noise], None), is_train=True)
        fakes = generator.get_outputs()
        label = mx.nd.zeros((batch, 1))
        of_fakes = [[g.copyto(g.context) for g in gs] for gs in judged(fakes, label)]
        label[:] = 1
        for gradients, others in zip(judged([pictures], label), of_fakes, strict=False):
            for gradient, other in zip(gradients, others, strict=False):
                gradient += other
        judge.update()
        judged(fakes, label)
        generator.backward(judge.get_input_grads())
        generator.update()
    return float(judge.get_outputs()[0].asnumpy().mean())


def _detector(mx: Any) -> Any:
    """Three stages of convolutions; boxes of two classes on the last two."""
    x, parts = mx.sym.Variable("data"), {"cls": [], "loc": [], "anchors": []}
    for i, filters in enumerate((8, 16, 16)):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(mx.sym.BatchNorm(x, name=f"bn{i}"), act_type="relu")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
        if i == 0:
            continue
        sizes = 0.1 + 0.2 * i, 0.2 + 0.2 * i
        anchors = mx.sym.contrib.MultiBoxPrior(x, sizes=sizes, ratios=(1, 2), name=f"prior{i}")
        parts["anchors"].append(mx.sym.Flatten(anchors))
        for kind, per_anchor in (("cls", 3), ("loc", 4)):
            head = mx.sym.Convolution(
                x, kernel=(3, 3), pad=(1, 1), num_filter=3 * per_anchor, name=f"{kind}{i}"
            )
            parts[kind].append(mx.sym.Flatten(mx.sym.transpose(head, axes=(0, 2, 3, 1))))
    scores, boxes, anchors = (mx.sym.Concat(*p, dim=1) for p in parts.values())
    scores = mx.sym.transpose(mx.sym.Reshape(scores, shape=(0, -1, 3)), axes=(0, 2, 1))
    anchors = mx.sym.Reshape(anchors, shape=(0, -1, 4))
    target = mx.sym.contrib.MultiBoxTarget(
        anchors, mx.sym.Variable("label"), scores, overlap_threshold=0.5, negative_mining_ratio=3,
        name="target",
    )  # fmt: skip
    classes = mx.sym.SoftmaxOutput(
        scores, target[2], ignore_label=-1, use_ignore=True, multi_output=True,
        normalization="valid", name="cls_prob",
    )  # fmt: skip
    distance = mx.sym.smooth_l1(target[1] * (boxes - target[0]), scalar=1.0)
    loss = mx.sym.MakeLoss(distance, normalization="valid", name="loc_loss")
    return mx.sym.Group([classes, loss, mx.sym.BlockGrad(target[2])])


def detector(mx: Any) -> float:
    """Four epochs of a small SSD with momentum."""
    boxes = np.array([[[0, 0.1, 0.1, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.9]]])
    labels = np.tile(boxes, (16, 1, 1))
    batches = mx.io.NDArrayIter({"data": np.random.rand(16, 3, 32, 32)}, {"label": labels}, 4)
    module = mx.mod.Module(_detector(mx), label_names=("label",))
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.Xavier())
    momentum = {"learning_rate": 0.01, "momentum": 0.9}
    module.init_optimizer(optimizer="sgd", optimizer_params=momentum)
    for _ in range(4):
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
    return float(module.get_outputs()[0].asnumpy().sum())


def store(mx: Any) -> float:
    """Push and pull of LeNet's parameters, one by one, with SGD in the store."""
    shapes = [(20, 1, 5, 5), (20,), (50, 20, 5, 5), (50,), (500, 800), (500,), (10, 500), (10,)]
    parameters = mx.kv.create("local")
    parameters.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    for key, shape in enumerate(shapes):
        parameters.init(key, mx.nd.ones(shape))
    total = 0.0
    for key, shape in enumerate(shapes):
        parameters.push(key, mx.nd.ones(shape))
        out = mx.nd.zeros(shape)
        parameters.pull(key, out=out)
        total += float(out.asnumpy().sum())
    return total


#: Scripts by title.
SCRIPTS: dict[str, Callable[[Any], float]] = {
    "script: perceptron, 3 epochs": perceptron,
    "script: unrolled LSTM, 5 epochs": unrolled_lstm,
    "script: generator and discriminator, 20 steps": adversarial,
    "script: small SSD, 4 epochs": detector,
    "script: kvstore, push and pull of 8 parameters": store,
}
