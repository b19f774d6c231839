"""Has MXNet fuse and quantise small networks, and stores the files and what every layer gives.

    MXNET_SUBGRAPH_BACKEND=NONE python tests/golden/make_quantized.py

Runs under the same environment as ``make.py``, on an x86 CPU.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import _store

LAYERS = ("quantized", "requantize", "data_quantize", "sg_mkldnn")


def residual(mx):
    """Convolutions with and without bias, normalisation, a sum, groups, concatenation, means."""
    sym = mx.sym
    x = sym.Variable("data")
    x = sym.Convolution(x, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True, name="conv0")
    x = sym.BatchNorm(x, fix_gamma=False, name="bn0")
    x = sym.Activation(x, act_type="relu", name="relu0")
    x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool0")
    y = sym.Convolution(x, kernel=(3, 3), num_filter=8, pad=(2, 2), dilate=(2, 2), name="conv1")
    y = sym.BatchNorm(y, name="bn1", eps=1e-5)
    y = sym.Activation(y, act_type="relu", name="relu1")
    y = sym.Convolution(y, kernel=(1, 1), num_filter=8, no_bias=True, name="conv2")
    y = sym.BatchNorm(y, fix_gamma=False, name="bn2")
    x = sym.Activation(x + y, act_type="relu", name="relu2")
    z = sym.Convolution(x, kernel=(3, 3), num_filter=16, num_group=8, pad=(1, 1), name="grouped")
    z = sym.Activation(z, act_type="relu", name="relu3")
    x = sym.Concat(x, z, dim=1, name="concat")
    x = sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="mean")
    x = sym.FullyConnected(sym.Flatten(x, name="flat"), num_hidden=10, name="fc1")
    x = sym.Activation(x, act_type="relu", name="relu4")
    return sym.FullyConnected(x, num_hidden=5, name="fc2")


def mobile(mx):
    """Depth-wise convolutions, a linear bottleneck with a sum but no activation behind it."""
    sym = mx.sym
    x = sym.Variable("data")
    x = sym.Convolution(x, kernel=(3, 3), num_filter=6, stride=(2, 2), pad=(1, 1), name="stem")
    y = sym.Convolution(x, kernel=(1, 1), num_filter=12, no_bias=True, name="expand")
    y = sym.Activation(sym.BatchNorm(y, name="bn0"), act_type="relu", name="relu0")
    y = sym.Convolution(y, kernel=(3, 3), num_filter=12, num_group=12, pad=(1, 1), no_bias=True,
                        name="depthwise")  # fmt: skip
    y = sym.Activation(sym.BatchNorm(y, name="bn1"), act_type="relu", name="relu1")
    y = sym.Convolution(y, kernel=(1, 1), num_filter=6, no_bias=True, name="project")
    x = sym.BatchNorm(y, fix_gamma=False, name="bn2") + x
    return sym.Convolution(x, kernel=(2, 2), num_filter=4, name="head")


def attention(mx):
    """Self-attention of two heads between two affine maps of every position."""
    sym = mx.sym
    x = sym.FullyConnected(sym.Variable("data"), num_hidden=24, flatten=False, name="project")
    scores = sym.softmax(sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2, name="scores"))
    x = sym.contrib.interleaved_matmul_selfatt_valatt(x, scores, heads=2, name="weighted")
    return sym.FullyConnected(x, num_hidden=4, flatten=False, name="out")


def _unit(sym, x, name, filters, kernel=3, act=True, **attrs):
    """Convolution, normalisation and perhaps a rectifier."""
    x = sym.Convolution(x, kernel=(kernel, kernel), num_filter=filters, name=name,
                        pad=(kernel // 2, kernel // 2), no_bias=True, **attrs)  # fmt: skip
    x = sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name=f"{name}_bn")
    return sym.Activation(x, act_type="relu", name=f"{name}_relu") if act else x


def bottleneck(mx):
    """Sums of which the addend is signed and the result is not; global pooling, probabilities."""
    sym = mx.sym
    x = _unit(sym, sym.Variable("data"), "stem", 6)
    x = sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    for block, project in enumerate((True, False)):
        y = _unit(sym, x, f"b{block}_reduce", 4, kernel=1)
        y = _unit(sym, _unit(sym, y, f"b{block}_middle", 4), f"b{block}_grow", 8, 1, act=False)
        if project:
            x = _unit(sym, x, f"b{block}_project", 8, kernel=1, act=False)
        x = sym.Activation(y + x, act_type="relu", name=f"b{block}_out")
    x = sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="mean")
    return sym.SoftmaxActivation(sym.FullyConnected(x, num_hidden=5, name="fc"), name="prob")


def linear(mx):
    """Sums of which the result is signed and the addend is not; clipped and leaky units."""
    sym = mx.sym
    x = _unit(sym, sym.Variable("data"), "stem", 6, stride=(2, 2))
    y = sym.Convolution(x, kernel=(1, 1), num_filter=8, name="grow")
    y = _unit(sym, sym.clip(y, 0, 2, name="relu2"), "depthwise", 8, num_group=8)
    x = x + _unit(sym, y, "shrink", 6, kernel=1, act=False)
    y = sym.LeakyReLU(sym.Convolution(x, kernel=(1, 1), num_filter=6, name="leaky"), slope=0.2)
    z = sym.LeakyReLU(sym.Convolution(x, kernel=(1, 1), num_filter=6, name="gelu"), act_type="gelu")
    return sym.Convolution(sym.Concat(y, z, dim=1), kernel=(2, 2), num_filter=4, name="head")


def detector(mx):
    """Classes and boxes of two scales, the greater after dilation; hanging windows of means."""
    sym = mx.sym
    x = sym.Convolution(sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=6, name="v1")
    x = sym.Activation(x, act_type="relu", name="v1_relu")
    x = sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="avg", pooling_convention="full",
                    name="v1_pool")  # fmt: skip
    x = sym.Convolution(x, kernel=(3, 3), pad=(2, 2), dilate=(2, 2), num_filter=6, name="v2")
    first = sym.Activation(x, act_type="relu", name="v2_relu")
    normal = 4 * sym.L2Normalization(first, mode="channel", name="norm")
    features = (normal, _unit(sym, first, "extra", 6, stride=(2, 2)))
    parts: dict[str, list] = {"classes": [], "boxes": [], "anchors": []}
    for i, x in enumerate(features):
        for kind, filters in (("classes", 6), ("boxes", 8)):
            y = sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"{kind}{i}")
            parts[kind].append(sym.Flatten(sym.transpose(y, axes=(0, 2, 3, 1))))
        prior = sym.contrib.MultiBoxPrior(x, sizes=(0.3, 0.5), name=f"anchors{i}")
        parts["anchors"].append(sym.Flatten(prior))
    classes, boxes, anchors = (sym.concat(*p, dim=1, name=k) for k, p in parts.items())
    classes = sym.transpose(sym.reshape(classes, shape=(0, -1, 3)), axes=(0, 2, 1))
    classes = sym.SoftmaxActivation(classes, mode="channel")
    return sym.contrib.MultiBoxDetection(
        classes, boxes, sym.reshape(anchors, shape=(0, -1, 4)), name="detection", threshold=0.1
    )


def dense(mx):
    """Affine maps with every kind of unit that MXNet fuses with them."""
    sym = mx.sym
    x = sym.FullyConnected(sym.Variable("data"), num_hidden=8, name="fc0")
    units = {
        "relu": lambda x: sym.Activation(x, act_type="relu"),
        "sigmoid": lambda x: sym.Activation(x, act_type="sigmoid"),
        "tanh": lambda x: sym.Activation(x, act_type="tanh"),
        "leaky": lambda x: sym.LeakyReLU(x, slope=0.2),
        "elu": lambda x: sym.LeakyReLU(x, act_type="elu"),
        "clip": lambda x: sym.clip(x, 0, 0.7),
        "square": sym.square,
    }
    for i, (name, unit) in enumerate(units.items(), 1):
        x = unit(sym.FullyConnected(x, num_hidden=8, no_bias=i % 2 == 0, name=f"fc_{name}"))
    x = sym.sqrt(sym.abs(sym.FullyConnected(x, num_hidden=8, name="fc_abs")))
    return sym.FullyConnected(x, num_hidden=3, name="last")


def plain(mx):
    """What is quantised without oneDNN's subgraphs: normalisation stays in floating numbers."""
    sym = mx.sym
    x = _unit(sym, sym.Variable("data"), "first", 6)
    y, z = _unit(sym, x, "left", 4, kernel=1), sym.Pooling(x, kernel=(1, 1), name="right")
    x = sym.concat(y, z, dim=1, name="joined")
    x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="halved")
    return sym.FullyConnected(sym.Flatten(x, name="flat"), num_hidden=4, name="fc")


