"""The networks of GluonCV's zoo give the outputs that they give under MXNet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.libraries import zoo

ANSWERS = stored_answers("libraries")

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    mx.install_as_mxnet()
    pytest.importorskip("gluoncv")


#: Detectors, of whose boxes those with nearly equal scores come in another order, and others are
#: suppressed for them.
DETECTORS = ("center_net", "faster_rcnn", "ssd", "yolo3")
#: Networks whose activations grow to 1e5 with these parameters and switch gates: float32 and
#: float64 differ by up to a third, here and in MXNet.
UNSTABLE = ("resnest50", "se_resnet101", "se_resnet152", "se_resnext50", "senet_154")
#: Networks that MXNet cannot hybridize: Symbol.reshape(0, 0, groups, -1) is refused.
PLAIN = {"resnet50_v1b_gn"}


def _agrees(name: str, ours: list[Any], theirs: list[Any]) -> bool:
    return name.startswith((*DETECTORS, *UNSTABLE)) or zoo.is_close(ours, theirs)


@pytest.mark.parametrize("name", ANSWERS)
def test_network_builds_infers_hybridizes_exports_and_imports(name: str, tmp_path: Path) -> None:
    shape, theirs = ANSWERS[name]["shape"], ANSWERS[name]["outputs"]
    data = mx.nd.array(zoo.normal("data", shape))
    with mx.name.NameManager():
        net: Any = zoo.build(name)
        net.initialize()
        outputs = {"plain": zoo.infer(mx, net, shape)}
    net.hybridize()
    if name in PLAIN:
        with pytest.raises(mx.MXNetError, match="keep_highest"):
            net(data)
    else:
        outputs["hybridized"] = _numpy(net(data))
        net.export(str(tmp_path / "net"))
        files = (str(tmp_path / end) for end in ("net-symbol.json", "net-0000.params"))
        imported = mx.gluon.SymbolBlock.imports(next(files), ["data"], next(files))
        outputs["imported"] = _numpy(imported(data))
    for form, arrays in outputs.items():
        ours = [zoo.digest(name, x) for x in arrays]
        assert [x[:2] for x in ours] == [x[:2] for x in theirs], form
        far = [pair for pair in zip(ours, theirs, strict=True) if not _agrees(name, *pair)]
        assert not far, form


def _numpy(outputs: Any) -> list[np.ndarray]:
    return [x.asnumpy() for x in zoo.flat(outputs)]
