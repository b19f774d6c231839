"""Private attributes of MXNet's objects that scripts read."""

from __future__ import annotations

from typing import Any

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


def test_attributes_of_the_parts_of_a_module_can_be_read_and_set():
    module = _module()
    parts = (module._optimizer, module._kvstore, module._updater, module._update_on_kvstore)
    assert parts == (None, None, None, False)
    module.init_optimizer(kvstore=None)
    assert module._updater.optimizer is module._optimizer
    module._exec_group.param_arrays[0][0][:] = 7
    module._params_dirty = True
    args, _ = module.get_params()
    assert args["fc_weight"].asnumpy().tolist() == [[7] * 3] * 2
    module._arg_params = dict(args)
    assert module.get_params()[0] is module._arg_params
    assert module._grad_req == "write"


def test_a_group_has_the_arrays_of_data_by_device():
    group = _module(2)._exec_group
    shapes = [{n: x.shape for n, x in arrays.items()} for arrays in group.shared_data_arrays]
    assert shapes == [{"data": (2, 3), "softmax_label": (2,)}] * 2


def test_the_arrays_of_data_include_their_gradients_and_states():
    states = mx.sym.var("data") + mx.sym.var("state")
    net = mx.sym.FullyConnected(states, num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None, state_names=["state"])
    module.bind([("data", (4, 3))], inputs_need_grad=True)
    (arrays,) = module._exec_group.shared_data_arrays
    expected = {"data": (4, 3), "state": (4, 3), "grad of data": (4, 3)}
    assert {n: x.shape for n, x in arrays.items()} == expected
    assert arrays["data"] is module._exec_group.execs[0].arg_dict["data"]


def test_buckets_share_the_largest_arrays_of_data():
    def bucket(length):
        embedded = mx.sym.Embedding(mx.sym.var("data"), input_dim=5, output_dim=3, name="embed")
        net = mx.sym.FullyConnected(mx.sym.sum(embedded, axis=1), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(bucket, 7, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 7))], [("softmax_label", (4,))])
    module.init_params()
    for length, largest in ((5, 7), (9, 9)):
        module.switch_bucket(length, [("data", (4, length))], [("softmax_label", (4,))])
        for group in (b._exec_group for b in module.buckets.values()):
            shapes = [{n: x.shape for n, x in d.items()} for d in group.shared_data_arrays]
            assert shapes == [{"data": (2, largest), "softmax_label": (2,)}] * 2


def test_states_that_are_saved_are_those_of_the_store_and_come_back(tmp_path):
    """Scripts compare ``_updater.states`` on one device, ``_kvstore._updater.states`` on two."""

    def numbers(states):
        return {key: state.asnumpy().tolist() for key, state in states.items()}

    for contexts in (1, 2):
        module = _module(contexts)
        options: Any = {"optimizer_params": {"momentum": 0.9}}
        module.init_optimizer(**options)
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.ones((4,))]))
        module.update()
        module.save_checkpoint(str(tmp_path / "m"), 1, save_optimizer_states=True)
        again = mx.mod.Module.load(
            str(tmp_path / "m"), 1, load_optimizer_states=True, context=module._context
        )
        again.bind(module.data_shapes, module.label_shapes)
        again.init_optimizer(**options)
        holders = [(m if contexts == 1 else m._kvstore)._updater for m in (module, again)]
        states, loaded = (numbers(updater.states) for updater in holders)
        assert states == loaded
        assert list(states) == ([0, 1] if contexts == 1 else ["fc_weight", "fc_bias"])


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
