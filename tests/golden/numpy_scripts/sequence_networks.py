"""Recurrent networks from scratch and with layers, attention, transformer, BERT, word2vec."""

from __future__ import annotations

import math

from ._facts import fill, numbers, script, train


def _clipped(grads):
    norm = math.sqrt(sum((grad**2).sum() for grad in grads))
    for grad in grads if norm > 1 else ():
        grad[:] *= 1 / norm
    return norm


@script
def recurrent_network_from_scratch(mx):
    np, npx = mx.np, mx.npx
    vocabulary, hidden = 6, 4
    shapes = {"wx": (6, 4), "wh": (4, 4), "bh": (4,), "wq": (4, 6), "bq": (6,)}
    parameters = [np.array(numbers(n, s)) * 0.3 for n, s in shapes.items()]
    for parameter in parameters:
        parameter.attach_grad()
    wx, wh, bh, wq, bq = parameters
    tokens = np.array([[0, 1, 2, 5], [3, 4, 0, 1]])
    targets = np.array([[1, 2, 5, 3], [4, 0, 1, 2]])
    loss_of, losses = mx.gluon.loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(3):
        state, outputs = np.zeros((2, hidden)), []
        with mx.autograd.record():
            for x in npx.one_hot(tokens.T, vocabulary):
                state = np.tanh(np.dot(x, wx) + np.dot(state, wh) + bh)
                outputs.append(np.dot(state, wq) + bq)
            loss = loss_of(np.concatenate(outputs, axis=0), targets.T.reshape(-1)).mean()
        loss.backward()
        norm = _clipped([p.grad for p in parameters])
        for p in parameters:
            p[:] -= 0.5 * p.grad
        losses.append([loss, norm])
    return losses, wh, state


def _layer(mx, layer):
    np = mx.np
    layer.initialize()
    x = np.array(numbers("steps", (5, 2, 3)))
    layer(x)
    fill(layer)
    state = layer.begin_state(batch_size=2)
    with mx.autograd.record():
        y, states = layer(x, state)
    y.backward()
    grads = [p.grad() for p in layer.collect_params().values()]
    kinds = [type(s).__name__ for s in (y, states[0], state[0])]
    return y, states, grads[0], len(grads), kinds


@script
def recurrent_layers(mx):
    rnn = mx.gluon.rnn
    layers = (rnn.RNN(4), rnn.GRU(4), rnn.LSTM(4), rnn.LSTM(3, num_layers=2, bidirectional=True))
    return [_layer(mx, layer) for layer in layers]


@script
def gated_unit_from_scratch(mx):
    np, npx = mx.np, mx.npx
    weights = [np.array(numbers(f"g{i}", s)) * 0.3 for i, s in enumerate([(3, 4), (4, 4)] * 3)]
    for w in weights:
        w.attach_grad()
    wxz, whz, wxr, whr, wxh, whh = weights
    h, outputs = np.zeros((2, 4)), []
    with mx.autograd.record():
        for x in np.array(numbers("steps", (3, 2, 3))):
            z = npx.sigmoid(np.dot(x, wxz) + np.dot(h, whz))
            r = npx.sigmoid(np.dot(x, wxr) + np.dot(h, whr))
            candidate = np.tanh(np.dot(x, wxh) + np.dot(r * h, whh))
            h = z * h + (1 - z) * candidate
            outputs.append(h)
        loss = np.stack(outputs).mean()
    loss.backward()
    return outputs, [w.grad for w in weights]


def _masked_softmax(mx, x, lengths):
    npx = mx.npx
    if lengths is None:
        return npx.softmax(x)
    shape = x.shape
    lengths = lengths.repeat(shape[1]) if lengths.ndim == 1 else lengths.reshape(-1)
    x = npx.sequence_mask(x.reshape(-1, shape[-1]), lengths, True, value=-1e6, axis=1)
    return npx.softmax(x).reshape(shape)


def _attentions(mx):
    np, npx, nn = mx.np, mx.npx, mx.gluon.nn

    class Additive(nn.Block):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.k = nn.Dense(units, use_bias=False, flatten=False)
            self.q = nn.Dense(units, use_bias=False, flatten=False)
            self.v = nn.Dense(1, use_bias=False, flatten=False)

        def forward(self, queries, keys, values, lengths):
            queries, keys = self.q(queries), self.k(keys)
            features = np.tanh(np.expand_dims(queries, 2) + np.expand_dims(keys, 1))
            self.weights = _masked_softmax(mx, np.squeeze(self.v(features), -1), lengths)
            return npx.batch_dot(self.weights, values)

    class DotProduct(nn.Block):
        def forward(self, queries, keys, values, lengths=None):
            scores = npx.batch_dot(queries, keys, transpose_b=True) / math.sqrt(queries.shape[-1])
            return npx.batch_dot(_masked_softmax(mx, scores, lengths), values)

    class MultiHead(nn.Block):
        def __init__(self, units, heads, **kwargs):
            super().__init__(**kwargs)
            self.heads, self.attention = heads, DotProduct()
            self.projections = nn.Sequential()
            for _ in range(4):
                self.projections.add(nn.Dense(units, use_bias=False, flatten=False))

        def _divided(self, x):
            x = x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(0, 2, 1, 3)
            return x.reshape(-1, x.shape[2], x.shape[3])

        def forward(self, queries, keys, values, lengths):
            parts = zip(list(self.projections)[:3], (queries, keys, values), strict=True)
            q, k, v = (self._divided(project(x)) for project, x in parts)
            lengths = None if lengths is None else lengths.repeat(self.heads, axis=0)
            y = self.attention(q, k, v, lengths)
            y = y.reshape(-1, self.heads, y.shape[1], y.shape[2]).transpose(0, 2, 1, 3)
            return self.projections[3](y.reshape(y.shape[0], y.shape[1], -1))

    return Additive, DotProduct, MultiHead


