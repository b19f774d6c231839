"""The same networks as a JAX user writes them: functions of a dict of parameters, under jax.jit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

from . import _handwritten_images

Arrays = dict[str, jax.Array]
#: ``(parameters, states, inputs, train) -> (logits, new states)``
Forward = Callable[[Arrays, Arrays, Arrays, bool], tuple[jax.Array, Arrays]]


def jitted(forward: Forward) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Inference and training step: ``infer(p, s, inputs) -> probabilities`` and
    ``step(p, s, inputs) -> (probabilities, gradients, new states)``."""

    @jax.jit
    def infer(p: Arrays, states: Arrays, inputs: Arrays) -> jax.Array:
        return jax.nn.softmax(forward(p, states, inputs, False)[0])

    return infer, jax.jit(_gradients(forward))


def trained(forward: Forward, tx: optax.GradientTransformation) -> Callable[..., Any]:
    """A donated training step: ``step(p, state of tx, s, inputs) -> (p, state of tx, s,
    probabilities)``; the loss is a mean over the rows of the batch."""
    gradients_of = _gradients(forward)

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(p: Arrays, state: Any, states: Arrays, inputs: Arrays) -> Any:
        probabilities, gradients, new = gradients_of(p, states, inputs)
        rows = len(inputs["data"])
        updates, state = tx.update({n: g / rows for n, g in gradients.items()}, state, p)
        return optax.apply_updates(p, updates), state, new, probabilities

    return step


def _gradients(forward: Forward) -> Callable[[Arrays, Arrays, Arrays], Any]:
    """``(p, s, inputs) -> (probabilities, gradients of the summed loss, new states)``."""

    def loss(p: Arrays, states: Arrays, inputs: Arrays) -> tuple[jax.Array, Any]:
        logits, states = forward(p, states, inputs, True)
        labels = inputs["softmax_label"].T.reshape(-1).astype(jnp.int32)
        log_likelihoods = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
        return -log_likelihoods.sum(), (jax.nn.softmax(logits), states)

    def step(p: Arrays, states: Arrays, inputs: Arrays) -> Any:
        gradients, (probabilities, new) = jax.grad(loss, has_aux=True)(p, states, inputs)
        return probabilities, gradients, new

    return step


def _dense(p: Arrays, x: jax.Array, name: str) -> jax.Array:
    return x @ p[f"{name}_weight"].T + p[f"{name}_bias"]


def mlp(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    x = inputs["data"].reshape(len(inputs["data"]), -1)
    for name in ("fc1", "fc2"):
        x = jax.nn.relu(_dense(p, x, name))
    return _dense(p, x, "fc3"), states


def _conv(x: jax.Array, w: jax.Array, stride: int = 1, pad: int = 0) -> jax.Array:
    return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2)


def _max_pool(x: jax.Array, size: int, stride: int, pad: int = 0) -> jax.Array:
    padding = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    return lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, stride, stride), padding
    )


