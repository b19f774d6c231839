"""Has MXNet fuse and quantise small networks, and stores the files and what every layer gives.

    MXNET_SUBGRAPH_BACKEND=NONE python tests/golden/make_quantized.py

Runs under the same environment as ``make.py``, on an x86 CPU.
"""

from __future__ import annotations

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


IMAGES = (2, 3, 10, 10)
#: (Function that builds the network, smallest entry of its data, their shape, calibration modes).
NETWORKS = {
    "residual": (residual, 0.0, IMAGES, {"quantised": "naive"}),
    "mobile": (
        mobile,
        -1.0,
        IMAGES,
        {"quantised": "naive", "uncalibrated": "none"},
    ),
    "attention": (attention, -1.0, (3, 2, 8), {"quantised": "naive"}),
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


def main():
    import mxnet as mx
    from mxnet.contrib.quantization import quantize_model

    logging.disable(logging.INFO)
    arrays, facts = {}, {}
    for name, (build, low, shape, modes) in NETWORKS.items():
        rng = np.random.RandomState(7)
        plain = build(mx)
        args, aux = parameters(mx, plain, rng, shape)
        data = mx.nd.array(rng.uniform(low, 1, shape))
        fused = plain.get_backend_symbol("MKLDNN_QUANTIZE")
        variants = [("fused", plain.get_backend_symbol("MKLDNN"), args, aux)]
        for kind, mode in modes.items():
            quantised, new_args, new_aux = quantize_model(
                fused, args, aux, data_names=["data"], label_names=None, ctx=mx.cpu(),
                calib_mode=mode, calib_data=mx.io.NDArrayIter(data, None, shape[0]),
                num_calib_examples=shape[0], quantized_dtype="auto",
            )  # fmt: skip
            quantised = quantised.get_backend_symbol("MKLDNN_QUANTIZE")
            variants.append((kind, quantised, new_args, new_aux))
        for kind, symbol, a, x in variants:
            key = f"{name}_{kind}"
            outputs = layers(mx, symbol, a, x, data)
            facts[key] = {
                "json": symbol.tojson(),
                "states": symbol.list_auxiliary_states(),
                "arguments": symbol.list_arguments(),
                "outputs": list(outputs),
                "parameters": sorted({**a, **x}),
            }
            arrays.update({f"{key}|out:{n}": v for n, v in outputs.items()})
            arrays.update({f"{key}|{n}": v.asnumpy() for n, v in {**a, **x, "data": data}.items()})
            print(key, len(outputs), "arrays")
    path = _store.save("quantized_networks", arrays, facts)
    print(f"{path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
