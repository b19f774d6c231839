"""Profiles hold the nodes of a network and the program's annotations, in files and tables."""

from __future__ import annotations

import inspect
import json
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import pytest

import executorkit as mx
from executorkit.profiler import _session
from executorkit.profiler._session import Profiler
from tests._tools.training_tools import compare, names
from tests.display._html import checked

# A trace of JAX's lists every program of the process: seconds for thousands of them.
pytestmark = pytest.mark.first


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A profiler that has not run yet; stopped at the end."""
    profiler = Profiler()
    monkeypatch.setattr(_session, "_profiler", profiler)
    yield profiler
    profiler.stop()


@pytest.mark.parametrize("name", names("profiling"))
def test_script_gives_mxnets_answers(name):
    compare(name)


def test_signatures_are_mxnets():
    for function, expected in {
        "set_config": "kwargs",
        "profiler_set_config": "mode filename",
        "set_state": "state profile_process",
        "profiler_set_state": "state",
        "dump": "finished profile_process",
        "dump_profile": "",
        "dumps": "reset format sort_by ascending",
        "pause": "profile_process",
        "resume": "profile_process",
        "Domain": "name",
        "Task": "domain name",
        "Frame": "domain name",
        "Event": "name",
        "Counter": "domain name value",
        "Marker": "domain name",
    }.items():
        parameters = inspect.signature(getattr(mx.profiler, function)).parameters
        assert " ".join(parameters) == expected, function


def _net() -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=67, name="hidden_layer")
    x = mx.sym.FullyConnected(mx.sym.tanh(x, name="act"), num_hidden=8, name="stage1/top")
    return mx.sym.SoftmaxOutput(x, name="softmax").simple_bind(mx.cpu(), data=(31, 129))


def _step(executor: Any) -> None:
    executor.forward(is_train=True)
    executor.backward()
    for grad in executor.grad_arrays:
        grad.wait_to_read()
    mx.nd.waitall()


def _configure(tmp_path: Path, **options: Any) -> Path:
    path = tmp_path / "trace.json"
    mx.profiler.set_config(filename=str(path), aggregate_stats=True, **options)
    return path


def _operators() -> dict[str, Any]:
    return json.loads(mx.profiler.dumps(format="json"))["Time"].get("operator", {})


def test_nodes_are_named_forwards_and_backwards(tmp_path):
    path = _configure(tmp_path)
    executor = _net()
    mx.profiler.set_state("run")
    for _ in range(3):
        _step(executor)
    mx.profiler.set_state("stop")
    operators = _operators()
    for node in ("hidden_layer", "hidden_layer_backward", "stage1/top", "stage1/top_backward"):
        assert operators[node]["Count"] >= 3, sorted(operators)
        assert 0 < operators[node]["Min"] <= operators[node]["Avg"] <= operators[node]["Max"]
    assert "hidden_layer_backward" in mx.profiler.dumps()
    mx.profiler.dump()
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "operator" and e["name"] == "hidden_layer"]
    assert len(kernels) == operators["hidden_layer"]["Count"]
    for event in kernels:
        assert event["ph"] == "X"
        assert event["dur"] > 0
        assert event["args"]["hlo_module"].startswith("jit_")
    assert all(isinstance(e["pid"], int) and isinstance(e.get("tid", 0), int) for e in events)
    assert {e["cat"] for e in events if "cat" in e} == {"operator"}


def test_the_timeline_shows_the_nodes_over_time(tmp_path):
    executor = _net()
    _step(executor)
    _configure(tmp_path)
    mx.profiler.set_state("run")
    with mx.profiler.scope("own <work>"):
        _step(executor)
    mx.profiler.set_state("stop")
    profile = mx.profiler.timeline()
    spans = [span for lane in profile.lanes for span in lane.spans]
    assert {"hidden_layer", "stage1/top_backward", "own <work>"} <= {span.name for span in spans}
    assert len({lane.name for lane in profile.lanes}) == len(profile.lanes)
    bundle = profile._repr_mimebundle_()
    words = checked(bundle["text/html"])
    assert "hidden_layer" in words
    assert "own <work>" in words
    assert repr(profile) == bundle["text/plain"]
    assert "hidden_layer" in repr(profile)
    assert f"{len(profile.records):,} events" in repr(profile)


def test_a_timeline_of_nothing(tmp_path):
    assert repr(mx.profiler.timeline()).endswith("nothing was recorded")


def test_programs_of_the_persistent_cache_name_their_nodes_too(tmp_path):
    _configure(tmp_path)
    option = "jax_persistent_cache_min_compile_time_secs"
    before = getattr(jax.config, option)
    jax.config.update(option, 0.0)
    try:
        executor = _net()
        _step(executor)
        executor.program.clear()  # so that the next step finds it on the disk
        mx.profiler.set_state("run")
        _step(executor)
        mx.profiler.set_state("stop")
    finally:
        jax.config.update(option, before)
    assert {"hidden_layer", "hidden_layer_backward", "stage1/top"} <= _operators().keys()


def test_kernels_whose_names_xla_lost_have_those_of_their_users(tmp_path):
    _configure(tmp_path)
    net = mx.sym.Variable("data")
    for i in range(2):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"act{i}")
    executor = mx.sym.MakeLoss(net, name="loss").simple_bind(mx.cpu(), data=(2, 3, 9, 9))
    _step(executor)
    mx.profiler.set_state("run")
    _step(executor)
    mx.profiler.set_state("stop")
    operators = _operators()
    assert {"conv0", "conv1", "conv0_backward", "conv1_backward"} <= operators.keys()
    unnamed = sum(s["Count"] for name, s in operators.items() if name.startswith("forward"))
    assert unnamed <= 0.2 * sum(s["Count"] for s in operators.values())


def test_annotations_of_a_program(tmp_path):
    path = _configure(tmp_path)
    domain = mx.profiler.Domain("a, strange=#domain")
    mx.profiler.set_state("run")
    task, counter = domain.new_task("3"), domain.new_counter("images", 5)
    for _ in range(2):
        task.start()
        task.stop()
    counter += 10
    counter -= 3
    domain.new_marker("now #1").mark("global")
    with mx.profiler.scope("outer"):
        frame = domain.new_frame("frame")
        frame.start()
        frame.start()
        frame.stop()
    mx.profiler.set_state("stop")
    times = json.loads(mx.profiler.dumps(format="json"))["Time"]
    domain_times = times["a, strange=#domain"]
    assert domain_times["3"]["Count"] == 2
    assert domain_times["images"] == {"Count": 3, "Total": 32, "Min": 5, "Max": 15, "Avg": 32 / 3}
    assert times["a, strange=#domain,frame"]["frame"]["Count"] == 2
    assert times["a, strange=#domain,instant_marker"]["now #1"]["Count"] == 1
    assert times["scope"]["outer"]["Total"] >= times["a, strange=#domain,frame"]["frame"]["Max"]
    mx.profiler.dump()
    events = json.loads(path.read_text())["traceEvents"]
    assert [e["args"] for e in events if e["ph"] == "C"] == [
        {"images": 5}, {"images": 15}, {"images": 12}
    ]  # fmt: skip
    assert [(e["name"], e["s"]) for e in events if e["ph"] == "i"] == [("now #1", "g")]


def test_pause_and_resume(tmp_path):
    _configure(tmp_path)
    domain = mx.profiler.Domain("d")

    def mark(name: str) -> None:
        domain.new_marker(name).mark()

    mark("before")
    mx.profiler.resume()
    mx.profiler.set_state("run")
    mark("one")
    mx.profiler.pause()
    mark("paused")
    mx.profiler.pause()
    mx.profiler.resume()
    mark("two")
    assert set(json.loads(mx.profiler.dumps(format="json"))["Time"]["d,instant_marker"]) == {
        "one", "two"
    }  # fmt: skip
    mark("three")
    mx.profiler.set_state("stop")
    mark("after")
    table = mx.profiler.dumps(reset=True)
    assert [name in table for name in ("one", "two", "three", "paused", "after")] == [
        True, True, True, False, False
    ]  # fmt: skip
    assert mx.profiler.dumps() == ""


def test_files_grow_until_the_last_dump(tmp_path):
    path = _configure(tmp_path)
    domain = mx.profiler.Domain("d")

    def seen() -> list[str]:
        return [e["name"] for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "i"]

    mx.profiler.set_state("run")
    domain.new_marker("one").mark()
    mx.profiler.dump(finished=False)
    assert seen() == ["one"]
    domain.new_marker("two").mark()
    mx.profiler.dump()
    assert seen() == ["one", "two"]
    with pytest.raises(mx.MXNetError) as caught:
        mx.profiler.dump()
    assert str(caught.value) == ('dump: nothing was recorded\n  try: set_state("run") first')
    domain.new_marker("lost").mark()
    mx.profiler.set_state("run")
    domain.new_marker("three").mark()
    mx.profiler.dump()
    assert seen() == ["three"]


def test_host_events_only_if_asked_for(tmp_path):
    for api in (False, True):
        _configure(tmp_path, profile_api=api)
        mx.profiler.set_state("run")
        (mx.nd.ones((2, 3)) + 1).wait_to_read()
        mx.profiler.set_state("stop")
        assert ("api" in json.loads(mx.profiler.dumps(format="json"))["Time"]) is api
        mx.profiler.dump()


def test_order_of_names(tmp_path):
    _configure(tmp_path)
    mx.profiler.set_state("run")
    domain = mx.profiler.Domain("d")
    for name, values in {"few": [9], "many": [1, 2, 3], "low": [-4, 4]}.items():
        counter = domain.new_counter(name)
        for value in values:
            counter.set_value(value)
    mx.profiler.set_state("stop")

    def order(**options: Any) -> list[str]:
        return list(json.loads(mx.profiler.dumps(format="json", **options))["Time"]["d"])

    assert order() == ["few", "many", "low"]
    assert order(ascending=True) == ["low", "many", "few"]
    assert order(sort_by="count") == ["many", "low", "few"]
    assert order(sort_by="min") == ["few", "many", "low"]
    assert order(sort_by="max") == ["few", "low", "many"]
    assert order(sort_by="avg", ascending=True) == ["low", "many", "few"]


def test_the_trace_of_jax_can_be_stored(tmp_path):
    _configure(tmp_path, trace_dir=str(tmp_path / "raw"))
    mx.profiler.set_state("run")
    mx.profiler.set_state("stop")
    assert list((tmp_path / "raw").rglob("*.xplane.pb"))


def test_somebody_else_traces(tmp_path):
    jax.profiler.start_trace(str(tmp_path))
    try:
        with pytest.raises(mx.profiler.ProfilerError, match="profiler: JAX cannot trace: "):
            mx.profiler.set_state("run")
    finally:
        jax.profiler.stop_trace()
    mx.profiler.set_state("run")
    mx.profiler.set_state("stop")


def test_old_names_still_work(tmp_path):
    path = tmp_path / "old.json"
    with pytest.warns(UserWarning, match=r"use profiler\.set_config") as caught:
        mx.profiler.profiler_set_config("all", str(path))
    assert caught[0].filename == __file__
    for state in ("run", "stop"):
        with pytest.warns(UserWarning, match=r"use profiler\.set_state"):
            mx.profiler.profiler_set_state(state)
    with pytest.warns(UserWarning, match=r"use profiler\.dump"):
        mx.profiler.dump_profile()
    assert path.exists()
    with (
        pytest.warns(UserWarning, match="deprecated"),
        pytest.raises(mx.MXNetError, match="unknown option 'profile_colours'"),
    ):
        mx.profiler.profiler_set_config("colours")


def test_tasks_of_several_threads(tmp_path):
    _configure(tmp_path)
    mx.profiler.set_state("run")

    def work() -> None:
        event = mx.profiler.Event("work")
        event.start()
        event.stop()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mx.profiler.set_state("stop")
    assert json.loads(mx.profiler.dumps(format="json"))["Time"]["event"]["work"]["Count"] == 3


def test_a_reset_begins_the_statistics_again_and_keeps_the_file(tmp_path: Path) -> None:
    path = _configure(tmp_path, profile_all=True)
    mx.profiler.set_state("run")
    domain = mx.profiler.Domain("domain")
    first, long, counter = (
        domain.new_task("first"),
        domain.new_task("long"),
        domain.new_counter("c"),
    )
    long.start()
    with mx.profiler.scope("block"):
        first.start()
        counter.set_value(5)
        _step(_net())
        jax.jit(partial(jax.numpy.add, time.time()))(1.0)
        first.stop()
        assert {"first", "c"} <= _categories(mx.profiler.dumps(True, "json"))["domain"].keys()
    long.stop()
    counter += 1
    again = _categories(mx.profiler.dumps(True, "json"))
    assert again["domain"].keys() == {"long", "c"}
    assert again["domain"]["long"]["Count"] == 1
    assert "operator" not in again
    mx.profiler.dump()
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["name"] for event in events if event["ph"] != "M"]
    assert {"first", "long", "block", "c", "act"} <= {*names}
    assert names.count("c") == 2
    # Compilation is one event, without XLA's passes.
    assert "backend_compile_and_load" in names
    assert not any("Pass" in name or "HLO" in name or name == "algsimp" for name in names)


def _categories(text: str) -> dict[str, Any]:
    return json.loads(text)["Time"]
