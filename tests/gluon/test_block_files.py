"""Files of blocks that do not fit are refused by name, and change nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import executorkit as mx

nn = mx.gluon.nn


def _network() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    net.initialize(mx.init.One())
    return net


def _facts(net: nn.HybridSequential) -> list[object]:
    parameters = net.collect_params()
    values = [p.data().asnumpy().tolist() for p in parameters.values()]
    return [list(parameters), [child.name for child in net._children.values()], values]


def _damage(path: Path) -> None:
    path.write_text(path.read_text()[:40])


def _drop_a_layer(path: Path) -> None:
    facts = json.loads(path.read_text())
    (net,) = facts.values()
    del net["dense2"]
    path.write_text(json.dumps(facts))


def _lose_parameters(path: Path) -> None:
    mx.nd.save(str(path).replace(".json", ".params"), {"0.weight": mx.nd.ones((3, 2))})


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (_damage, mx.errors.FileFormatError, "it is not JSON"),
        (_drop_a_layer, mx.errors.MissingParameterError, "'dense2'"),
        (_lose_parameters, mx.errors.MissingParameterError, "0.bias"),
    ],
)
def test_a_saved_model_that_does_not_fit_changes_nothing(tmp_path, spoil, error, words):
    saved = nn.HybridSequential(prefix="saved_")
    with saved.name_scope():
        saved.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    saved.initialize(mx.init.Zero())
    saved.save(str(tmp_path / "it"))
    spoil(tmp_path / "it-model.json")
    net = _network()
    before = _facts(net)
    with pytest.raises(error, match=words):
        net.load(str(tmp_path / "it"))
    assert _facts(net) == before


def test_a_saved_model_gives_its_names_and_contents(tmp_path):
    saved = _network()
    saved.save(str(tmp_path / "it"))
    net = nn.HybridSequential(prefix="other_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    net.load(str(tmp_path / "it"))
    assert _facts(net) == _facts(saved)


def test_blocks_without_parameters_have_files_too(tmp_path):
    path = str(tmp_path / "pool.params")
    nn.MaxPool2D().save_parameters(path)
    assert mx.nd.load(path) == []
    nn.MaxPool2D().load_parameters(path)
    with pytest.raises(mx.MXNetError, match="its arrays have no names"):
        _network().load_parameters(path)
