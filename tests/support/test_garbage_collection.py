"""Python's garbage collector pauses while networks are read and traced, and only then. What was
imported is old to it."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

import executorkit as mx
from executorkit._support.garbage_collection import paused_collection
from executorkit.ops.schema.operator_registry import OpDef


@pytest.fixture
def collector() -> Iterator[None]:
    """Leaves the collector as it was."""
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


def test_it_pauses_inside_and_is_as_before_behind(collector: None) -> None:
    gc.enable()
    with paused_collection():
        assert not gc.isenabled()
        with paused_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with paused_collection(False):
        assert gc.isenabled()
    with pytest.raises(KeyError), paused_collection():
        raise KeyError
    assert gc.isenabled()


def test_what_the_user_has_switched_off_stays_off(collector: None) -> None:
    gc.disable()
    with paused_collection():
        assert not gc.isenabled()
    assert not gc.isenabled()


@pytest.mark.parametrize("interpret", ["auto", "0", "1"])
def test_networks_are_traced_without_it(
    monkeypatch: pytest.MonkeyPatch, fresh_programs: None, collector: None, interpret: str
) -> None:
    gc.enable()
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", interpret)
    apply, states = OpDef.apply, []

    def watched(self: OpDef, *args, **kwargs):
        states.append(gc.isenabled())
        return apply(self, *args, **kwargs)

    monkeypatch.setattr(OpDef, "apply", watched)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=7, name="watched_layer")
    executor = net.simple_bind(mx.cpu(), data=(3, 11))
    executor.forward()
    executor.outputs[0].asnumpy()
    assert states
    assert not any(states)
    assert gc.isenabled()


def test_long_texts_are_read_without_it(monkeypatch: pytest.MonkeyPatch, collector: None) -> None:
    gc.enable()
    data = mx.sym.Variable("data")
    for _ in range(3000):
        data = mx.sym.relu(data)
    text = data.tojson()
    assert len(text) > 1 << 18
    states = []
    load = json.loads
    monkeypatch.setattr(
        json, "loads", lambda *a, **k: states.append(gc.isenabled()) or load(*a, **k)
    )
    assert mx.sym.load_json(text).list_arguments() == ["data"]
    assert states[:1] == [False]
    assert gc.isenabled()


IMPORT = """
import gc, sys
if len(sys.argv) > 1:
    gc.freeze()
import executorkit
young = sum(len(gc.get_objects(i)) for i in (0, 1))
print(young, gc.get_freeze_count() > 0, gc.isenabled())
"""


@pytest.mark.processes
@pytest.mark.parametrize("arguments", [[], ["frozen"]])
def test_an_import_leaves_no_young_objects_to_walk_over(arguments: list[str]) -> None:
    """``gc.freeze`` stays in force."""
    command = [sys.executable, "-c", IMPORT, *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    young, frozen, enabled = done.stdout.split()
    assert arguments or int(young) < 100
    assert (frozen, enabled) == (str(bool(arguments)), "True")
