"""One process of a job of ``bench_processes``: our steps, and those that were written by hand.

python -m benchmarks._job_jax NETWORK RANK PROCESSES PORT
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ._handwritten import FORWARD, Arrays, Forward
from ._job_networks import (
    JOBS,
    MOMENTUM,
    contents,
    job_network,
    joined_module,
    rank_inputs,
    serve_steps,
)

_WIDTHS = {"f64": 8, "f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2}


def main(name: str, rank: str, processes: str, port: str) -> None:
    n = int(processes)
    if n > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=n, process_id=int(rank))
    import executorkit as mx

    mx.program.options(interpret=False).__enter__()  # steady steps are measured
    kvstore = "dist_sync" if n > 1 else "device"
    module, batch = joined_module(mx, name, int(rank), kvstore)
    module.set_keep_gradients(False)  # as in fit
    stepped, _ = joined_module(mx, name, int(rank), kvstore)
    rows, _, rate = JOBS[name]
    net = job_network(name)
    inputs = rank_inputs(net, int(rank))
    first = contents(module.get_params()[0])
    states = contents(module.get_params()[1])
    by_hand = {kind: _ByHand(kind, name, first, states, inputs) for kind in ("jit", "fused")}
    step: Any = None

    def of_module() -> None:
        module.forward_backward(batch)
        module.update()
        module.get_outputs()[0].wait_to_read()

    def of_step() -> None:
        nonlocal step
        if step is None:
            step = mx.training.Step(stepped, optax.sgd(rate, MOMENTUM), rescale_grad=1 / (rows * n))
        step(**inputs)[0].wait_to_read()

    def parameters(mode: str) -> Mapping[str, np.ndarray]:
        if mode == "module":
            return contents(module.get_params()[0])
        if mode == "step":
            return {n: np.asarray(x) for n, x in step.params.items()}
        return {n: np.asarray(x) for n, x in by_hand[mode].state[0].items()}

    def collectives(mode: str) -> Any:
        if mode in by_hand:
            return _collectives(by_hand[mode].compiled_text())
        steps = [f for f in module.core.pmapped.program.functions if f.name == "step" and f.traces]
        return _collectives(steps[0].compile(*steps[0].avals).as_text()) if n > 1 else None

    modes: dict[str, Callable[[], object]] = {"module": of_module, "step": of_step, **by_hand}
    serve_steps(modes, parameters, collectives)


def _collectives(text: str) -> dict[str, int]:
    """The number of all-reduce operations, of their operands, and the operands' bytes."""
    operations = operands = total = 0
    for line in text.splitlines():
        match = re.match(r"\s*(?:ROOT )?%?[\w.-]+ = (.*?) all-reduce(?:-start)?\(", line)
        if match:
            forms = re.findall(r"(\w+)\[([\d,]*)\]", match[1])
            operations, operands = operations + 1, operands + len(forms)
            for dtype, shape in forms:
                sizes = [int(s) for s in shape.split(",") if s]
                total += _WIDTHS[dtype] * int(np.prod(sizes, dtype=int))
    return {"operations": operations, "operands": operands, "bytes": total}


