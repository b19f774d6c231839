"""Notebook views of executor groups, managers and modules."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.display import view_of

from ..display._html import checked
from ..display._snapshots import matches

DATA = np.linspace(-1, 2, 24).reshape(8, 3)


pytestmark = pytest.mark.usefixtures("fresh_programs")


def _net():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    net = mx.sym.BatchNorm(net, name="bn")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _module(contexts, loads=None):
    module = mx.mod.Module(_net(), context=contexts, work_load_list=loads)
    module.bind([("data", (8, 3))], [("softmax_label", (8,))])
    module.init_params(mx.init.Constant(0.5))
    module.forward(mx.io.DataBatch([mx.nd.array(DATA)], [mx.nd.zeros((8,))]), is_train=False)
    return module


@pytest.mark.parametrize("contexts", [[mx.cpu(0), mx.cpu(1)], [mx.cpu(0)]])
def test_after_a_training_step_gradients_are_said_not_to_be_stored(contexts):
    module = _module(contexts)
    step = mx.training.Step(module, "sgd")
    step(data=DATA, softmax_label=np.zeros(8))
    text = view_of(module._exec_group).text()
    assert "trained by a Step, 1 step" in text
    assert text.count("a Step stores none") == 4
    module.forward(mx.io.DataBatch([mx.nd.array(DATA)], [mx.nd.zeros((8,))]), is_train=True)
    assert "a Step" not in view_of(module._exec_group).text()


def test_pmapped_group():
    group = _module([mx.cpu(0), mx.cpu(1)])._exec_group
    matches("group_mapped", view_of(group).text())


@pytest.mark.parametrize(
    ("contexts", "loads", "why"),
    [
        ([0, 1, 2], [1, 2, 1], "because slices have different lengths"),
        ([0, 0], None, "because contexts share a device"),
        ([0], None, "one device"),
    ],
)
def test_slices_that_run_separately(contexts, loads, why):
    group = _module([mx.cpu(i) for i in contexts], loads)._exec_group
    words = checked(group._repr_html_())
    assert why in words
    # The statistics describe the whole batch either way.
    (row,) = [r for r in view_of(group).text().split("\n") if r.startswith("  data  ")]
    mean, std, low, high = (f"{x:.4g}" for x in (DATA.mean(), DATA.std(), -1, 2))
    assert row.split()[-8:-4] == ["null", mean, std, low] or f"{mean}  {std}" in row
    assert high in row.split()


def test_views_run_nothing_and_show_the_last_forward():
    module = _module([mx.cpu(0), mx.cpu(1)])
    assert "not computed yet" in view_of(module).text()
    assert module.core.traces == 0
    module.get_outputs()[0].asnumpy()
    assert "not computed yet" not in view_of(module).text()


def test_parameters_that_differ_between_devices_are_named():
    module = _module([mx.cpu(0), mx.cpu(1)])
    assert "not the same" not in view_of(module).text()
    module._exec_group.param_arrays[0][1][:] = np.nan
    text = view_of(module).text()
    assert "not the same on all devices: fc_weight" in text
    assert "not finite: fc_weight (parameters): 12 NaN" in text


def test_an_executor_of_a_pmapped_group_shows_its_part():
    module = _module([mx.cpu(0), mx.cpu(1)])
    replica = module._exec_group.execs[1]
    text = view_of(replica).text()
    assert "Executor of softmax on cpu(1)" in text
    assert "not computed yet" in text
    (row,) = [r for r in text.split("\n") if r.startswith("  data  ")]
    assert f"{DATA[4:].mean():.4g}" in row.split()
    assert module.core.traces == 0


def test_managers_and_modules_of_every_kind_have_views():
    batches = mx.io.NDArrayIter(DATA, np.zeros(8), batch_size=8)
    net = _net()
    names = net.list_arguments()
    manager = mx.executor_manager.DataParallelExecutorManager(
        net, [mx.cpu(0), mx.cpu(1)], batches, names,
        [n for n in names if n not in ("data", "softmax_label")], net.list_auxiliary_states(),
    )  # fmt: skip
    assert "2 devices run one mapped program" in checked(manager._repr_html_())
    assert "DataParallelExecutorGroup of softmax" in checked(manager.execgrp._repr_html_())

    unbound = mx.mod.Module(net)
    assert "not bound" in checked(unbound._repr_html_())
    chain = mx.mod.SequentialModule().add(unbound).add(mx.mod.PythonLossModule())
    assert "module 1: PythonLossModule" in checked(chain._repr_html_())

    buckets = mx.mod.BucketingModule(lambda key: (net, ["data"], ["softmax_label"]), 8)
    assert "not bound" in checked(buckets._repr_html_())
    buckets.bind([("data", (8, 3))], [("softmax_label", (8,))])
    buckets.init_params()
    buckets.switch_bucket(4, [("data", (4, 3))], [("softmax_label", (4,))])
    words = checked(buckets._repr_html_())
    assert "4 (current)" in words
    assert "data (8, 3)" in words
