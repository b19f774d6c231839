"""Symbols, models and blocks that are converted; the lists of operators."""

from __future__ import annotations

import hashlib
from typing import Any

from ._facts import attempts, graph, low, script, type_of


def network(mx: Any) -> Any:
    """A symbol with layers of every kind of precision."""
    sym = mx.sym
    x = sym.Convolution(sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = sym.Activation(sym.BatchNorm(x, name="bn"), act_type="relu", name="relu")
    x = sym.Pooling(
        x + sym.Activation(x, act_type="softrelu", name="soft"), kernel=(2, 2), name="p"
    )
    x = sym.FullyConnected(sym.Flatten(x, name="flat"), num_hidden=3, name="fc")
    return sym.SoftmaxOutput(x, name="out")


def _dense(mx: Any, x: Any, weight: str = "w", name: str = "f") -> Any:
    weights = mx.sym.Variable(weight)
    return mx.sym.FullyConnected(x, weights, no_bias=True, num_hidden=3, name=name)


@script
def operators_are_listed(mx):
    lists = ["lp16_ops", "fp32_ops", "lp16_fp32_ops", "widest_type_cast", "loss_output_functions"]
    amp = mx.contrib.amp
    seen = {}
    for dtype in ("float16", low(mx)):
        for name in lists:
            names = getattr(amp, f"list_{name}")(dtype)
            text = " ".join(sorted(names))
            seen[f"{name} {type(dtype) is str and dtype == 'float16'}"] = [
                len(names), hashlib.sha256(text.encode()).hexdigest()[:12]
            ]  # fmt: skip
    conditions = [[list(c) for c in amp.list_conditional_fp32_ops(t)] for t in ("float16", low(mx))]
    parameters = [amp.list_lp16_use_fp32_params(t) for t in ("float16", low(mx))]
    refused = attempts(mx, wrong=lambda: amp.list_lp16_ops("float32"))
    return seen, conditions, parameters, refused


@script
def networks_are_converted(mx):
    ways = {
        "plain": {},
        "named": {"data_names": ["data"]},
        "labelled": {"data_names": ["data", "out_label"]},
        "cast": {"data_names": ["data"], "cast_optional_params": True},
        "unnamed": {"cast_optional_params": True},
        "excluded": {"excluded_sym_names": ["conv", "nothing"]},
        "less": {"target_dtype_ops": ["Convolution"]},
    }
    convert = mx.contrib.amp.convert_symbol
    graphs = {name: graph(convert(_named(mx), **options)) for name, options in ways.items()}
    low_ones = {name: graph(convert(_named(mx), "bfloat16", **ways[name])) for name in ("cast",)}
    return graphs, low_ones, convert(_named(mx)).tojson() == _named(mx).tojson()


def _named(mx: Any) -> Any:
    with mx.name.NameManager():
        return network(mx)


@script
def graphs_get_casts(mx):
    """Where an entry is cast, once, and what is known of types behind operators."""
    sym = mx.sym
    data, var = sym.Variable("data"), sym.Variable("v")
    f, e = _dense(mx, data, "w1", "f1"), sym.exp(data, name="e")
    parts = sym.split(f, num_outputs=3, name="s")
    r = sym.relu(f, name="r")
    again = {"w": "w2", "n": "f2"}

    def dense(x: Any) -> Any:
        return _dense(mx, x, again["w"], again["n"])

    def total(a: Any, b: Any) -> Any:
        return sym.elemwise_add(a, b, name="t")

    graphs = {
        "shared": sym.Group([f, _dense(mx, data, "w1", "f2")]),
        "low low": total(f, f),
        "wide low": total(e, f),
        "low data": total(f, data),
        "low var": total(f, var),
        "wide var": total(e, var),
        "var var": total(data, var),
        "wide wide": sym.exp(total(e, sym.exp(var, name="e2")), name="x"),
        "many then dense": dense(total(data, var)),
        "chain": dense(r),
        "wide chain": dense(sym.exp(f, name="x")),
        "wide twice": sym.exp(e, name="x"),
        "split": sym.Group([sym.exp(parts[0], name="a"), sym.concat(parts[2], parts[0], name="c")]),
        "both": sym.Group([sym.exp(r, name="x"), dense(r), total(r, r)]),
        "both again": sym.Group([sym.exp(f, name="x"), sym.relu(f, name="r2"), dense(f)]),
        "wide and low": sym.Group([dense(e), total(e, f)]),
        "either of data": sym.exp(sym.relu(data, name="r3"), name="x"),
        "either of wide": sym.exp(sym.relu(e, name="r3"), name="x"),
        "norm": dense(sym.BatchNorm(f, name="bn")),
        "norm of wide": sym.exp(sym.BatchNorm(e, name="bn"), name="x"),
        "cast": sym.exp(sym.Cast(f, dtype="float32", name="c"), name="x"),
        "cast low": dense(sym.Cast(e, dtype="float16", name="c")),
        "like": dense(sym.broadcast_like(f, f, name="b")),
        "table": dense(sym.Embedding(data, input_dim=3, output_dim=4, name="em")),
        "heads": sym.Group([data, f, f, sym.exp(f, name="x")]),
        "one input": sym.concat(data, name="c"),
        "states": sym.IdentityAttachKLSparseReg(sym.sigmoid(f, name="s"), name="kl"),
        "recurrent": sym.RNN(
            data, var, sym.Variable("s0"), mode="rnn_relu", state_size=3, num_layers=1, name="rnn",
            state_outputs=True,
        ),
        "no input": total(sym.zeros((2, 3), name="z"), f),
        "condition": sym.LeakyReLU(f, act_type="elu", name="l"),
    }  # fmt: skip
    convert = mx.contrib.amp.convert_symbol
    seen = {name: graph(convert(symbol)) for name, symbol in graphs.items()}
    for name in ("chain", "wide chain"):
        kept = convert(graphs[name], excluded_sym_names=["r", "f2"])
        seen[f"{name}, excluded"] = graph(kept)
    return seen


@script
def parameters_get_types(mx):
    sym, data = mx.sym, mx.sym.Variable("data")
    w = sym.Variable("w")
    f = sym.FullyConnected(data, w, no_bias=True, num_hidden=3, name="f1")
    graphs = {
        "also wide": sym.Group([f, sym.exp(w, name="x")]),
        "head": sym.Group([f, f]),
        "slope": sym.LeakyReLU(f, act_type="prelu", name="l"),
        "norm": _dense(mx, sym.LayerNorm(f, name="ln"), "w2"),
        "typed": _dense(mx, data, "w3", "f3"),
    }
    convert = mx.contrib.amp.convert_symbol
    options = {"data_names": ["data"]}
    return [
        {name: graph(convert(symbol, cast_optional_params=cast, **options))}
        for name, symbol in graphs.items()
        for cast in (False, True)
    ]


@script
def arguments_of_conversions_are_checked(mx):
    convert, s = mx.contrib.amp.convert_symbol, network(mx)
    model = mx.contrib.amp.convert_model
    block = mx.contrib.amp.convert_hybrid_block
    dense = mx.gluon.nn.Dense(2, in_units=3)
    dense.initialize()
    condition = [("Convolution", "no_bias", ["False"])]
    return attempts(
        mx,
        text=lambda: convert("a"),
        dtype=lambda: convert(s, "float32"),
        low=lambda: convert(s, target_dtype_ops="Convolution"),
        float32=lambda: convert(s, fp32_ops="Convolution"),
        conditions=lambda: convert(s, conditional_fp32_ops="Convolution"),
        condition=lambda: convert(s, conditional_fp32_ops=["Activation"]),
        values=lambda: convert(s, conditional_fp32_ops=[("Activation", "act_type", "relu")]),
        excluded=lambda: convert(s, excluded_sym_names="conv"),
        data=lambda: convert(s, data_names=["nothing"]),
        both=lambda: convert(s, target_dtype_ops=["exp"]),
        both_conditions=lambda: convert(s, conditional_fp32_ops=condition),
        widest=lambda: convert(s, fp32_ops=["dot"]),
        unknown=lambda: convert(s, target_dtype_ops=["nothing"]),
        model=lambda: model("a", {}, {}),
        arguments=lambda: model(s, [], {}),
        states=lambda: model(s, {}, None),
        block=lambda: block("a", ctx=mx.cpu()),
        block_type=lambda: block(dense, "float32", ctx=mx.cpu()),
        never_called=lambda: block(dense, ctx=mx.cpu()),
    )


@script
def models_are_converted(mx):
    shapes = {
        "conv_weight": (4, 1, 3, 3), "conv_bias": (4,), "bn_gamma": (4,), "bn_beta": (4,),
        "fc_weight": (3, 4), "fc_bias": (3,), "unused": (2,),
    }  # fmt: skip
    states = {name: mx.nd.ones((4,)) for name in ("bn_moving_mean", "bn_moving_var")}
    seen = []
    for cast in (False, True):
        arguments = {name: mx.nd.ones(shape) for name, shape in shapes.items()}
        result = mx.contrib.amp.convert_model(
            network(mx), arguments, states, cast_optional_params=cast
        )
        types = [{name: type_of(x) for name, x in params.items()} for params in result[1:]]
        seen.append([len(graph(result[0])), *types])
    return seen


@script
def blocks_are_converted(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=3, activation="tanh"), nn.LayerNorm(in_channels=2))
    net.initialize(mx.init.Constant(0.5))
    net.hybridize()
    net(mx.nd.ones((2, 3)))
    seen = []
    for options in ({}, {"cast_optional_params": True}, {"excluded_sym_names": ["net_dense0_fwd"]}):
        block = mx.contrib.amp.convert_hybrid_block(net, "bfloat16", ctx=mx.cpu(), **options)
        types = {name: type_of(p.data()) for name, p in block.collect_params().items()}
        result = block(mx.nd.array([[1, 2, 3], [0, 0, 0]]))
        seen.append([graph(block(mx.sym.Variable("data"))), types, type_of(result)])
    return seen
