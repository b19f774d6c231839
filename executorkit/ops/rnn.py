"""Fused recurrent layers: RNN, with LSTM, GRU and plain cells, over MXNet's packed parameters.

Time runs in ``lax.scan``, so the program does not grow with the sequence. Whatever does not depend
on the previous step stands outside the scan, as one large product: ``x W^T`` of all steps, and in
the backward pass the gradient of the recurrent weight (left to scan's own derivative, it would be
summed up step by step in a buffer of the weight's size).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from ._attrs import Key, Train
from ._facts import Params, ShapeFacts, TypeFacts
from ._packed import Sizes
from ._registry import register


def _inputs(p: Params) -> tuple[str, ...]:
    cell = ("state_cell",) if p.mode == "lstm" else ()
    length = ("sequence_length",) if p.use_sequence_length else ()
    return ("data", "parameters", "state", *cell, *length)


def _outputs(p: Params) -> tuple[str, ...]:
    if not p.state_outputs:
        return ("output",)
    cell = ("statecell_output",) if p.mode == "lstm" else ()
    return ("output", "state_output", *cell)


def _fill(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is None:
        return
    sizes = Sizes.of(p)
    s.set("data", (0, 0, 0), because="RNN takes (time, batch, features)")
    rows, batch = sizes.layers * sizes.directions, data[1]
    because = f"num_layers={p.num_layers}, bidirectional={p.bidirectional} and data is {data}"
    s.set("state", (rows, batch, sizes.hidden), because)
    s.set("state_cell", (rows, batch, sizes.state), because)
    s.set("sequence_length", (batch,), because)
    if data[2]:
        s.set("parameters", (sizes.count(data[2]),), f"mode={p.mode!r}, {because}")


def _types(t: TypeFacts, p: Params) -> None:
    t.same(*(n for n in t if n != "sequence_length"))
    if t["sequence_length"] is None:
        t.set("sequence_length", t["data"])


Carry = tuple[jax.Array, ...]
#: ``step(carry, from_input, recurrent, projection) -> carry``; for all but gru, ``recurrent`` holds
#: the input's product already.
Step = Callable[[Carry, Any, jax.Array, Any], Carry]


def _plain(activation: Callable[[jax.Array], jax.Array]) -> Step:
    return lambda carry, _, recurrent, projection: (activation(recurrent),)


def _lstm(clip: Callable[[jax.Array], jax.Array]) -> Step:
    def step(carry: Carry, _: Any, recurrent: jax.Array, projection: Any) -> Carry:
        i, f, g, o = jnp.split(recurrent, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * carry[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        cell = clip(cell)
        h = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (h if projection is None else h @ projection.T), cell

    return step


def _gru(carry: Carry, from_input: Any, recurrent: jax.Array, projection: Any) -> Carry:
    rx, zx, nx = jnp.split(from_input, 3, axis=-1)
    rh, zh, nh = jnp.split(recurrent, 3, axis=-1)
    z = jax.nn.sigmoid(zx + zh)
    n = jnp.tanh(nx + jax.nn.sigmoid(rx + rh) * nh)
    return ((1 - z) * n + z * carry[0],)


def _clip(low: float | None, high: float | None, nan: bool) -> Callable[[jax.Array], jax.Array]:
    if low is None or high is None:
        return lambda cell: cell

    def clip(cell: jax.Array) -> jax.Array:
        clipped = jnp.clip(cell, low, high)
        return clipped if nan else jnp.where(jnp.isnan(cell), jnp.asarray(low, cell.dtype), clipped)

    return clip


def _run(
    step: Step,
    reverse: bool,
    steps: tuple[Any, jax.Array],
    weight: jax.Array,
    start: Carry,
    projection: jax.Array | None,
    mask: jax.Array | None,
) -> tuple[jax.Array, Carry]:
    """One direction of one layer: the output (T, N, H) and the last carry.

    ``steps`` are the terms of every step that do not depend on the step before: from the input
    (gru), and what is added to ``h weight^T``. ``mask`` (T, N, 1) tells which steps count; at the
    others the state stands still and the output is zero.
    """

    def scan(steps, weight, start, projection):
        def body(carry: Carry, now):
            (from_input, added), valid = now
            new = step(carry, from_input, carry[0] @ weight.T + added, projection)
            if valid is None:
                return new, (new[0], carry[0])
            kept = tuple(jnp.where(valid, a, b) for a, b in zip(new, carry, strict=True))
            return kept, (jnp.where(valid, new[0], 0), carry[0])

        last, (out, before) = lax.scan(body, start, (steps, mask), reverse=reverse)
        return (out, last), before

    @jax.custom_vjp
    def run(steps, weight, start, projection):
        return scan(steps, weight, start, projection)[0]

    def keep(steps, weight, start, projection):
        def with_fixed_weight(steps, start, projection):
            return scan(steps, weight, start, projection)

        result, vjp, before = jax.vjp(with_fixed_weight, steps, start, projection, has_aux=True)
        return result, (vjp, before)

    def back(kept, heads):
        vjp, before = kept
        d_steps, d_start, d_projection = vjp(heads)
        d_weight = jnp.einsum("tng,tnh->gh", d_steps[1], before)
        return d_steps, d_weight, d_start, d_projection

    run.defvjp(keep, back)
    return run(steps, weight, start, projection)


@register(
    "RNN",
    inputs=_inputs,
    outputs=_outputs,
    fill=_fill,
    types=_types,
    draws=lambda p, train: train and p.p > 0 and p.num_layers > 1,
)
def rnn(
    data: jax.Array,
    parameters: jax.Array,
    state: jax.Array,
    state_cell: jax.Array | None = None,
    sequence_length: jax.Array | None = None,
    *,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"],
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    key: Key = None,
    train: Train = False,
):
    """Recurrent layers over a sequence: ``h' = cell(x W^T + b + h R^T + c, h)``.

    data (T, N, I), floating; state (L * D, N, H) and, for lstm, state_cell (L * D, N, H) hold the
    initial states of L = ``num_layers`` layers in D = 1 or 2 (``bidirectional``) directions, with
    H = ``state_size``. parameters is one vector: for each layer, for each direction, W (G * H, I)
    and R (G * H, H); then likewise all b and c (G * H,). I is D * H from the second layer on. The
    G gates are, in order:

    - rnn_relu, rnn_tanh: one, the new h;
    - lstm: i, f, g, o; ``cell' = s(f) cell + s(i) tanh(g)``, ``h' = s(o) tanh(cell')``;
    - gru: r, z, n; ``n = tanh(x_n + s(r) h_n)``, ``h' = (1 - s(z)) n + s(z) h``.

    Returns the last layer's h of every step, (T, N, D * H), directions side by side; with
    ``state_outputs`` also the last states, in the shapes of state and state_cell.

    ``p`` drops that share of what passes from layer to layer, in training. ``projection_size`` P
    (lstm) multiplies h by a further matrix (P, H), packed after R; h, R, state and output then have
    P columns. With ``use_sequence_length``, sequence_length (N,) says how many steps of each
    sequence count: the output behind them is zero, the last state is that of the last one, and the
    backward direction begins there. ``lstm_state_clip_min`` and ``_max`` bound the cell after every
    step; NaN becomes the lower bound unless ``lstm_state_clip_nan``. MXNet's CPU build silently
    disregards sequence lengths and clipping; here they do what its GPU build documents. Of three or
    more plain layers in float64 it gets the gradients of the inner layers' W wrong (rnn_tanh, three
    layers, T = 3, sizes of 2: off by 0.08 from finite differences in one direction, by 1.3 in two,
    where these are within 1e-9; its float32, lstm and gru agree with these), and it computes the
    relu of float64 in float32.
    """
    sizes = Sizes.of(
        Params(mode=mode, num_layers=num_layers, bidirectional=bidirectional,
               state_size=state_size, projection_size=projection_size)
    )  # fmt: skip
    clip = _clip(lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
    step = {
        "rnn_relu": _plain(jax.nn.relu), "rnn_tanh": _plain(jnp.tanh), "lstm": _lstm(clip),
        "gru": _gru,
    }[mode]  # fmt: skip
    length = data.shape[0]
    mask = None
    if sequence_length is not None:
        times = jnp.arange(length, dtype=jnp.int32)[:, None, None]
        mask = times < sequence_length.astype(jnp.int32)[:, None]
    x, last = data, []
    for index, cell in enumerate(sizes.unpack(parameters, data.shape[2])):
        layer, direction = divmod(index, sizes.directions)
        if direction == 0:
            if layer and p and train:
                key, now = jax.random.split(key)
                x = jnp.where(jax.random.bernoulli(now, 1 - p, x.shape), x / (1 - p), 0)
            outs = []
        from_input = jnp.einsum("tni,gi->tng", x, cell["input"]) + cell["input_bias"]
        if mode == "gru":
            added = jnp.broadcast_to(cell["recurrent_bias"], from_input.shape)
        else:
            from_input, added = None, from_input + cell["recurrent_bias"]
        start = (state[index],) if state_cell is None else (state[index], state_cell[index])
        out, end = _run(step, direction == 1, (from_input, added), cell["recurrent"], start,
                        cell.get("projection"), mask)  # fmt: skip
        outs.append(out)
        last.append(end)
        if direction + 1 == sizes.directions:
            x = outs[0] if len(outs) == 1 else jnp.concatenate(outs, axis=-1)
    if not state_outputs:
        return x
    return x, *(jnp.stack(states) for states in zip(*last, strict=True))
