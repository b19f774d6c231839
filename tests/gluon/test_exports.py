"""Files of a hybridized network, for other libraries and for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import executorkit as mx
from executorkit import gluon
from executorkit.__main__ import main


class Exported(NamedTuple):
    """The files of a network, a batch and what the network makes of it."""

    symbol: str
    parameters: str
    data: mx.nd.NDArray
    output: np.ndarray


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A small trained network."""
    nn = gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(3, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2),
            nn.Dense(4, activation="tanh"), nn.Dropout(0.5), nn.LayerNorm(), nn.Dense(2),
        )  # fmt: skip
    net.initialize(mx.init.Uniform(0.5))
    net.hybridize()
    data = mx.nd.array(np.random.default_rng(1).normal(size=(2, 2, 6, 6)))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with mx.autograd.record():
        loss = gluon.loss.L2Loss()(net(data), mx.nd.ones((2, 2)))
    loss.backward()
    trainer.step(2)
    folder = tmp_path_factory.mktemp("exported")
    net.export(str(folder / "net"), epoch=3)
    files = str(folder / "net-symbol.json"), str(folder / "net-0003.params")
    return Exported(*files, data, net(data).asnumpy())


def outputs_of(exported: Exported, form: str, path: str) -> Any:
    """The outputs of a network that was read from a file of that form."""
    if form == "stablehlo":
        (output,) = mx.export.load(path)(data=exported.data.asnumpy()).values()
        return output
    if form == "onnx":
        net = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
        assert "net_conv0_weight" in net.collect_params().keys()  # noqa: SIM118
        return net(exported.data).asnumpy()
    arrays = {n: mx.nd.array(a) for n, a in mx.export.read_parameters(path).items()}
    net = gluon.SymbolBlock.imports(exported.symbol, ["data"])
    net.collect_params().load_dict(arrays, mx.cpu())
    return net(exported.data).asnumpy()


@pytest.mark.parametrize("form", mx.export.ENDINGS)
def test_every_format_gives_the_networks_outputs(form, exported, tmp_path: Path):
    for module in ("onnx", "safetensors"):
        if form == module:
            pytest.importorskip(module)
    path = str(tmp_path / f"net{mx.export.ENDINGS[form]}")
    report = mx.export.export_checkpoint(exported.symbol, exported.parameters, form, path)
    assert report.comparison.absolute < 1e-6
    np.testing.assert_allclose(outputs_of(exported, form, path), exported.output, atol=1e-6)


def test_modules_take_the_files(exported):
    module = mx.mod.Module.load(exported.symbol.removesuffix("-symbol.json"), 3, label_names=None)
    module.bind([("data", exported.data.shape)], for_training=False)
    module.forward(mx.io.DataBatch([exported.data]), is_train=False)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), exported.output, atol=1e-6)


def test_the_files_are_inspected(exported, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")  # a line holds the path of a temporary file
    diagnosis = mx.inspection.diagnose(exported.symbol, exported.parameters)
    text = str(diagnosis)
    assert main(["inspect", exported.symbol, exported.parameters]) == 0
    assert capsys.readouterr().out.strip() == text.strip()
    assert text.splitlines()[1:6] == [
        f"{exported.parameters}: 12 arrays, float32, 796 B, written by MXNet 1.0 or newer",
        "the parameters fit the symbol",
        "inputs: data (N, 2, 6, 6)",
        "outputs: net_dense1_fwd_output (N, 2)",
        "parameters: 193 and 6 in auxiliary states, 796 B",
    ]


def test_all_operators_are_served(exported, capsys):
    report = mx.sym.coverage(Path(exported.symbol).read_bytes())
    assert main(["coverage", exported.symbol]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{exported.symbol}: all 7 operators are served")
    assert str(report) in out
