"""Networks of dense layers as users of JAX write them: ``flax.linen`` and optax, jitted, donated.

python -m benchmarks._flax_loops LOOP

A worker like ``_recorded_loops``, whose networks, weights and batches these are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ._recorded_loops import DENSE, batch, dense_shapes, serve, weights


class Network(nn.Module):
    """Dense layers with ReLU between them."""

    sizes: Sequence[int]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for k, size in enumerate(self.sizes):
            x = nn.Dense(size)(x if k == 0 else nn.relu(x))
        return x


class _Numpy:
    """Where ``batch`` makes its arrays."""

    class nd:  # noqa: N801
        array = staticmethod(partial(np.asarray, dtype=np.float32))


def main(title: str) -> None:
    sizes, rows = DENSE[title]
    net = Network(sizes[1:])
    x, y = (jax.device_put(array) for array in batch(_Numpy, (rows, sizes[0]), sizes[-1]))
    values = iter(weights(dense_shapes(sizes)))
    params: Any = {}
    for k in range(len(sizes) - 1):
        kernel, bias = next(values).T, next(values)
        params[f"Dense_{k}"] = {"kernel": jnp.float32(kernel), "bias": jnp.float32(bias)}
    tx = optax.sgd(0.01, momentum=0.9)
    state = tx.init(params)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        def mean_loss(params: Any) -> tuple[jax.Array, jax.Array]:
            logits = net.apply({"params": params}, x)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, y.astype(int))
            return losses.mean(), losses

        gradients, losses = jax.grad(mean_loss, has_aux=True)(params)
        updates, state = tx.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, losses

    def iteration() -> jax.Array:
        nonlocal params, state
        params, state, losses = step(params, state, x, y)
        return losses

    serve(iteration, lambda: jax.block_until_ready(params))


if __name__ == "__main__":
    main(sys.argv[1])
