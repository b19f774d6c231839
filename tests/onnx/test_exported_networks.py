"""Whole networks in ONNX Runtime: equal to MXNet's recorded results or to the symbol's, at several
batch sizes, and after an import."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests.golden import _store
from tests.models import MODELS, parameter
from tests.models.densenet import densenet121
from tests.models.resnet import resnet50

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def _arrays(symbol: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Parameters and states of a symbol."""
    arguments, _, states = symbol.infer_shape(**shapes)
    named = [
        *zip(symbol.list_arguments(), arguments, strict=True),
        *zip(symbol.list_auxiliary_states(), states, strict=True),
    ]
    return {n: parameter(n, s) for n, s in named if n not in shapes and "label" not in n}


@pytest.mark.parametrize("name", ["mlp", "lenet", "lstm", "ssd_detect"])
def test_a_network_gives_what_mxnet_gave(name: str) -> None:
    recorded = MODELS[name]
    symbol = recorded.build(mx)
    inputs = {n: s.shape for n, s in recorded.inputs.items()}
    arguments, _, states = symbol.infer_shape(**inputs)
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    arrays = recorded.arrays(dict(zip(names, [*arguments, *states], strict=True)))
    parameters = {n: a for n, a in arrays.items() if n not in inputs}
    live = mx.onnx.inference_inputs(symbol, parameters)
    assert not any("label" in n for n in live)
    model = mx.onnx.to_onnx(symbol, parameters, {n: inputs[n] for n in live})
    # Twice the batch is the same computation twice.
    doubled = {n: np.concatenate([arrays[n], arrays[n]]) for n in live}
    (result,), _, runtime = mx.onnx.run_model(model, doubled)
    assert runtime == "ONNX Runtime"
    steps, batch = (35 if name == "lstm" else 1), inputs["data"][0]
    split = result.reshape(steps, 2, batch, *result.shape[1:])
    stored = _store.Answers("models")[f"{name}|out0"]
    for half in (split[:, 0], split[:, 1]):
        condensed = _store.condense(half.reshape(steps * batch, *result.shape[1:]))
        np.testing.assert_allclose(condensed, stored, rtol=1e-4, atol=1e-5)


def _mobile() -> Any:
    """Depthwise and pointwise convolutions, with a rectifier that ends at 6 and a shortcut."""
    x = mx.sym.Convolution(
        mx.sym.Variable("data"), num_filter=8, kernel=(3, 3), stride=(2, 2), pad=(1, 1),
        no_bias=True, name="conv0",
    )  # fmt: skip
    for i in range(2):
        y = mx.sym.clip(mx.sym.BatchNorm(x, fix_gamma=i == 0, name=f"bn{i}a"), a_min=0, a_max=6)
        y = mx.sym.Convolution(
            y, num_filter=8, kernel=(3, 3), pad=(1, 1), num_group=8, no_bias=True, name=f"depth{i}"
        )
        y = mx.sym.Activation(mx.sym.BatchNorm(y, name=f"bn{i}b"), act_type="relu")
        x = x + mx.sym.Convolution(y, num_filter=8, kernel=(1, 1), no_bias=True, name=f"point{i}")
    x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(7, 7), name="pool")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=5, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _super_resolution() -> Any:
    """Sub-pixel convolution beside a transposed convolution and enlarged pixels."""
    x = mx.sym.Variable("data")
    y = mx.sym.LeakyReLU(
        mx.sym.Convolution(x, num_filter=8, kernel=(5, 5), pad=(2, 2), name="conv1"), slope=0.1
    )
    y = mx.sym.Convolution(y, num_filter=12, kernel=(3, 3), pad=(1, 1), name="conv2")
    split = mx.sym.reshape(y, shape=(0, -4, -1, 4, -2))
    split = mx.sym.reshape(split, shape=(0, 0, -4, 2, 2, -2))
    fine = mx.sym.reshape(mx.sym.transpose(split, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))
    up = mx.sym.Deconvolution(
        x, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, num_group=3, name="up"
    )
    pixels = mx.sym.UpSampling(x, scale=2, sample_type="nearest", num_args=1)
    smooth = mx.sym.UpSampling(
        x, mx.sym.Variable("smooth_weight"), scale=2, sample_type="bilinear", num_filter=3,
        num_args=2,
    )  # fmt: skip
    deep = mx.sym.depth_to_space(y, block_size=2)
    return mx.sym.add_n(fine, up, pixels, smooth, deep, name="image")


