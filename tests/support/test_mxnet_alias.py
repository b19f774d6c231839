"""``import mxnet`` gives executorkit: the same objects, in this process and in its children."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import pickle
import pkgutil
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.__main__ import main
from executorkit._support import mxnet_alias


@pytest.fixture
def unaliased(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(mxnet_alias._finder, "alias", None)
    numpy_names = set(vars(np))
    yield
    for name in vars(np).keys() - numpy_names:
        delattr(np, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mxnet"]:
        del sys.modules[name]


@pytest.fixture
def aliased(unaliased: None) -> None:
    mx.install_as_mxnet()


@pytest.mark.usefixtures("aliased")
def test_every_module_is_the_same_object_under_both_names() -> None:
    modules = [m.name for m in pkgutil.walk_packages(mx.__path__, "mxnet.")]
    assert len(modules) > 400
    modules.remove("mxnet.__main__")
    for name in modules:
        parent, _, child = name.replace("mxnet", "executorkit", 1).rpartition(".")
        original = importlib.import_module(f"{parent}.{child}")
        attribute = getattr(sys.modules[parent], child)
        spec = original.__spec__
        assert importlib.import_module(name) is original is sys.modules[name]
        assert getattr(sys.modules[parent], child) is attribute
        assert original.__spec__ is spec
        assert spec is not None
        assert original.__name__ == spec.name == f"{parent}.{child}"


@pytest.mark.usefixtures("aliased")
def test_numpy_has_the_names_that_libraries_read() -> None:
    numpy: Any = np
    assert numpy.float is float
    assert numpy.Inf == np.inf
    assert np.array([1.5], dtype=numpy.float).dtype == np.float64
    assert np.bool is np.bool_


FORMS = """
import mxnet, multiprocessing, urllib
multiprocessing.pool.Pool, urllib.request.urlopen
import mxnet as mx
import mxnet.ndarray as nd
import mxnet.gluon.nn
from mxnet import autograd, init, sym
from mxnet.gluon import nn
from mxnet.gluon.rnn.rnn_cell import RNNCell
from mxnet.optimizer.optimizer import *
"""


@pytest.mark.usefixtures("aliased")
def test_forms_of_imports() -> None:
    names: dict[str, object] = {}
    exec(FORMS, names)
    assert names["mxnet"] is names["mx"] is mx
    assert (names["nd"], names["autograd"], names["sym"]) == (mx.nd, mx.autograd, mx.sym)
    assert (names["nn"], names["init"]) == (mx.gluon.nn, mx.init)
    assert names["RNNCell"] is mx.gluon.rnn.RNNCell
    assert names["SGD"] is mx.optimizer.SGD
    for module in ("nd", "sym", "mod", "init"):  # as in MXNet
        with pytest.raises(ImportError) as caught:
            importlib.import_module(f"mxnet.{module}")
        assert caught.value.name == f"mxnet.{module}"
    with pytest.raises(ImportError, match=r"^mxnet\.rtc: it is not part of executorkit"):
        exec("from mxnet.rtc import CudaModule", {})
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'mxnet\.nothing'"):
        exec("import mxnet.nothing", {})


@pytest.mark.usefixtures("aliased")
@pytest.mark.parametrize("package", ["executorkit", "mxnet"])
def test_modules_of_numpy_below_arrays_and_symbols(package: str) -> None:
    names: dict[str, Any] = {}
    exec(
        f"""
