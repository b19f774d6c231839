"""Monitors show, value by value, what MXNet 1.9.1's showed; and only when they are asked to."""

from __future__ import annotations

import ctypes
import json
import logging
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import stored_answers
from tests.display._html import checked
from tests.display._snapshots import matches
from tests.golden.cases._monitor import ERRORS, VALUES, _bound

ANSWERS = stored_answers("monitor")


def _compare(ours, theirs):
    if not isinstance(theirs, list):
        assert ours == theirs
        return
    assert isinstance(ours, list)
    if theirs and all(isinstance(x, float) for x in theirs):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-7)
        return
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        _compare(a, b)


def test_every_script_has_an_answer():
    assert set(ANSWERS["values"]) == set(VALUES)
    assert set(ANSWERS["errors"]) == set(ERRORS)


@pytest.mark.parametrize("name", VALUES)
def test_value(name, tmp_path):
    _compare(json.loads(json.dumps(VALUES[name](mx, tmp_path))), ANSWERS["values"][name])


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_of_the_same_class(name, tmp_path):
    with pytest.raises(mx.errors.InputTypeError) as caught:
        ERRORS[name](mx, tmp_path)
    assert ANSWERS["errors"][name] in [cls.__name__ for cls in type(caught.value).__mro__]


def test_wrong_statistic_is_named():
    executor, monitor = _bound(mx), mx.mon.Monitor(1, lambda x: 3.0, "fc1_output")
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    with pytest.raises(mx.errors.InputTypeError) as caught:
        monitor.toc()
    assert str(caught.value) == (
        "monitor: statistic of 'fc1_output': stat_func returned a float, expected an NDArray or a "
        "list of them"
    )
    assert monitor.toc() == []


def test_executor_reports_only_in_observed_batches():
    executor, seen = _bound(mx), []
    monitor = mx.mon.Monitor(3, lambda x: seen.append(None) or x)
    monitor.install(executor)
    for step in range(7):
        monitor.tic()
        executor.forward(is_train=True)
        executor.backward()
        assert executor.is_monitored == (step % 3 == 0) == bool(seen)
        monitor.toc()
        seen.clear()
        assert not executor.is_monitored


def test_executor_installed_within_a_batch_is_observed():
    monitor, executor = mx.mon.Monitor(1, pattern="fc1_output"), _bound(mx)
    monitor.tic()
    monitor.install(executor)
    executor.forward()
    ((step, name, text),) = monitor.toc()
    value = executor.internals("fc1_output").asnumpy()
    assert (step, name) == (1, "fc1_output")
    assert float(text) == pytest.approx(np.sqrt(np.mean(value**2)))


