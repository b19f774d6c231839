"""Networks in 8 bits: what does not depend on the layers that MXNet fuses."""

from __future__ import annotations

import importlib
import inspect
import json
import logging
from typing import Any

import numpy as np

from ._facts import attempt, attempts, fill, folder, numbers, script

BATCH, EXAMPLES = 2, 8


def _quantization(mx: Any) -> Any:
    return importlib.import_module(f"{mx.__name__}.contrib.quantization")


def _dense(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(8, activation="relu", in_units=6), nn.Dense(4, in_units=8))
    net.initialize()
    return fill(net)


def _pictures(mx: Any) -> Any:
    """Convolutions with a bias: before a normalisation, before an activation, beside another."""
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, padding=1, in_channels=3), nn.BatchNorm(in_channels=4))
        net.add(nn.Activation("relu"), nn.MaxPool2D(2))
        net.add(nn.Conv2D(4, 1, in_channels=4, activation="relu"), nn.Conv2D(4, 1, in_channels=4))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3, in_units=4))
    net.initialize()
    return fill(net)


def _numbers(shape: tuple[int, ...] = (EXAMPLES, 6)) -> np.ndarray:
    return np.abs(numbers("data", shape)).astype("float32")


def _loader(mx: Any, data: np.ndarray) -> Any:
    dataset = mx.gluon.data.ArrayDataset(data, np.zeros(len(data), "float32"))
    return mx.gluon.data.DataLoader(dataset, batch_size=BATCH)


def _range(block: Any, mx: Any) -> Any:
    """The calibrated range of the input."""
    nodes = json.loads(block(mx.sym.var("data")).tojson())["nodes"]
    (attrs,) = [n["attrs"] for n in nodes if n["name"] == "data_quantize"]
    return [float(v) for k, v in sorted(attrs.items()) if k.endswith("calib_range")]


def _close(mx: Any, net: Any, block: Any, data: np.ndarray, limit: float = 0.1) -> Any:
    """Whether results differ from the network's, but by little."""
    expected, result = (f(mx.nd.array(data)).asnumpy() for f in (net, block))
    distance = np.abs(result - expected).max() / np.abs(expected).max()
    return [result.shape, result.dtype.name, bool(0 < distance < limit)]


@script
def quantized_signatures(mx):
    functions = [getattr(_quantization(mx), f"quantize_net{v}") for v in ("", "_v2")]
    return [[[p.name, repr(p.default)] for p in inspect.signature(f).parameters.values()][1:]
            for f in functions]  # fmt: skip


@script
def quantized_networks(mx):
    """Ranges of the input, and whether the results are near."""
    quantize, seen = _quantization(mx).quantize_net_v2, {}
    for kind, data in ((_dense, _numbers()), (_pictures, _numbers((EXAMPLES, 3, 6, 6)))):
        for mode in ("none", "naive"):
            for dtype in ("auto", "int8"):
                net = kind(mx)
                block = quantize(
                    net, dtype, calib_mode=mode, calib_data=_loader(mx, data),
                    logger=logging.getLogger("quantized") if mode == "naive" else None,
                )  # fmt: skip
                key = f"{kind.__name__} {mode} {dtype}"
                seen[key] = [type(block).__name__, _range(block, mx), _close(mx, net, block, data)]
    return seen


@script
def quantized_by_entropy(mx):
    net, data = _dense(mx), _numbers()
    seen = {}
    for dtype in ("auto", "int8"):
        block = _quantization(mx).quantize_net_v2(
            net, dtype, calib_mode="entropy", calib_data=_loader(mx, data)
        )
        seen[dtype] = _range(block, mx), _close(mx, net, block, data, 0.3)
    return seen


@script
def quantized_examples(mx):
    """The number of examples: whole batches; forms of batches."""
    quantize, data = _quantization(mx).quantize_net_v2, _numbers()
    options = {"calib_mode": "naive"}
    seen = {
        str(n): _range(
            quantize(_dense(mx), calib_data=_loader(mx, data), num_calib_examples=n, **options), mx
        )
        for n in (1, 2, 3, 5, 100, None)
    }
    forms = {
        "iterator": mx.io.NDArrayIter(data, None, BATCH),
        "labelled": mx.io.NDArrayIter(data, np.zeros(EXAMPLES), BATCH),
        "lists": [[mx.nd.array(data[i : i + 2])] for i in range(0, EXAMPLES, 2)],
        "pairs": [(mx.nd.array(data[i : i + 2]), mx.nd.zeros(2)) for i in range(0, EXAMPLES, 2)],
    }
    for name, batches in forms.items():
        seen[name] = _range(quantize(_dense(mx), calib_data=batches, **options), mx)
    return seen


