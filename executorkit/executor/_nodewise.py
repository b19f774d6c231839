"""A graph run node by node, each compiled by itself, with the range of every value.

XLA fuses nodes, so that a value which is not finite may never be stored; here every node's outputs
are, with their ranges, and so are the gradients of its inputs. Nodes of equal attributes and shapes
share what is compiled: the steps of an unrolled network are compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..context import Device
from ..lowering import Graph
from ..lowering._graph import GraphStep
from ..lowering._lower import resolved_params
from ..lowering._step import node_key
from ..ops import OpDef, Params
from ..program._heads import dependent_results
from ..program._reach import active_values

#: Of an array: how many NaN, how many infinities, minimum and maximum of the finite elements.
Range = Any
Key = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class NodewiseValues:
    """Values of a graph, by number, and what is known of them; gradients likewise.

    avals, ranges
        of every value.
    input_gradients
        for each step that was gone back through: the ranges of the gradients of its inputs, by
        position, and of the gradients that came to its outputs.
    sums
        ranges of gradients of values, where several were added.
    """

    values: list[Any]
    ranges: list[Range]
    avals: dict[int, jax.ShapeDtypeStruct] = field(default_factory=dict)
    gradients: dict[int, Any] = field(default_factory=dict)
    input_gradients: dict[int, tuple[dict[int, Range], dict[int, Range]]] = field(
        default_factory=dict
    )
    sums: dict[int, Range] = field(default_factory=dict)


class NodewiseRun:
    """Runs a graph node by node, each on the device that ``place`` gives for it."""

    def __init__(self, graph: Graph, place: Callable[[GraphStep], Device]) -> None:
        self._graph = graph
        self._place = place
        self._params: dict[int, Params] = {}
        self._inputs: dict[int, list[Any]] = {}

    def forward(
        self, args: Sequence[Any], aux: Sequence[Any], key: Any, train: bool, keep: bool
    ) -> NodewiseValues:
        """All values; without ``keep`` those that no later node reads are dropped."""
        graph = self._graph
        traced = NodewiseValues([None] * graph.n_values, [None] * graph.n_values)
        values = traced.values
        for i, array in zip((*graph.arg_values, *graph.aux_values), (*args, *aux), strict=True):
            values[i], traced.ranges[i] = array, range_of_input(array)
            traced.avals[i] = jax.ShapeDtypeStruct(array.shape, array.dtype)
        states = list(aux)
        filled = resolved_params(graph, args, aux) if graph.has_open_shapes else {}
        last = {i: step.index for step in graph.steps for i in step.inputs}
        for step in graph.steps:
            inputs = [values[i] for i in step.inputs]
            for position, _, number in step.aux_writes:
                inputs[position] = states[number]
            params = self._params[step.index] = filled.get(step.index) or step.params
            device = self._place(step)
            inputs = jax.device_put(inputs, device)
            own_key = _key(step, key, train, device)
            with jax.enable_x64(True), jax.default_device(None if inputs else device):
                results, ranges = _forward_function(step.op, params.key, train, step.n_outputs)(
                    own_key, *inputs
                )
            for k, result in enumerate(results[: step.n_outputs]):
                i = step.first_output + k
                values[i], traced.ranges[i] = result, ranges[k]
                traced.avals[i] = jax.ShapeDtypeStruct(result.shape, result.dtype)
            for _, result, number in step.aux_writes:
                states[number] = results[result]
            if keep:
                self._inputs[step.index] = inputs
                continue
            for i in step.inputs:
                if last[i] == step.index:
                    values[i] = None
        return traced

    def backward(
        self,
        traced: NodewiseValues,
        heads: Sequence[Any],
        wanted: Sequence[int],
        key: Any,
        train: bool,
    ) -> None:
        """Goes back through the nodes on the way to the wanted arguments. ``heads`` are gradients
        of the graph's outputs, None where none is given."""
        graph = self._graph
        through = active_values(graph, wanted)
        for i, head in zip(graph.heads, heads, strict=True):
            value = traced.values[i]
            if jnp.issubdtype(value.dtype, jnp.inexact):
                with jax.enable_x64(True):
                    start = jnp.zeros_like(value) if head is None else head.astype(value.dtype)
                self._accumulate(traced, i, start)
        for step in reversed(graph.steps):
            outputs = range(step.first_output, step.first_output + step.n_outputs)
            incoming = [traced.gradients.pop(i, None) for i in outputs]
            if all(g is None for g in incoming) or not through[step.first_output]:
                continue
            auxiliary = step.node.aux_names
            inputs = self._inputs[step.index]
            chosen = tuple(
                k
                for k, name in enumerate(step.names)
                if through[step.inputs[k]]
                and name not in auxiliary
                and jnp.issubdtype(inputs[k].dtype, jnp.inexact)
            )
            device = self._place(step)
            with jax.enable_x64(True):
                function = _backward_function(
                    step.op, self._params[step.index].key, train, step.n_outputs, chosen
                )
                gradients, ranges, before = function(
                    _key(step, key, train, device),
                    tuple(inputs),
                    tuple(jax.device_put(incoming, device)),
                )
            found: dict[int, Range] = {}
            for k, gradient, its_range in zip(chosen, gradients, ranges, strict=True):
                if gradient is not None:
                    found[k] = its_range
                    self._accumulate(traced, step.inputs[k], gradient)
            came = {k: r for k, r in enumerate(before) if r is not None}
            traced.input_gradients[step.index] = found, came

    @staticmethod
    def _accumulate(traced: NodewiseValues, i: int, gradient: Any) -> None:
        (home,) = traced.values[i].devices()
        gradient = jax.device_put(gradient, home)
        earlier = traced.gradients.get(i)
        if earlier is None:
            traced.gradients[i] = gradient
            return
        with jax.enable_x64(True):
            traced.gradients[i], traced.sums[i] = _add_with_range(earlier, gradient)


