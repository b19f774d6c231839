"""Reprs: one line with what is essential, without computing anything; MXNet's where it has one."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.display import brief_arrays
from executorkit.display._brief import changed_values


def _net():
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _batches():
    return mx.io.NDArrayIter(np.zeros((8, 5)), np.zeros(8), 4)


@pytest.mark.usefixtures("fresh_programs")
def test_an_executor_tells_its_inputs_and_its_last_run():
    executor = _net().simple_bind(mx.cpu(), data=(4, 5))
    words = (
        "<Executor of softmax on cpu(0): data (4, 5), softmax_label (4,), 2 parameters -> "
        "softmax_output (4, 3), {}>"
    )
    assert repr(executor) == words.format("not run yet")
    executor.forward(is_train=True)
    pending = "last forward for training, not read yet"
    assert repr(executor) == words.format(pending)
    assert not executor.last_step.has_outputs
    assert repr(executor.program).startswith("<Program of 2 operators: 0 compilations in 0.00 s>")


def test_a_module_tells_what_has_been_done_with_it():
    module = mx.mod.Module(_net())
    assert repr(module) == "<Module: not bound, no parameters yet, no optimizer>"
    assert repr(mx.mod.SequentialModule()) == (
        "<SequentialModule: not bound, no parameters yet, no optimizer>"
    )
    batches = _batches()
    module.bind(batches.provide_data, batches.provide_label, for_training=False)
    assert repr(module) == (
        "<Module: bound for inference, no parameters yet, no optimizer, data (4, 5), "
        "softmax_label (4,)>"
    )
    group = module._exec_group
    assert repr(group) == (
        "<DataParallelExecutorGroup of softmax: on cpu(0), data (4, 5), softmax_label (4,)>"
    )
    assert repr(group.core).startswith("<DataParallelCore: on cpu(0), data")


class _Unfinished(mx.io.DataIter):
    """An iterator that lists no arrays."""


class _OwnOptimizer(mx.optimizer.Optimizer):
    def __init__(self, beta=0.5, **more):
        super().__init__(**more)
        self.beta = beta


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (_batches, "<NDArrayIter: batches of 4, data (4, 5), softmax_label (4,)>"),
        (lambda: mx.io.ResizeIter(_batches(), 3),
         "<ResizeIter: batches of 4, data (4, 5), softmax_label (4,)>"),
        (_Unfinished, "<_Unfinished>"),
        (lambda: mx.kv.create("local"), "<KVStore 'local': 0 keys, worker 0 of 1>"),
        (lambda: mx.optimizer.SGD(learning_rate=0.1, momentum=0.9),
         "<SGD: learning_rate=0.1, momentum=0.9, 0 updates>"),
        (lambda: mx.optimizer.Adam(lr_scheduler=mx.lr_scheduler.FactorScheduler(10, 0.5)),
         "<Adam: <FactorScheduler: rate 0.001, step=10, factor=0.5>, 0 updates>"),
        (lambda: _OwnOptimizer(beta=0.75, wd=0.1),
         "<_OwnOptimizer: learning_rate=0.01, beta=0.75, wd=0.1, 0 updates>"),
        (lambda: mx.optimizer.get_updater(mx.optimizer.SGD()),
         "<Updater: <SGD: learning_rate=0.01, 0 updates>, 0 states>"),
        (lambda: mx.lr_scheduler.MultiFactorScheduler([3, 4]),
         "<MultiFactorScheduler: rate 0.01, step=[3, 4]>"),
        (lambda: mx.io.DataBatch([mx.nd.ones((2, 3))]),
         "<DataBatch: data shapes: [(2, 3)] label shapes: None>"),
        (lambda: mx.rnn.LSTMCell(4, prefix="enc_"), "<LSTMCell 'enc_'>"),
        (mx.rnn.SequentialRNNCell, "<SequentialRNNCell>"),
        (mx.init.Zero, "<Zero>"),
        (lambda: mx.init.Normal(0.5), "<Normal: sigma=0.5>"),
        (mx.metric.Accuracy, "<Accuracy: accuracy nan>"),
    ],
)  # fmt: skip
def test_reprs(make, expected):
    assert repr(make()) == expected


def test_mxnets_own_forms_stay():
    assert repr(_net()) == "<Symbol softmax>"
    assert repr(mx.cpu(1)) == "cpu(1)"
    assert repr(mx.nd.ones((2,))) == "\n[1. 1.]\n<NDArray 2 @cpu(0)>"
    assert str(mx.metric.Accuracy()) == "EvalMetric: {'accuracy': nan}"


def test_long_lists_are_counted():
    assert brief_arrays([(f"x{i}", (i,)) for i in range(9)])[3:] == ["x3 (3,)", "5 more"]


def test_names_and_shapes_of_arrays():
    arrays = [("data", (32, 3)), ("label", [32])]
    assert brief_arrays(arrays) == ["data (32, 3)", "label (32,)"]


def test_attributes_that_differ_from_the_defaults():
    class Rule:
        def __init__(self, length, width=1, colour="black"):
            self.length, self.width, self.colour = length, width, colour

    assert changed_values(Rule(3, 2)) == ["length=3", "width=2"]
