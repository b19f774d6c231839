"""Networks as StableHLO: loaded by JAX alone, for any batch size, with equal numbers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import jax.export
import ml_dtypes
import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import (
    ArgumentValueError,
    FileFormatError,
    MissingParameterError,
    NotSupportedError,
    ShapeError,
    UnknownArgumentError,
)


def small_network():
    """Convolution, BatchNorm with states, a dense layer, a loss with a label; two outputs."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn"), act_type="relu")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=5, name="fc")
    return mx.sym.Group([mx.sym.SoftmaxOutput(x, name="softmax"), mx.sym.mean(x, name="mean")])


def parameters(symbol, dtype="float32", **shapes):
    """Random parameters by their names in files."""
    random = np.random.default_rng(0)
    arguments, _, states = symbol.infer_shape(**shapes)
    given = {*shapes, *(n for n in symbol.list_arguments() if n.endswith("label"))}
    return {
        **{
            f"arg:{n}": random.normal(0, 0.3, s).astype(dtype)
            for n, s in zip(symbol.list_arguments(), arguments, strict=True)
            if n not in given
        },
        **{
            f"aux:{n}": random.uniform(0.5, 2, s).astype(dtype)
            for n, s in zip(symbol.list_auxiliary_states(), states, strict=True)
        },
    }


