"""Modules whose batches change their shape, compiled ahead of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx

pytestmark = pytest.mark.usefixtures("fresh_programs")


def _module(devices: int, batch: int = 12, for_training: bool = True):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    module = mx.mod.Module(net, context=[mx.cpu(i) for i in range(devices)])
    module.bind([("data", (batch, 5))], [("softmax_label", (batch,))], for_training)
    module.init_params()
    return module


def _batch(rows: int):
    data = [mx.nd.array(np.ones((rows, 5)))]
    shapes: Any = [("data", (rows, 5))], [("softmax_label", (rows,))]
    return mx.io.DataBatch(data, [mx.nd.zeros(rows)], None, None, None, *shapes), shapes


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("is_train", [False, True])
def test_batches_of_a_precompiled_shape_compile_nothing(devices, is_train):
    module = _module(devices, for_training=is_train)
    if is_train:
        module.init_optimizer(optimizer_params={"learning_rate": 0.1})

    def run(rows: int):
        batch, _ = _batch(rows)
        module.forward(batch)
        if is_train:
            module.backward()
            module.update()
        return module.get_outputs()[0].asnumpy()

    run(12)
    precompilation = module.precompile([_batch(rows)[1] for rows in (4, 8)])
    assert precompilation.wait()
    assert len(precompilation.tasks) == 2
    before = module.core.traces
    for rows in (4, 8):
        assert run(rows).shape == (rows, 3)
    assert module.core.traces == before


def test_a_module_that_is_not_bound_is_refused():
    module = mx.mod.Module(mx.sym.Variable("data") * 2, label_names=[])
    with pytest.raises(AssertionError):
        module.precompile([])
