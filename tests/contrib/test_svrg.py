"""SVRGModule's full gradients and corrections are MXNet's, whose numbers are written here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.contrib.svrg_optimization import SVRGModule


def _unbound(devices: int = 1) -> tuple[SVRGModule, Any]:
    batches = mx.io.NDArrayIter(np.ones((8, 2)), np.zeros(8), 4, label_name="label")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"), name="linear")
    contexts = [mx.cpu(k) for k in range(devices)]
    return SVRGModule(net, label_names=["label"], context=contexts, update_freq=2), batches


def _module(devices: int, kvstore: Any) -> tuple[SVRGModule, Any]:
    module, batches = _unbound(devices)
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore=kvstore, optimizer_params={"learning_rate": 0.01})
    return module, batches


def _numbers(arrays: Any) -> list[Any]:
    return [array.asnumpy().tolist() for array in arrays]


@pytest.mark.parametrize(("devices", "full"), [(1, 10.0), (2, 5.0)])
def test_a_store_sums_full_gradients_over_devices(devices, full):
    module, _ = _module(devices, mx.kv.create("local"))
    arrays = [mx.nd.full((1, 2), k + 1, ctx=mx.cpu(k)) for k in range(4)]
    module._accumulate_kvstore("fc_weight", arrays)
    assert _numbers(arrays) == [[[10.0, 10.0]]] * 4
    weights = [device["fc_weight"] for device in module._param_dict]
    assert _numbers(weights) == [[[full, full]]] * devices
    assert [w.context for w in weights] == [mx.cpu(k) for k in range(devices)]


def test_without_a_store_each_device_has_full_gradients_of_its_own():
    module, _ = _module(2, None)
    assert [_numbers(d.values()) for d in module._param_dict] == [[[[0.0, 0.0]], [0.0]]] * 2
    module._allocate_gradients("fc_weight", [mx.nd.ones((1, 2)), 2 * mx.nd.ones((1, 2))])
    full = [_numbers([d["fc_weight"]]) for d in module._param_dict]
    assert full == [[[[0.5, 0.5]]], [[[1.0, 1.0]]]]


def test_update_corrects_the_gradients():
    module, batches = _module(1, "local")
    module._allocate_gradients("fc_weight", [mx.nd.ones((1, 2))])
    module.update_full_grads(batches)
    assert _numbers(module._param_dict[0].values()) == [[[8.5, 8.5]], [8.0]]
    batches.reset()
    module.forward(next(batches), is_train=True)
    module.backward()
    gradients = [g[0] for g in module._exec_group.grad_arrays]
    assert _numbers(gradients) == [[[8.0, 8.0]], [8.0]]
    module.update()
    assert _numbers(gradients) == [[[8.5, 8.5]], [8.0]]


def test_fit_is_the_loop_of_modules(caplog):
    module, batches = _unbound()
    seen = []
    with caplog.at_level("INFO"):
        module.fit(
            batches, batches, "mse", num_epoch=3, batch_end_callback=lambda p: seen.append(p.nbatch)
        )
    assert seen == [0, 1] * 3
    lines = [r.getMessage().partition("=")[0] for r in caplog.records if "Epoch[2]" in r.message]
    assert lines == ["Epoch[2] Train-mse", "Epoch[2] Time cost", "Epoch[2] Validation-mse"]


@pytest.mark.parametrize(("epochs", "frequency", "resets"), [(1, 2, 2), (3, 1, 6), (4, 3, 6)])
def test_fit_resets_as_often_as_mxnet(epochs, frequency, resets, monkeypatch):
    """Once for each epoch and each full gradient: shuffles depend on the number."""
    module, batches = _unbound()
    module.update_freq = frequency
    calls = []
    reset = batches.reset
    monkeypatch.setattr(batches, "reset", lambda: calls.append(reset()))
    module.fit(batches, eval_metric="mse", num_epoch=epochs)
    assert len(calls) == resets