def value_range(x: jax.Array) -> jax.Array:
    """The range of an array, as four numbers of float64.

    One reduction of four operands: four of their own take six times as long to compile, and there
    is one for every output of every node.
    """
    flat = x.reshape(-1).astype(jnp.float64)
    finite = jnp.isfinite(flat)
    counted = [t.astype(jnp.float64) for t in (jnp.isnan(flat), jnp.isinf(flat))]
    ends = [jnp.where(finite, flat, jnp.inf), jnp.where(finite, flat, -jnp.inf)]
    found = lax.reduce(
        [*counted, *ends],
        [np.float64(n) for n in (0, 0, np.inf, -np.inf)],
        lambda a, b: [a[0] + b[0], a[1] + b[1], lax.min(a[2], b[2]), lax.max(a[3], b[3])],
        (0,),
    )
    return jnp.stack(found)


_range = jax.jit(value_range)


def range_of_input(x: jax.Array) -> jax.Array:
    """The range of an array that no node has made."""
    with jax.enable_x64(True):
        return _range(x)


def _key(step: GraphStep, key: Any, train: bool, device: Device) -> Any:
    own = node_key(step, key, train)
    return None if own is None else jax.device_put(own, device)


@lru_cache(maxsize=2048)
def _forward_function(op: OpDef, key: Key, train: bool, n_outputs: int) -> Callable[..., Any]:
    params = Params(key)

    def forward(prng: Any, *inputs: Any) -> Any:
        results = op.apply(params, inputs, key=prng, train=train)
        return results, [value_range(x) for x in results[:n_outputs]]

    return jax.jit(forward)


@lru_cache(maxsize=2048)
def _backward_function(
    op: OpDef, key: Key, train: bool, n_outputs: int, chosen: tuple[int, ...]
) -> Callable[..., Any]:
    """Gradients of the chosen inputs (None for what depends on nothing, as the derivative of a
    comparison: JAX drops it, so that it never meets an infinite derivative before it; gradients of
    losses may be constant), their ranges, and those of what came in."""
    params = Params(key)
    loss = op.loss(params)

    def gradients(prng: Any, inputs: Any, incoming: Any) -> Any:
        def function(*some: Any) -> Any:
            full = list(inputs)
            for k, x in zip(chosen, some, strict=True):
                full[k] = x
            return op.apply(params, full, key=prng, train=train)[:n_outputs]

        results, vjp = jax.vjp(function, *(inputs[k] for k in chosen))
        return vjp(tuple(map(_cotangent, incoming, results)))

    @jax.jit
    def backward(prng: Any, inputs: Any, incoming: Any) -> Any:
        arrays = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (prng, inputs, incoming)
        )
        depends = dependent_results(gradients, *arrays)
        found = [
            g if yes or loss else None
            for g, yes in zip(gradients(prng, inputs, incoming), depends, strict=True)
        ]
        ranges, before = (
            [None if g is None else value_range(g) for g in part] for part in (found, incoming)
        )
        return found, ranges, before

    return backward


def _cotangent(gradient: Any, result: Any) -> Any:
    if not jnp.issubdtype(result.dtype, jnp.inexact):
        return jnp.zeros(result.shape, jax.dtypes.float0)
    return jnp.zeros_like(result) if gradient is None else gradient


@jax.jit
def _add_with_range(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    total = a + b
    return total, value_range(total)