def lenet(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    x = inputs["data"]
    for name in ("conv1", "conv2"):
        x = jnp.tanh(_conv(x, p[f"{name}_weight"]) + p[f"{name}_bias"][:, None, None])
        x = _max_pool(x, 2, 2)
    x = jnp.tanh(_dense(p, x.reshape(len(x), -1), "fc1"))
    return _dense(p, x, "fc2"), states


def resnet50(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    new = {}

    def norm(x: jax.Array, name: str) -> jax.Array:
        mean, var = states[f"{name}_moving_mean"], states[f"{name}_moving_var"]
        if train:
            old_mean, old_var = mean, var
            mean = x.mean((0, 2, 3))
            var = ((x - mean[:, None, None]) ** 2).mean((0, 2, 3))
            new[f"{name}_moving_mean"] = 0.9 * old_mean + 0.1 * mean
            new[f"{name}_moving_var"] = 0.9 * old_var + 0.1 * var
        scale = lax.rsqrt(var + 2e-5)
        if name != "bn_data":
            scale = scale * p[f"{name}_gamma"]
        shift = p[f"{name}_beta"] - mean * scale
        return x * scale[:, None, None] + shift[:, None, None]

    def norm_relu(x: jax.Array, name: str) -> jax.Array:
        return jax.nn.relu(norm(x, name))

    x = _conv(norm(inputs["data"], "bn_data"), p["conv0_weight"], 2, 3)
    x = _max_pool(norm_relu(x, "bn0"), 3, 2, 1)
    for stage, units in enumerate((3, 4, 6, 3), start=1):
        for unit in range(1, units + 1):
            stride = 2 if stage > 1 and unit == 1 else 1
            name = f"stage{stage}_unit{unit}"
            before = norm_relu(x, f"{name}_bn1")
            short = _conv(before, p[f"{name}_sc_weight"], stride) if unit == 1 else x
            y = _conv(before, p[f"{name}_conv1_weight"])
            y = _conv(norm_relu(y, f"{name}_bn2"), p[f"{name}_conv2_weight"], stride, 1)
            x = _conv(norm_relu(y, f"{name}_bn3"), p[f"{name}_conv3_weight"]) + short
    return _dense(p, norm_relu(x, "bn1").mean((2, 3)), "fc1"), new


def lstm(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    embedded = p["embed_weight"][inputs["data"].astype(jnp.int32)]
    layers = [(inputs[f"l{i}_init_h"], inputs[f"l{i}_init_c"]) for i in range(2)]
    tops = []
    for t in range(embedded.shape[1]):
        x = embedded[:, t]
        for i, (h, c) in enumerate(layers):
            gates = _dense(p, x, f"l{i}_i2h") + _dense(p, h, f"l{i}_h2h")
            enter, forget, candidate, leave = jnp.split(gates, 4, axis=1)
            c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
            x = jax.nn.sigmoid(leave) * jnp.tanh(c)
            layers[i] = (x, c)
        tops.append(x)
    return _dense(p, jnp.concatenate(tops), "cls"), states


def lstm_scan(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    """The LSTM with ``lax.scan``; the products of the first layer's inputs are one product."""
    embedded = p["embed_weight"][inputs["data"].astype(jnp.int32)].swapaxes(0, 1)
    xs = embedded @ p["l0_i2h_weight"].T + p["l0_i2h_bias"]

    def cell(gates: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
        enter, forget, candidate, leave = jnp.split(gates, 4, axis=1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        return jax.nn.sigmoid(leave) * jnp.tanh(c), c

    def scan_body(carry: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        (h0, c0), (h1, c1) = carry
        h0, c0 = cell(x + _dense(p, h0, "l0_h2h"), c0)
        h1, c1 = cell(_dense(p, h0, "l1_i2h") + _dense(p, h1, "l1_h2h"), c1)
        return ((h0, c0), (h1, c1)), h1

    init = tuple((inputs[f"l{i}_init_h"], inputs[f"l{i}_init_c"]) for i in range(2))
    _, tops = lax.scan(scan_body, init, xs)
    return _dense(p, tops.reshape(-1, tops.shape[-1]), "cls"), states


FORWARD: dict[str, Forward] = {
    "mlp": mlp, "lenet": lenet, "resnet50": resnet50, "lstm": lstm, "lstm_scan": lstm_scan,
    "vgg16": _handwritten_images.vgg16, "mobilenet": _handwritten_images.mobilenet,
    "inception_v3": _handwritten_images.inception_v3,
}  # fmt: skip


def functions(name: str) -> tuple[Callable[..., Any] | None, Callable[..., Any] | None]:
    """Inference and training step of a network, as of :func:`jitted`; None for a mode that it does
    not have."""
    if name == "add":
        return jax.jit(lambda p, states, inputs: 2 * inputs["a"] + inputs["b"]), None
    if name == "ssd_detect":
        return jax.jit(_handwritten_images.ssd_detect), None
    if name == "ssd_train":
        return None, jax.jit(_handwritten_images.ssd_step)
    return jitted(FORWARD[name])
