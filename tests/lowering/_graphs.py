"""Random graphs for property tests: symbols whose arguments' shapes are known."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import executorkit as mx

#: Operators of one input that take any shape, as functions of a symbol.
UNARY = {
    "sin": mx.sym.sin,
    "tanh": mx.sym.tanh,
    "copy": mx.sym.identity,
    "plus": lambda x: x + 1.5,
    "twice": lambda x: mx.sym.broadcast_add(x, x),
    "transpose": mx.sym.transpose,
    "flatten": lambda x: mx.sym.Reshape(x, shape=(0, -1)),
    "expand": lambda x: mx.sym.expand_dims(x, axis=1),
    "sum": lambda x: mx.sym.sum(x, axis=0, keepdims=True),
    "mean of all": mx.sym.mean,
    "norm": lambda x: mx.sym.L2Normalization(mx.sym.expand_dims(x, axis=1)),
    "dense": lambda x: mx.sym.FullyConnected(x, num_hidden=3),
    "dense along the last axis": lambda x: mx.sym.FullyConnected(x, num_hidden=2, flatten=False),
    "softmax": mx.sym.softmax,
    "slice": lambda x: mx.sym.slice_axis(x, axis=-1, begin=0, end=1),
    "joined": lambda x: mx.sym.Concat(x, mx.sym.sin(x), dim=0),
    "parts": lambda x: mx.sym.SliceChannel(mx.sym.Concat(x, x, dim=-1), num_outputs=2, axis=-1)[1],
    "batch norm": lambda x: mx.sym.BatchNorm(mx.sym.expand_dims(x, axis=1), fix_gamma=False),
    "prelu": lambda x: mx.sym.LeakyReLU(mx.sym.expand_dims(x, axis=1), act_type="prelu"),
}
#: Operators of two inputs of one shape.
BINARY = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: mx.sym.broadcast_mul(a, b),
    "concat": lambda a, b: mx.sym.Concat(a, b, dim=1),
    "stack": lambda a, b: mx.sym.stack(a, b, axis=1),
    "dot": lambda a, b: mx.sym.FullyConnected(a, num_hidden=2) + mx.sym.FullyConnected(
        b, num_hidden=2
    ),
}  # fmt: skip

Shapes = dict[str, tuple[int, ...]]


@st.composite
def graphs(draw: Any) -> tuple[mx.sym.Symbol, Shapes]:
    """A symbol of up to a dozen operators, with several paths between its nodes, and the shapes of
    its data. Pairs of nodes that do not fit each other are not joined."""
    with mx.name.NameManager():
        shape = tuple(draw(st.lists(st.integers(1, 4), min_size=2, max_size=3)))
        shapes = {"x": shape, "y": shape}
        pool = [mx.sym.Variable("x"), mx.sym.Variable("y")]
        for _ in range(draw(st.integers(1, 8))):
            if draw(st.booleans()):
                symbol = UNARY[draw(st.sampled_from(sorted(UNARY)))](draw(st.sampled_from(pool)))
            else:
                a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
                symbol = BINARY[draw(st.sampled_from(sorted(BINARY)))](a, b)
            input_shapes = {n: s for n, s in shapes.items() if n in symbol.list_inputs()}
            try:
                _, (out,), _ = symbol.infer_shape_partial(**input_shapes)
            except mx.base.MXNetError:
                continue
            if out and 0 not in out and len(out) <= 5:
                pool.append(symbol)
        heads = [pool[-1], *draw(st.lists(st.sampled_from(pool), max_size=2))]
        net = mx.sym.Group(heads)
        return net, {n: s for n, s in shapes.items() if n in net.list_inputs()}
