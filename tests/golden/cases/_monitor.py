"""Scripts about monitors, run with MXNet as ``mx`` once and with executorkit ever after."""

from __future__ import annotations

import re

import numpy as np

VALUES = {}
ERRORS = {}


def _bound(mx):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="act")
    x = mx.sym.BatchNorm(x, name="bn", fix_gamma=False, use_global_stats=True)
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    executor = mx.sym.SoftmaxOutput(x, name="softmax").simple_bind(mx.cpu(), data=(4, 6))
    rng = np.random.RandomState(4)
    for array in (*executor.arg_arrays, *executor.aux_arrays):
        array[:] = rng.uniform(0.1, 1, array.shape)
    executor.arg_dict["softmax_label"][:] = [0, 2, 1, 2]
    return executor


def _entries(rows):
    """Numbers in the texts as numbers, which are compared within a tolerance."""
    number = r"-?\d+\.?\d*(?:e[-+]\d+)?"
    return [
        [step, name, [float(x) for x in re.findall(number, text)], re.sub(r"[^\t\n]", "", text)]
        for step, name, text in rows
    ]


def _run(mx, monitor, train=True, batches=4):
    executor = _bound(mx)
    monitor.install(executor)
    entries = [monitor.toc()]
    for _ in range(batches):
        monitor.tic()
        executor.forward(is_train=train)
        if train:
            executor.backward()
        entries.append(_entries(monitor.toc()))
    return entries


def monitored(name, **options):
    VALUES[name] = lambda mx, folder: _run(mx, mx.mon.Monitor(**options))


monitored("every_batch", interval=1)
monitored("every_third_batch", interval=3)
monitored("weights_and_outputs", interval=1, pattern=".*weight|.*output")
monitored("sorted", interval=2, pattern=".*output.*", sort=True)
monitored(
    "several_statistics", interval=1, pattern="fc2_output", stat_func=lambda x: [x.max(), x * 2]
)
monitored("sums", interval=1, pattern="fc.*_weight", stat_func=lambda x: x.sum(axis=0))


def inference(mx, folder):
    return _run(mx, mx.monitor.Monitor(1, monitor_all=True), train=False, batches=2)


def two_executors(mx, folder):
    monitor = mx.mon.Monitor(1, pattern="fc2_.*")
    one, two = _bound(mx), _bound(mx)
    monitor.install(one)
    monitor.install(two)
    monitor.tic()
    two.forward(is_train=False)
    return _entries(monitor.toc())


def older_operators(mx, folder):
    """Gradients that are named after the inputs, and operators without a backward."""
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    left, right = mx.sym.SliceChannel(x, num_outputs=2, name="slice")
    with mx.name.NameManager():  # counts from 0
        x = mx.sym.elemwise_add(left * 2, right * 3, name="sum")
    x = mx.sym.L2Normalization(mx.sym.SwapAxis(x, dim1=0, dim2=1, name="swap"), name="norm")
    x = mx.sym.SVMOutput(mx.sym.SequenceReverse(x, name="reverse"), name="svm")
    seen = mx.sym.BlockGrad(left, name="block")
    executor = mx.sym.Group([x, seen]).simple_bind(mx.cpu(), data=(3, 5))
    for array in executor.arg_arrays:
        array[:] = np.linspace(-1, 1, array.size).reshape(array.shape)
    executor.arg_dict["svm_label"][:] = [0, 2]
    monitor = mx.mon.Monitor(1, pattern=".*_backward.*", sort=True)
    monitor.install(executor)
    monitor.tic()
    executor.forward(is_train=True)
    executor.backward()
    return _entries([row for row in monitor.toc() if row[1] != "fc_backward_output0"])


VALUES.update(inference=inference, two_executors=two_executors, older_operators=older_operators)


def _refused(name, stat_func):
    monitor = {"interval": 1, "pattern": "fc1_output", "stat_func": stat_func}
    ERRORS[name] = lambda mx, folder: _run(mx, mx.mon.Monitor(**monitor))


_refused("number_as_statistic", lambda x: 3.0)
_refused("tuple_as_statistic", lambda x: (x,))
_refused("numpy_as_statistic", lambda x: [x.asnumpy()])
