"""The demo's network and training step as a JAX user writes them, without executorkit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

OPTIMIZER = optax.adam(1e-2)


class HandwrittenStep:
    """Parameters, and a step that improves them: one jitted function."""

    def __init__(self, parameters: dict[str, jax.Array]) -> None:
        self.parameters = parameters
        self.state = OPTIMIZER.init(parameters)

    def __call__(self, images: np.ndarray, labels: np.ndarray) -> dict[str, jax.Array]:
        self.parameters, self.state, _ = _step(self.parameters, self.state, images, labels)
        return self.parameters


def _logits(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    for i in (1, 2):
        x = lax.conv_general_dilated(x, p[f"conv{i}_weight"], (1, 1), "SAME")
        x = jax.nn.relu(x + p[f"conv{i}_bias"][:, None, None])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return x.reshape(len(x), -1) @ p["fc_weight"].T + p["fc_bias"]


def _loss(p: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    logits = _logits(p, x)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, y.astype(jnp.int32))
    return losses.mean(), jax.nn.softmax(logits)


@jax.jit
def _step(parameters: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
    gradients, probabilities = jax.grad(_loss, has_aux=True)(parameters, x, y)
    updates, state = OPTIMIZER.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, probabilities
