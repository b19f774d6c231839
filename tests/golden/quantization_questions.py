"""Networks for ``contrib.quantization``, quantised on both sides: graphs, ranges and parameters."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Network = Callable[[Any], Any]


def _conv(sym: Any, x: Any, name: str, **attrs: Any) -> Any:
    return sym.Convolution(x, kernel=(1, 1), num_filter=4, no_bias=True, name=name, **attrs)


def _relu(sym: Any, x: Any, name: str) -> Any:
    return sym.Activation(x, act_type="relu", name=name)


def _sigmoid(sym: Any, x: Any, name: str) -> Any:
    return sym.Activation(x, act_type="sigmoid", name=name)


def layers(sym: Any) -> Any:
    """Every kind of layer that is quantised."""
    conv = sym.Convolution(
        sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=1, name="c1"
    )
    relu = _relu(sym, sym.BatchNorm(conv, name="bn"), "r1")
    pool = sym.Pooling(relu, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p1")
    added = _relu(sym, sym.elemwise_add(pool, _conv(sym, pool, "c2"), name="add"), "r2")
    flat = sym.Flatten(sym.Concat(added, pool, name="cc"), name="fl")
    return sym.SoftmaxOutput(sym.FullyConnected(flat, num_hidden=3, name="fc"), name="softmax")


def small(sym: Any) -> Any:
    """A convolution and a dense layer."""
    conv = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="c")
    dense = sym.FullyConnected(_relu(sym, conv, "r"), num_hidden=3, name="fc")
    return sym.SoftmaxOutput(dense, name="softmax")


def _between(sym: Any) -> Any:
    data = sym.var("data")
    gate = _relu(sym, _sigmoid(sym, data, "g"), "rg")
    both = sym.elemwise_add(_relu(sym, _conv(sym, data, "ca"), "ra"), gate, name="a")
    return _conv(sym, both, "cb")


#: Graphs whose pieces the two modes treat differently.
NETWORKS: dict[str, Network] = {
    "layers": layers,
    "small": small,
    "before": lambda s: _conv(s, _relu(s, s.var("data"), "r"), "c"),
    "after": lambda s: _relu(s, _conv(s, s.var("data"), "c"), "r"),
    "between": _between,
    "branch": lambda s: (
        lambda r: s.Group([_conv(s, r, "c2"), _sigmoid(s, r, "g")])
    )(_relu(s, _conv(s, s.var("data"), "c"), "r")),
    "dead_end": lambda s: (
        lambda c: s.Group(
            [s.elemwise_add(_relu(s, c, "r"), c, name="a"), _conv(s, _relu(s, c, "q"), "c2")]
        )
    )(_conv(s, s.var("data"), "c")),
    "elementary": lambda s: s.Flatten(s.sin(s.var("data"), name="sin"), name="f"),
    "slices": lambda s: s.FullyConnected(
        s.SliceChannel(_conv(s, s.var("data"), "c"), num_outputs=2, name="sl")[1],
        num_hidden=2,
        name="fc",
    ),
    "dropout": lambda s: _conv(s, s.Dropout(_conv(s, s.var("data"), "c"), name="d"), "c2"),
    "product": lambda s: s.elemwise_mul(_conv(s, s.var("data"), "c"), s.var("data"), name="m"),
    "average": lambda s: s.Pooling(
        _conv(s, s.var("data"), "c"), kernel=(2, 2), pool_type="avg", name="p"
    ),
    "no_rule": lambda s: s.LeakyReLU(_conv(s, s.var("data"), "c"), name="l"),
    "embedding": lambda s: s.Embedding(s.var("data"), input_dim=4, output_dim=2, name="e"),
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "full": {"quantize_mode": "full"},
    "smart": {"quantize_mode": "smart"},
    "auto": {"quantize_mode": "smart", "quantized_dtype": "auto"},
    "names": {"quantize_mode": "full", "excluded_sym_names": ["c", "c2"]},
    "ops": {"quantize_mode": "full", "excluded_op_names": ["Activation", "Pooling"]},
}
CALIBRATIONS: list[tuple[str, str, list[str]]] = [
    *[("naive", d, names) for d in ("int8", "uint8", "auto") for names in ([], ["fc"], ["c"])],
    ("entropy", "int8", []),
    ("entropy", "auto", ["c"]),
]


def nodes(symbol: Any) -> list[Any]:
    """Operator, name, inputs and the attributes of quantisation of every node."""
    listed = []
    for node in json.loads(symbol.tojson())["nodes"]:
        attrs = node.get("attrs", {})
        kept = {k: v for k, v in attrs.items() if k == "out_type" or k.endswith("calib_range")}
        listed.append([node["op"], node["name"], [i[:2] for i in node["inputs"]], kept])
    return listed


def _params(mx: Any, symbol: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.RandomState(0)
    shapes, _, aux_shapes = symbol.infer_shape(data=(2, 4, 6, 6))
    inputs = ("data", "softmax_label")
    args = {
        name: mx.nd.array(rng.randn(*shape) * 0.3)
        for name, shape in zip(symbol.list_arguments(), shapes, strict=False)
        if name not in inputs
    }
    names = symbol.list_auxiliary_states()
    aux = {n: mx.nd.array(rng.rand(*s) + 0.5) for n, s in zip(names, aux_shapes, strict=False)}
    return args, aux


def graph(mx: Any, quantization: Any, network: str, options: str) -> list[Any]:
    """The quantised graph without ranges."""
    symbol = NETWORKS[network](mx.sym)
    args, aux = _params(mx, symbol)
    qsym, *_ = quantization.quantize_model(
        symbol, args, aux, ctx=mx.cpu(), calib_mode="none", **OPTIONS[options]
    )
    return nodes(qsym)


def ranges(
    mx: Any, quantization: Any, mode: str, dtype: str, excluded: list[str]
) -> dict[str, list[float]]:
    """The ranges of a calibrated graph by node."""
    symbol = small(mx.sym)
    args, aux = _params(mx, symbol)
    rng = np.random.RandomState(1)
    data = (rng.randn(8, 4, 6, 6) * np.arange(1, 9).reshape(8, 1, 1, 1)).astype("float32")
    qsym, *_ = quantization.quantize_model(
        symbol, args, aux, ctx=mx.cpu(), calib_mode=mode, quantized_dtype=dtype,
        calib_data=mx.io.NDArrayIter(data, np.zeros(8), 2), num_calib_examples=6,
        quantize_mode="full", excluded_sym_names=excluded,
    )  # fmt: skip
    return {
        name: [float(attrs["min_calib_range"]), float(attrs["max_calib_range"])]
        for _, name, _, attrs in nodes(qsym)
        if "min_calib_range" in attrs
    }


def params(mx: Any, quantization: Any) -> dict[str, Any]:
    """Dtype, shape and values of the parameters of a quantised network."""
    symbol = small(mx.sym)
    args, aux = _params(mx, symbol)
    _, quantized, _ = quantization.quantize_model(symbol, args, aux, calib_mode="none")
    return {
        name: [np.dtype(x.dtype).name, list(x.shape), x.asnumpy().ravel().tolist()]
        for name, x in quantized.items()
    }


def histograms(quantization: Any) -> list[Any]:
    """A histogram with more values inside its range, and beyond it."""
    rng = np.random.RandomState(2)
    first, inside, beyond = rng.randn(50), rng.rand(20), rng.randn(40) * 3
    counts, edges = np.histogram(first, bins=9, range=(-3, 3))
    merged = []
    for values in (inside, beyond):
        low, high = float(values.min()), float(values.max())
        answer = quantization.combine_histogram(
            (counts, edges, -2.0, 3.0, 3.0), values, low, high, max(abs(low), abs(high))
        )
        merged.append([np.asarray(x).tolist() for x in answer])
    return merged


def outputs(mx: Any, quantization: Any, mode: str) -> list[float]:
    """What the calibrated network computes; oneDNN's convolution takes unsigned data only."""
    symbol = small(mx.sym)
    args, aux = _params(mx, symbol)
    data = np.random.RandomState(3).rand(4, 4, 6, 6).astype("float32")
    batches = mx.io.NDArrayIter(data, np.zeros(4), 2)
    qsym, qargs, qaux = quantization.quantize_model(
        symbol, args, aux, ctx=mx.cpu(), calib_mode=mode, calib_data=batches,
        quantize_mode="full", quantized_dtype="uint8", excluded_sym_names=["r", "fc"],
    )  # fmt: skip
    batches.reset()
    module = mx.mod.Module(qsym)
    module.bind(batches.provide_data, batches.provide_label, for_training=False)
    module.set_params(qargs, qaux)
    return module.predict(batches).asnumpy().ravel().tolist()


def ask(mx: Any, quantization: Any) -> dict[str, Any]:
    """All answers."""
    return {
        "graphs": {
            f"{network} {options}": graph(mx, quantization, network, options)
            for network in NETWORKS
            for options in OPTIONS
        },
        "ranges": {
            " ".join([mode, dtype, *excluded]): ranges(mx, quantization, mode, dtype, excluded)
            for mode, dtype, excluded in CALIBRATIONS
        },
        "params": params(mx, quantization),
        "histograms": histograms(quantization),
        "outputs": {mode: outputs(mx, quantization, mode) for mode in ("none", "naive")},
    }


#: What MXNet's entropy mode asks for and does not use, where scipy is not installed.
STATS = types.SimpleNamespace()
