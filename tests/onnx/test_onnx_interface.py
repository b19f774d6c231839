"""``mx.onnx.export_model`` and ``mx.contrib.onnx``: arguments, files, free dimensions, errors."""

from __future__ import annotations

import inspect
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import stored_answers

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ANSWERS = stored_answers("onnx")


def _network() -> tuple[Any, dict[str, Any], dict[str, Any]]:
    x = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn"), act_type="relu", name="relu")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="pool")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=3, name="fc")
    symbol = mx.sym.SoftmaxOutput(x, name="softmax")
    shapes, _, states = symbol.infer_shape(data=(2, 3, 8, 8))
    generator = np.random.default_rng(0)

    def arrays(names: list[str], shapes: list[Any]) -> dict[str, Any]:
        return {
            n: mx.nd.array(generator.uniform(0.5, 1, s))
            for n, s in zip(names, shapes, strict=True)
            if n not in ("data", "softmax_label")
        }

    arguments = arrays(symbol.list_arguments(), shapes)
    return symbol, arguments, arrays(symbol.list_auxiliary_states(), states)


def _dimensions(values: Any) -> list[list[Any]]:
    return [
        [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim] for value in values
    ]


def test_signatures_and_operators_are_those_of_mxnet() -> None:
    signatures = {
        "onnx.export_model": mx.onnx.export_model,
        "contrib.onnx.get_model_metadata": mx.contrib.onnx.get_model_metadata,
        "contrib.onnx.import_model": mx.contrib.onnx.import_model,
        "contrib.onnx.import_to_gluon": mx.contrib.onnx.import_to_gluon,
    }
    for name, function in signatures.items():
        parameters = inspect.signature(function).parameters.values()
        ours = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        assert ours == ANSWERS["parameters"][name]
    assert mx.contrib.onnx.export_model is mx.onnx.export_model
    assert set(ANSWERS["operators"]) <= set(mx.onnx.get_operator_support())


def test_a_checkpoint_becomes_a_file_and_comes_back(tmp_path: Path, caplog: Any) -> None:
    symbol, arguments, states = _network()
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 3, symbol, arguments, states)
    path = str(tmp_path / "net.onnx")
    with caplog.at_level(logging.INFO, "executorkit.onnx"):
        written = mx.onnx.export_model(
            f"{prefix}-symbol.json", f"{prefix}-0003.params", [(2, 3, 8, 8)], np.float32, path,
            verbose=True,
        )  # fmt: skip
    assert written == path
    assert "run by ONNX Runtime" in caplog.text
    metadata = mx.contrib.onnx.get_model_metadata(path)
    assert metadata == {
        "input_tensor_data": [("data", (2, 3, 8, 8))],
        "output_tensor_data": [("softmax", (2, 3))],
    }
    nodes = {node.name for node in onnx.load(path).graph.node}
    assert {"conv", "bn", "relu", "pool", "fc", "softmax"} <= nodes

    imported, new_arguments, new_states = mx.contrib.onnx.import_model(path)
    assert set(new_arguments) == set(arguments)
    assert set(new_states) == set(states)
    np.testing.assert_array_equal(
        new_arguments["fc_weight"].asnumpy(), arguments["fc_weight"].asnumpy()
    )
    # fix_gamma: MXNet overwrites the parameter with ones when it runs.
    np.testing.assert_array_equal(new_arguments["bn_gamma"].asnumpy(), np.ones(4))
    assert imported.list_outputs() == ["softmax_output"]