@script
def attention_scores(mx):
    np = mx.np
    additive, dot_product, multi_head = _attentions(mx)
    queries, keys = np.array(numbers("q", (2, 1, 6))), np.array(numbers("k", (2, 5, 6)))
    values, lengths = np.array(numbers("v", (2, 5, 4))), np.array([2, 4])
    seen = [_masked_softmax(mx, np.array(numbers("s", (2, 2, 4))), np.array([2, 3])),
            _masked_softmax(mx, np.array(numbers("s", (2, 2, 4))), np.array([[1, 3], [2, 4]])),
            dot_product()(queries, keys, values, lengths)]  # fmt: skip
    for block in (additive(8), multi_head(4, 2)):
        block.initialize()
        block(queries, keys, values, lengths)
        fill(block)
        with mx.autograd.record():
            y = block(queries, keys, values, lengths)
        y.backward()
        seen += [y, next(iter(block.collect_params().values())).grad()]
    return seen


@script
def sequence_to_sequence(mx):
    np, npx, nn, rnn, gluon = mx.np, mx.npx, mx.gluon.nn, mx.gluon.rnn, mx.gluon
    additive, _, _ = _attentions(mx)

    class Encoder(nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.embedding, self.rnn = nn.Embedding(7, 5), rnn.GRU(6, 1)

        def forward(self, x):
            x = self.embedding(x).swapaxes(0, 1)
            return self.rnn(x, self.rnn.begin_state(batch_size=x.shape[1], ctx=x.ctx))

    class Decoder(nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.attention, self.embedding = additive(6), nn.Embedding(7, 5)
            self.rnn, self.dense = rnn.GRU(6, 1), nn.Dense(7, flatten=False)

        def forward(self, x, outputs, state, lengths):
            outputs, results = outputs.swapaxes(0, 1), []
            for step in self.embedding(x).swapaxes(0, 1):
                query = np.expand_dims(state[0][-1], axis=1)
                context = self.attention(query, outputs, outputs, lengths)
                step = np.concatenate((context, np.expand_dims(step, axis=1)), axis=-1)
                y, state = self.rnn(step.swapaxes(0, 1), state)
                results.append(y)
            return self.dense(np.concatenate(results, axis=0)).swapaxes(0, 1)

    class MaskedLoss(gluon.loss.SoftmaxCELoss):
        def forward(self, pred, label, lengths):
            weights = np.expand_dims(np.ones_like(label), axis=-1)
            weights = npx.sequence_mask(weights, lengths, True, axis=1)
            return super().forward(pred, label, weights)

    source, target = np.array([[1, 2, 3, 0], [4, 5, 0, 0]]), np.array([[2, 3, 4], [1, 6, 0]])
    lengths, target_lengths = np.array([3, 2]), np.array([3, 2])
    encoder, decoder = Encoder(), Decoder()
    blocks = nn.Sequential()
    blocks.add(encoder, decoder)
    blocks.initialize(mx.init.Xavier())
    decoder(target, *encoder(source), lengths)
    fill(blocks)
    trainer = gluon.Trainer(blocks.collect_params(), "adam", {"learning_rate": 0.01})
    bos, losses = np.array([6] * 2).reshape(-1, 1), []
    for _ in range(3):
        with mx.autograd.record():
            inputs = np.concatenate([bos, target[:, :-1]], 1)
            loss = MaskedLoss()(decoder(inputs, *encoder(source), lengths), target, target_lengths)
        loss.backward()
        _clipped([p.grad() for p in blocks.collect_params().values()])
        trainer.step(float(target_lengths.sum()))
        losses.append(loss)
    return losses, decoder(target, *encoder(source), lengths).argmax(axis=2).astype("int32")


def _transformer(mx):
    nn = mx.gluon.nn
    _, _, multi_head = _attentions(mx)

    class EncoderBlock(nn.Block):
        def __init__(self, units, hidden, heads, **kwargs):
            super().__init__(**kwargs)
            self.attention = multi_head(units, heads)
            self.norm1, self.norm2, self.dropout = nn.LayerNorm(), nn.LayerNorm(), nn.Dropout(0.0)
            self.ffn = nn.Sequential()
            self.ffn.add(nn.Dense(hidden, flatten=False, activation="relu"),
                         nn.Dense(units, flatten=False))  # fmt: skip

        def forward(self, x, lengths):
            y = self.norm1(x + self.dropout(self.attention(x, x, x, lengths)))
            return self.norm2(y + self.dropout(self.ffn(y)))

    return EncoderBlock


def _positions(mx, length, units):
    np = mx.np
    codes = np.zeros((1, length, units))
    angles = np.arange(length).reshape(-1, 1) / np.power(10000, np.arange(0, units, 2) / units)
    codes[:, :, 0::2] = np.sin(angles)
    codes[:, :, 1::2] = np.cos(angles)
    return codes


@script
def transformer_block(mx):
    np = mx.np
    block = _transformer(mx)(6, 8, 2)
    block.initialize()
    x, lengths = np.array(numbers("tokens", (2, 4, 6))), np.array([3, 2])
    x = x + _positions(mx, 4, 6)
    block(x, lengths)
    fill(block)
    with mx.autograd.record():
        y = block(x, lengths)
        loss = (y[:, :2] ** 2).sum()
    loss.backward()
    return y, loss, [p.grad() for p in block.collect_params().values()][:3]


@script
def bert_pieces(mx):
    np, npx, nn = mx.np, mx.npx, mx.gluon.nn
    encoder_block = _transformer(mx)

    class Encoder(nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.tokens, self.segments = nn.Embedding(9, 6), nn.Embedding(2, 6)
            self.block = encoder_block(6, 8, 2)
            self.positions = self.params.get("positions", shape=(1, 8, 6))
            self.mlm = nn.Dense(9, flatten=False)

        def forward(self, tokens, segments, lengths, masked):
            x = self.tokens(tokens) + self.segments(segments)
            x = x + self.positions.data(ctx=x.ctx)[:, : x.shape[1], :]
            x = self.block(x, lengths)
            rows = np.repeat(np.arange(0, masked.shape[0]), masked.shape[1])
            chosen = x[rows, masked.reshape(-1)]
            return self.mlm(chosen.reshape((masked.shape[0], masked.shape[1], -1))), x[:, 0, :]

    net = Encoder()
    net.initialize()
    arguments = (np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), np.array([[0, 0, 1, 1], [0, 1, 1, 1]]),
                 np.array([4, 3]), np.array([[1, 3], [0, 2]]))  # fmt: skip
    net(*arguments)
    fill(net)
    loss_of = mx.gluon.loss.SoftmaxCELoss()
    with mx.autograd.record():
        predictions, first = net(*arguments)
        loss = loss_of(predictions.reshape((-1, 9)), np.array([[2, 4], [0, 1]]).reshape(-1))
        total = loss.sum() + np.tanh(first).mean()
    total.backward()
    grads = [net.tokens.weight.grad(), net.positions.grad()[0, :2]]
    return predictions, first, total, grads, npx.gamma(np.ones(1))


@script
def word_vectors(mx):
    np, npx, nn, gluon = mx.np, mx.npx, mx.gluon.nn, mx.gluon

    class MaskedLoss(gluon.loss.Loss):
        def __init__(self, **kwargs):
            super().__init__(None, 0, **kwargs)
            self.bce = gluon.loss.SigmoidBCELoss()

        def forward(self, pred, label, mask):
            return self.bce(pred, label, mask)

    centers, contexts = np.array([[1], [3]]), np.array([[2, 4, 5, 0], [6, 1, 0, 0]])
    labels = np.array([[1.0, 1, 0, 0], [1, 0, 0, 0]])
    masks = np.array([[1.0, 1, 1, 0], [1, 1, 0, 0]])
    net = nn.Sequential()
    net.add(nn.Embedding(7, 4), nn.Embedding(7, 4))
    net.initialize()
    fill(net)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    losses = []
    for _ in range(3):
        with mx.autograd.record():
            v, u = net[0](centers), net[1](contexts)
            pred = npx.batch_dot(v, u.swapaxes(1, 2))
            loss = MaskedLoss()(pred.reshape(labels.shape), labels, masks)
            loss = loss / masks.sum(axis=1) * masks.shape[1]
        loss.backward()
        trainer.step(2)
        losses.append(loss)
    w = net[0].weight.data()
    cosine = np.dot(w, w[1]) / np.sqrt(np.sum(w * w, axis=1) * np.sum(w[1] * w[1]) + 1e-9)
    return losses, cosine, npx.topk(cosine, k=3, ret_typ="indices").astype("int32")


@script
def sentiment_with_layers(mx):
    np, nn, rnn = mx.np, mx.gluon.nn, mx.gluon.rnn

    class Network(nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.embedding, self.decoder = nn.Embedding(8, 3), nn.Dense(2)
            self.encoder = rnn.LSTM(4, num_layers=1, bidirectional=True, input_size=3)

        def forward(self, tokens):
            outputs = self.encoder(self.embedding(tokens.T))
            return self.decoder(np.concatenate((outputs[0], outputs[-1]), axis=1))

    net = Network()
    net.initialize(mx.init.Xavier())
    tokens, labels = np.array([[1, 2, 3], [4, 5, 0]]), np.array([0, 1])
    net(tokens)
    fill(net)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    return train(mx, net, loss, [(tokens, labels)] * 3), net(tokens)
