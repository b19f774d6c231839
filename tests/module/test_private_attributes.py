"""Private attributes of MXNet's objects that scripts read."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx


def _module(contexts=1) -> mx.mod.Module:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(
        mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(k) for k in range(contexts)]
    )
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    return module


def test_a_module_forgets_what_was_bound():
    module = _module()
    module._sync_params_from_devices()
    module._reset_bind()
    assert not module.binded
    assert module._exec_group is None
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    assert module.get_params()[0]["fc_weight"].asnumpy().sum() == 6


def test_a_group_has_the_arrays_of_data_by_device():
    group = _module(2)._exec_group
    shapes = [{n: x.shape for n, x in arrays.items()} for arrays in group.shared_data_arrays]
    assert shapes == [{"data": (2, 3), "softmax_label": (2,)}] * 2


def test_an_executor_has_its_dicts_and_its_callback():
    executor = _module()._exec_group.execs[0]
    assert executor._monitor_callback is None

    def callback(name, array) -> None:
        raise AssertionError

    executor.set_monitor_callback(callback)
    assert executor._monitor_callback is callback
    assert executor._output_dict["softmax_output"] is executor.outputs[0]
    assert executor._grad_dict["fc_weight"] is executor.grad_dict["fc_weight"]


def test_stores_iterators_and_models():
    store = mx.kv.create("local")
    assert store._updater_func is None
    store.set_optimizer(mx.optimizer.SGD())
    assert isinstance(store._updater_func, mx.optimizer.Updater)
    batches = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.zeros((4, 3)), np.zeros(4), 2))
    assert batches.started
    for event in (*batches.data_taken, *batches.data_ready, *batches.prefetch_threads):
        pytest.fail(f"nothing to wait for: {event}")
    with pytest.warns(DeprecationWarning, match="FeedForward"):
        model = mx.model.FeedForward(mx.sym.SoftmaxOutput(mx.sym.var("data")), num_epoch=1)
    assert model.argument_checked
