"""The networks of GluonCV's zoo give the outputs that they give under MXNet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.golden import GOLDEN
from tests.libraries import zoo

ANSWERS = json.loads((GOLDEN / "data" / "libraries.json").read_text())
BUILT = [name for name, answer in ANSWERS.items() if "outputs" in answer]

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    mx.install_as_mxnet()
    pytest.importorskip("gluoncv")


def _same(ours: list[np.ndarray], others: list[np.ndarray]) -> bool:
    digests = [[zoo.digest("same", x) for x in part] for part in (ours, others)]
    return len(ours) == len(others) and all(map(zoo.is_close, *digests))


@pytest.mark.parametrize("name", BUILT)
def test_network_builds_infers_hybridizes_exports_and_imports(name: str, tmp_path: Path) -> None:
    shape = ANSWERS[name]["shape"]
    with mx.name.NameManager():
        net: Any = zoo.build(name)
        net.initialize()
        outputs = zoo.infer(mx, net, shape)
    theirs = ANSWERS[name]["outputs"]
    assert len(outputs) == len(theirs)
    far = [
        (ours, their)
        for ours, their in zip((zoo.digest(name, x) for x in outputs), theirs, strict=True)
        if not zoo.is_close(ours, their)
    ]
    data = mx.nd.array(zoo.normal("data", shape))
    net.hybridize()
    assert _same([x.asnumpy() for x in zoo.flat(net(data))], outputs)
    net.export(str(tmp_path / "net"))
    imported = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    assert _same([x.asnumpy() for x in zoo.flat(imported(data))], outputs)
    assert not far
