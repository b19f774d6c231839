"""Cost of a training step on several devices beside the hand-written pmap of the same model.

python -m benchmarks.bench_groups [--pairs 20]

CPU devices share the machine's cores: more devices are not faster here, but show the overhead of a
group.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import executorkit as mx
from executorkit.display import text_table
from executorkit.module.executor_group import DataParallelExecutorGroup
from executorkit.parallel import traffic

from ._handwritten import FORWARD, Arrays, jitted
from ._networks import Network, network
from ._timing import PairedTimes, time_in_pairs

Step = Callable[[], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="number of steady steps of each")
    pairs = parser.parse_args().pairs
    print(f"JAX {jax.__version__}, {os.cpu_count()} cores\n\nWhole networks")
    rows = []
    for name, batch in (("mlp", 64), ("mlp", 4096), ("lenet", 32), ("lenet", 128)):
        for devices in (2, 4):
            net = network(name, batch, 28)
            rows.append(
                [f"{name}, {batch} rows", devices, *_cells(_networks(net, name, devices, pairs))]
            )
    _table("network", rows)
    print("\nA loop over contexts in Gluon: record, backward, Trainer.step; 64 rows per device")
    _table("network", [["mlp, hybridized", n, *_cells(_gluon(n, pairs))] for n in (2, 4)])
    print("\nA chain of small layers, on 4 devices")
    _table("parameters", [[n, 4, *_cells(_chain(n, 4, pairs))] for n in (10, 50, 100, 200, 500)])
    print("\nA chain of 100 parameters")
    _table("parameters", [[100, n, *_cells(_chain(100, n, pairs))] for n in (1, 2, 4, 8)])
    print(
        "\nCost of reading the devices' arrays in a script: a chain of 100 parameters, on 4 devices"
    )
    _array_reads(pairs)


def _cells(times: PairedTimes) -> list[str]:
    return [f"{times.ours * 1e3:.2f} ms", f"{times.theirs * 1e3:.2f} ms", f"{times.ratio:.2f}"]


def _table(subject: str, rows: list[list[Any]]) -> None:
    header = [subject, "devices", "group", "pmap by hand", "pmap / ours"]
    print(text_table(header, [list(map(str, r)) for r in rows], right={1, 2, 3, 4}))


def _group(symbol: Any, shapes: dict[str, Any], devices: int) -> Any:
    labels = {n: s for n, s in shapes.items() if n.endswith("label")}
    data = {n: s for n, s in shapes.items() if n not in labels}
    names = [n for n in symbol.list_arguments() if n not in shapes]
    return DataParallelExecutorGroup(
        symbol, [mx.cpu(i) for i in range(devices)], None, list(data.items()),
        list(labels.items()) or None, names, True, False,
    )  # fmt: skip


def _group_step(group: Any, batch: Any) -> Step:
    """A step that returns the group's outputs and gradients, to be waited for."""

    def step() -> Any:
        group.forward(batch)
        group.backward()
        return [a.value for a in arrays]

    results = [a for a in (*group.core.outputs, *group.core.grad_arrays) if a is not None]
    replicated = group.core.is_pmapped
    arrays = results if replicated else [a for replicas in results for a in replicas]
    return step


