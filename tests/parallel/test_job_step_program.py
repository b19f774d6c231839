"""The program of a step that the processes of a job take together, in one process: its numbers, and
what it sends for any number of hosts."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.parallel._job_messages import lockstep
from tests.parallel._job_programs import JobStep, join, sums_in

pytestmark = pytest.mark.usefixtures("fresh_programs")

ROWS = 8


@pytest.fixture(autouse=True)
def _nothing_told():
    yield
    lockstep.take()


def _network(depth=2, half=False):
    """Layers with a normalisation, of which one is too large to be sent with others; with ``half``
    another layer of float16."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="first")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="bn")
    for i in range(depth):
        x = mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=4, name=f"fc{i}")
    if half:
        x = mx.sym.FullyConnected(mx.sym.cast(x, "float16"), num_hidden=4, name="half")
        x = mx.sym.cast(x, "float32")
    x = mx.sym.FullyConnected(x, num_hidden=70_000, no_bias=True, name="large")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _module(symbol, joins=True):
    module = mx.mod.Module(symbol, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (ROWS, 6))], [("softmax_label", (ROWS,))])
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    options = {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}
    module.init_optimizer(kvstore="device", optimizer="sgd", optimizer_params=options)
    return join(module) if joins else module


def _take_steps(module, count):
    random = np.random.RandomState(1)
    for _ in range(count):
        data, label = random.randn(ROWS, 6), random.randint(0, 5000, ROWS)
        module.forward_backward(mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)]))
        module.update()
    return module


def _contents(module):
    args, aux = module.get_params()
    return {n: a.asnumpy() for n, a in (args | aux).items()}


def test_a_joined_step_computes_what_a_group_does_and_is_traced_once():
    expected = _contents(_take_steps(_module(_network(), joins=False), 3))
    module = _take_steps(_module(_network()), 3)
    for name, content in _contents(module).items():
        np.testing.assert_allclose(content, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
    _take_steps(module, 5)
    assert JobStep.of(module).function.traces == 1


def test_a_step_without_a_batch_changes_nothing():
    module = _take_steps(_module(_network()), 2)
    before = _contents(module)
    states = [np.asarray(s.asnumpy()) for s in _momenta(module)]
    lockstep.take()
    with lockstep.without_batch():
        _take_steps(module, 1)
    assert [told.share for told in lockstep.take()] == [0.0]
    for name, content in _contents(module).items():
        assert content.tobytes() == before[name].tobytes(), name
    for old, new in zip(states, _momenta(module), strict=True):
        assert new.asnumpy().tobytes() == old.tobytes()
    _take_steps(module, 1)
    assert lockstep.take()[0].share == 1.0
    assert all(c.tobytes() != before[n].tobytes() for n, c in _contents(module).items())


def _momenta(module):
    states = module._module_optimizer.updater.states
    return [s[0] if isinstance(s, list) else s for _, s in sorted(states.items())]


def test_a_step_sends_one_message_for_each_dtype_and_large_array():
    """The flags and the means of BatchNorm ride along; large arrays are sent as they are."""
    sent = {}
    for depth, half in ((2, False), (20, False), (2, True)):
        step = JobStep.of(_take_steps(_module(_network(depth, half)), 1))
        sent[depth, half] = sums_in(step.lowered(4))
    large = ("f32", 280_000)
    small = 4 * 6 + 4 + 4 * 4 + 1  # the first layer, the normalisation, the flags
    forms = {k: sorted((s.dtype, s.elements) for s in v) for k, v in sent.items()}
    assert forms[2, False] == [("f32", small + 2 * 20), large]
    assert forms[20, False] == [("f32", small + 20 * 20), large]
    assert forms[2, True] == [("f16", 20), ("f32", small + 2 * 20), large]


def test_a_step_lowers_for_thousands_of_hosts_that_are_not_there():
    """Neither messages nor their bytes depend on the number of devices; the text grows by the list
    of these alone."""
    step = JobStep.of(_take_steps(_module(_network()), 1))
    few, many = (step.lowered(hosts, 8) for hosts in (1, 1000))
    assert sums_in(many) == sums_in(few)
    parameters = sum(4 * s for s in (4 * 6 + 4, 4 + 4, 2 * 20, 280_000))
    assert sum(s.bytes for s in sums_in(many)) == parameters + 4 * (4 + 4 + 1)
    assert len(many) - len(few) < 8_000 * 40
    alone = sums_in(step.lowered(1000, 8, on_cpu=False))
    assert sum(s.bytes for s in alone) == sum(s.bytes for s in sums_in(many))
    assert len(alone) == 2 + 2 + 2 * 2 + 1 + 2 + 1  # XLA sends those of GPUs together
