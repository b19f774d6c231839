"""Memory stays flat however many shapes, graphs, binds and updates a process has seen.

``python -m pytest --soak -n 0 -s tests/soak/test_memory.py``: each test prints the memory of the
process and the bytes of its compiled code at its checkpoints. ``--rounds`` replaces the number of
rounds.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx

pytestmark = pytest.mark.soak

#: Number of checkpoints of a test.
CHECKPOINTS = 10
#: Maximum memory of compiled code during a test, in bytes.
LIMIT = 1 << 30
#: Allowed growth of the memory from the middle of a test to its end, in MB.
GROWTH = 150


def resident() -> float:
    """The resident memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.fixture
def flat(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[Callable[[int], object], int], None]]:
    """Runs ``work(round)`` for a number of rounds and checks that the memory stays flat."""

    def run(work: Callable[[int], object], rounds: int) -> None:
        rounds = request.config.getoption("--rounds") or rounds
        start, memory = time.perf_counter(), []
        print(f"\n{request.node.name}: {rounds} rounds")
        for i in range(rounds):
            work(i)
            if (i + 1) % max(rounds // CHECKPOINTS, 1) == 0:
                memory.append(resident())
                kinds = mx.program.cache_info().kinds
                code = ", ".join(f"{k} {c.bytes / 1e6:.0f}" for k, c in kinds.items() if c.bytes)
                live = len(jax.devices()[0].client.live_executables())
                seconds = time.perf_counter() - start
                print(
                    f"{i + 1:7} rounds {seconds:7.1f} s  RSS {memory[-1]:6.0f} MB  "
                    f"executables {live:5}  code in MB: {code}"
                )
        assert memory[-1] - memory[len(memory) // 2 - 1] < GROWTH

    limit = mx.program.cache_info().limit_bytes * 2
    mx.program.set_cache_limit(bytes=LIMIT)
    yield run
    mx.program.set_cache_limit(bytes=limit)
    mx.program.clear_cache()
    gc.collect()


def _dense(units: int) -> mx.sym.Symbol:
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=units, name="fc")


def test_reshapes(flat):
    rng = np.random.RandomState(0)
    executor = _dense(4).simple_bind(mx.cpu(), data=(2001, 3), grad_req="null")

    def work(i):
        n = int(rng.randint(1, 2001))
        executor.reshape(data=(n, 3)).forward(data=np.ones((n, 3), np.float32))[0].asnumpy()

    flat(work, 10_000)


def test_graphs(flat):
    def work(i):
        x = mx.sym.var("data")
        for bit in range(13):
            x = (mx.sym.tanh(x) if i >> bit & 1 else mx.sym.relu(x)) if i >> bit else x
        executor = (x * (i + 1)).simple_bind(mx.cpu(), data=(2, 3))
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2, 3)))
        executor.grad_arrays[0].asnumpy()

    flat(work, 5_000)


def test_eager_calls(flat):
    rng = np.random.RandomState(0)
    operators = [mx.nd.tanh, mx.nd.sum, lambda x: x * 2 + x, lambda x: x.T, lambda x: x[1:]]

    def work(i):
        shape = tuple(rng.randint(2, 5, 2)) if i % 50 else tuple(rng.randint(2, 200, 2))
        operators[i % len(operators)](mx.nd.array(np.ones(shape)))

    flat(work, 100_000)


def test_binds(flat):
    def work(i):
        executor = _dense(i % 5 + 1).simple_bind(mx.cpu(), data=(i % 7 + 1, 100))
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((i % 7 + 1, i % 5 + 1)))
        executor.grad_dict["fc_bias"].asnumpy()

    flat(work, 2_000)


def test_metric_updates_without_a_read(flat):
    metric: Any = mx.metric.create(["acc", "f1", "mcc", "ce", "mse", "pearsonr", "pcc"])
    rng = np.random.RandomState(0)

    def work(i):
        n = i % 50 + 2
        label, scores = rng.randint(0, 2, n), rng.rand(n, 2)
        for member in metric.metrics:
            pred = scores[:, 1] if member.name in ("mse", "pearsonr") else scores
            member.update([mx.nd.array(label)], [mx.nd.array(pred)])

    flat(work, 10_000)


def test_bucket_switches(flat):
    def symbol(length):
        data = mx.sym.var("data")
        net = mx.sym.FullyConnected(data, num_hidden=4, flatten=False, name="fc")
        net = mx.sym.mean(net, axis=1)
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(symbol, default_bucket_key=20)
    module.bind([("data", (4, 20, 3))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer()

    def work(i):
        length = i * 7 % 20 + 1
        batch = mx.io.DataBatch(
            [mx.nd.ones((4, length, 3))], [mx.nd.zeros((4,))], bucket_key=length,
            provide_data=[mx.io.DataDesc("data", (4, length, 3))],
            provide_label=[mx.io.DataDesc("softmax_label", (4,))],
        )  # fmt: skip
        module.forward_backward(batch)
        module.update()
        module.get_outputs()[0].asnumpy()

    flat(work, 1_000)


def test_updates_of_many_shapes(flat):
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))

    def work(i):
        shape = (i % 400 + 1, 3)
        updater(i % 400, mx.nd.ones(shape), mx.nd.ones(shape))

    flat(work, 2_000)


def test_recorded_steps(flat):
    """Steps of a plain loop, of which some are read, some retained, some never updated."""
    weights = [mx.nd.array(np.random.randn(16, 16) * 0.1) for _ in range(3)]
    for weight in weights:
        weight.attach_grad()
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=1e-3))
    data = mx.nd.array(np.random.randn(8, 16))

    def work(i):
        with mx.autograd.record():
            x = data
            for weight in weights:
                x = mx.nd.FullyConnected(x, weight, num_hidden=16, no_bias=True).tanh()
            loss = (x**2).sum()
        if i % 7 == 0:
            return
        loss.backward(retain_graph=i % 11 == 0)
        if i % 10 == 0:
            loss.asnumpy()
        if i % 13:
            updater([0, 1, 2], [w.grad for w in weights], weights)

    flat(work, 100_000)


def test_recorded_calls_that_are_new_at_every_step(flat):
    rng = np.random.RandomState(0)
    x = mx.nd.ones((2, 3))
    x.attach_grad()

    def work(i):
        with mx.autograd.record():
            y = x
            for kind in rng.randint(0, 4, rng.randint(2, 12)):
                y = (y * x, y + x, y.tanh(), y.sum(axis=0, keepdims=True) * x)[kind]
        y.backward()

    flat(work, 20_000)
