"""Programs for GPUs and TPUs, exported on machines that have none, not run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export

import executorkit as mx
from executorkit.contrib import quantization
from executorkit.lowering import graph_of, lower
from executorkit.ops.nn.conv_kernels import winograd
from tests.golden import quantization_questions
from tests.models.lstm import lstm
from tests.models.mobilenet import mobilenet
from tests.models.resnet import resnet50
from tests.models.ssd import ssd_detect

PLATFORMS = [("gpu", "cuda"), ("tpu", "tpu")]


def training(symbol: mx.sym.Symbol, platform: str, **data: tuple[int, ...]) -> str:
    """The program of a training step for a platform, as StableHLO."""
    graph = graph_of(symbol.heads)
    run = lower(graph)
    shapes, _, states = symbol.infer_shape(**data)
    avals = [[jax.ShapeDtypeStruct(s, "float32") for s in part or ()] for part in (shapes, states)]

    def step(args: Sequence[Any], aux: Sequence[Any]) -> Any:
        outputs, vjp, changed = jax.vjp(
            lambda args: run(args, aux, jax.random.key(0), True)[:2], args, has_aux=True
        )
        return outputs, changed, vjp(tuple(jnp.ones_like(x) for x in outputs))

    with jax.enable_x64(True):
        return export.export(jax.jit(step), platforms=[platform])(*avals).mlir_module()


def layers() -> mx.sym.Symbol:
    """Convolutions of every form that a CPU computes in its own way, with normalisation."""
    x = mx.sym.var("data")
    kinds = [((7, 7), (2, 2), (3, 3), 1, 32), ((1, 1), (1, 1), (0, 0), 1, 64),
             ((3, 3), (1, 1), (1, 1), 64, 64), ((1, 1), (2, 2), (0, 0), 1, 32),
             ((3, 3), (2, 2), (1, 1), 4, 32)]  # fmt: skip
    for n, (kernel, stride, pad, groups, filters) in enumerate(kinds):
        x = mx.sym.Convolution(x, kernel=kernel, stride=stride, pad=pad, num_group=groups,
                               num_filter=filters, no_bias=True, name=f"conv{n}")  # fmt: skip
        x = mx.sym.Activation(mx.sym.BatchNorm(x, name=f"bn{n}"), act_type="relu")
    return mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")


@pytest.mark.parametrize(("backend", "platform"), PLATFORMS)
def test_convolutions_are_plain(monkeypatch, backend: str, platform: str) -> None:
    """Each is one convolution, and so are its two gradients; nothing is transposed for them, but
    the weights of groups in JAX's own rule."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    text = training(layers(), platform, data=(2, 3, 64, 64))
    assert text.count("stablehlo.convolution") == 3 * 5
    assert text.count("stablehlo.dot_general") == 0
    transposed = re.findall(r"stablehlo.transpose.*-> tensor<([0-9x]*)", text)
    assert transposed == ["8x4x8x3x3x", "1x64x1x3x3x"]
    assert text.count("stablehlo.while") == 0


def prepared_inference(symbol: mx.sym.Symbol, platform: str, **data: tuple[int, ...]) -> str:
    """The program of inference with prepared parameters for a platform, as StableHLO."""
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **data)
    args = {n: a.jax for n, a in executor.arg_dict.items() if n not in data}
    states = {n: a.jax for n, a in executor.aux_dict.items()}
    prepared = symbol.to_jax().prepare(args, states, inputs=data)
    arrays = {n: jnp.zeros(shape) for n, shape in data.items()}
    run = jax.jit(lambda prepared, arrays: prepared(arrays))
    return export.export(run, platforms=[platform])(prepared, arrays).mlir_module()


def wide() -> mx.sym.Symbol:
    """A convolution of 3 x 3 with normalisation, and a layer of a perceptron."""
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=64, name="c")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn"), act_type="relu")
    return mx.sym.FullyConnected(x, num_hidden=2, name="fc")


