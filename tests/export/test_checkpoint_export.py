"""Files of a checkpoint in other formats: options, defaults, and refusals that write nothing."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import ArgumentValueError, FileAccessError, MissingDependencyError


@pytest.fixture
def checkpoint(tmp_path):
    """The files of a small network: symbol, parameters."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    params = {"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.arange(3)}
    mx.model.save_checkpoint(tmp_path / "net", 2, net, params, {})
    return tmp_path / "net-symbol.json", tmp_path / "net-0002.params"


@pytest.mark.parametrize("form", mx.export.ENDINGS)
def test_every_format_is_written_beside_the_parameters(checkpoint, form):
    for module in ("onnx", "safetensors"):
        if form == module:
            pytest.importorskip(module)
    symbol, params = checkpoint
    output = params.with_name("again.params") if form == "params" else None
    report = mx.export.export_checkpoint(symbol, params, form, output)
    assert report.path == str(output or params.with_name(f"net-0002{mx.export.ENDINGS[form]}"))
    assert report.comparison.absolute < 1e-6
    if form == "params":
        assert list(mx.nd.load(str(output))) == list(mx.nd.load(str(params)))


def test_a_fixed_batch_size_in_onnx(checkpoint):
    onnx = pytest.importorskip("onnx")
    symbol, params = checkpoint
    report = mx.export.export_checkpoint(symbol, params, "onnx", batch=5)
    (entry,) = onnx.load(report.path).graph.input
    assert [d.dim_value for d in entry.type.tensor_type.shape.dim] == [5, 4]
    report = mx.export.export_checkpoint(symbol, params, "onnx")
    (entry,) = onnx.load(report.path).graph.input
    assert [d.dim_param or d.dim_value for d in entry.type.tensor_type.shape.dim] == ["batch", 4]


def test_parameters_need_no_symbol_and_networks_do(checkpoint):
    _, params = checkpoint
    report = mx.export.export_checkpoint(None, params, "npz")
    np.testing.assert_array_equal(np.load(report.path)["arg:fc_bias"], [0, 1, 2])
    with pytest.raises(ArgumentValueError, match="no symbol file is given"):
        mx.export.export_checkpoint(None, params, "stablehlo")


def test_refusals_write_nothing(checkpoint, tmp_path, monkeypatch):
    before = sorted(tmp_path.iterdir())

    def refused(error, match, *arguments, **options):
        with pytest.raises(error, match=match):
            mx.export.export_checkpoint(*checkpoint, *arguments, **options)
        assert sorted(tmp_path.iterdir()) == before

    refused(ArgumentValueError, "unknown format 'caffe'\n  try: one of: stablehlo", "caffe")
    refused(ArgumentValueError, "batch=0", "stablehlo", batch=0)
    refused(ArgumentValueError, "over the file that is exported", "params")
    refused(FileAccessError, "none does not exist", "npz", tmp_path / "none" / "x.npz")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    refused(MissingDependencyError, "pip install 'executorkit\\[onnx\\]'", "onnx")
