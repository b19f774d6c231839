"""Imported models: what other exporters write, compared with their recorded results and with ONNX
Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
helper = onnx.helper

#: Models that PyTorch wrote, with its results; they come with the package ``onnx``.
_PYTORCH = Path(onnx.__file__).parent / "backend/test/data"
_NAMES = (
    "converted/test_AvgPool2d_stride", "converted/test_BatchNorm2d_eval",
    "converted/test_Conv1d_dilated", "converted/test_Conv2d_groups", "converted/test_Conv3d_stride",
    "converted/test_ConvTranspose2d", "converted/test_Embedding", "converted/test_GLU",
    "converted/test_Linear", "converted/test_MaxPool2d", "converted/test_PReLU_2d_multiparam",
    "converted/test_PixelShuffle", "converted/test_ReflectionPad2d", "converted/test_Softmin",
    "converted/test_softmax_functional_dim3", "operator/test_operator_addmm",
    "operator/test_operator_chunk", "operator/test_operator_clip", "operator/test_operator_index",
    "operator/test_operator_pow", "operator/test_operator_reduced_mean_keepdim",
    "operator/test_operator_repeat_dim_overflow", "operator/test_operator_view",
)  # fmt: skip


def _import(model: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    symbol, arguments, states = mx.contrib.onnx.import_model(str(path))
    return symbol, {**arguments, **states}


def _tensors(folder: Path, kind: str) -> list[np.ndarray]:
    tensors = []
    for number in range(len(list(folder.glob(f"{kind}_*.pb")))):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{kind}_{number}.pb").read_bytes())
        tensors.append(onnx.numpy_helper.to_array(tensor))
    return tensors


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", _NAMES)
def test_models_of_pytorch_give_its_results(name: str, tmp_path: Path) -> None:
    folder = _PYTORCH / f"pytorch-{name}"
    model = onnx.load(folder / "model.onnx")
    # These are of opset 6, of which these operators are the same in opset 7.
    model.opset_import[0].version = 7
    parameters = {tensor.name for tensor in model.graph.initializer}
    names = [v.name for v in model.graph.input if v.name not in parameters]
    data = folder / "test_data_set_0"
    inputs = dict(zip(names, _tensors(data, "input"), strict=True))
    symbol, arrays = _import(model, tmp_path)
    function = symbol.to_jax()
    given_arrays = {n: a.jax for n, a in arrays.items()} | inputs
    args = {n: given_arrays[n] for n in function.arguments}
    aux = {n: given_arrays[n] for n in function.auxiliary_states}
    outputs, _ = function(args, aux)
    for ours, theirs in zip(outputs, _tensors(data, "output"), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def _model(
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[Any]],
    outputs: Sequence[str],
    constants: dict[str, Any],
    opset: int = 17,
) -> Any:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, 1, shape) for n, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _node(op_type: str, inputs: str, outputs: str, **attrs: Any) -> Any:
    return helper.make_node(op_type, inputs.split(" "), outputs.split(" "), **attrs)


def test_nodes_of_many_kinds_give_what_onnx_runtime_gives(tmp_path: Path) -> None:
    nodes = [
        _node("Slice", "x starts ends axes steps", "slice"),
        _node("Split", "x sizes", "first second", axis=1),
        _node("Pad", "x pads value", "pad"),
        _node("ReduceL2", "x", "l2", axes=[2, 3], keepdims=0),
        _node("ReduceLogSumExp", "x", "lse", axes=[1]),
        _node("Resize", "x  scales", "nearest", mode="nearest", nearest_mode="floor",
              coordinate_transformation_mode="asymmetric"),
        _node("Resize", "x   sizes4", "linear", mode="linear",
              coordinate_transformation_mode="half_pixel"),
        _node("MaxPool", "x", "same", kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER"),
        _node("AveragePool", "x", "uneven", kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
        _node("GlobalAveragePool", "x", "global"),
        _node("Conv", "x weight", "conv", pads=[0, 1, 2, 1]),
        _node("ConvTranspose", "x deconv", "deconv_out", strides=[2, 2], pads=[0, 0, 1, 1]),
        _node("DepthToSpace", "x", "crd", blocksize=2, mode="CRD"),
        _node("Flatten", "x", "flat"),
        _node("Gemm", "flat matrix row", "gemm", alpha=0.5, beta=2.0),
        _node("MatMul", "x square", "matmul"),
        _node("Transpose", "x", "turned", perm=[0, 2, 3, 1]),
        _node("LayerNormalization", "turned scale shift", "norm", axis=-1),
        _node("TopK", "flat three", "largest places", axis=1),
        _node("ArgMax", "x", "argmax", axis=1, keepdims=0),
        _node("Gather", "x picks", "gathered", axis=3),
        _node("Where", "mask x zero", "where"),
        _node("Clip", "x low", "clip"),
        _node("HardSwish", "x", "swish"),
        _node("Sub", "two x", "from_two"),
        _node("Max", "x half", "at_least"),
        _node("Expand", "l2 wide", "expand"),
        _node("Mean", "x clip", "mean"),
        _node("Softmax", "x", "softmax", axis=1),
        _node("Squeeze", "global axes23", "squeezed"),
        _node("Elu", "x", "elu", alpha=0.5),
        _node("CumSum", "x one", "cumsum"),
    ]  # fmt: skip
    generator = np.random.default_rng(0)

    def floats(*shape: int) -> np.ndarray:
        return generator.normal(size=shape).astype(np.float32)

    constants = {
        "starts": np.array([-1, 1]), "ends": np.array([-(1 << 62), 5]), "axes": np.array([2, 3]),
        "steps": np.array([-1, 2]), "sizes": np.array([1, 3]),
        "pads": np.array([0, 0, 1, 0, 0, 0, 0, 2]), "value": np.float32(0.5),
        "scales": np.array([1, 1, 2, 3], np.float32), "sizes4": np.array([2, 4, 7, 9]),
        "weight": floats(3, 4, 2, 3), "deconv": floats(4, 2, 3, 3), "matrix": floats(120, 5),
        "row": floats(5), "square": floats(6, 2), "scale": floats(4), "shift": floats(4),
        "three": np.array([3]), "picks": np.array([[0, -1], [2, 2]]),
        "mask": floats(1, 1, 5, 6) > 0, "zero": floats(2, 4, 5, 6), "low": np.float32(-0.25),
        "two": np.float32(2), "half": np.array([0.5], np.float32), "wide": np.array([3, 1, 4]),
        "axes23": np.array([2, 3]), "one": np.array(1),
    }  # fmt: skip
    outputs = [o for node in nodes for o in node.output]
    model = _model(nodes, {"x": (2, 4, 5, 6)}, outputs, constants)
    symbol, arrays = _import(model, tmp_path)
    inputs = mx.onnx.random_inputs({"x": (2, 4, 5, 6)}, {})
    comparison = mx.onnx.compare(model, symbol, arrays, inputs)
    assert comparison.runtime == "ONNX Runtime"
    assert comparison.relative < 1e-4, str(comparison)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_nodes_become_fused_layers(kind: str, tmp_path: Path) -> None:
    gates, count = {"LSTM": (4, 2), "GRU": (3, 1), "RNN": (1, 1)}[kind]
    generator = np.random.default_rng(0)
    shapes = {"w": (2, gates * 5, 3), "r": (2, gates * 5, 5), "b": (2, 2 * gates * 5)}
    constants = {n: generator.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    extra = {"linear_before_reset": 1} if kind == "GRU" else {}
    outputs = ["y", "h", "c"][: count + 1]
    node = helper.make_node(
        kind, ["x", "w", "r", "b"], outputs, hidden_size=5, direction="bidirectional", **extra
    )
    model = _model([node], {"x": (4, "batch", 3)}, outputs, constants)
    symbol, arrays = _import(model, tmp_path)
    inputs = mx.onnx.random_inputs({"x": (4, 2, 3)}, {})
    assert mx.onnx.compare(model, symbol, arrays, inputs).absolute < 1e-5
    assert [n for n in symbol.list_arguments() if n != "x"] == list(arrays)


def test_shapes_computed_from_inputs_are_folded(tmp_path: Path) -> None:
    """As PyTorch flattens: the batch size is read from the shape and joined with -1."""
    nodes = [
        _node("Shape", "x", "shape"),
        _node("Gather", "shape zero", "batch"),
        _node("Unsqueeze", "batch axis0", "batch1"),
        _node("Concat", "batch1 rest", "target", axis=0),
        _node("Reshape", "x target", "y"),
        _node("Add", "a b", "sum"),
        _node("Mul", "y sum", "z"),
    ]
    constants = {
        "zero": np.array(0), "axis0": np.array([0]), "rest": np.array([-1]),
        "a": np.float32(1), "b": np.float32(2),
    }  # fmt: skip
    model = _model(nodes, {"x": ("N", 3, 4)}, ["z"], constants)
    symbol, arrays = _import(model, tmp_path)
    assert not arrays
    inputs = mx.onnx.random_inputs({"x": (5, 3, 4)}, {})
    assert mx.onnx.compare(model, symbol, arrays, inputs).absolute < 1e-6


def test_everything_that_cannot_be_imported_is_named_at_once(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"], name="first"),
        helper.make_node("Relu", ["x"], ["relu"], name="fine"),
        helper.make_node("ArgMax", ["relu"], ["last"], name="second", select_last_index=1),
        helper.make_node("Mystery", ["x"], ["odd"], name="third", domain="org.example"),
    ]
    model = _model(nodes, {"x": (2, 3)}, ["last"], {})
    with pytest.raises(mx.MXNetError) as caught:
        _import(model, tmp_path)
    assert str(caught.value) == (
        "parts of this ONNX model are not served:\n"
        "  node 'first' (NonZero): no operator of MXNet is like it\n"
        "  node 'second' (ArgMax): select_last_index=1\n"
        "  node 'third' (Mystery): an operator of the domain 'org.example'"
    )


def test_models_of_old_opsets_are_refused(tmp_path: Path) -> None:
    model = _model([_node("Relu", "x", "y")], {"x": (2, 3)}, ["y"], {}, opset=6)
    with pytest.raises(mx.MXNetError, match="opset 6, expected 7 or newer"):
        _import(model, tmp_path)
