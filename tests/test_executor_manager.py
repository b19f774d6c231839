"""Scripts on executor managers give MXNet's answers; the classic loop trains; buckets share."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.data import load_digits
from executorkit.executor_manager import (
    DataParallelExecutorGroup,
    DataParallelExecutorManager,
    _load_data,
    _load_label,
    _split_input_slice,
)
from executorkit.parallel import traffic
from tests._tools.answers import differences, stored_answers
from tests.golden import group_scripts
from tests.golden.group_scripts._facts import Shapes, batch, fill, lstm, mlp, parameters

ANSWERS = stored_answers("groups")["scripts"]
INPUTS = ("data", "softmax_label")

#: MXNet takes the rows that the slices name; here as for any other wrong shape.
REFUSED = {"manager_refusals/0/many rows"}


@pytest.mark.parametrize("name", [n for n in ANSWERS if n.startswith("manager")])
def test_script_gives_mxnets_answers(name):
    deviations = dict(differences(group_scripts.run(name, mx), ANSWERS[name], name))
    assert {p: d for p, d in deviations.items() if p not in REFUSED} == {}


def _manager(devices: int, train: Any, symbol: Any = None, **options: Any) -> Any:
    symbol = mlp(mx) if symbol is None else symbol
    names = parameters(symbol, INPUTS)
    manager = DataParallelExecutorManager(
        symbol,
        [mx.cpu(i) for i in range(devices)],
        train,
        symbol.list_arguments(),
        names,
        symbol.list_auxiliary_states(),
        **options,
    )
    fill(manager, names, manager.execgrp.train_execs)
    return manager


def _shapes(rows: int) -> Shapes:
    return Shapes([("data", (rows, 5))], [("softmax_label", (rows,))], rows)


def _update(manager: Any, rate: float) -> None:
    """The classic update: gradients summed over the devices, weights of each device alike."""
    for weights, grads in zip(manager.param_arrays, manager.grad_arrays, strict=True):
        total: Any = sum(g.as_in_context(mx.cpu(0)) for g in grads)
        for weight in weights:
            weight -= rate * total.as_in_context(weight.context)


def test_the_classic_loop_trains_digits_on_two_devices():
    digits = load_digits()
    train = mx.io.NDArrayIter(
        digits.train_images, digits.train_labels, 50, shuffle=True, last_batch_handle="discard"
    )
    x = mx.sym.Flatten(mx.sym.Variable("data"))
    x = mx.sym.FullyConnected(x, num_hidden=64, name="fc1")
    x = mx.sym.Activation(x, act_type="relu", name="relu1")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    symbol = mx.sym.SoftmaxOutput(x, name="softmax")
    manager = _manager(2, train, symbol)
    metric = mx.metric.create("acc")
    for _ in range(30):
        train.reset()
        metric.reset()
        for one in train:
            manager.load_data_batch(one)
            manager.forward(is_train=True)
            manager.backward()
            _update(manager, 0.3 / 50)
            manager.update_metric(metric, one.label)
    assert metric.get()[1] > 0.99
    test = mx.io.NDArrayIter(
        digits.test_images, digits.test_labels, 50, last_batch_handle="discard"
    )
    metric.reset()
    for one in test:
        manager.load_data_batch(one)
        manager.forward()
        manager.update_metric(metric, one.label)
    assert metric.get()[1] > 0.97
    shapes = [arrays[0].shape for arrays in manager.param_arrays]
    args = {n: mx.nd.zeros(s) for n, s in zip(manager.param_names, shapes, strict=True)}
    manager.copy_to(args, {})
    np.testing.assert_allclose(
        args["fc1_weight"].asnumpy(), manager.param_arrays[0][1].asnumpy(), rtol=1e-6
    )


def _losses(devices: int, workloads: list[int] | None = None) -> list[float]:
    manager = _manager(devices, _shapes(8), work_load_list=workloads)
    losses = []
    for number in range(20):
        one = batch(mx, number % 4, (8, 5), (8,))
        manager.load_data_batch(one)
        manager.forward(is_train=True)
        manager.backward()
        _update(manager, 0.1)
        metric = mx.metric.create("ce")
        manager.update_metric(metric, one.label)
        losses.append(metric.get()[1])
    return losses


def test_the_loss_is_the_same_on_one_and_on_four_devices():
    one = _losses(1)
    assert one[-1] < 0.8 * one[0]
    np.testing.assert_allclose(_losses(4), one, atol=1e-5)
    np.testing.assert_allclose(_losses(3, [1, 2, 1]), one, atol=1e-5)


def _bucket_batch(steps: int, rows: int = 4) -> Any:
    words = np.random.randint(0, 6, (2, rows, steps))
    data_shapes: Any = [("data", (rows, steps))]
    label_shapes: Any = [("softmax_label", (rows, steps))]
    return mx.io.DataBatch(
        [mx.nd.array(words[0])],
        [mx.nd.array(words[1])],
        bucket_key=steps,
        provide_data=data_shapes,
        provide_label=label_shapes,
    )


def _buckets(devices: int = 2) -> Any:
    train = Shapes([("data", (4, 5))], [("softmax_label", (4, 5))], 4, 5)
    return _manager(devices, train, lstm(mx, 5), sym_gen=lambda steps: lstm(mx, steps))


def _step(manager: Any, one: Any) -> None:
    manager.load_data_batch(one)
    manager.forward(is_train=True)
    manager.backward()
    mx.nd.waitall()


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("devices", [1, 2])
def test_a_bucket_compiles_once_and_coming_back_compiles_nothing(devices):
    manager = _buckets(devices)
    traces = []
    for steps in (5, 3, 5, 3, 2, 3, 5, 2):
        before = mx.program.cache_info().traces
        _step(manager, _bucket_batch(steps))
        traces.append(mx.program.cache_info().traces - before)
    assert traces == [1, 1, 0, 0, 1, 0, 0, 0]
    assert sorted(manager.execgrp_bucket) == [2, 3, 5]


def test_buckets_of_any_size_share_parameters_and_move_nothing_when_they_switch():
    manager = _buckets()
    for steps in (5, 3):
        _step(manager, _bucket_batch(steps))
    small = manager.curr_execgrp
    assert small is manager.execgrp_bucket[3]
    assert small.param_arrays[0] is manager.param_arrays[0]
    assert small.grad_arrays[0] is manager.grad_arrays[0]
    before = traffic.snapshot()
    for steps in (5, 3, 5, 3):
        _step(manager, _bucket_batch(steps))
    moved = {k: n - before[k] for k, n in traffic.snapshot().items() if n != before[k]}
    assert moved == {"scattered": 8}


def test_fifty_bucket_switches_leave_live_arrays_flat():
    manager = _buckets()
    batches = [_bucket_batch(steps) for steps in (5, 3)]
    counts = []
    for switch in range(52):
        _step(manager, batches[switch % 2])
        if switch in (1, 51):
            manager.curr_execgrp.train_execs[0].outputs[0].wait_to_read()
            gc.collect()
            counts.append(Counter((a.shape, a.dtype.name) for a in jax.live_arrays()))
    # Arrays of earlier tests may go in between; none may come.
    assert counts[1] - counts[0] == Counter()


def test_the_loop_reports_a_failed_load_and_goes_on():
    manager = _manager(2, _shapes(6))
    good = batch(mx, 0, (6, 5), (6,))
    _step(manager, good)
    expected = manager.execgrp.train_execs[0].outputs[0].asnumpy()
    for data, label, message in (
        ((6, 4), (6,), "data 'data': shape (6, 4), expected (6, 5)"),
        ((4, 5), (4,), "data 'data': shape (4, 5), expected (6, 5)"),
        ((6, 5), (3,), "label 'softmax_label': shape (3,), expected (6,)"),
    ):
        with pytest.raises(ValueError, match="expected") as error:
            manager.load_data_batch(batch(mx, 1, data, label))
        assert str(error.value).partition("\n")[0] == message
    with pytest.raises(TypeError) as missing:
        manager.load_data_batch(mx.io.DataBatch(good.data, None))
    assert str(missing.value) == (
        "label 'softmax_label': missing, expected an array of shape (6,)\n"
        "  given by: a batch whose label is None"
    )
    manager.forward(is_train=True)
    manager.backward()
    np.testing.assert_array_equal(manager.execgrp.train_execs[0].outputs[0].asnumpy(), expected)


def test_nothing_runs_before_a_batch_is_loaded():
    manager = _manager(2, _shapes(6))
    with pytest.raises(AttributeError) as error:
        manager.forward()
    assert str(error.value) == (
        "forward: no batch is loaded\n  try: call load_data_batch(batch) first"
    )


def test_workloads_are_checked():
    with pytest.raises(AssertionError) as error:
        _manager(2, _shapes(6), work_load_list=[1])
    assert str(error.value) == (
        "manager: work_load_list: [1], expected a list of 2 numbers\n"
        "  because the contexts are [cpu(0), cpu(1)]"
    )


def test_a_monitor_sees_every_device():
    manager = _manager(2, _shapes(6))
    monitor = mx.monitor.Monitor(1, sort=True)
    manager.install_monitor(monitor)
    monitor.tic()
    _step(manager, batch(mx, 0, (6, 5), (6,)))
    assert [n for _, n, _ in monitor.toc()].count("fc2_output") == 2


def test_batches_are_cut_along_the_axis_of_their_layout():
    data = mx.io.DataDesc("data", (3, 6, 2), layout="TNC")
    label = mx.io.DataDesc("lro_label", (3, 6, 2), layout="TNC")
    symbol = mx.sym.LinearRegressionOutput(2 * mx.sym.Variable("data"), name="lro")
    train = Shapes([data], [label], 6)
    group = DataParallelExecutorGroup(
        symbol, symbol.list_arguments(), [], [mx.cpu(0), mx.cpu(1)], _split_input_slice(6, [1, 2]),
        train,
    )  # fmt: skip
    values = np.arange(36).reshape(3, 6, 2)
    group.load_data_batch(mx.io.DataBatch([mx.nd.array(values)], [mx.nd.array(values)]))
    group.forward()
    outputs = [e.outputs[0].asnumpy() for e in group.train_execs]
    np.testing.assert_array_equal(np.concatenate(outputs, axis=1), 2 * values)


def test_scripts_load_arrays_themselves():
    manager = _manager(2, _shapes(6))
    one = batch(mx, 3, (6, 5), (6,))
    _load_data(one, manager.execgrp.data_arrays)
    _load_label(one, manager.execgrp.label_arrays)
    for name, expected in zip(INPUTS, (one.data[0], one.label[0]), strict=True):
        parts = [e.arg_dict[name].asnumpy() for e in manager.execgrp.train_execs]
        np.testing.assert_array_equal(np.concatenate(parts), expected.asnumpy())
    with pytest.raises(AssertionError, match="4 rows, expected 6"):
        _load_data(batch(mx, 3, (4, 5), (4,)), manager.execgrp.data_arrays)
    target = mx.nd.zeros((6, 5))
    _load_data(one, [target])
    np.testing.assert_array_equal(target.asnumpy(), one.data[0].asnumpy())
