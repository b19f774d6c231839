"""Damaged models of ONNX end in errors of the package that name the file and the node."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import executorkit as mx
from executorkit.errors import FileFormatError, UnknownOperatorError

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def _network() -> tuple[mx.sym.Symbol, dict[str, mx.nd.NDArray]]:
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="b")
    x = mx.sym.Pooling(mx.sym.relu(x), kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    x = mx.sym.FullyConnected(mx.sym.reshape(x, shape=(0, -1)), num_hidden=3, name="fc")
    y = mx.sym.expand_dims(mx.sym.slice_axis(x, axis=1, begin=0, end=2), axis=0)
    y = mx.sym.sum(mx.sym.transpose(y, axes=(1, 2, 0)) * 2 + 1, axis=2)
    symbol = mx.sym.softmax(mx.sym.concat(y, x, dim=1), name="softmax")
    shapes, _, states = symbol.infer_shape(data=(2, 3, 8, 8))
    draw = np.random.RandomState(0)
    names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
    sizes = dict(zip(names, (*shapes, *states), strict=True))
    return symbol, {n: mx.nd.array(draw.rand(*s)) for n, s in sizes.items() if n != "data"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "model.onnx"
    mx.onnx.export_model(*_network(), [(2, 3, 8, 8)], onnx_file_path=str(path), check=False)
    return path.read_bytes()


def _model(
    nodes: list[Any], initializers: dict[str, np.ndarray], path: Path, inputs: tuple = (2, 3)
) -> Any:
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", 1, inputs)],
        [helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
    return model


def _error_of(path: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        mx.contrib.onnx.import_model(str(path))
    return str(caught.value)


def test_an_input_that_nothing_writes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    _model([helper.make_node("Add", ["x", "b_moving_mean"], ["y"], name="sum")], {}, path)
    assert _error_of(path) == (
        f"{path}, node 'sum' (Add): it is malformed\n"
        "  because ValueError: its input 'b_moving_mean' is not an earlier output"
    )


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = _model([helper.make_node("Exp", ["x"], ["y"])], {}, path)
    path.write_bytes(model.SerializeToString().replace(b"\x0a\x01x", b"\x0a\x01\xd1"))
    assert _error_of(path) == f"{path}: the name b'\\xd1' is not text in UTF-8"


def test_a_parameter_with_too_few_elements_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = _model([node], {"w": np.ones((2, 3), np.float32)}, path)
    model.graph.initializer[0].dims[0] = 33
    path.write_bytes(model.SerializeToString())
    assert _error_of(path).startswith(f"{path}, parameter 'w': cannot reshape array of size 6")


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, "TypeError: 'NoneType' object is not iterable"),
        ({"kernel_shape": [2, 2], "strides": [1]}, "zip() argument"),
    ],
)
def test_missing_and_short_attributes_are_of_a_node(
    attributes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    node = helper.make_node(
        "MaxPool", ["x"], ["y"], name="pool", auto_pad="SAME_UPPER", **attributes
    )
    _model([node], {}, path, (1, 1, 5, 5))
    first, because = _error_of(path).splitlines()
    assert first == f"{path}, node 'pool' (MaxPool): it is malformed"
    assert reason in because


def test_axes_that_no_array_has_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    bounds = {n: np.array([v]) for n, v in (("first", 0), ("last", 1), ("axis", 2**31 - 1))}
    _model([helper.make_node("Slice", ["x", *bounds], ["y"], name="part")], bounds, path)
    with pytest.raises(UnknownOperatorError, match=r"node 'part' \(Slice\): axes beyond"):
        mx.contrib.onnx.import_model(str(path))


def test_giant_constants_are_not_computed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    nodes = [
        helper.make_node("ConstantOfShape", ["sizes"], ["zeros"], name="giant"),
        helper.make_node("Add", ["x", "zeros"], ["y"], name="sum"),
    ]
    _model(nodes, {"sizes": np.array([1 << 20, 1 << 20])}, path)
    with pytest.raises(UnknownOperatorError, match=r"node 'giant' \(ConstantOfShape\): a constant"):
        mx.contrib.onnx.import_model(str(path))


def _damaged(content: bytes, seed: int) -> bytes:
    """A model after up to four random edits."""
    draw = random.Random(seed)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(max(len(content), 1))
        number = draw.choice((0, 1, 255, 2**31 - 1, 2**32 - 1))
        content = draw.choice(
            (
                content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :],
                content[:at] + number.to_bytes(4, "little") + content[at + 4 :],
                content[:at] + content[at + draw.choice((1, 2, 4, 8)) :],
                content[:at] + draw.randbytes(draw.choice((1, 4))) + content[at:],
            )
        )
    return content


def test_damaged_models_are_imported_or_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(whole)
    symbol, _, states = mx.contrib.onnx.import_model(str(path))
    assert symbol.list_outputs() == ["softmax_output"]
    assert sorted(states) == ["b_moving_mean", "b_moving_var"]

    messages = []

    @settings(max_examples=250, derandomize=True, deadline=None, database=None)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        path.write_bytes(_damaged(whole, seed))
        with contextlib.suppress(UnknownOperatorError):
            try:
                mx.contrib.onnx.import_model(str(path))
            except FileFormatError as error:
                messages.append(str(error))

    check()
    assert len(messages) > 50
    assert [m for m in messages if not m.startswith(str(path))] == []