def test_results_are_logged(caplog):
    monitor, executor = mx.mon.Monitor(1, lambda x: x.max(), "fc1_bias"), _bound(mx)
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    with caplog.at_level(logging.INFO):
        monitor.toc_print()
    largest = executor.arg_dict["fc1_bias"].asnumpy().max()
    assert caplog.messages == [f"Batch:       1 {'fc1_bias':30} {largest!s}\t"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_default_statistic(dtype):
    array = mx.nd.array([[300, -400], [0, 500]], dtype=dtype)
    statistic = mx.monitor.root_mean_square(array)
    assert statistic.shape == (1,)
    assert statistic.dtype == np.dtype("float32" if dtype == "int32" else dtype)
    np.testing.assert_allclose(statistic.asnumpy(), np.sqrt(125000), rtol=1e-3)


def _watched(steps, **kwargs):
    executor = _bound(mx)
    monitor = mx.mon.Monitor(2, pattern="fc1.*", **kwargs)
    monitor.install(executor)
    for step in range(steps):
        executor.arg_dict["fc1_weight"][:] = 10.0**step
        executor.arg_dict["fc1_bias"][:] = np.nan if step == 4 else 0.5
        monitor.tic()
        executor.forward()
        monitor.toc()
    return monitor


def test_collected_statistics_are_held_by_batch():
    monitor = _watched(5)
    assert [step for step, _ in monitor.history] == [1, 3, 5]
    weights = [statistics["fc1_weight"] for _, statistics in monitor.history]
    assert weights == pytest.approx([1, 100, 10000])
    assert np.isnan(monitor.history[-1][1]["fc1_output"])


def test_collected_statistics_as_table_and_heat_map():
    monitor = _watched(5)
    table, heat = monitor.table("fc1_(weight|bias)"), monitor.heat_map("fc1_(weight|bias)")
    matches("monitor_table", table.text())
    matches("monitor_heat_map", heat.text())
    assert repr(table) == table.text()
    for shown in (table, heat, monitor):
        words = checked(shown._repr_html_())
        assert "fc1_weight" in words
    assert "fc1_output" in checked(monitor._repr_html_())
    assert heat._repr_mimebundle_()["text/plain"] == heat.text()


def test_an_empty_monitor_has_views_too():
    monitor = mx.mon.Monitor(1)
    for shown in (monitor, monitor.table(), monitor.heat_map()):
        assert "nothing collected yet" in checked(shown._repr_html_())


def test_statistics_of_several_numbers_and_devices_have_names_of_their_own():
    monitor = mx.mon.Monitor(1, lambda x: [x.max(), x.reshape(-1)[:2]], "fc1_weight")
    for _ in range(2):
        monitor.install(_bound(mx))
    monitor.tic()
    monitor.toc()
    ((_, statistics),) = monitor.history
    assert list(statistics) == [f"fc1_weight{d}[{i}]" for d in ("", " #2") for i in range(3)]


def test_the_history_is_bounded():
    monitor = mx.mon.Monitor(1, lambda x: x.max(), "fc1_bias")
    monitor.history = type(monitor.history)(maxlen=3)
    monitor.install(_bound(mx))
    for _ in range(5):
        monitor.tic()
        monitor.toc()
    assert [step for step, _ in monitor.history] == [3, 4, 5]


def test_a_callback_may_decode_the_names():
    """MXNet gives it bytes; ``py_str`` takes either."""
    names = []
    executor = _bound(mx)
    executor.set_monitor_callback(lambda name, array: names.append(mx.base.py_str(name)))
    executor.forward()
    mx.nd.waitall()
    assert "fc1_output" in names
    assert mx.base.py_str(b"fc1_output") == "fc1_output"


@pytest.mark.parametrize("contexts", [1, 2])
def test_batches_of_other_sizes_are_observed(contexts):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None, context=[mx.cpu(k) for k in range(contexts)])
    module.bind([("data", (4, 3))])
    module.init_params()
    monitor = mx.mon.Monitor(1, lambda x: mx.nd.array(x.shape[:1]), "fc_output")
    module.install_monitor(monitor)
    for rows in (4, 2, 6, 4):
        monitor.tic()
        module.forward(mx.io.DataBatch([mx.nd.ones((rows, 3))]))
        assert [float(text) for _, _, text in monitor.toc()] == contexts * [rows / contexts]


def test_callbacks_may_cast_their_argument_to_a_handle_as_mxnets_do():
    seen = {}

    def note(name, handle):
        array = mx.nd.NDArray(ctypes.cast(handle, mx.base.NDArrayHandle), writable=False)
        seen[mx.base.py_str(name)] = array.copyto(mx.cpu()).asnumpy().tolist()

    executor = mx.sym.relu(mx.sym.var("x"), name="r").bind(mx.cpu(), {"x": mx.nd.array([1, -1])})
    executor.set_monitor_callback(note)
    executor.forward()
    assert seen == {"r_output": [1, 0]}
    x: Any = mx.nd.ones(2)
    mx.nd.NDArray(ctypes.cast(x, mx.base.NDArrayHandle))[0] = 3
    assert x.asnumpy().tolist() == [3, 1]
    with pytest.raises(TypeError, match="not constructed directly"):
        mx.nd.NDArray(ctypes.c_void_p(3))
