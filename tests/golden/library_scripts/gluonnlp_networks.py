"""GluonNLP's encoders and language models."""

from __future__ import annotations

import numpy as np

from ._facts import facts, fill, normal, script, step

TOKENS = (np.arange(24).reshape(3, 8) * 7 % 19).astype("float32")


def _vocabulary(nlp):
    counter = nlp.data.count_tokens([f"w{i}" for i in range(16)])
    return nlp.Vocab(counter)


@script("gluonnlp")
def bert_step(mx):
    from gluonnlp.model import BERTModel
    from gluonnlp.model.bert import BERTEncoder

    encoder = BERTEncoder(
        units=16, hidden_size=32, num_layers=2, num_heads=4, max_length=8, dropout=0.0
    )
    net = BERTModel(encoder, vocab_size=20, token_type_vocab_size=2, units=16, embed_size=16)
    net.initialize()
    ids, kinds = mx.nd.array(TOKENS), mx.nd.array(TOKENS % 2)
    lengths, masked = mx.nd.array([8, 5, 3]), mx.nd.array([[1, 2], [0, 3], [1, 1]])
    net(ids, kinds, lengths, masked)
    fill(mx, net)
    net.hybridize()

    def losses():
        states, pooled, next_sentence, words = net(ids, kinds, lengths, masked)
        return [states.square(), pooled.square(), next_sentence.softmax()[:, 0], words.square()]

    return {"outputs": facts(list(net(ids, kinds, lengths, masked))), **step(mx, net, losses)}


@script("gluonnlp")
def awd_language_model_step(mx):
    import gluonnlp as nlp

    net = nlp.model.language_model.AWDRNN(
        "lstm", vocab_size=20, embed_size=8, hidden_size=12, num_layers=2, tie_weights=True,
        dropout=0.0, weight_drop=0.0, drop_h=0.0, drop_i=0.0, drop_e=0.0,
    )  # fmt: skip
    net.initialize()
    ids = mx.nd.array(TOKENS)
    state = net.begin_state(batch_size=8, func=mx.nd.zeros)
    net(ids, state)
    fill(mx, net)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    labels = mx.nd.array((TOKENS + 1) % 19)
    seen = step(mx, net, lambda: loss(net(ids, state)[0].reshape(-3, -1), labels.reshape(-1)))
    return {"outputs": facts(list(net(ids, state))), **seen}


@script("gluonnlp")
def transformer_step(mx):
    import gluonnlp as nlp
    from gluonnlp.model.transformer import get_transformer_encoder_decoder

    encoder, decoder, encode_one = get_transformer_encoder_decoder(
        num_layers=2, num_heads=2, units=8, hidden_size=16, dropout=0.0, max_src_length=10,
        max_tgt_length=10, scaled=True,
    )  # fmt: skip
    words = _vocabulary(nlp)
    net = nlp.model.translation.NMTModel(
        src_vocab=words, tgt_vocab=words, encoder=encoder, decoder=decoder,
        one_step_ahead_decoder=encode_one, share_embed=True, embed_size=8, tie_weights=True,
        embed_initializer=None, prefix="transformer_",
    )  # fmt: skip
    net.initialize()
    source, target = mx.nd.array(TOKENS), mx.nd.array((TOKENS + 2) % 19)
    lengths = mx.nd.array([8, 6, 4])
    net(source, target, lengths, lengths)
    fill(mx, net)
    masked = nlp.loss.MaskedSoftmaxCELoss()
    outputs, _ = net(source, target, lengths, lengths)
    seen = step(
        mx, net, lambda: masked(net(source, target, lengths, lengths)[0], target, lengths), "adam"
    )
    return {"outputs": facts([outputs]), **seen}


@script("gluonnlp")
def beam_search(mx):
    import gluonnlp as nlp

    scores = mx.nd.array(normal("scores", (20, 20)))

    def decode(ids, states):
        return mx.nd.log_softmax(scores.take(ids)), [s + 1 for s in states]

    sampler = nlp.model.BeamSearchSampler(beam_size=3, decoder=decode, eos_id=3, max_length=6)
    found = sampler(mx.nd.array([1, 2]), [mx.nd.zeros((2, 4))])
    return facts(list(found))


