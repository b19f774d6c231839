"""A tape that computes each call at once in NumPy: what recorded programs are compared with.

It imports NumPy only, so that MXNet's Python reads it too. Every gradient is written with the
operators themselves, so that a gradient that is recorded (``create_graph``) differentiates again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Attrs = dict[str, Any]


class Leaf:
    """A marked array: its gradient array and request."""

    def __init__(self, shape: tuple[int, ...], req: str) -> None:
        self.grad, self.req, self.fresh = np.zeros(shape), req, False


class Value(NamedTuple):
    """Numbers at a point of the graph, and where they come from."""

    numbers: np.ndarray
    origin: Leaf | tuple[Node, int] | None = None


class Node:
    """A recorded call: its inputs and outputs as they were then."""

    def __init__(self, tape: Tape, op: str, attrs: Attrs, inputs: list[Value], outputs: list[Any]):
        self.number, self.op, self.attrs, self.inputs = tape.count, op, attrs, inputs
        self.outputs = [Value(numbers, (self, i)) for i, numbers in enumerate(outputs)]
        self.used_up = False
        #: Of a part of a gradient: the calls that were differentiated.
        self.base: list[Node] = []
        #: Whether a gradient of it was used up, though not itself.
        self.is_vague = False
        #: Whether it is a part of a gradient.
        self.second = tape.differentiates
        #: Called when a backward pass comes here: states that change in it.
        self.visited: Callable[[], None] | None = None
        tape.count += 1


class Operator(NamedTuple):
    """``forward(attrs, *numbers)`` gives a list; ``vjp(call, attrs, inputs, outputs, heads)`` a
    value, or None, for each input. ``heads`` has zeros where an output is not used."""

    forward: Callable[..., list[np.ndarray]]
    vjp: Callable[..., Sequence[Value | None]]


class Tape:
    """Records calls and differentiates them."""

    def __init__(self) -> None:
        self.count = 0
        self.differentiates = False

    def call(self, op: str, attrs: Attrs, inputs: Sequence[Value], record: bool) -> list[Value]:
        """The outputs of a call, recorded if an input is in the graph."""
        outputs = OPERATORS[op].forward(attrs, *(v.numbers for v in inputs))
        outputs = [np.array(o, "float64") for o in outputs]
        if record and any(v.origin is not None for v in inputs):
            return Node(self, op, attrs, list(inputs), outputs).outputs
        return [Value(o) for o in outputs]

    def reached(self, heads: Sequence[Value]) -> tuple[list[Node], list[Leaf]]:
        """All calls and marked arrays that heads come from; calls from the last to the first."""
        nodes: dict[int, Node] = {}
        leaves: dict[int, Leaf] = {}
        stack = [v.origin for v in heads]
        while stack:
            origin = stack.pop()
            if isinstance(origin, Leaf):
                leaves[id(origin)] = origin
            elif origin is not None and origin[0].number not in nodes:
                nodes[origin[0].number] = origin[0]
                stack += [v.origin for v in origin[0].inputs]
        return [nodes[n] for n in sorted(nodes, reverse=True)], list(leaves.values())

    def gradients(
        self,
        heads: Sequence[Value],
        cotangents: Sequence[Value],
        create_graph: bool = False,
        wanted: Sequence[Any] | None = None,
    ) -> dict[int, Value]:
        """The gradient of each marked array that heads come from, by the array's ``id``.

        States change by each call between the heads and the marked arrays that are ``wanted``.
        """
        nodes, leaves = self.reached(heads)
        wanted_ids = {id(leaf) for leaf in (leaves if wanted is None else wanted)}
        between: set[int] = set()
        for node in reversed(nodes):
            origins = [v.origin for v in node.inputs if v.origin is not None]
            if any(
                id(o) in wanted_ids if isinstance(o, Leaf) else o[0].number in between
                for o in origins
            ):
                between.add(node.number)
        sums: dict[Any, Value] = {}

        def call(op: str, attrs: Attrs, *inputs: Value) -> Value:
            return self.call(op, attrs, inputs, create_graph)[0]

        def give(origin: Any, gradient: Value) -> None:
            key = id(origin) if isinstance(origin, Leaf) else (origin[0].number, origin[1])
            sums[key] = call("add", {}, sums[key], gradient) if key in sums else gradient

        self.differentiates, before = True, self.differentiates
        try:
            for head, cotangent in zip(heads, cotangents, strict=True):
                give(head.origin, cotangent)
            for node in nodes:
                if node.visited is not None and node.number in between:
                    node.visited()
                self._differentiate(node, sums, call, give)
        finally:
            self.differentiates = before
        for leaf in leaves:
            sums.setdefault(id(leaf), Value(np.zeros_like(leaf.grad)))
        return {id(leaf): sums[id(leaf)] for leaf in leaves}

    def _differentiate(self, node: Node, sums: dict[Any, Value], call: Any, give: Any) -> None:
        heads = [sums.get((node.number, i)) for i in range(len(node.outputs))]
        if all(h is None for h in heads):
            return
        filled = [
            Value(np.zeros_like(o.numbers)) if h is None else h
            for h, o in zip(heads, node.outputs, strict=True)
        ]
        vjp = OPERATORS[node.op].vjp
        for v, g in zip(
            node.inputs, vjp(call, node.attrs, node.inputs, node.outputs, filled), strict=True
        ):
            if g is not None and v.origin is not None:
                give(v.origin, g)


def _unary(forward: Callable[..., Any], vjp: Callable[..., Value]) -> Operator:
    """An operator of one array: ``vjp(call, attrs, x, y, g)``."""
    return Operator(
        lambda attrs, x: [forward(attrs, x)],
        lambda call, attrs, inputs, outputs, heads: [
            vjp(call, attrs, inputs[0], outputs[0], heads[0])
        ],
    )


def _binary(forward: Callable[..., Any], vjp: Callable[..., tuple[Value, Value]]) -> Operator:
    """An operator of two arrays that broadcast: ``vjp(call, a, b, g)``."""

    def differentiate(call: Any, attrs: Attrs, inputs: Any, outputs: Any, heads: Any) -> Any:
        gradients = vjp(call, *inputs, heads[0])
        return [
            call("sum_to", {"shape": v.numbers.shape}, g)
            for v, g in zip(inputs, gradients, strict=True)
        ]

    return Operator(lambda attrs, a, b: [forward(a, b)], differentiate)


def _sum_to(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    x = x.sum(tuple(range(x.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return x.sum(axes, keepdims=True) if axes else x


def _put(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    """Zeros with ``x`` added at an index."""
    zeros = np.zeros(attrs["shape"])
    np.add.at(zeros, attrs["index"], x)
    return zeros


def _sum_vjp(call: Any, attrs: Attrs, x: Value, y: Value, g: Value) -> Value:
    shape = list(x.numbers.shape)
    for axis in range(len(shape)) if attrs["axis"] is None else [attrs["axis"]]:
        shape[axis] = 1
    expanded = call("reshape", {"shape": tuple(shape)}, g)
    return call("broadcast_to", {"shape": x.numbers.shape}, expanded)


def _sum(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    summed = x.sum(attrs["axis"])
    return summed.reshape((1,)) if summed.ndim == 0 else summed


def _softmax(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _softmax_vjp(call: Any, attrs: Attrs, x: Value, y: Value, g: Value) -> Value:
    weighted = call("multiply", {}, g, y)
    last = len(x.numbers.shape) - 1
    total = call("sum", {"axis": last}, weighted)
    shape = (*x.numbers.shape[:-1], 1)
    mean = call("reshape", {"shape": shape}, total)
    return call("subtract", {}, weighted, call("multiply", {}, y, mean))


def _join_vjp(call: Any, attrs: Attrs, inputs: Any, outputs: Any, heads: Any) -> list[Value]:
    gradients, start = [], 0
    for v in inputs:
        stop = start + v.numbers.shape[attrs["axis"]]
        index = (slice(None),) * attrs["axis"] + (slice(start, stop),)
        gradients.append(call("index", {"index": index}, heads[0]))
        start = stop
    return gradients


def _split_vjp(call: Any, attrs: Attrs, inputs: Any, outputs: Any, heads: Any) -> list[Value]:
    return [call("concat", {"axis": attrs["axis"]}, *heads)]


def _batch_norm(attrs: Attrs, x: Any, gamma: Any, beta: Any, *states: Any) -> list[np.ndarray]:
    mean, var = states if states else (x.mean(0), x.var(0))
    return [(x - mean) / np.sqrt(var + attrs["eps"]) * gamma + beta]


def _batch_norm_vjp(call: Any, attrs: Attrs, inputs: Any, outputs: Any, heads: Any) -> Any:
    """Gradients of numbers only: a graph of them is not made."""
    x, gamma = inputs[0].numbers, inputs[1].numbers
    g = heads[0].numbers
    mean, var = [v.numbers for v in inputs[3:]] or (x.mean(0), x.var(0))
    scale = 1 / np.sqrt(var + attrs["eps"])
    normal = (x - mean) * scale
    dx = g * gamma * scale
    if len(inputs) == 3:
        dx = dx - dx.mean(0) - normal * (dx * normal).mean(0)
    gradients = [dx, (g * normal).sum(0), g.sum(0)]
    return [Value(v) for v in gradients] + [None] * (len(inputs) - 3)


def _transposed(call: Any, x: Value) -> Value:
    return call("transpose", {}, x)


def _scale(call: Any, x: Value, number: float) -> Value:
    return call("scale", {"by": number}, x)


#: The operators by name. Numbers of ``index`` may be any index of NumPy.
OPERATORS: dict[str, Operator] = {
    "add": _binary(np.add, lambda call, a, b, g: (g, g)),
    "subtract": _binary(np.subtract, lambda call, a, b, g: (g, _scale(call, g, -1))),
    "multiply": _binary(
        np.multiply,
        lambda call, a, b, g: (call("multiply", {}, g, b), call("multiply", {}, g, a)),
    ),
    "dot": Operator(
        lambda attrs, a, b: [a @ b],
        lambda call, attrs, inputs, outputs, heads: [
            call("dot", {}, heads[0], _transposed(call, inputs[1])),
            call("dot", {}, _transposed(call, inputs[0]), heads[0]),
        ],
    ),
    "scale": _unary(
        lambda attrs, x: x * attrs["by"], lambda call, attrs, x, y, g: _scale(call, g, attrs["by"])
    ),
    "shift": _unary(lambda attrs, x: x + attrs["by"], lambda call, attrs, x, y, g: g),
    "tanh": _unary(
        lambda attrs, x: np.tanh(x),
        lambda call, attrs, x, y, g: call(
            "multiply", {}, g, call("shift", {"by": 1}, _scale(call, call("square", {}, y), -1))
        ),
    ),
    "sigmoid": _unary(
        lambda attrs, x: 1 / (1 + np.exp(-x)),
        lambda call, attrs, x, y, g: call(
            "multiply", {}, g, call("subtract", {}, y, call("square", {}, y))
        ),
    ),
    "sin": _unary(
        lambda attrs, x: np.sin(x),
        lambda call, attrs, x, y, g: call("multiply", {}, g, call("cos", {}, x)),
    ),
    "cos": _unary(
        lambda attrs, x: np.cos(x),
        lambda call, attrs, x, y, g: call(
            "multiply", {}, g, _scale(call, call("sin", {}, x), -1)
        ),
    ),
    "square": _unary(
        lambda attrs, x: x * x,
        lambda call, attrs, x, y, g: call("multiply", {}, g, _scale(call, x, 2)),
    ),
    "block": Operator(lambda attrs, x: [x], lambda call, attrs, inputs, outputs, heads: [None]),
    "copy": _unary(lambda attrs, x: x, lambda call, attrs, x, y, g: g),
    "softmax": _unary(_softmax, _softmax_vjp),
    "sum": _unary(_sum, _sum_vjp),
    "transpose": _unary(
        lambda attrs, x: x.T, lambda call, attrs, x, y, g: call("transpose", {}, g)
    ),
    "reshape": _unary(
        lambda attrs, x: x.reshape(attrs["shape"]),
        lambda call, attrs, x, y, g: call("reshape", {"shape": x.numbers.shape}, g),
    ),
    "broadcast_to": _unary(
        lambda attrs, x: np.broadcast_to(x, attrs["shape"]),
        lambda call, attrs, x, y, g: call("sum_to", {"shape": x.numbers.shape}, g),
    ),
    "sum_to": _unary(
        lambda attrs, x: _sum_to(x, attrs["shape"]),
        lambda call, attrs, x, y, g: call("broadcast_to", {"shape": x.numbers.shape}, g),
    ),
    "index": _unary(
        lambda attrs, x: x[attrs["index"]],
        lambda call, attrs, x, y, g: call(
            "put", {"index": attrs["index"], "shape": x.numbers.shape}, g
        ),
    ),
    "put": _unary(_put, lambda call, attrs, x, y, g: call("index", {"index": attrs["index"]}, g)),
    "concat": Operator(lambda attrs, *xs: [np.concatenate(xs, attrs["axis"])], _join_vjp),
    "split": Operator(lambda attrs, x: np.split(x, attrs["parts"], attrs["axis"]), _split_vjp),
    "batch_norm": Operator(_batch_norm, _batch_norm_vjp),
}  # fmt: skip