def normalised(mx):
    """Normalisation and sums that no convolution precedes."""
    sym = mx.sym
    x = sym.BatchNorm(sym.Variable("data"), fix_gamma=False, eps=0.01, name="bn")
    x = _unit(sym, x, "first", 4)
    y = sym.Pooling(_unit(sym, x, "second", 4, act=False), kernel=(1, 1), name="signed")
    x = y + sym.Pooling(x, kernel=(1, 1), name="unsigned")
    return sym.FullyConnected(x, num_hidden=4, name="fc")


def wide(text):
    """The file with ranges to which the clips do not fit, and names of former versions."""
    graph = json.loads(text)
    for node in graph["nodes"]:
        attrs = node.get("attrs", {})
        for new, old in (("with_act", "with_relu"), ("with_postsum_act", "with_postsum_relu")):
            if node["op"] == "_sg_mkldnn_conv" and new in attrs:
                attrs[old] = attrs.pop(new)
        if node["op"] == "_sg_mkldnn_conv" and float(attrs["min_calib_range"]) >= 0:
            attrs.update(min_calib_range="-0.000000", max_calib_range="3.100000")
    return json.dumps(graph)


IMAGES = (2, 3, 10, 10)
SMALL = (2, 3, 7, 7)
FUSED = {"quantised": {"calib_mode": "naive"}}
BOTH = {**FUSED, "uncalibrated": {"calib_mode": "none"}}
#: Networks that are stored fused but not quantised, too.
FLOATING = {"residual", "mobile", "attention"}
#: (Function that builds the network, smallest entry of its data, their shape, how to quantise it).
NETWORKS = {
    "residual": (residual, 0.0, IMAGES, FUSED),
    "mobile": (mobile, -1.0, IMAGES, BOTH),
    "attention": (attention, -1.0, (3, 2, 8), FUSED),
    "bottleneck": (bottleneck, -1.0, SMALL, BOTH),
    "linear": (linear, -1.0, SMALL, {**BOTH, "wide": {"calib_mode": "naive", "edit": wide}}),
    "detector": (detector, 0.0, SMALL, FUSED),
    "dense": (
        dense,
        -1.0,
        (4, 6),
        {
            **BOTH,
            "channels": {
                "calib_mode": "naive",
                "quantize_mode": "full",
                "quantize_granularity": "channel-wise",
            },
        },
    ),
    "plain": (
        plain,
        0.0,
        SMALL,
        {
            key: {
                "calib_mode": mode,
                "backend": None,
                "quantized_dtype": "uint8",
                "excluded_op_names": ["BatchNorm"],
            }
            for key, mode in (("bytes", "naive"), ("bytes_uncalibrated", "none"))
        },
    ),
    "normalised": (
        normalised,
        -1.0,
        SMALL,
        {"full": {"calib_mode": "naive", "quantize_mode": "full"}},
    ),
}


