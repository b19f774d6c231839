"""Networks for sequences: characters, sentences, sorting, tags, texts in pictures, time series."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import classes, fill, numbers, numpy_of, script, start


def _lstm_step(mx: Any, x: Any, h: Any, c: Any, weights: Any, hidden: int, name: str) -> Any:
    """One step by hand, with weights that all steps share."""
    enter = mx.sym.FullyConnected(
        x, weights[0], weights[1], num_hidden=4 * hidden, name=f"{name}_x"
    )
    recur = mx.sym.FullyConnected(
        h, weights[2], weights[3], num_hidden=4 * hidden, name=f"{name}_h"
    )
    i, g, f, o = mx.sym.SliceChannel(enter + recur, num_outputs=4, name=f"{name}_gates")
    c = mx.sym.sigmoid(f) * c + mx.sym.sigmoid(i) * mx.sym.tanh(g)
    return mx.sym.sigmoid(o) * mx.sym.tanh(c), c


def _weights(mx: Any, name: str) -> Any:
    return [mx.sym.Variable(f"{name}_{k}") for k in ("xw", "xb", "hw", "hb")]


@script
def characters_with_carried_states(mx):
    """A language model whose states go from batch to batch, on one device and on two."""
    steps, hidden, vocabulary = 3, 4, 7
    embedded = mx.sym.Embedding(
        mx.sym.Variable("data"), input_dim=vocabulary, output_dim=4, name="embed"
    )
    inputs = mx.sym.SliceChannel(embedded, num_outputs=steps, axis=1, squeeze_axis=True)
    h, c = (mx.sym.Variable(n, shape=(0, hidden)) for n in ("h0", "c0"))
    weights, tops = _weights(mx, "l0"), []
    for t in range(steps):
        h, c = _lstm_step(mx, inputs[t], h, c, weights, hidden, f"t{t}")
        tops.append(h)
    top = mx.sym.Concat(*tops, dim=0)
    score = mx.sym.FullyConnected(top, num_hidden=vocabulary, name="score")
    label = mx.sym.Reshape(mx.sym.transpose(mx.sym.Variable("softmax_label")), shape=(-1,))
    softmax = mx.sym.SoftmaxOutput(score, label, name="softmax")
    net = mx.sym.Group([softmax, mx.sym.BlockGrad(h), mx.sym.BlockGrad(c)])
    text = classes("a long text", (6, 40), vocabulary)
    answers = {}
    for devices in (1, 2):
        rows = (6, steps)
        module = mx.mod.Module(
            net, context=[mx.cpu(i) for i in range(devices)], state_names=["h0", "c0"]
        )
        module.bind([("data", rows)], [("softmax_label", rows)])
        start(mx, module)
        module.init_optimizer(
            optimizer_params={"learning_rate": 0.5, "rescale_grad": 1 / 18, "clip_gradient": 1.0}
        )
        module.set_states(value=0)
        losses = []
        for step in range(5):
            part = text[:, step * steps : step * steps + steps + 1]
            batch = mx.io.DataBatch([mx.nd.array(part[:, :-1])], [mx.nd.array(part[:, 1:])])
            module.forward(batch, is_train=True)
            outputs = module.get_outputs(merge_multi_context=False)
            chosen = [
                np.take_along_axis(
                    outputs[0][k].asnumpy(),
                    part[k * 6 // devices : (k + 1) * 6 // devices, 1:]
                    .T.reshape(-1, 1)
                    .astype(int),
                    1,
                )
                for k in range(devices)
            ]
            losses.append(float(-np.log(np.concatenate(chosen)).mean()))
            module.backward()
            module.update()
            module.set_states(states=outputs[1:])
        args, _ = module.get_params()
        answers[devices] = losses, numpy_of(args)
    return answers


@script
def texts_by_convolution(mx):
    """Sentences as pictures of word vectors: filters of several heights, dropout of nothing."""
    words, length, width = 20, 8, 6
    embedded = mx.sym.Embedding(
        mx.sym.Variable("data"), input_dim=words, output_dim=width, name="vocab"
    )
    picture = mx.sym.Reshape(embedded, shape=(-1, 1, length, width))
    pooled = []
    for height in (2, 3, 4):
        conv = mx.sym.Convolution(
            picture, kernel=(height, width), num_filter=3, name=f"height{height}"
        )
        act = mx.sym.Activation(conv, act_type="relu")
        pooled.append(
            mx.sym.Pooling(act, kernel=(length - height + 1, 1), stride=(1, 1), pool_type="max")
        )
    joined = mx.sym.Reshape(mx.sym.Concat(*pooled, dim=1), shape=(-1, 9))
    joined = mx.sym.Dropout(joined, p=0.0)
    net = mx.sym.FullyConnected(joined, num_hidden=2, name="cls")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    names = [n for n in net.list_arguments() if n not in ("data", "softmax_label")]
    executor = net.simple_bind(mx.cpu(), dict.fromkeys(names, "write"), data=(5, length))
    fill(executor, ("data", "softmax_label"))
    optimizer = mx.optimizer.create("rmsprop", learning_rate=0.02)
    optimizer.rescale_grad = 1 / 5
    updater = mx.optimizer.get_updater(optimizer)
    seen = []
    for step in range(4):
        executor.arg_dict["data"][:] = classes(f"sentence {step % 2}", (5, length), words)
        label = classes(f"mood {step % 2}", (5,), 2)
        executor.arg_dict["softmax_label"][:] = label
        executor.forward(is_train=True)
        executor.backward()
        right = (executor.outputs[0].asnumpy().argmax(1) == label).sum()
        norm = 0.0
        for name in names:
            norm += float((mx.nd.norm(executor.grad_dict[name]) / 5).asscalar()) ** 2
        norm = norm**0.5
        for index, name in enumerate(names):
            if norm > 0.2:
                executor.grad_dict[name][:] *= 0.2 / norm
            updater(index, executor.grad_dict[name], executor.arg_dict[name])
        seen.append([norm, int(right)])
    return seen, numpy_of({n: executor.arg_dict[n] for n in names if n != "vocab_weight"})


@script
def sorting_in_both_directions(mx):
    """Cells of a bidirectional LSTM read numbers and write them in order."""
    steps, hidden, count = 3, 4, 9
    cell = mx.rnn.BidirectionalCell(
        mx.rnn.LSTMCell(hidden, prefix="left_"), mx.rnn.LSTMCell(hidden, prefix="right_")
    )
    embedded = mx.sym.Embedding(
        mx.sym.Variable("data"), input_dim=count, output_dim=4, name="embed"
    )
    outputs, _ = cell.unroll(steps, embedded, merge_outputs=True, layout="NTC")
    score = mx.sym.FullyConnected(
        mx.sym.Reshape(outputs, shape=(-1, 2 * hidden)), num_hidden=count, name="score"
    )
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    net = mx.sym.SoftmaxOutput(score, label, name="softmax")
    data = classes("numbers", (24, steps), count)
    batches = mx.io.NDArrayIter(data, np.sort(data, axis=1), 6)
    module = mx.mod.Module(net)
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.03})
    perplexity = mx.metric.Perplexity(None)
    seen = []
    for _ in range(2):
        batches.reset()
        perplexity.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
            module.update_metric(perplexity, batch.label)
        seen.append(perplexity.get())
    return seen, module.predict(batches).argmax(axis=1).reshape((-1, steps))


@script
def reading_with_ctc(mx):
    """An LSTM over the columns of a picture, with a loss that finds the alignment itself."""
    steps, hidden, symbols, length = 5, 4, 5, 2
    columns = mx.sym.SliceChannel(
        mx.sym.Variable("data"), num_outputs=steps, axis=1, squeeze_axis=True
    )
    h, c = mx.sym.Variable("init_h"), mx.sym.Variable("init_c")
    weights, tops = _weights(mx, "l0"), []
    for t in range(steps):
        h, c = _lstm_step(mx, columns[t], h, c, weights, hidden, f"t{t}")
        tops.append(h)
    score = mx.sym.FullyConnected(mx.sym.Concat(*tops, dim=0), num_hidden=symbols, name="score")
    score = mx.sym.Reshape(score, shape=(steps, -1, symbols))
    loss = mx.sym.contrib.ctc_loss(score, mx.sym.Variable("label"), name="ctc")
    net = mx.sym.Group([
        mx.sym.MakeLoss(loss), mx.sym.BlockGrad(mx.sym.softmax(score, axis=-1)),
    ])  # fmt: skip
    inputs = {"data": (4, steps, 6), "label": (4, length), "init_h": (4, hidden),
              "init_c": (4, hidden)}  # fmt: skip
    executor = fill(net.simple_bind(mx.cpu(), **inputs), inputs)
    labels = classes("letters", (4, length), symbols - 1) + 1
    labels[1, 1] = labels[3, :] = 0
    executor.arg_dict["label"][:] = labels
    executor.arg_dict["data"][:] = numbers("scan", inputs["data"])
    updater = mx.optimizer.get_updater(
        mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9, rescale_grad=0.25)
    )
    seen = []
    for _ in range(5):
        losses, probability = executor.forward(is_train=True)
        best = probability.asnumpy().argmax(-1).T
        read = [[int(k) for j, k in enumerate(r) if k and (not j or r[j - 1] != k)] for r in best]
        seen.append([losses.asnumpy(), read])
        executor.backward()
        for index, name in enumerate(net.list_arguments()):
            if name not in inputs:
                updater(index, executor.grad_dict[name], executor.arg_dict[name])
    return seen, executor.arg_dict["score_weight"]


@script
def series_with_skips(mx):
    """Convolution over time, a recurrent network, one with skipped steps, and a linear part."""
    window, series, period = 6, 3, 2
    data = mx.sym.Variable("data")
    picture = mx.sym.Reshape(data, shape=(0, 1, window, series))
    conv = mx.sym.Convolution(picture, kernel=(3, series), num_filter=4, name="conv")
    conv = mx.sym.Activation(conv, act_type="relu")
    time = window - 2
    features = mx.sym.transpose(mx.sym.Reshape(conv, shape=(0, 0, 0)), axes=(0, 2, 1))
    gru = mx.rnn.GRUCell(5, prefix="gru_")
    outputs, _ = gru.unroll(time, features, layout="NTC", merge_outputs=False)
    skip_cell, skipped = mx.rnn.SequentialRNNCell(), []
    skip_cell.add(mx.rnn.RNNCell(4, activation="tanh", prefix="skip_"))
    every, _ = skip_cell.unroll(
        time // period,
        [mx.sym.Reshape(mx.sym.slice_axis(features, axis=1, begin=t, end=t + 1), shape=(0, -1))
         for t in range(time - 1, -1, -period)][::-1],
        merge_outputs=False,
    )  # fmt: skip
    skipped.append(every[-1])
    joined = mx.sym.Concat(outputs[-1], *skipped, dim=1)
    neural = mx.sym.FullyConnected(joined, num_hidden=series, name="neural")
    last = mx.sym.slice_axis(data, axis=1, begin=window - 3, end=window)
    parts = mx.sym.SliceChannel(last, num_outputs=series, axis=2, squeeze_axis=True)
    weight, bias = mx.sym.Variable("ar_weight"), mx.sym.Variable("ar_bias")
    linear = mx.sym.Concat(
        *[mx.sym.FullyConnected(p, weight, bias, num_hidden=1) for p in parts], dim=1
    )
    net = mx.sym.LinearRegressionOutput(neural + linear, name="label")
    waves = np.sin(np.arange(40)[:, None] / np.array([2.0, 3.0, 5.0])).astype(np.float32)
    waves = waves + 0.05 * numbers("noise", waves.shape)
    windows = np.stack([waves[t : t + window] for t in range(30)])
    batches = mx.io.NDArrayIter(windows, waves[window : window + 30], 10, label_name="label_label")
    module = mx.mod.Module(net, label_names=["label_label"])
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01})

    def relative(label: Any, pred: Any) -> float:
        return float(np.sqrt(((label - pred) ** 2).sum() / ((label - label.mean()) ** 2).sum()))

    metrics = mx.metric.CompositeEvalMetric([mx.metric.np(relative), mx.metric.create("mae")])
    seen = []
    for _ in range(3):
        batches.reset()
        metrics.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metrics, batch.label)
        seen.append(metrics.get())
    batches.reset()
    return seen, module.score(batches, mx.metric.RMSE()), module.get_params()[0]["ar_weight"]


@script
def buckets_of_sentences(mx):
    """Sentences of several lengths, encoded and put into buckets, with a stack of cells."""
    sentences = [
        [f"w{int(k)}" for k in classes(f"sentence {n}", (length,), 6)]
        for n, length in enumerate([2, 3, 2, 4, 3, 2, 4, 3, 2, 2, 4, 3])
    ]
    encoded, vocabulary = mx.rnn.encode_sentences(sentences, start_label=1, invalid_label=0)
    np.random.seed(5)
    batches = mx.rnn.BucketSentenceIter(encoded, 2, buckets=[2, 4], invalid_label=0)

    def network(length: int) -> Any:
        stack = mx.rnn.SequentialRNNCell()
        for layer in range(2):
            stack.add(mx.rnn.LSTMCell(4, prefix=f"l{layer}_"))
        data = mx.sym.Embedding(
            mx.sym.Variable("data"), input_dim=len(vocabulary), output_dim=3, name="embed"
        )
        outputs, _ = stack.unroll(length, inputs=data, merge_outputs=True)
        score = mx.sym.FullyConnected(
            mx.sym.Reshape(outputs, shape=(-1, 4)), num_hidden=len(vocabulary), name="pred"
        )
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        net = mx.sym.SoftmaxOutput(score, label, use_ignore=True, ignore_label=0, name="softmax")
        return net, ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key)
    module.bind(batches.provide_data, batches.provide_label)
    start(mx, module)
    module.init_optimizer(optimizer_params={"learning_rate": 0.3, "momentum": 0.5})
    metric = mx.metric.Perplexity(ignore_label=0)
    for batch in batches:
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    return sorted(vocabulary.items(), key=str), metric.get(), numpy_of(module.get_params()[0])
