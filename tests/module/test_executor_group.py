"""The module's executor group: equal to MXNet's in scripts, and its errors explained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.module.executor_group import DataParallelExecutorGroup
from tests._tools.answers import differences, stored_answers
from tests.golden import group_scripts
from tests.golden.group_scripts._facts import convnet, fill, mlp, numbers, parameters

ANSWERS = stored_answers("groups")["scripts"]
INPUTS = ("data", "softmax_label")
NOT_ARRAYS: Any = [[1, 2]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [n for n in ANSWERS if n.startswith(("module", "executors"))])
def test_script_gives_mxnets_answers(name):
    assert list(differences(group_scripts.run(name, mx), ANSWERS[name], name)) == []


def _group(devices: int = 2, rows: int = 6, symbol: Any = None, **options: Any) -> Any:
    symbol = mlp(mx) if symbol is None else symbol
    group = DataParallelExecutorGroup(
        symbol,
        [mx.cpu(i) for i in range(devices)],
        options.pop("workload", None),
        [mx.io.DataDesc("data", (rows, 5))],
        [mx.io.DataDesc("softmax_label", (rows,))],
        parameters(symbol, INPUTS),
        True,
        False,
        **options,
    )
    fill(group, group.param_names, group.execs)
    return group


def _batch(rows: int = 6, columns: int = 5, **options: Any) -> Any:
    data = np.random.randn(rows, columns).astype(np.float32)
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(np.arange(rows) % 3)], **options)


def _state(group: Any) -> list[np.ndarray]:
    arrays = [a for pairs in (*group.data_arrays, *group.label_arrays) for _, a in pairs]
    arrays += [a for arrays in (*group.param_arrays, *group.grad_arrays) for a in arrays]
    return [a.asnumpy() for a in (*arrays, *group.get_outputs())]


def test_a_batch_without_labels_has_those_of_the_one_before() -> None:
    group, batch = _group(), _batch()
    group.forward(batch)
    group.backward()
    before = _state(group)
    group.forward(mx.io.DataBatch(batch.data, None))
    group.backward()
    for old, new in zip(before, _state(group), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("workload", [[1, 1], [1, 2]], ids=["mapped", "uneven"])
@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            mx.io.DataBatch([mx.nd.ones((6, 4))], [mx.nd.ones((6,))]),
            "data 'data': shape (6, 4), expected (6, 5)\n"
            "  because the group is bound to that shape\n"
            "  try: reshape the group, or have the iterator pad its last batch",
        ),
        (
            mx.io.DataBatch([mx.nd.ones((6, 5))], [mx.nd.ones((4,))]),
            "label 'softmax_label': shape (4,), expected (6,)\n"
            "  because the group is bound to that shape\n"
            "  try: reshape the group, or have the iterator pad its last batch",
        ),
        (
            mx.io.DataBatch([], [mx.nd.ones((6,))]),
            "data 'data': missing, expected an array of shape (6, 5)\n"
            "  given by: a batch with 0 of 1 arrays: data",
        ),
        (
            mx.io.DataBatch(NOT_ARRAYS, [mx.nd.ones((6,))]),
            "data 'data': list, expected an NDArray or a NumPy array\n  try: mx.nd.array(value)",
        ),
    ],
    ids=["data", "label", "no data", "no array"],
)
def test_a_failed_load_is_explained_and_changes_nothing(workload, batch, message):
    group = _group(workload=workload)
    group.forward(_batch())
    group.backward()
    before = _state(group)
    with pytest.raises(mx.MXNetError) as error:
        group.forward(batch)
    assert str(error.value) == message
    for old, new in zip(before, _state(group), strict=True):
        np.testing.assert_array_equal(old, new)
    group.forward(_batch())
    group.backward()
    assert np.isfinite(group.get_outputs()[0].asnumpy()).all()


def test_numpy_batches_are_copied():
    group = _group()
    data: Any = np.ones((6, 5), np.float64)
    label: Any = np.zeros(6)
    group.forward(mx.io.DataBatch([data], [label]))
    data[:] = 5
    assert group.data_arrays[0][1][1].asnumpy().tolist() == [[1] * 5] * 3
    assert group.data_arrays[0][1][1].dtype is np.float32


@pytest.mark.parametrize("workload", [[1, 1], [1, 2]], ids=["mapped", "uneven"])
def test_a_batch_that_changes_after_loading_does_not_change_the_run(workload):
    group = _group(workload=workload)
    batch = _batch()
    expected = group.forward(batch) or group.get_outputs()[0].asnumpy()
    group.forward(batch)
    batch.data[0][:] = 0
    np.testing.assert_array_equal(group.get_outputs()[0].asnumpy(), expected)


def test_a_failed_reshape_leaves_the_group_as_it_was():
    group = _group()
    with pytest.raises(mx.MXNetError, match="'fc1_weight'") as error:
        group.reshape([("data", (8, 6))], [("softmax_label", (8,))])
    assert str(error.value) == (
        "group: shared parameter 'fc1_weight': (4, 5) float32, expected (4, 6) float32\n"
        "  because that is what this group's symbol infers for its inputs\n"
        "  given by: data=(4, 6), softmax_label=(4,)"
    )
    assert (group.batch_size, group.slices[-1].stop) == (6, 6)
    group.forward(_batch())
    assert group.get_outputs()[0].shape == (6, 3)


@pytest.mark.usefixtures("fresh_programs")
def test_reshaping_back_compiles_nothing_and_keeps_parameters():
    group = _group(4, 8)
    traces = []
    for rows in (8, 4, 6, 8, 4, 6):
        group.reshape([("data", (rows, 5))], [("softmax_label", (rows,))])
        before = mx.program.cache_info().traces
        group.forward(_batch(rows))
        group.backward()
        group.get_outputs()[0].wait_to_read()
        traces.append(mx.program.cache_info().traces - before)
    # Six rows on four devices are slices of two and of one row: separate programs.
    assert all(traces[:3])
    assert traces[3:] == [0, 0, 0]
    expected = _group(1, 8).param_arrays[0][0].asnumpy()
    for weight in group.param_arrays[0]:
        np.testing.assert_array_equal(weight.asnumpy(), expected)


def test_equal_shapes_are_not_bound_again():
    group = _group()
    before = group.execs
    group.reshape([("data", (6, 5))], [("softmax_label", (6,))])
    assert group.execs is before
    group.reshape([mx.io.DataDesc("data", (6, 5), layout="NC")], group.label_shapes)
    assert group.data_shapes[0].layout == "NC"
    assert group.execs is not before


def test_workloads_are_distinguished_from_contexts():
    with pytest.raises(ValueError, match="3 slices"):
        _group(workload=[1, 1, 1])


def test_unknown_shapes_are_named():
    symbol = mx.sym.dot(mx.sym.Variable("data"), mx.sym.Variable("free"), name="dot")
    with pytest.raises(RuntimeError) as error:
        DataParallelExecutorGroup(
            symbol, [mx.cpu(0)], None, [("data", (4, 5))], None, [], True, False
        )
    assert str(error.value) == (
        "group: these shapes cannot be inferred: free: None, dot_output: None\n"
        "  given by: data=(4, 5)\n"
        "  try: give their shapes in data_shapes or label_shapes"
    )


def test_output_gradients_of_the_wrong_shape_are_explained():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    group = DataParallelExecutorGroup(
        symbol, [mx.cpu(0), mx.cpu(1)], None, [("data", (4, 5))], None, ["fc_weight"], True, False
    )
    group.forward(mx.io.DataBatch([mx.nd.ones((4, 5))], None))
    with pytest.raises(mx.MXNetError) as error:
        group.backward(mx.nd.ones((4, 2)))
    assert str(error.value).startswith(
        "backward: head gradient of 'fc_output': shape (4, 2), expected (4, 3)"
    )
    with pytest.raises(mx.MXNetError, match="it needs a head gradient"):
        group.backward()
    group.backward(mx.nd.ones((4, 3)))
    assert (group.grad_arrays[0][1].asnumpy() == 2).all()


@pytest.mark.parametrize("workload", [[1, 1], [1, 2]])
@pytest.mark.usefixtures("automatic", "deterministic")
def test_backward_before_forward_takes_what_is_bound(workload):
    gradients = []
    for forward in (False, True):
        group = _group(workload=workload)
        for executor in group.execs:
            for name, array in executor.arg_dict.items():
                array[:] = numbers(name, array.shape)
        if forward:
            for executor in group.execs:
                executor.forward(is_train=True)
        group.backward()
        gradients.append([g.asnumpy() for grads in group.grad_arrays for g in grads])
    for ours, expected in zip(*gradients, strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_monitor_sees_every_device(devices):
    group = _group(devices)
    monitor = mx.monitor.Monitor(1, stat_func=lambda x: x.sum(), sort=True)
    group.install_monitor(monitor)
    batch = _batch()
    monitor.tic()
    group.forward(batch)
    group.backward()
    names = [name for _, name, _ in monitor.toc()]
    assert names.count("fc1_output") == devices
    assert names.count("fc1_weight") == devices
    watched = [g.asnumpy() for gs in group.grad_arrays for g in gs]
    other = _group(devices)
    other.forward(batch)
    other.backward()
    for a, b in zip(watched, (g for gs in other.grad_arrays for g in gs), strict=True):
        np.testing.assert_allclose(a, b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_batch_norm_overwrites_gamma_on_every_device():
    symbol = convnet(mx)
    group = DataParallelExecutorGroup(
        symbol, [mx.cpu(0), mx.cpu(1)], None, [("data", (4, 1, 3, 3))], [("softmax_label", (4,))],
        parameters(symbol, INPUTS), True, False,
    )  # fmt: skip
    fill(group, group.param_names, group.execs)
    group.forward(mx.io.DataBatch([mx.nd.ones((4, 1, 3, 3))], [mx.nd.ones((4,))]))
    gamma = group.param_arrays[group.param_names.index("bn1_gamma")]
    assert [(g.asnumpy() == 1).all() for g in gamma] == [True, True]
