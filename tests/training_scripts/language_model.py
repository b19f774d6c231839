"""A word-level LSTM language model of verse, in buckets of lines of like length.

The text is sonnets 1 to 30 of William Shakespeare (London, 1609), in modern spelling.
"""

import re

import mxnet as mx

from tests.training_scripts._common import DATA, Losses, by_name

BATCH = 16
BUCKETS = [7, 9, 11]
HIDDEN = 32


def lines():
    text = (DATA / "sonnets.txt").read_text().lower()
    return [re.findall("[a-z'-]+", line) for line in text.splitlines() if line]


def main(ctx):
    sentences, words = mx.rnn.encode_sentences(lines(), invalid_label=0, start_label=1)
    train, held_out = sentences[:364], sentences[364:]
    train_iter = mx.rnn.BucketSentenceIter(train, BATCH, buckets=BUCKETS, invalid_label=0)
    val_iter = mx.rnn.BucketSentenceIter(held_out, BATCH, buckets=BUCKETS, invalid_label=0)

    stack = mx.rnn.SequentialRNNCell()
    for i in range(2):
        stack.add(mx.rnn.LSTMCell(num_hidden=HIDDEN, prefix=f"lstm_l{i}_"))

    def sym_gen(seq_len):
        data = mx.sym.Variable("data")
        label = mx.sym.Variable("softmax_label")
        embed = mx.sym.Embedding(
            data=data, input_dim=len(words) + 1, output_dim=HIDDEN, name="embed"
        )
        stack.reset()
        outputs, _ = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
        pred = mx.sym.Reshape(outputs, shape=(-1, HIDDEN))
        pred = mx.sym.FullyConnected(data=pred, num_hidden=len(words) + 1, name="pred")
        label = mx.sym.Reshape(label, shape=(-1,))
        pred = mx.sym.SoftmaxOutput(
            data=pred, label=label, use_ignore=True, ignore_label=0, name="softmax"
        )
        return pred, ("data",), ("softmax_label",)

    losses = Losses()
    model = mx.mod.BucketingModule(
        sym_gen=sym_gen, default_bucket_key=train_iter.default_bucket_key, context=ctx
    )
    model.fit(
        train_data=train_iter,
        eval_data=val_iter,
        eval_metric=mx.metric.Perplexity(ignore_label=0),
        kvstore="device",
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01, "clip_gradient": 1.0},
        initializer=by_name(mx),
        num_epoch=6,
        batch_end_callback=losses,
    )
    reached = {
        name: model.score(data, mx.metric.Perplexity(ignore_label=0))[0][1]
        for name, data in (("perplexity", train_iter), ("held out", val_iter))
    }
    return {"losses": losses.values, "reached": reached}