@script
def quantized_parts(mx):
    """Layers that stay floating: kinds of their parameters in the new block."""
    quantize, seen = _quantization(mx).quantize_net_v2, {}
    shapes = [mx.io.DataDesc("data", (1, 6))]
    for options in (
        {}, {"exclude_layers": ["net_dense0_fwd"]}, {"exclude_layers": ["other"]},
        {"exclude_layers_match": ["dense1"]}, {"exclude_layers_match": ["dense"]},
        {"exclude_layers_match": ["net_dense.*"]},
    ):  # fmt: skip
        net = _dense(mx)
        block = quantize(net, data_shapes=shapes, **options)
        weights = {n: p for n, p in block.collect_params().items() if "weight" in n}
        kinds = {n: np.dtype(p.dtype).name for n, p in weights.items()}
        seen[repr(options)] = [net._active, sorted(kinds.items())]
    return seen


@script
def quantized_files(mx):
    data = _numbers()
    block = _quantization(mx).quantize_net_v2(
        _dense(mx), calib_mode="naive", calib_data=_loader(mx, data)
    )
    expected = block(mx.nd.array(data)).asnumpy()
    block.hybridize()
    same = [bool((block(mx.nd.array(data)).asnumpy() == expected).all())]
    with folder() as at:
        block.export(str(at / "net"))
        files = str(at / "net-symbol.json"), ["data"], str(at / "net-0000.params")
        read = mx.gluon.SymbolBlock.imports(*files)
        same.append(bool((read(mx.nd.array(data)).asnumpy() == expected).all()))
    return same


@script
def quantized_inputs_and_outputs(mx):
    """Two inputs and two outputs, with labels."""

    class Pair(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.left = mx.gluon.nn.Dense(4, in_units=6)
                self.right = mx.gluon.nn.Dense(4, in_units=6)

        def hybrid_forward(self, F, x, y):
            return self.left(x) + self.right(y), self.left(x)

    net, x = Pair(prefix="pair_"), _numbers()
    net.initialize()
    fill(net)
    dataset = mx.gluon.data.ArrayDataset(x, x * 2, np.zeros(EXAMPLES))
    batches = mx.gluon.data.DataLoader(dataset, batch_size=BATCH)
    block = _quantization(mx).quantize_net_v2(net, calib_mode="naive", calib_data=batches)
    outputs = block(mx.nd.array(x), mx.nd.array(x * 2))
    return [type(outputs).__name__, [o.shape for o in outputs]]


@script
def quantized_refusals(mx):
    quantize, shapes = _quantization(mx).quantize_net_v2, [mx.io.DataDesc("data", (1, 6))]

    def refused(**options):
        return attempt(mx, lambda: quantize(_dense(mx), **options))

    new = mx.gluon.nn.HybridSequential()
    new.add(mx.gluon.nn.Dense(2))
    return {
        "nothing": refused(),
        "mode": refused(data_shapes=shapes, calib_mode="guess"),
        "no data": refused(data_shapes=shapes, calib_mode="naive"),
        "no collector": refused(calib_mode="customize", calib_data=_loader(mx, _numbers())),
        "dtype": refused(data_shapes=shapes, quantized_dtype="int4"),
        "quantize_mode": refused(data_shapes=shapes, quantize_mode="clever"),
        "granularity": refused(data_shapes=shapes, quantize_granularity="row"),
        "layers": refused(data_shapes=shapes, exclude_layers="net_dense0_fwd"),
        "operators": refused(data_shapes=shapes, exclude_operators="FullyConnected"),
        "contexts": refused(data_shapes=shapes, ctx=[mx.cpu()]),
        "no context": refused(data_shapes=shapes, ctx=None),
        **attempts(mx, new=lambda: quantize(new, data_shapes=shapes)),
    }