def _by_hand(function: Callable[..., Any], state: list[Arrays], inputs: Any, devices: int) -> Step:
    """The function mapped by pmap, with stacked parameters; steps split and transfer the inputs."""
    cpus = jax.devices("cpu")[:devices]
    sharding = NamedSharding(Mesh(np.array(cpus), ("i",)), PartitionSpec("i"))
    mapped = jax.pmap(function, axis_name="i", devices=cpus)

    def stacked(x: np.ndarray) -> jax.Array:
        return jax.device_put(np.broadcast_to(x, (devices, *x.shape)), sharding)

    stacked_state = [{n: stacked(x) for n, x in arrays.items()} for arrays in state]

    def step() -> Any:
        sliced = {
            n: jax.device_put(x.reshape(devices, len(x) // devices, *x.shape[1:]), sharding)
            for n, x in inputs.items()
        }
        return mapped(*stacked_state, sliced)

    return step


def _networks(net: Network, name: str, devices: int, pairs: int) -> PairedTimes:
    inputs = net.inputs()
    group = _group(net.build(mx), dict(net.shapes), devices)
    params = {
        n: net.value(n, a[0].shape)
        for n, a in zip(group.param_names, group.param_arrays, strict=True)
    }
    group.set_params({n: mx.nd.array(v) for n, v in params.items()}, {})
    labels = [n for n in inputs if n.endswith("label")]
    batch = mx.io.DataBatch(
        [mx.nd.array(v) for n, v in inputs.items() if n not in labels],
        [mx.nd.array(inputs[n]) for n in labels],
    )
    ours = _group_step(group, batch)
    theirs = _by_hand(jitted(FORWARD[name])[1], [params, {}], inputs, devices)
    ours()
    gradients = theirs()[1]
    for n, arrays in zip(group.param_names, group.grad_arrays, strict=True):
        np.testing.assert_allclose(arrays.value, gradients[n], rtol=1e-2, atol=1e-3)
    return time_in_pairs(ours, theirs, pairs)


def _gluon(devices: int, pairs: int) -> PairedTimes:
    """A multilayer perceptron, by SGD with momentum, beside the same step with donated parameters
    and a sum over devices written by hand."""
    rows, sizes = 64 * devices, (784, 128, 64, 10)
    random = np.random.RandomState(0)
    data, label = random.randn(rows, 784).astype("float32"), random.randint(0, 10, rows)
    contexts = [mx.cpu(k) for k in range(devices)]
    net = mx.gluon.nn.HybridSequential()
    for before, after in itertools.pairwise(sizes):
        activation = None if after == 10 else "relu"
        net.add(mx.gluon.nn.Dense(after, in_units=before, activation=activation))
    net.initialize(mx.init.Xavier(), ctx=contexts)
    net.hybridize()
    options = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", options)
    losses_of, load = mx.gluon.loss.SoftmaxCrossEntropyLoss(), mx.gluon.utils.split_and_load

    def ours() -> Any:
        parts = zip(load(data, contexts), load(label, contexts), strict=True)
        with mx.autograd.record():
            losses = [losses_of(net(x), y) for x, y in parts]
        mx.autograd.backward(losses)
        trainer.step(rows)
        return [loss.asnumpy() for loss in losses]

    def losses(weights: Sequence[Any], x: Any, y: Any) -> Any:
        for k in range(0, len(weights), 2):
            x = x @ weights[k].T + weights[k + 1]
            x = jax.nn.relu(x) if k < len(weights) - 2 else jax.nn.log_softmax(x)
        values = -jnp.take_along_axis(x, y[:, None], 1)[:, 0]
        return values.sum(), values

    def by_hand(state: Any, x: Any, y: Any) -> Any:
        weights, momenta = state
        (_, values), grads = jax.value_and_grad(losses, has_aux=True)(weights, x, y)
        grads = [jax.lax.psum(g, "i") / rows for g in grads]
        momenta = [0.9 * m - 0.01 * g for m, g in zip(momenta, grads, strict=True)]
        return ([w + m for w, m in zip(weights, momenta, strict=True)], momenta), values

    cpus = jax.devices("cpu")[:devices]
    sharding = NamedSharding(Mesh(np.array(cpus), ("i",)), PartitionSpec("i"))
    mapped = jax.pmap(by_hand, axis_name="i", devices=cpus, donate_argnums=0)

    def placed(x: np.ndarray) -> jax.Array:
        return jax.device_put(x.reshape(devices, len(x) // devices, *x.shape[1:]), sharding)

    held = net.collect_params().values()
    first = [np.concatenate([p.data(contexts[0]).asnumpy()] * devices) for p in held]
    state = [placed(w) for w in first], [placed(np.zeros_like(w)) for w in first]

    def theirs() -> Any:
        nonlocal state
        state, values = mapped(state, placed(data), placed(label))
        return np.asarray(values)

    np.testing.assert_allclose(np.concatenate(ours()), theirs().reshape(-1), rtol=1e-3, atol=1e-4)
    return time_in_pairs(ours, theirs, pairs)


def _chain(parameters: int, devices: int, pairs: int) -> PairedTimes:
    symbol, values = _chain_of(parameters)
    group = _group(symbol, {"data": (16 * devices, 8)}, devices)
    group.set_params({n: mx.nd.array(v) for n, v in values.items()}, {})
    data = np.random.RandomState(0).randn(16 * devices, 8).astype(np.float32)

    def loss(p: Arrays, inputs: Arrays) -> Any:
        x = inputs["data"]
        for i in range(parameters):
            x = jnp.tanh(x @ p[f"fc{i}_weight"].T)
        return x.sum(), x

    def step(p: Arrays, inputs: Arrays) -> Any:
        gradients, outputs = jax.grad(loss, has_aux=True)(p, inputs)
        return outputs, gradients

    ours = _group_step(group, mx.io.DataBatch([mx.nd.array(data)], None))
    theirs = _by_hand(step, [values], {"data": data}, devices)
    first_gradient = next(iter(theirs()[1].values()))
    ours()
    replicas = np.stack([a.asnumpy() for a in group.grad_arrays[0]]).reshape(first_gradient.shape)
    np.testing.assert_allclose(replicas, first_gradient, rtol=1e-3, atol=1e-5)
    return time_in_pairs(ours, theirs, pairs)


def _chain_of(parameters: int) -> tuple[Any, Arrays]:
    x = mx.sym.Variable("data")
    values = {}
    for i in range(parameters):
        x = mx.sym.FullyConnected(x, num_hidden=8, no_bias=True, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"tanh{i}")
        values[f"fc{i}_weight"] = 0.3 * np.random.RandomState(i).randn(8, 8).astype(np.float32)
    return mx.sym.MakeLoss(x, name="loss"), values


def _array_reads(pairs: int) -> None:
    """Steps after which a metric, or an update of each array, reads the devices' arrays."""
    symbol, values = _chain_of(100)
    group = _group(symbol, {"data": (64, 8)}, 4)
    group.set_params({n: mx.nd.array(v) for n, v in values.items()}, {})
    bare = _group_step(group, mx.io.DataBatch([mx.nd.ones((64, 8))], None))
    metric = mx.metric.create("loss")

    def with_metric() -> Any:
        bare()
        group.update_metric(metric, [], False)
        return metric.sum_metric

    def with_update() -> Any:
        for weights, gradients in zip(group.param_arrays, group.grad_arrays, strict=True):
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= 1e-9 * gradient
        return bare()

    rows = []
    for label, step in (
        ("bare", bare), ("update_metric", with_metric), ("update by hand", with_update)
    ):  # fmt: skip
        step()
        before = traffic.snapshot()
        step()
        moved = {k: n - before[k] for k, n in traffic.snapshot().items() if n != before[k]}
        times = time_in_pairs(step, bare, pairs)
        counts = ", ".join(f"{n} {k}" for k, n in moved.items())
        rows.append([label, f"{times.ours * 1e3:.2f} ms", f"{times.ratio:.2f}", counts])
    print(text_table(["step", "time", "bare / ours", "moved"], rows, right={1, 2}))


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 8)
    main()