def _recurrent(mode: Any) -> Any:
    """A text recogniser's head: two fused layers in both directions over the columns."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(8, 1), name="columns")
    steps = mx.sym.transpose(mx.sym.reshape(x, shape=(0, -3, -1)), axes=(2, 0, 1))
    parameters = mx.sym.Variable("rnn_parameters")
    count = 2 if mode == "lstm" else 1
    states = [mx.sym.zeros((4, 0, 5)) for _ in range(count)]
    h = mx.sym.RNN(
        steps, parameters, *states, state_size=5, num_layers=2, bidirectional=True, mode=mode,
        state_outputs=True, name="rnn",
    )  # fmt: skip
    flat = mx.sym.reshape(h[0], shape=(-3, -2))
    scores = mx.sym.FullyConnected(flat, num_hidden=6, name="scores")
    return mx.sym.Group([mx.sym.SoftmaxOutput(scores, name="softmax"), h[1]])


def _face() -> Any:
    """Channels with slopes of their own, normalised embeddings, and what old checkpoints have."""
    x = (mx.sym.Variable("data") - 127.5) * 0.0078125
    x = mx.sym.Convolution(x, num_filter=6, kernel=(3, 3), name="conv")
    x = mx.sym.LeakyReLU(mx.sym.BatchNorm(x, name="bn"), act_type="prelu", name="relu")
    gate = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.mean(x, axis=(2, 3)), num_hidden=6, name="gate"),
        act_type="sigmoid",
    )
    x = mx.sym.broadcast_mul(x, mx.sym.reshape(gate, shape=(0, 0, 1, 1)))
    x = mx.sym.Pooling(
        x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full", name="pool"
    )
    x = mx.sym.Dropout(mx.sym.FullyConnected(x, num_hidden=4, name="fc"), p=0.4)
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, name="embedding")
    first = mx.sym.slice_axis(x, axis=1, begin=0, end=2)
    return mx.sym.Group([mx.sym.L2Normalization(x, name="normed"), mx.sym.BlockGrad(first)])


_NETWORKS = {
    "resnet": (partial(resnet50, mx, units=(1, 1)), (3, 3, 32, 32)),
    "mobile": (_mobile, (3, 3, 16, 16)),
    "densenet": (partial(densenet121, mx, growth=4, blocks=(2, 1, 1, 1)), (3, 3, 64, 64)),
    "super_resolution": (_super_resolution, (3, 3, 8, 6)),
    "lstm": (partial(_recurrent, "lstm"), (3, 2, 8, 7)),
    "gru": (partial(_recurrent, "gru"), (3, 2, 8, 7)),
    "face": (_face, (3, 3, 14, 14)),
}


@pytest.mark.parametrize("name", _NETWORKS)
def test_a_network_is_the_same_in_onnx_runtime_and_after_an_import(
    name: str, tmp_path: Path
) -> None:
    build, shape = _NETWORKS[name]
    symbol = build()
    if name in ("lstm", "gru"):
        gates, units = (4, 5) if name == "lstm" else (3, 5)
        size = sum(2 * gates * units * (inputs + units + 2) for inputs in (4, 2 * units))
        parameters = _arrays(symbol, {"data": shape, "rnn_parameters": (size,)})
        parameters["rnn_parameters"] = 2 * parameter("rnn_parameters", (size,))
    else:
        parameters = _arrays(symbol, {"data": shape})
    data = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    model = mx.onnx.to_onnx(symbol, parameters, {"data": (1, *shape[1:])})
    path = str(tmp_path / "network.onnx")
    mx.onnx.save_model(model, path)
    comparison = mx.onnx.compare(path, symbol, parameters, {"data": data})
    assert comparison.runtime == "ONNX Runtime"
    assert comparison.relative < 1e-4, str(comparison)
    names = {tensor.name for tensor in model.graph.initializer}
    # Packed parameters of recurrent layers are written layer by layer.
    assert set(parameters) - names <= {"rnn_parameters"}

    imported, arguments, states = mx.onnx.import_model(path)
    assert set(imported.list_auxiliary_states()) == set(states)
    results, *_ = mx.onnx.run_model(path, {"data": data})
    executor = imported.simple_bind(mx.cpu(), grad_req="null", data=shape)
    executor.copy_params_from(arguments, states)
    for ours, theirs in zip(executor.forward(data=data), results, strict=True):
        scale = max(np.abs(theirs).max(), 1.0)
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=0, atol=1e-4 * scale)
