"""Fused recurrent layers: RNN, with LSTM, GRU and plain cells, over MXNet's packed parameters.

Time runs in a loop (``ops.recurrence``). Products that do not depend on the previous step are one
large product outside: ``x W^T`` of all steps, and the gradients of weights. On CPUs stacked layers
run in one loop where that pays.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Raw, Tree
from ..recurrence import Constants, ScanBody, ScanProduct, fused_scan_pays, scan_with_vjp
from ..schema.attrs import Key, Shape, Train
from ..schema.inference import Params, ShapeFacts, TypeFacts
from ..schema.operator_registry import register
from ..schema.traits import BARRIERS, LOOP, MATMUL
from .rnn_parameters import PackedSizes


def _inputs(p: Params) -> tuple[str, ...]:
    cell = ("state_cell",) if p.mode == "lstm" else ()
    length = ("sequence_length",) if p.use_sequence_length else ()
    return ("data", "parameters", "state", *cell, *length)


def _outputs(p: Params) -> tuple[str, ...]:
    if not p.state_outputs:
        return ("output",)
    return ("output", "state_output", *(("statecell_output",) if p.mode == "lstm" else ()))


def _infer_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is None:
        return
    sizes = PackedSizes.of(p)
    s.set("data", (0, 0, 0), because="RNN takes (time, batch, features)")
    rows, batch = sizes.layers * sizes.directions, data[1]
    because = f"num_layers={p.num_layers}, bidirectional={p.bidirectional} and data is {data}"
    s.set("state", (rows, batch, sizes.hidden), because)
    s.set("state_cell", (rows, batch, sizes.state), because)
    s.set("sequence_length", (batch,), because)
    if data[2]:
        s.set("parameters", (sizes.count(data[2]),), f"mode={p.mode!r}, {because}")


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...] | None:
    data, parameters, *states = shapes
    sizes = PackedSizes.of(p)
    if len(data) != 3 or parameters != (sizes.count(data[2]),):
        return None
    rows, batch = sizes.layers * sizes.directions, data[1]
    expected = [(rows, batch, sizes.hidden)]
    expected += [(rows, batch, sizes.state)] if p.mode == "lstm" else []
    if states != [*expected, (batch,)][: len(states)]:
        return None
    return (data[0], batch, sizes.directions * sizes.hidden), *states[: len(_outputs(p)) - 1]


def _infer_type(t: TypeFacts, p: Params) -> None:
    t.same(*(n for n in t if n != "sequence_length"))
    if t["sequence_length"] is None:
        t.set("sequence_length", t["data"])


Carry = tuple[Array, ...]
#: ``step(carry, from_input, from_state, project) -> carry``, given what the input and the previous
#: state add to the gates.
CellStep = Callable[[Carry, Array, Array, Callable[[Array], Array]], Carry]
#: The weight and bias of every product of a cell.
_PRODUCTS = {
    "recurrent": ("recurrent", "recurrent_bias"),
    "input": ("input", "input_bias"),
    "projection": ("projection",),
}


def _plain(activation: Callable[[Array], Array]) -> CellStep:
    return lambda carry, x, h, project: (activation(x + h),)


def _lstm(clip: Callable[[Array], Array]) -> CellStep:
    def step(carry: Carry, x: Array, h: Array, project: Any) -> Carry:
        i, f, g, o = jnp.split(x + h, 4, axis=-1)
        cell = lax.logistic(f) * carry[1] + lax.logistic(i) * lax.tanh(g)
        cell = clip(cell)
        return project(lax.logistic(o) * lax.tanh(cell)), cell

    return step


def _gru(carry: Carry, x: Array, h: Array, project: object) -> Carry:
    rx, zx, nx = jnp.split(x, 3, axis=-1)
    rh, zh, nh = jnp.split(h, 3, axis=-1)
    z = lax.logistic(zx + zh)
    n = lax.tanh(nx + lax.logistic(rx + rh) * nh)
    return ((1 - z) * n + z * carry[0],)


def _clip(low: float | None, high: float | None, nan: bool) -> Callable[[Array], Array]:
    if low is None or high is None:
        return lambda cell: cell

    def clip(cell: Array) -> Array:
        clipped = jnp.clip(cell, low, high)
        return clipped if nan else jnp.where(jnp.isnan(cell), jnp.asarray(low, cell.dtype), clipped)

    return clip


def _affine(weight: int, bias: int | None = None) -> ScanProduct:
    def apply(constants: Constants, x: Array) -> Array:
        if ~weight in constants:
            out = x @ constants[~weight]
        else:
            out = lax.dot_general(x, constants[weight], (((1,), (1,)), ((), ())))
        return out if bias is None else out + constants[bias]

    return ScanProduct(apply, (weight,) if bias is None else (weight, bias))


def _run_layers(
    step: CellStep,
    reverse: bool,
    cells: Sequence[dict[str, Array]],
    from_input: Array,
    init: list[Carry],
    masks: tuple[Array | None, list[Array | None]],
    dropout: Callable[[Array, Array | None], Array],
) -> tuple[Array, list[Carry]]:
    # ``from_input`` is the input's part of the first layer's gates in all steps. The first of the
    # masks (T, N, 1) marks the steps that count: at the others the state does not change and the
    # output is zero. The other masks (T, N, H) hold the dropout between layers.
    arrays: list[Array] = []
    products: list[ScanProduct] = []
    numbers: dict[tuple[int, str], int] = {}
    weights = []
    for layer, cell in enumerate(cells):
        for name, parts in _PRODUCTS.items():
            if parts[0] in cell and (layer or name != "input"):
                numbers[layer, name] = len(products)
                weights.append(len(arrays))
                products.append(_affine(*range(len(arrays), len(arrays) + len(parts))))
                arrays += [cell[part] for part in parts]

    def call(_: Constants, carries: Sequence[Carry], xs: Tree, product: Raw) -> Tree:
        x, valid, dropout_masks = xs
        new_carries = []
        for layer, carry in enumerate(carries):
            if layer:
                x = product(numbers[layer, "input"], dropout(x, dropout_masks[layer - 1]))
            project = lambda h: h  # noqa: E731
            if (layer, "projection") in numbers:
                project = partial(product, numbers[layer, "projection"])
            new = step(carry, x, product(numbers[layer, "recurrent"], carry[0]), project)
            x = new[0]
            if valid is not None:
                x = jnp.where(valid, x, 0)
                new = tuple(jnp.where(valid, a, b) for a, b in zip(new, carry, strict=True))
            new_carries.append(new)
        return new_carries, x

    body = ScanBody(call, products)
    constants, xs = dict(enumerate(arrays)), (from_input, *masks)
    last, out = scan_with_vjp(
        body, constants, init, xs, length=from_input.shape[0], reverse=reverse, weights=weights
    )
    return out, last


@register(
    "RNN",
    inputs=_inputs,
    outputs=_outputs,
    infer_shape=_infer_shape,
    output_shapes=_output_shapes,
    infer_type=_infer_type,
    uses_rng=lambda p, train: train and p.p > 0 and p.num_layers > 1,
    traits=(BARRIERS, LOOP, MATMUL),
    kind="dense",
)
def rnn(
    data: Array,
    parameters: Array,
    state: Array,
    state_cell: Array | None = None,
    sequence_length: Array | None = None,
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
    """Runs recurrent layers over a sequence: ``h' = cell(x W^T + b + h R^T + c, h)``.

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

    ``p`` is the dropout between layers, in training. ``projection_size`` P (lstm) multiplies h by a
    further matrix (P, H), packed after R; h, R, state and output then have P columns. With
    ``use_sequence_length``, sequence_length (N,) is the number of steps of each sequence: the
    output after it is zero, the last state is the one of that step, and the backward direction
    begins there. ``lstm_state_clip_min`` and ``_max`` bound the cell after every step; NaN becomes
    the lower bound unless ``lstm_state_clip_nan``. MXNet's CPU build silently disregards sequence
    lengths and clipping; here they do what its GPU build documents. MXNet's gradients of the inner
    layers' W are wrong for three or more plain layers in float64 (rnn_tanh, three layers, T = 3,
    sizes of 2: off by 0.08 from finite differences in one direction, by 1.3 in two, where these are
    within 1e-9; its float32, lstm and gru agree), and it computes the relu of float64 in float32.
    """
    sizes = PackedSizes.of(Params(locals()))
    clip = _clip(lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
    step = {
        "rnn_relu": _plain(jax.nn.relu), "rnn_tanh": _plain(lax.tanh), "lstm": _lstm(clip),
        "gru": _gru,
    }[mode]  # fmt: skip
    length, rows, features = data.shape
    valid = None
    if sequence_length is not None:
        times = jnp.arange(length, dtype=jnp.int32)[:, None, None]
        valid = times < sequence_length.astype(jnp.int32)[:, None]
    cells = sizes.unpack(parameters, features)
    masks: list[Array | None] = [None] * num_layers
    for layer in range(1, num_layers if p and train else 0):
        key, mask_key = jax.random.split(key)
        shape = length, rows, sizes.directions * sizes.hidden
        masks[layer] = jax.random.bernoulli(mask_key, 1 - p, shape)

    def dropout(x: Array, mask: Array | None) -> Array:
        return x if mask is None else jnp.where(mask, x / (1 - p), 0)

    groups = [[layer] for layer in range(num_layers)]
    elements = sum(c["recurrent"].size for c in cells) + sum(c["input"].size for c in cells[1:])
    if sizes.directions == 1 and fused_scan_pays(rows, elements):
        groups = [list(range(num_layers))]
    x, last = data, []
    for group in groups:
        x = dropout(x, masks[group[0]])
        outs = []
        for direction in range(sizes.directions):
            numbers = [layer * sizes.directions + direction for layer in group]
            group_cells = [cells[i] for i in numbers]
            first = group_cells[0]
            from_input = jnp.einsum("tni,gi->tng", x, first["input"]) + first["input_bias"]
            states = (state,) if state_cell is None else (state, state_cell)
            init = [tuple(s[i] for s in states) for i in numbers]
            inner, backward = (valid, [masks[layer] for layer in group[1:]]), direction == 1
            out, end = _run_layers(
                step, backward, group_cells, from_input, init=init, masks=inner, dropout=dropout
            )
            outs.append(out)
            last += end
        x = outs[0] if len(outs) == 1 else jnp.concatenate(outs, axis=-1)
    if not state_outputs:
        return x
    return x, *(jnp.stack(states) for states in zip(*last, strict=True))