@pytest.mark.parametrize(
    ("options", "inputs", "outputs"),
    [
        ({}, [2, 3, 8, 8], [2, 3]),
        ({"dynamic": True}, ["data_0", 3, "data_2", "data_3"], ["data_0", 3]),
        (
            {"dynamic": True, "dynamic_input_shapes": [("N", 3, 8, None)]},
            ["N", 3, 8, "data_3"],
            ["N", 3],
        ),
        ({"dynamic": True, "dynamic_input_shapes": [(None, 3, 8, 8)]}, ["data_0", 3, 8, 8], None),
    ],
)
def test_dimensions_are_free_as_asked(
    tmp_path: Path, options: dict[str, Any], inputs: list[Any], outputs: list[Any] | None
) -> None:
    symbol, arguments, states = _network()
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(
        symbol, [arguments, states], [(2, 3, 8, 8), (2,)], [np.float32], path, check=False,
        **options,
    )  # fmt: skip
    graph = onnx.load(path).graph
    assert _dimensions(graph.input) == [inputs]
    if outputs is not None:
        assert _dimensions(graph.output) == [outputs]
    size = (5 if inputs[0] != 2 else 2, 3, 8, 13 if inputs[3] != 8 else 8)
    data = np.random.default_rng(1).normal(size=size).astype(np.float32)
    (result,), *_ = mx.onnx.run_model(path, {"data": data})
    assert result.shape == (size[0], 3)


def test_a_named_dimension_that_cannot_vary_is_an_error() -> None:
    data = mx.sym.Variable("data")
    symbol = mx.sym.FullyConnected(data, num_hidden=2, no_bias=True, name="fc")
    parameters = {"fc_weight": np.ones((2, 4), np.float32)}
    with pytest.raises(mx.MXNetError, match="dimension 'width': it cannot vary"):
        mx.onnx.to_onnx(symbol, parameters, {"data": (3, 4)}, free={"data": (3, "width")})


def test_lengths_that_follow_the_batch_are_computed_at_run_time() -> None:
    data = mx.sym.Variable("data")
    state = mx.sym.zeros((0, 4))
    merged = mx.sym.reshape(mx.sym.reshape(data, shape=(-3, 0)), shape=(-1, 2, 4))
    pairs = mx.sym.repeat(data, repeats=2, axis=0)
    symbol = mx.sym.Group(
        [
            mx.sym.sum(data, axis=1) + state,
            merged,
            pairs,
            mx.sym.contrib.arange_like(data, axis=0),
            mx.sym.batch_dot(data, data, transpose_b=True),
            mx.sym.SwapAxis(mx.sym.slice_like(pairs, data, axes=(0,)), dim1=0, dim2=1),
        ]
    )
    model = mx.onnx.to_onnx(symbol, {}, {"data": (2, 6, 4)})
    for batch in (1, 5):
        inputs = mx.onnx.random_inputs({"data": (batch, 6, 4)}, {})
        comparison = mx.onnx.compare(model, symbol, {}, inputs)
        assert comparison.absolute < 1e-5, str(comparison)
    assert str(comparison).startswith("output")


def test_everything_that_cannot_be_exported_is_named_at_once(tmp_path: Path) -> None:
    data = mx.sym.Variable("data")
    symbol = mx.sym.Group(
        [
            mx.sym.gamma(data, name="first"),
            mx.sym.LRN(mx.sym.exp(data), nsize=4, name="second"),
            mx.sym.Dropout(data, mode="always", name="third"),
        ]
    )
    path = tmp_path / "net.onnx"
    with pytest.raises(mx.MXNetError) as caught:
        mx.onnx.export_model(symbol, {}, [(2, 3, 4, 4)], np.float32, path)
    assert str(caught.value) == (
        "this graph cannot be exported to ONNX:\n"
        "  node 'first' (gamma): ONNX has nothing like this operator\n"
        "  node 'second' (LRN): runtimes refuse an even nsize\n"
        "  node 'third' (Dropout): mode='always' draws random numbers in inference"
    )
    assert isinstance(caught.value, NotImplementedError)
    assert not list(tmp_path.iterdir())