def expected(symbol, params, **inputs):
    """The outputs of an executor."""
    arrays = {n[4:]: mx.nd.array(a, dtype=a.dtype.name) for n, a in params.items()}
    shapes = {n: a.shape for n, a in inputs.items()}
    types = {n: a.dtype.name for n, a in inputs.items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict=types, **shapes)
    executor.copy_params_from(arrays, arrays, allow_extra_params=True)
    return [x.asnumpy() for x in executor.forward(is_train=False, **inputs)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """(path, symbol, parameters, comparison) of a small network for any batch size."""
    symbol = small_network()
    params = parameters(symbol, data=(1, 3, 6, 6))
    path = tmp_path_factory.mktemp("export") / "net.stablehlo"
    return path, symbol, params, mx.export.to_stablehlo(path, symbol, params)


def images(batch):
    return np.random.default_rng(batch).normal(size=(batch, 3, 6, 6)).astype(np.float32)


@pytest.mark.parametrize("batch", [1, 3])
def test_jax_alone_runs_the_file_for_any_batch_size(exported, batch):
    path, symbol, params, _ = exported
    arrays = dict(np.load(path))
    program = jax.export.deserialize(bytearray(arrays.pop("stablehlo")))
    outputs = jax.jit(program.call)(arrays, {"data": images(batch)})
    for name, ours in zip(
        ("softmax_output", "mean_output"), expected(symbol, params, data=images(batch)), strict=True
    ):
        np.testing.assert_allclose(outputs[name], ours, rtol=1e-5, atol=1e-6)
    assert set(arrays) == set(params)
    assert program.platforms == ("cpu", "cuda", "tpu")


def test_the_three_lines_need_no_executorkit(exported, tmp_path):
    path, symbol, params, _ = exported
    np.save(tmp_path / "in.npy", images(2))
    script = f"""
import sys, numpy, jax.export
sys.modules["executorkit"] = None
arrays = dict(numpy.load({str(path)!r}))
program = jax.export.deserialize(bytearray(arrays.pop("stablehlo")))
outputs = jax.jit(program.call)(arrays, {{"data": numpy.load({str(tmp_path / "in.npy")!r})}})
numpy.save({str(tmp_path / "out.npy")!r}, outputs["softmax_output"])
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    ours, _ = expected(symbol, params, data=images(2))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), ours, rtol=1e-5, atol=1e-6)


def test_load_gives_a_function_that_says_what_it_takes(exported):
    path, symbol, params, comparison = exported
    model = mx.export.load(path)
    words = "data float32[batch, 3, 6, 6] -> mean_output, softmax_output"
    assert repr(model) == f"<StableHLOModel {words}>"
    assert model.platforms == ("cpu", "cuda", "tpu")
    outputs = model(data=images(4))
    ours = expected(symbol, params, data=images(4))
    np.testing.assert_allclose(outputs["softmax_output"], ours[0], rtol=1e-5, atol=1e-6)
    # Whole numbers of NumPy are converted.
    assert model(data=np.ones((1, 3, 6, 6), np.int64))["softmax_output"].shape == (1, 5)
    assert [d.name for d in comparison] == ["softmax_output", "mean_output"]
    assert comparison.absolute < 1e-5
    assert [d.shape for d in comparison] == [(2, 5), (1,)]
    with pytest.raises(UnknownArgumentError, match=r"no input 'date'\n  try: .*'data'"):
        model(data=images(1), date=3)
    with pytest.raises(UnknownArgumentError, match="missing: data"):
        model()
    with pytest.raises(ValueError, match="shape"):
        model(data=np.ones((1, 4, 6, 6), np.float32))


def test_a_fixed_batch_size_and_platforms(tmp_path):
    symbol = small_network()
    params = parameters(symbol, data=(1, 3, 6, 6))
    path = tmp_path / "net"
    comparison = mx.export.to_stablehlo(path, symbol, params, batch=3, platforms=("cpu",))
    assert comparison[0].shape == (3, 5)
    model = mx.export.load(path)
    assert model.platforms == ("cpu",)
    assert model.inputs["data"].shape == (3, 3, 6, 6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_element_types(tmp_path, dtype):
    data = mx.sym.Variable("data", dtype=dtype)
    symbol = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    kind = getattr(ml_dtypes, dtype, dtype)
    params = {
        "arg:fc_weight": np.random.default_rng(0).normal(size=(3, 4)).astype(kind),
        "arg:fc_bias": np.ones(3, kind),
    }
    path = tmp_path / "net"
    comparison = mx.export.to_stablehlo(path, symbol, params)
    assert (comparison[0].dtype, comparison.absolute) == (dtype, 0.0)
    model = mx.export.load(path)
    assert model(data=np.ones((2, 4)))["fc_output"].dtype == kind


def test_states_are_inputs_and_tables_take_numbers(tmp_path):
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=7, output_dim=4, name="embed")
    start = mx.sym.Variable("start")
    sums = mx.sym.broadcast_add(mx.sym.sum(words, axis=1), start, name="sums")
    params = {"arg:embed_weight": np.random.default_rng(0).normal(size=(7, 4))}
    params = {n: a.astype(np.float32) for n, a in params.items()}
    shapes = {"data": (1, 5), "start": (1, 4)}
    comparison = mx.export.to_stablehlo(tmp_path / "net", sums, params, shapes)
    assert comparison.absolute < 1e-6
    model = mx.export.load(tmp_path / "net")
    assert {n: str(x.shape) for n, x in model.inputs.items()} == {
        "data": "(batch, 5)", "start": "(batch, 4)"
    }  # fmt: skip
    data = np.arange(10, dtype=np.float32).reshape(2, 5) % 7
    (ours,) = expected(sums, params, data=data, start=np.ones((2, 4), np.float32))
    outputs = model(data=data, start=np.ones((2, 4)))
    np.testing.assert_allclose(outputs["sums_output"], ours, rtol=1e-6)


def test_the_axis_of_the_batch_is_marked_by_a_zero(tmp_path):
    names = ("data", "rnn_parameters", "state", "state_cell")
    symbol = mx.sym.RNN(
        *map(mx.sym.Variable, names), state_size=4, num_layers=1, mode="lstm", name="lstm"
    )
    shapes = {"data": (5, 0, 3), "state": (1, 0, 4), "state_cell": (1, 0, 4)}
    known: dict[str, Any] = {n: tuple(d or 1 for d in s) for n, s in shapes.items()}
    params = parameters(symbol, **known)
    comparison = mx.export.to_stablehlo(tmp_path / "net", symbol, params, shapes)
    assert comparison[0].shape == (5, 2, 4)
    assert comparison.absolute < 1e-6
    model = mx.export.load(tmp_path / "net")
    assert {n: str(x.shape) for n, x in model.inputs.items()} == {
        "data": "(5, batch, 3)", "state": "(1, batch, 4)", "state_cell": "(1, batch, 4)"
    }  # fmt: skip


def test_what_cannot_be_exported_is_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "net"
    data = mx.sym.Variable("data")
    symbol = small_network()
    params = parameters(symbol, data=(1, 3, 6, 6))

    def refused(error, match, *arguments, **options):
        with pytest.raises(error, match=match):
            mx.export.to_stablehlo(path, *arguments, **options)
        assert list(tmp_path.iterdir()) == []

    without = {n: a for n, a in params.items() if "bn" not in n}
    refused(MissingParameterError, "4 that the symbol needs are missing: bn_gamma", symbol, without)
    wrong = {**params, "arg:fc_bias": np.ones(6, np.float32)}
    refused(ShapeError, r"'fc_bias': it is \(6,\), expected \(5,\)", symbol, wrong)
    refused(UnknownArgumentError, "the shape of 'image'", symbol, params, {"image": (1, 3, 6, 6)})
    refused(ArgumentValueError, "platforms='cpu'", symbol, params, platforms="cpu")
    refused(ShapeError, "shapes of data do not follow", mx.sym.relu(data), {})
    noise = mx.sym.broadcast_add(data, mx.sym.random.normal(shape=(1, 4), name="noise"))
    refused(NotSupportedError, "nodes that draw random numbers at inference: noise", noise, {},
            {"data": (2, 4)})  # fmt: skip
    folded = mx.sym.reshape(data, shape=(4, -1), name="folded")
    refused(NotSupportedError, "with a free batch size\n  because ", folded, {}, {"data": (4, 3)})


def test_files_that_hold_no_program(tmp_path):
    path = tmp_path / "net.npz"
    np.savez(path, w=np.ones(3))
    with pytest.raises(FileFormatError, match="no program was exported to it"):
        mx.export.load(path)
    np.savez(path, stablehlo=np.zeros(64, np.uint8))
    with pytest.raises(FileFormatError, match="its program cannot be read"):
        mx.export.load(path)


def test_comparisons_show_the_largest_differences():
    ours = {f"o{i}": np.full((2, 2), 4.0, np.float32) for i in range(20)}
    theirs = dict(ours, o7=ours["o7"] + np.float32(0.5), o9=ours["o9"][:1])
    comparison = mx.export.Comparison.of("output", ours, theirs)
    assert (comparison[7].absolute, comparison[7].relative) == (0.5, 0.125)
    assert comparison.absolute == np.inf
    assert "o7      (2, 2)  float32         0.5     0.125" in repr(comparison)
    equal = mx.export.Comparison.of("output", ours, ours)
    assert repr(equal) == "20 outputs compared: all are equal"
    nan = {"x": np.array([np.nan, 1, np.inf])}
    assert mx.export.Comparison.of("array", nan, nan).absolute == 0
    assert mx.export.Comparison.of("array", nan, {"x": np.array([0, 1, np.inf])}).absolute == np.inf