def parameters(mx, symbol, rng, shape):
    shapes, _, states = symbol.infer_shape(data=shape)
    args = {
        n: mx.nd.array(rng.uniform(0.5, 1.5, s) if "gamma" in n else rng.normal(0, 0.3, s))
        for n, s in zip(symbol.list_arguments(), shapes, strict=True)
        if n != "data"
    }
    aux = {
        n: mx.nd.array(rng.uniform(0.5, 1.5, s) if "var" in n else rng.normal(0, 0.2, s))
        for n, s in zip(symbol.list_auxiliary_states(), states, strict=True)
    }
    return args, aux


def layers(mx, symbol, args, aux, data):
    """Outputs of every layer and of the network."""
    inside = symbol.get_internals()
    names = [n for n in inside.list_outputs() if n.startswith(LAYERS)]
    group = mx.sym.Group([*(inside[n] for n in names), symbol])
    arrays = {**args, "data": data}
    exe = group.bind(
        mx.cpu(), {n: arrays[n] for n in group.list_arguments()}, aux_states=aux, grad_req="null"
    )
    outs = exe.forward()
    return {n: o.asnumpy() for n, o in zip([*names, "network"], outs, strict=True)}


#: Networks of which graphs are quantised, and how; the excluded names are of various networks.
GRAPHS = ("residual", "detector", "dense", "plain", "normalised")
WAYS = {
    "smart": {"quantize_mode": "smart", "quantized_dtype": "auto"},
    "full": {"quantize_mode": "full", "quantized_dtype": "int8"},
    "operators": {"quantize_mode": "full", "excluded_operators": ["BatchNorm", "Flatten"]},
    "names": {"quantize_mode": "smart", "excluded_symbols": ["conv1", "v1_pool", "fc0", "fc"]},
    "online": {"quantize_mode": "smart", "offline_params": []},
}


