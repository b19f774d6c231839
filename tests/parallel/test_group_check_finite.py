"""``check_finite`` of groups: the device whose rows produced a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx


def _net():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    net = mx.sym.Dropout(mx.sym.log(net, name="log"), p=0.5, name="drop")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _batch(bad_row: int | None) -> Any:
    data = np.ones((6, 3), "float32")
    if bad_row is not None:
        data[bad_row] = -1
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.zeros((6,))])


@pytest.mark.parametrize(
    ("contexts", "loads", "rows"),
    [([0, 1, 2], None, "2 to 4"), ([0, 0, 1], [1, 4, 1], "1 to 5"), ([0], None, None)],
)
def test_the_rows_are_named(contexts, loads, rows):
    contexts = [mx.cpu(i) for i in contexts]
    module = mx.mod.Module(_net(), context=contexts, work_load_list=loads)
    module.bind([("data", (6, 3))], [("softmax_label", (6,))])
    module.init_params(mx.init.One())
    module.forward(_batch(None))
    assert module.check_finite()
    module.forward_backward(_batch(3))
    for _ in range(2):
        report = module.check_finite()
        assert report.node == "log"
        assert report.first.device == (f"{contexts[1]}, rows {rows}" if rows else "")
        assert len(report.findings) == 1
        module.get_outputs()[0].asnumpy()
    module.forward_backward(_batch(None))
    assert module.check_finite()
    with pytest.raises(FloatingPointError, match=r"^head gradient of 'softmax_output'"):
        module.check_finite(mx.nd.ones((6, 2)) * np.nan, raise_error=True)


def test_an_executor_of_the_group_that_was_run_by_itself():
    module = mx.mod.Module(_net(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (6, 3))], [("softmax_label", (6,))])
    module.init_params(mx.init.One())
    module.forward_backward(_batch(None))
    module._exec_group.execs[1].forward(is_train=True, data=-np.ones((3, 3), "float32"))
    report = module.check_finite()
    assert (report.node, report.first.device) == ("log", "cpu(1), rows 3 to 6")


def test_managers_buckets_and_chains():
    net = _net()
    batch = _batch(5)
    batches = mx.io.NDArrayIter(batch.data[0], batch.label[0], batch_size=6)
    manager = mx.executor_manager.DataParallelExecutorManager(
        net, [mx.cpu(0), mx.cpu(1)], batches, net.list_arguments(), ["fc_weight"], []
    )
    manager.set_params({"fc_weight": mx.nd.ones((2, 3))}, {})
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    assert manager.check_finite().first.device == "cpu(1), rows 3 to 6"
    assert manager.execgrp.check_finite().node == "log"

    shapes = [("data", (6, 3))], [("softmax_label", (6,))]
    buckets = mx.mod.BucketingModule(lambda key: (net, ["data"], ["softmax_label"]), 6)
    chain = mx.mod.SequentialModule().add(mx.mod.Module(net), take_labels=True)
    for module in (buckets, chain):
        module.bind(*shapes)
        module.init_params(mx.init.One())
        batch.bucket_key, batch.provide_data, batch.provide_label = 6, *shapes
        module.forward(batch, is_train=True)
        assert module.check_finite().node == "log"