def test_arguments_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    symbol, arguments, states = _network()
    with pytest.raises(mx.MXNetError, match="in_shapes has 0 entries, expected 1"):
        mx.onnx.export_model(symbol, [arguments, states], None)
    with pytest.raises(mx.MXNetError, match="sym is int"):
        mx.onnx.export_model(3, {}, [(2, 3, 8, 8)])  # type: ignore[arg-type]
    del arguments["fc_bias"]
    with pytest.raises(mx.MXNetError, match="neither inputs nor parameters: fc_bias"):
        mx.onnx.to_onnx(symbol, {**arguments, **states}, {"data": (2, 3, 8, 8)})
    with pytest.raises(mx.MXNetError, match="opset_version=11, expected 17 to"):
        mx.onnx.to_onnx(symbol, {}, {}, opset_version=11)
    with pytest.raises(OSError, match=r"nowhere\.onnx"):
        mx.contrib.onnx.import_model(str(tmp_path / "nowhere.onnx"))
    other = tmp_path / "other.onnx"
    other.write_bytes(b"this is text")
    with pytest.raises(ValueError, match=r"other\.onnx"):
        mx.contrib.onnx.get_model_metadata(str(other))
    with pytest.raises(ValueError, match=r"other\.onnx"):
        mx.contrib.onnx.import_to_gluon(str(other), mx.cpu())


def test_parameters_of_a_large_model_are_in_a_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=40, name="fc")
    generator = np.random.default_rng(0)
    parameters = {
        "fc_weight": generator.normal(size=(40, 50)).astype(np.float32),
        "fc_bias": generator.normal(size=(40,)).astype(np.float32),
    }
    model = mx.onnx.to_onnx(symbol, parameters, {"data": (2, 50)})
    path = str(tmp_path / "net.onnx")
    paths = mx.onnx.save_model(model, path, one_file=4096)
    assert paths == [path, f"{path}.data"]
    assert Path(path).stat().st_size < 4096
    inputs = mx.onnx.random_inputs({"data": (3, 50)}, {})
    assert mx.onnx.compare(path, symbol, parameters, inputs).relative < 1e-5
    _, arguments, _ = mx.onnx.import_model(path)
    np.testing.assert_array_equal(arguments["fc_weight"].asnumpy(), parameters["fc_weight"])


def test_without_the_package_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setitem(sys.modules, "onnx.checker", None)
    with pytest.raises(ImportError) as caught:
        mx.onnx.to_onnx(mx.sym.Variable("data"), {}, {"data": (2,)})
    assert str(caught.value) == (
        "ONNX (the package onnx): it is not installed\n"
        "  because files of ONNX are read, checked and written by it\n"
        "  try: pip install 'executorkit[onnx]'"
    )


def test_what_no_runtime_has_is_exported_and_said(tmp_path: Path, caplog: Any) -> None:
    data, rois = mx.sym.Variable("data"), mx.sym.Variable("rois")
    symbol = mx.sym.ROIPooling(data, rois, pooled_size=(2, 2), spatial_scale=1.0, name="pool")
    path = str(tmp_path / "net.onnx")
    shapes = [(1, 2, 4, 4), (3, 5)]
    with caplog.at_level(logging.WARNING, "executorkit"):
        mx.onnx.export_model(symbol, {}, shapes, np.float64, path)
    assert "was not compared: a model of ONNX: it cannot be run here" in caplog.text
    assert mx.contrib.onnx.get_model_metadata(path)["output_tensor_data"][0][0] == "pool"


@pytest.mark.parametrize("opset", [18, 21])
def test_newer_opsets_are_written(opset: int) -> None:
    data = mx.sym.Variable("data")
    parts = mx.sym.SliceChannel(data, num_outputs=2, axis=0)
    symbol = mx.sym.Group(
        [
            mx.sym.mean(data, axis=(1, 2)),
            mx.sym.max(data, axis=1, keepdims=True),
            mx.sym.broadcast_sub(parts[0], parts[1]),
            mx.sym.L2Normalization(data),
        ]
    )
    model = mx.onnx.to_onnx(symbol, {}, {"data": (2, 3, 4)}, opset_version=opset)
    assert model.opset_import[0].version == opset
    inputs = mx.onnx.random_inputs({"data": (4, 3, 4)}, {})
    assert mx.onnx.compare(model, symbol, {}, inputs).absolute < 1e-5