class _ByHand:
    """A donated step of all processes as a JAX user writes it.

    ``jit``: of global arrays, sharded by NamedSharding; XLA adds the sums. ``fused``: in shard_map,
    by one psum of the concatenated gradients; batch statistics are those of a process.
    """

    def __init__(
        self, kind: str, name: str, first: Mapping[str, np.ndarray],
        states: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray],
    ) -> None:  # fmt: skip
        mesh = Mesh(np.array(jax.devices()), ("d",))
        whole, self.split = (NamedSharding(mesh, PartitionSpec(*a)) for a in ((), ("d",)))
        rows, _, rate = JOBS[name]
        tx = optax.sgd(rate, MOMENTUM)

        def put(x: Any) -> jax.Array:
            host = np.asarray(x)
            return jax.make_array_from_callback(host.shape, whole, lambda i: host[i])

        params = {n: put(x) for n, x in first.items()}
        zeros = jax.tree.map(lambda x: put(np.zeros(x.shape, x.dtype)), params)
        trace = optax.TraceState(zeros)
        self.state: tuple[Any, Any, Any] = (
            params, (trace, *tx.init({})[1:]), {n: put(x) for n, x in states.items()},
        )  # fmt: skip
        self.inputs = inputs
        total = rows * jax.device_count()
        gradients = _gradients(_FORWARD[name])
        step = partial(_step, gradients, tx, total, kind == "fused")
        if kind == "fused":
            specs = (PartitionSpec(), PartitionSpec("d"))
            step = jax.shard_map(
                step, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(), check_vma=False
            )
        self.function = jax.jit(step, donate_argnums=0)

    def _batch(self) -> dict[str, jax.Array]:
        local = jax.make_array_from_process_local_data
        return {n: local(self.split, x) for n, x in self.inputs.items()}

    def __call__(self) -> None:
        self.state = self.function(self.state, self._batch())
        jax.block_until_ready(self.state)

    def compiled_text(self) -> str:
        return self.function.lower(self.state, self._batch()).compile().as_text() or ""


def _gradients(forward: Forward) -> Callable[[Arrays, Arrays, Arrays], Any]:
    def loss(p: Arrays, states: Arrays, inputs: Arrays) -> tuple[jax.Array, Any]:
        logits, new = forward(p, states, inputs, True)
        labels = inputs["softmax_label"].astype(jnp.int32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).sum(), new

    return jax.grad(loss, has_aux=True)


def _step(
    gradients: Any, tx: optax.GradientTransformation, total: int, fused: bool, state: Any,
    inputs: Arrays,
) -> Any:  # fmt: skip
    params, momenta, states = state
    grads, new = gradients(params, states, inputs)
    if fused:
        leaves, tree = jax.tree.flatten(grads)
        buffer = lax.psum(jnp.concatenate([x.ravel() for x in leaves]), "d")
        parts = jnp.split(buffer, np.cumsum([x.size for x in leaves])[:-1])
        grads = tree.unflatten(p.reshape(x.shape) for p, x in zip(parts, leaves, strict=True))
    updates, momenta = tx.update(jax.tree.map(lambda g: g / total, grads), momenta, params)
    return optax.apply_updates(params, updates), momenta, new


def _chain(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    x = inputs["data"]
    for i in range(len(p)):
        x = x @ p[f"fc{i}_weight"].T
    return x, states


def _resnet18(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    new = {}

    def conv(x: jax.Array, name: str, stride: int = 1) -> jax.Array:
        w = p[f"{name}_weight"]
        x = lax.conv_general_dilated(x, w, (stride,) * 2, [(w.shape[2] // 2,) * 2] * 2)
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
        for kind, value in (("mean", mean), ("var", var)):
            state = f"{name}_bn_moving_{kind}"
            new[state] = 0.9 * states[state] + 0.1 * value
        scale = lax.rsqrt(var + 2e-5) * p[f"{name}_bn_gamma"]
        return x * scale[:, None, None] + (p[f"{name}_bn_beta"] - mean * scale)[:, None, None]

    x = jax.nn.relu(conv(inputs["data"], "conv0", 2))
    pads = [(0, 0), (0, 0), (1, 1), (1, 1)]
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), pads)
    for stage in range(1, 5):
        for unit in (1, 2):
            name, stride = f"stage{stage}_unit{unit}", 2 if stage > 1 and unit == 1 else 1
            y = conv(jax.nn.relu(conv(x, f"{name}_1", stride)), f"{name}_2")
            x = jax.nn.relu(y + (conv(x, f"{name}_sc", 2) if stride == 2 else x))
    return x.mean((2, 3)) @ p["fc1_weight"].T + p["fc1_bias"], new


_FORWARD: dict[str, Forward] = {**FORWARD, "chain": _chain, "resnet18": _resnet18}


if __name__ == "__main__":
    main(*sys.argv[1:])
