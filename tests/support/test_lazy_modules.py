"""Modules that a bound network does not need are imported when they are looked up."""

from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import executorkit as mx

pytestmark = pytest.mark.smoke

#: Modules that take long to import, and that binding and running a network do without.
LATE = (
    "optax", "scipy", "onnx", "cv2", "matplotlib", "pandas", "IPython", "jax.extend",
    *(f"executorkit.{name}" for name in (
        "autograd", "callback", "contrib", "export", "gluon", "image", "initializer",
        "inspection", "io", "kvstore", "metric", "model", "module", "notebook", "onnx",
        "optimizer", "parallel", "rnn", "test_utils", "training", "visualization",
    )),
)  # fmt: skip
RUN = """
import json, sys
import executorkit as mx
imported = set(sys.modules)
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
executor = net.simple_bind(mx.cpu(), data=(2, 5))
executor.forward(is_train=True)
executor.backward()
mx.nd.waitall()
print(json.dumps([sorted(imported), sorted(sys.modules)]))
"""


def _declared() -> set[str]:
    """The names of all modules that the package declares for type checkers."""
    tree = ast.parse(Path(str(mx.__file__)).read_text())
    (block,) = (n for n in tree.body if isinstance(n, ast.If))
    return {
        a.asname or a.name for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names
    }


def test_an_import_and_a_bound_network_load_only_what_they_need():
    process = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=True
    )
    for modules in json.loads(process.stdout):
        assert not set(LATE) & set(modules)


TRAIN = """
import json, sys
import executorkit as mx
net = mx.gluon.nn.Dense(2, in_units=3)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
with mx.autograd.record():
    loss = net(mx.nd.ones((4, 3))).sum()
loss.backward()
trainer.step(4)
mx.nd.waitall()
print(json.dumps(sorted(sys.modules)))
"""


def test_a_training_loads_no_half_precision_no_optax_and_no_sharding():
    process = subprocess.run(
        [sys.executable, "-c", TRAIN], capture_output=True, text=True, check=True
    )
    late = {
        *("optimizer._mixed_precision", "optimizer._noisy_descent", "optimizer._optax"),
        *("optimizer._optax_updater", "gluon._transformation_updater", "parallel._model_sharding"),
    }
    modules = set(json.loads(process.stdout))
    assert "executorkit.gluon.trainer" in modules
    assert not {f"executorkit.{name}" for name in late} & modules


def test_the_gradient_of_an_array_needs_no_import_of_autograd():
    lines = (
        "import executorkit as mx; x = mx.nd.ones(2); x.attach_grad(); x.backward(); print(x.grad)"
    )
    process = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert process.stdout.split()[:2] == ["[1.", "1.]"], process.stderr


@pytest.mark.parametrize("name", sorted(_declared()))
def test_every_declared_module_is_there(name):
    module = getattr(mx, name)
    assert module is sys.modules[module.__name__]
    assert name in dir(mx)
    assert vars(mx)[name] is module


def test_a_star_import_brings_all_modules():
    names: dict[str, object] = {}
    exec("from executorkit import *", names)
    assert _declared() <= set(names)
    assert names["mod"] is mx.module


def test_objects_of_late_modules_are_pickled():
    metric = pickle.loads(pickle.dumps(mx.metric.Accuracy()))
    assert isinstance(metric, mx.metric.Accuracy)


def test_other_names_are_refused_with_similar_ones():
    with pytest.raises(AttributeError, match="try: 'metric'"):
        _ = mx.metrik  # pyright: ignore
    with pytest.raises(AttributeError, match="has no attribute '_support_'"):
        _ = mx._support_  # pyright: ignore