@script("gluonnlp")
def embeddings_and_batches(mx):
    import gluonnlp as nlp

    words = _vocabulary(nlp)
    embedding = nlp.embedding.TokenEmbedding(unknown_token="<unk>", allow_extend=True)
    for i in range(6):
        embedding[f"w{i}"] = mx.nd.array(normal(f"w{i}", (1, 5)))[0]
    words.set_embedding(embedding)
    sentences = [[1] * n for n in (3, 7, 2, 5, 4, 6)]
    sampler = nlp.data.FixedBucketSampler([len(s) for s in sentences], batch_size=2, num_buckets=2)
    batch = nlp.data.batchify.Tuple(nlp.data.batchify.Pad(pad_val=0), nlp.data.batchify.Stack())(
        [(np.arange(3), 1), (np.arange(5), 0)]
    )
    return {
        "vectors": facts([words.embedding[["w1", "w3", "none"]]]),
        "batches": sorted(sorted(b) for b in sampler),
        "padded": facts(list(batch)),
        "tokens": words.to_tokens(words["w2", "w5"]),
    }


@script("gluonnlp")
def attention_cells(mx):
    from gluonnlp.model import DotProductAttentionCell, MLPAttentionCell, MultiHeadAttentionCell

    query, key = mx.nd.array(normal("query", (2, 3, 4))), mx.nd.array(normal("key", (2, 5, 4)))
    value, mask = mx.nd.array(normal("value", (2, 5, 6))), mx.nd.array(np.arange(30) % 3 > 0)
    cells = {
        "mlp": MLPAttentionCell(8, normalized=True),
        # Without biases: the true gradient of the keys' is zero.
        "dot": DotProductAttentionCell(units=4, scaled=True, luong_style=False, use_bias=False),
        "heads": MultiHeadAttentionCell(
            DotProductAttentionCell(scaled=True), 4, 4, 6, 2, use_bias=False
        ),
    }
    seen = {}
    for name, cell in cells.items():
        arguments = [query, key, value, mask.reshape((2, 3, 5))]
        cell.initialize()
        cell(*arguments)
        fill(mx, cell)
        cell.hybridize()
        seen[name] = step(mx, cell, lambda cell=cell, arguments=arguments: list(cell(*arguments)))
    return seen


@script("gluonnlp")
def clipped_projected_lstm(mx):
    from gluonnlp.model import BiLMEncoder

    net = BiLMEncoder(
        "lstmpc", 2, 4, 8, dropout=0.0, skip_connection=True, proj_size=4, cell_clip=0.2,
        proj_clip=0.1,
    )  # fmt: skip
    data, mask = mx.nd.array(normal("data", (5, 2, 4))), mx.nd.ones((2, 5))
    net.initialize()

    def outputs():
        return net(data, net.begin_state(mx.nd.zeros, batch_size=2), mask)

    outputs()
    fill(mx, net)
    return {"states": facts(outputs()[1]), **step(mx, net, lambda: [outputs()[0]])}


@script("gluonnlp")
def character_convolutions(mx):
    from gluonnlp.model import ConvolutionalEncoder

    net = ConvolutionalEncoder(
        embed_size=4, num_filters=(3, 3), ngram_filter_sizes=(2, 3), num_highway=1, output_size=5
    )
    data, mask = mx.nd.array(normal("data", (6, 2, 4))), mx.nd.ones((6, 2))
    net.initialize()
    net(data, mask)
    fill(mx, net)
    net.hybridize()
    return step(mx, net, lambda: net(data, mask))


@script("gluonnlp")
def sampled_blocks(mx):
    from gluonnlp.model import ISDense, NCEDense

    data, labels = mx.nd.array(normal("data", (4, 6))), mx.nd.array([1, 3, 5, 7])
    sampled = [mx.nd.array(x) for x in ([2, 3, 9], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1, 0.4])]
    seen = {}
    for block in (ISDense, NCEDense):
        net = block(12, 3, 6)
        net.initialize()
        fill(mx, net)

        def scores(net=net):
            return net(data, sampled, labels)[0].clip(-9, 9)  # a sampled label's is -inf

        seen[block.__name__] = step(mx, net, scores)
    return seen