def graphs(mx, quantize_symbol):
    """Quantised graphs and the names of the outputs whose ranges they need."""
    facts = {}
    for name in GRAPHS:
        with mx.name.NameManager():
            network = NETWORKS[name][0](mx)
        parameters = [n for n in network.list_arguments() if n != "data"]
        ways = {}
        for way, options in WAYS.items():
            symbol, layers = quantize_symbol(
                network, mx.cpu(), **{"offline_params": parameters, **options}
            )
            ways[way] = {"json": symbol.tojson(), "layers": layers}
        facts[name] = {"json": network.tojson(), "ways": ways}
    return facts


def samples():
    """Values of two batches of layers, by name."""
    rng = np.random.RandomState(11)
    normal = rng.normal(0, 1, (2, 3000)).astype("float32")
    return {
        "normal": normal,
        "rectified": np.maximum(normal[:, :2000], 0),
        "heavy": rng.standard_t(3, (2, 3000)).astype("float32"),
        "wider": np.stack([normal[0], 1.7 * normal[1]]),
    }


def thresholds(quantization):
    """Thresholds of entropy calibration of sums of two histograms."""
    facts = {}
    for name, (first, second) in samples().items():
        for dtype in ("int8", "auto"):
            limit = float(np.abs(first).max())
            counts, edges = np.histogram(first, bins=601, range=(-limit, limit))
            histogram = (counts, edges, first.min(), first.max(), limit)
            histogram = quantization.combine_histogram(
                histogram, second, second.min(), second.max(), np.abs(second).max()
            )
            _, _, threshold, divergence = quantization._get_optimal_threshold(histogram, dtype)
            numbers = (threshold[0], divergence[0], len(histogram[0]), histogram[4])
            facts[f"{name}_{dtype}"] = [float(x) for x in numbers]
    return facts


def main():
    import mxnet as mx
    from mxnet.contrib import quantization
    from mxnet.contrib.quantization import quantize_model

    facts = {"graphs": graphs(mx, quantization._quantize_symbol)}
    facts["thresholds"] = thresholds(quantization)
    path = _store.save("quantized_graphs", {}, facts)
    print(f"{path.stat().st_size // 1024} KiB of graphs")
    logging.disable(logging.INFO)
    arrays, facts = {}, {}
    for name, (build, low, shape, modes) in NETWORKS.items():
        rng = np.random.RandomState(7)
        network = build(mx)
        args, aux = parameters(mx, network, rng, shape)
        data = mx.nd.array(rng.uniform(low, 1, shape))
        variants = []
        if name in FLOATING:
            variants = [("fused", network.get_backend_symbol("MKLDNN"), args, aux)]
        for kind, options in modes.items():
            options = {"quantized_dtype": "auto", "backend": "MKLDNN_QUANTIZE", **options}
            backend, edit = options.pop("backend"), options.pop("edit", None)
            quantised, new_args, new_aux = quantize_model(
                network.get_backend_symbol(backend) if backend else network, args, aux,
                data_names=["data"], label_names=None, ctx=mx.cpu(), num_calib_examples=shape[0],
                calib_data=mx.io.NDArrayIter(data, None, shape[0]), **options,
            )  # fmt: skip
            if backend:
                quantised = quantised.get_backend_symbol(backend)
            text = edit(quantised.tojson()) if edit else quantised.tojson()
            variants.append((kind, text, new_args, new_aux))
        for kind, graph, a, x in variants:
            text = graph if isinstance(graph, str) else graph.tojson()
            symbol = mx.sym.load_json(text)
            key = f"{name}_{kind}"
            outputs = layers(mx, symbol, a, x, data)
            facts[key] = {
                "network": name,
                "json": text,
                "states": symbol.list_auxiliary_states(),
                "arguments": symbol.list_arguments(),
                "outputs": list(outputs),
                "parameters": sorted({**a, **x}),
            }
            arrays.update({f"{key}|out:{n}": v for n, v in outputs.items()})
            for n, v in {**a, **x, "data": data}.items():
                shared = {**args, **aux, "data": data}.get(n) is v
                arrays[f"{name if shared else key}|{n}"] = v.asnumpy()
            print(key, len(outputs), "arrays")
    path = _store.save("quantized_networks", arrays, facts)
    print(f"{path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
