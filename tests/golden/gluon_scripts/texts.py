"""Scripts as users write them: a language model with truncated backpropagation, a text reader."""

from __future__ import annotations

import numpy as np

from ._facts import fill, script


def _fillable(net, *inputs):
    """The network with small fixed parameters, after a call that makes its shapes known."""
    net.initialize()
    net(*inputs)
    return fill(net)


@script
def word_language_model(mx):
    """Words of a text in columns, 5 at a time; states go on from batch to batch, without their
    gradients, which are clipped."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn
    words, units, steps, rows = 7, 4, 5, 3

    class Model(mx.gluon.HybridBlock):
        def __init__(self, cells):
            super().__init__()
            with self.name_scope():
                self.drop = nn.Dropout(0)
                self.encoder = nn.Embedding(words, units)
                self.rnn = rnn.LSTM(units, 2, input_size=units)
                self.decoder = nn.Dense(words, in_units=units, flatten=False)
                self.cells = self.rnn._unfuse() if cells else None

        def hybrid_forward(self, F, x, states):
            x = self.drop(self.encoder(x))
            if self.cells is None:
                x, states = self.rnn(x, states)
            else:
                x, states = self.cells.unroll(steps, x, states, "TNC", merge_outputs=True)
            return self.decoder(self.drop(x)), states

        def begin_state(self):
            return (self.rnn if self.cells is None else self.cells).begin_state(batch_size=rows)

    text = np.resize([0, 1, 2, 3, 1, 4, 5, 6, 2, 0, 3, 3, 5], 21 * rows).reshape(rows, 21).T
    seen = []
    for cells in (False, True):
        net = Model(cells)
        _fillable(net, mx.nd.zeros((steps, rows)), net.begin_state())
        net.hybridize(cells)
        loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 2.0})
        losses, norms = [], []
        for _ in range(2):
            states = net.begin_state()
            for i in range(0, 20, steps):
                x = mx.nd.array(text[i : i + steps])
                y = mx.nd.array(text[i + 1 : i + 1 + steps])
                states = [state.detach() for state in states]
                with mx.autograd.record():
                    output, states = net(x, states)
                    loss = loss_of(output, y).sum() / rows
                loss.backward()
                grads = [p.grad() for p in net.collect_params().values()]
                norms.append(mx.gluon.utils.clip_global_norm(grads, 0.5))
                trainer.step(1)
                losses.append(loss.asscalar())
        seen.append([losses, norms, losses[-1] < losses[0]])
    return seen


@script
def text_reader(mx):
    """Lines of pixels, read in both directions, whose characters are not told where they stand."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn
    glyphs = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]], "float32")
    texts = np.array([[0, 1, 2], [2, 2, -1], [1, 0, 1], [0, -1, -1]])
    pixels = np.zeros((len(texts), 9, 3), "float32")
    for row, text in zip(pixels, texts):  # noqa: B905
        for i, letter in enumerate(text[text >= 0]):
            row[3 * i : 3 * i + 2] = glyphs[letter]

    class Reader(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.rnn = rnn.LSTM(5, layout="NTC", bidirectional=True)
                self.out = nn.Dense(4, flatten=False)

        def hybrid_forward(self, F, x):
            return self.out(self.rnn(x))

    x, labels = mx.nd.array(pixels), mx.nd.array(texts)
    seen = []
    for hybrid in (False, True):
        net = _fillable(Reader(), x)
        net.hybridize(hybrid)
        loss_of = mx.gluon.loss.CTCLoss(layout="NTC", label_layout="NT")
        trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.03})
        losses = []
        for _ in range(6):
            with mx.autograd.record():
                loss = loss_of(net(x), labels)
            loss.backward()
            trainer.step(len(texts))
            losses.append(loss.mean().asscalar())
        best = net(x).argmax(axis=2).asnumpy()
        seen.append([losses, best.shape, losses[-1] < losses[0]])
    return seen