import {package}.ndarray.numpy.random as draws, {package}.ndarray.numpy as np
import {package}.symbol.numpy as symbols
from {package}.ndarray import numpy_extension as npx
from {package}.symbol.numpy_extension import softmax""",
        names,
    )
    assert names["np"] is mx.nd.numpy is mx.nd.np is mx.np
    assert names["draws"] is mx.np.random
    assert names["symbols"] is mx.sym.numpy is mx.sym.np
    assert names["npx"] is mx.nd.numpy_extension is mx.sym.numpy_extension is mx.npx
    assert names["softmax"] is mx.npx.softmax
    assert mx.np.__spec__.name == "executorkit.numpy"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package}.ndarray.numpy.nothing")


@pytest.mark.usefixtures("aliased")
def test_the_tools_of_importlib() -> None:
    assert "mxnet" not in sys.modules  # which libraries ask for
    spec = importlib.util.find_spec("mxnet")
    assert spec is not None
    assert (spec.name, spec.origin) == ("mxnet", mx.__file__)
    spec = importlib.util.find_spec("mxnet.gluon.contrib")
    assert spec is not None
    assert spec.origin == mx.gluon.contrib.__file__
    assert importlib.util.find_spec("mxnet.nothing") is None
    names = {m.name for m in pkgutil.iter_modules(importlib.import_module("mxnet").__path__)}
    assert {"gluon", "recordio"} <= names
    reloaded = importlib.reload(importlib.import_module("mxnet.log"))
    assert reloaded is mx.log is importlib.import_module("mxnet.log")
    assert importlib.reload(sys.modules["mxnet"]) is mx
    mxnet_alias.find_aliased_modules()
    mx.install_as_mxnet()
    assert sys.meta_path.count(mxnet_alias._finder) == 1
    assert sys.path.count(sys.path[1]) == 1


def test_versions() -> None:
    assert mx.__version__ == mx.libinfo.__version__ == "1.9.1"
    assert mx.release == importlib.metadata.version("executorkit")
    assert "release" in dir(mx)


@pytest.mark.parametrize("package", ["mxnet", "executorkit"])
@pytest.mark.usefixtures("aliased")
def test_names_that_are_located_and_pickled(package: str) -> None:
    assert pydoc.locate(f"{package}.nd.array") is mx.nd.array
    assert pydoc.locate(f"{package}.gluon.nn.Dense") is mx.gluon.nn.Dense
    assert pydoc.locate(f"{package}.np.array") is mx.np.array
    for name, value in (("gluon.nn", "Dense"), ("metric", "Accuracy"), ("context", "Context")):
        module = getattr(mx, name) if "." not in name else mx.gluon.nn
        pickled = f"c{package}.{name}\n{value}\n.".encode()
        assert pickle.loads(pickled) is getattr(module, value)


@pytest.mark.usefixtures("unaliased")
def test_another_mxnet_is_not_replaced() -> None:
    other = sys.modules["mxnet"] = ModuleType("mxnet")
    other.__file__ = "/lib/mxnet/__init__.py"
    path = [*sys.path]
    with pytest.raises(RuntimeError, match=r"from /lib/mxnet/__init__\.py\n  try: call it before"):
        mx.install_as_mxnet()
    assert sys.modules["mxnet"] is other
    assert sys.path == path
    assert importlib.util.find_spec("executorkit.gluon") is mx.gluon.__spec__


@pytest.mark.usefixtures("aliased")
def test_imports_while_the_package_is_not_in_sys_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "executorkit")
    assert importlib.util.find_spec("nothing") is None
    assert importlib.util.find_spec("json.nothing") is None
    assert importlib.util.find_spec("mxnet").origin == mx.__file__


@pytest.mark.usefixtures("unaliased")
def test_an_entry_of_sys_modules_is_enough() -> None:
    sys.modules["mxnet"] = mx
    assert importlib.import_module("mxnet.gluon.nn.basic_layers").Dense is mx.gluon.nn.Dense
    mx.install_as_mxnet()


SCRIPT = """
import json, multiprocessing, pickle, sys
import mxnet
from mxnet import gluon, nd
from mxnet.gluon.data import DataLoader
import helper

NAMED = b"cmxnet.gluon.nn\\nDense\\n."

def facts(block):
    import executorkit
    import mxnet.gluon.rnn
    assert sys.modules["mxnet"] is executorkit is mxnet
    return type(block) is gluon.nn.Dense is pickle.loads(NAMED), block.weight.shape

class Dataset:
    def __len__(self):
        return 4

    def __getitem__(self, number):
        import mxnet.recordio
        return nd.array([mxnet.recordio is sys.modules["executorkit.recordio"]])

if __name__ == "__main__":
    answers = {}
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        answers["started"] = pool.apply(facts, (gluon.nn.Dense(2, in_units=3),))
    batches = DataLoader(Dataset(), 2, num_workers=1)
    answers["fork"] = sum(float(x.sum().asscalar()) for x in batches)
    answers["argv"] = sys.argv
    answers["helper"] = helper.__name__
    print(json.dumps(answers))
"""


@pytest.mark.processes
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_script_its_helpers_and_its_children(tmp_path: Path, method: str) -> None:
    is_module = method == "forkserver"
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("from mxnet.gluon import HybridBlock")
    script = ["-m", "train"] if is_module else [str(tmp_path / "train.py")]
    folder = tmp_path if is_module else Path(__file__).parent
    root = str(Path(mx.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-m", "executorkit", "exec", *script, method, "--lr"],
        capture_output=True, text=True, cwd=folder, timeout=120,
        env={**os.environ, "PYTHONPATH": root, "EXECUTORKIT_CACHE_DIR": ""},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "started": [True, [2, 3]], "fork": 4.0, "helper": "helper",
        "argv": [str(tmp_path / "train.py"), method, "--lr"],
    }  # fmt: skip


@pytest.mark.usefixtures("unaliased")
def test_errors_and_the_status_are_the_scripts(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", [])
    script = tmp_path / "train.py"
    script.write_text("import mxnet, sys\nif sys.argv[1:]: sys.exit(5)\nmxnet.nd.zeros(-1)")
    with pytest.raises(mx.MXNetError):
        main(["exec", str(script)])
    with pytest.raises(SystemExit, match="5"):
        main(["exec", str(script), "--anything"])
    with pytest.raises(SystemExit, match="2"):
        main(["exec"])
    assert "the following arguments are required: train.py" in capsys.readouterr().err
