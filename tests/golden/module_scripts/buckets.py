"""Buckets: a language model on sentences of different lengths."""

from __future__ import annotations

import random

import numpy as np

from ._facts import attempt, contexts, numbers, script, start, trained

#: Abraham Lincoln at Gettysburg, 1863.
_TEXT = """
four score and seven years ago our fathers brought forth on this continent a new nation
conceived in liberty and dedicated to the proposition that all men are created equal
now we are engaged in a great civil war
testing whether that nation or any nation so conceived and so dedicated can long endure
we are met on a great battle field of that war
we have come to dedicate a portion of that field
as a final resting place for those who here gave their lives that that nation might live
it is altogether fitting and proper that we should do this
but in a larger sense we can not dedicate
we can not consecrate
we can not hallow this ground
the brave men living and dead who struggled here have consecrated it
far above our poor power to add or detract
the world will little note nor long remember what we say here
but it can never forget what they did here
it is for us the living rather to be dedicated here to the unfinished work
which they who fought here have thus far so nobly advanced
it is rather for us to be here dedicated to the great task remaining before us
that from these honored dead we take increased devotion to that cause
for which they gave the last full measure of devotion
that we here highly resolve that these dead shall not have died in vain
that this nation under god shall have a new birth of freedom
and that government of the people by the people for the people
shall not perish from the earth
"""
_BUCKETS = [8, 12, 18]


def _sentences(mx):
    lines = [line.split() for line in _TEXT.strip().splitlines()]
    sentences, words = mx.rnn.encode_sentences(lines, start_label=1, invalid_label=0)
    random.seed(5)
    np.random.seed(5)
    data = mx.rnn.BucketSentenceIter(sentences, 4, buckets=_BUCKETS, invalid_label=0)
    return data, len(words) + 1


def _generator(mx, size, hidden=8):
    def make(steps):
        data = mx.sym.Variable("data")
        words = mx.sym.Embedding(data, input_dim=size, output_dim=6, name="embed")
        cell = mx.rnn.LSTMCell(hidden, prefix="lstm_")
        outputs, _ = cell.unroll(steps, inputs=words, merge_outputs=True)
        top = mx.sym.FullyConnected(
            mx.sym.Reshape(outputs, shape=(-1, hidden)), num_hidden=size, name="pred"
        )
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(top, label, name="softmax"), ("data",), ("softmax_label",)

    return make


@script
def language_model(mx):
    """Perplexities of fit, batch by batch, on one device and on two."""
    answers = {}
    for count in (1, 2):
        data, size = _sentences(mx)
        module = mx.mod.BucketingModule(
            _generator(mx, size), default_bucket_key=data.default_bucket_key,
            context=contexts(mx, count),
        )  # fmt: skip
        module.bind(data.provide_data, data.provide_label)
        start(mx, module, 0.1)
        seen = []
        module.fit(
            data, eval_metric=mx.metric.Perplexity(0), kvstore="device", num_epoch=3,
            optimizer="sgd", optimizer_params={"learning_rate": 0.3, "momentum": 0.5, "wd": 1e-5},
            batch_end_callback=lambda p, seen=seen: seen.append(p.eval_metric.get()[1]),
        )  # fmt: skip
        answers[count] = np.array(seen, np.float32), trained(module), sorted(module._buckets)
    return answers


@script
def switching(mx):
    """Parameters and optimizer are one; names, shapes and outputs are the current bucket's."""

    def make(steps):
        x = mx.sym.Reshape(mx.sym.Variable("data"), shape=(-1, 2))
        x = mx.sym.FullyConnected(x, num_hidden=3, name="fc")
        x = mx.sym.sum(mx.sym.Reshape(x, shape=(-1, steps, 3)), axis=1)
        return mx.sym.SoftmaxOutput(x, name="softmax"), ["data"], ["softmax_label"]

    def one(steps, rows=4):
        data, labels = numbers(f"x{steps}", (rows, steps, 2)), np.arange(rows) % 3
        return mx.io.DataBatch(
            [mx.nd.array(data)], [mx.nd.array(labels)], bucket_key=steps, pad=0,
            provide_data=[mx.io.DataDesc("data", data.shape)],
            provide_label=[mx.io.DataDesc("softmax_label", (rows,))],
        )  # fmt: skip

    module = mx.mod.BucketingModule(make, default_bucket_key=5)
    before = module.data_names, module.output_names, module.binded
    first = one(5)
    module.bind(first.provide_data, first.provide_label)
    start(mx, module)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
    answers = []
    for steps in (5, 3, 5, 2, 3, 3):
        module.forward_backward(one(steps))
        module.update()
        answers.append((
            module.get_outputs()[0].asnumpy(), module._curr_bucket_key,
            [tuple(d) for d in module.data_shapes], [tuple(d) for d in module.label_shapes],
            module.output_shapes, trained(module), module.symbol.list_arguments(),
        ))  # fmt: skip
    module.prepare(one(4))
    after = module._curr_bucket_key, sorted(module._buckets)
    params = module.get_params()
    module.set_params(*params)
    module.switch_bucket(2, None)
    module.forward(one(2), is_train=False)
    return before, answers, after, module.get_outputs(), trained(module)


@script
def bucket_refusals(mx):
    def make(steps):
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax"), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(make, default_bucket_key=5)
    return {
        "no key": attempt(mx, lambda: mx.mod.BucketingModule(make)),
        "unbound": [
            attempt(mx, act) for act in (
                module.get_params, module.init_params, module.init_optimizer, module.update,
                module.backward, module.get_outputs, module.get_input_grads, module.get_states,
                lambda: module.symbol, lambda: module.data_shapes, lambda: module.label_shapes,
                lambda: module.output_shapes, lambda: module.install_monitor(None),
                lambda: module.switch_bucket(5, [("data", (2, 2))]),
                lambda: module.save_checkpoint("/nowhere/x", 1),
            )
        ],
        "shared": attempt(mx, lambda: module.bind([("data", (2, 2))], shared_module=module)),
        "load": attempt(mx, lambda: mx.mod.BucketingModule.load("/nowhere/x", 1)),
        "load_dict": attempt(mx, lambda: mx.mod.BucketingModule.load_dict()),
    }  # fmt: skip