@pytest.mark.parametrize(("backend", "platform"), PLATFORMS)
def test_prepared_convolutions_are_plain(monkeypatch, backend: str, platform: str) -> None:
    """Normalisation is folded into them; nothing is turned or packed as for a CPU, and no library
    of a CPU is called."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    text = prepared_inference(layers(), platform, data=(2, 3, 64, 64))
    assert text.count("stablehlo.convolution") == 5
    for operation in ("dot_general", "transpose", "while", "custom_call", "rsqrt"):
        assert f"stablehlo.{operation}" not in text, operation


def test_winograd_stays_on_cpus(monkeypatch) -> None:
    """Where multiplications alone count, a CPU takes Winograd's algorithm, six small convolutions;
    a GPU takes the convolution as it is."""
    monkeypatch.setattr(winograd, "_costs", winograd.Costs(0, 0, 0, 0, 0))
    shape = (1, 64, 12, 12)
    on_cpu = prepared_inference(wide(), "cpu", data=shape)
    assert on_cpu.count("stablehlo.convolution(") == 6
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    on_gpu = prepared_inference(wide(), "cuda", data=shape)
    kernels = re.findall(r"stablehlo.convolution.*tensor<([0-9x]*)xf32>\) ->", on_gpu)
    assert kernels == ["64x64x3x3"]
    assert "stablehlo.transpose" not in on_gpu
    assert "custom_call" not in on_gpu


@pytest.mark.parametrize(("backend", "platform"), PLATFORMS)
def test_recurrent_networks_are_rolled(monkeypatch, backend: str, platform: str) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    cell = mx.rnn.LSTMCell(8, prefix="l_")
    outputs, _ = cell.unroll(12, mx.sym.var("data"), layout="NTC", merge_outputs=True)
    text = training(outputs, platform, data=(2, 12, 4))
    assert text.count("stablehlo.while") == 2
    assert text.count("stablehlo.dot_general") < 12


def operations(text: str) -> dict[str, int]:
    """Numbers of the operations in which forms for CPUs differ, and of calls of libraries."""
    names = "convolution", "dot_general", "transpose", "while", "custom_call"
    counts = {n: len(re.findall(rf"stablehlo\.{n}\b", text)) for n in names}
    return {n: count for n, count in counts.items() if count}


#: Pictures of 64 x 64, inference and training. MobileNet's last layer is a convolution of one
#: pixel, which is a product everywhere; JAX's rule for gradients of groups turns their weights.
IMAGES = {
    "resnet50": (
        resnet50, {"convolution": 53, "dot_general": 1}, {"convolution": 159, "dot_general": 3},
    ),
    "mobilenet": (
        mobilenet, {"convolution": 27, "dot_general": 1},
        {"convolution": 81, "dot_general": 3, "transpose": 13},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_networks_of_images_are_plain(monkeypatch, name: str) -> None:
    """A convolution per layer, and two more for its gradients; nothing calls the host."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    build, inference, steps = IMAGES[name]
    shape = (1, 3, 64, 64)
    assert operations(prepared_inference(build(mx), "cuda", data=shape)) == inference
    assert operations(training(build(mx), "cuda", data=shape)) == steps


def test_language_model_is_a_loop_per_layer(monkeypatch) -> None:
    """And another one per layer for the gradients."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    states = {f"l{layer}_init_{state}": (2, 8) for layer in (0, 1) for state in "hc"}
    shapes = {"data": (2, 8), "softmax_label": (2, 8), **states}
    symbol = lstm(mx, steps=8, layers=2, hidden=8, embed=8, words=10)
    inference = operations(prepared_inference(symbol, "cuda", **shapes))
    assert inference == {"dot_general": 5, "transpose": 1, "while": 2}
    steps = operations(training(symbol, "cuda", **shapes))
    assert steps == {"dot_general": 15, "transpose": 4, "while": 4}


def test_detection_calls_no_library(monkeypatch) -> None:
    """Suppression of boxes is a loop of the program, not one of the host. A convolution of one
    pixel is a product."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    text = prepared_inference(ssd_detect(mx), "cuda", data=(1, 3, 300, 300))
    counts = operations(text)
    layers = ssd_detect(mx).tojson().count('"op": "Convolution"')
    assert counts["convolution"] + counts["dot_general"] == layers
    assert counts["while"] == 1
    assert "custom_call" not in counts


def test_quantised_layers_are_plain(monkeypatch) -> None:
    """Bytes are multiplied as float32, which is exact; long sums in two parts."""
    symbol = quantization_questions.NETWORKS["small"](mx.sym)
    shapes = {"data": (2, 3, 16, 16), "softmax_label": (2,)}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **shapes)
    args = {n: a for n, a in executor.arg_dict.items() if n not in shapes}
    quantised, *_ = quantization.quantize_model(
        symbol, args, executor.aux_dict, calib_mode="none", quantized_dtype="int8"
    )
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    text = prepared_inference(quantised, "cuda", **shapes)
    assert operations(text) == {"convolution": 1, "dot_general": 2}
