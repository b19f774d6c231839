"""A graph layer by layer: output shapes, parameters and operations, without running anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax

from ..ops import OpDef, Params
from ..ops._attrs import Shape
from ..ops._facts import known
from ._graph import graph_of, remember
from ._infer import _infer_types, infer, open_shapes

_COSTS: dict[Any, float | None] = {}
_COSTS_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator of a graph.

    output_shapes
        the shapes of its visible outputs: None where nothing is known, 0 for an unknown dimension.
    parameters
        the number of elements of the parameters that it is the first to read, by variable name;
        None where the shape is not known.
    flops
        operations of one forward pass at inference, as XLA counts them for this operator alone,
        before any fusion: floating-point operations and transcendental functions, one each. None
        where the shapes are not known or XLA has no answer.
    """

    name: str
    op: str
    output_shapes: tuple[Shape | None, ...]
    parameters: dict[str, int | None]
    flops: float | None


def layers(
    symbol: Any, shapes: Mapping[str, Sequence[int]], parameters: Collection[str]
) -> list[Layer]:
    """The operators of a symbol in topological order.

    shapes
        known shapes of arguments and auxiliary states, by name.
    parameters
        names of the variables that count as parameters; each is counted once, where it is first
        read.

    Raises ShapeError, naming the node, if the shapes contradict each other.
    """
    graph = graph_of(symbol.heads)
    values = infer(graph, shapes).values
    types = _infer_types(graph, {})
    filled = open_shapes(graph, values)
    left = set(parameters)
    result = []
    for step in graph.steps:
        read: dict[str, int | None] = {}
        for (child, _), number in zip(step.node.inputs, step.inputs, strict=True):
            if child.is_variable and child.name in left:
                left.discard(child.name)
                shape = values[number]
                read[child.name] = prod(shape) if known(shape) else None
        inputs = [values[i] for i in step.inputs]
        dtypes = tuple(types[i] or "float32" for i in step.inputs)
        params = filled.get(step.index, step.params)
        result.append(
            Layer(
                name=step.node.name,
                op=step.op.name,
                output_shapes=values[step.first_output : step.first_output + step.node.n_visible],
                parameters=read,
                flops=_flops(step.op, params, inputs, dtypes),
            )
        )
    return result


def _flops(
    op: OpDef, params: Params, shapes: Sequence[Shape | None], dtypes: tuple[str, ...]
) -> float | None:
    if not all(known(shape) for shape in shapes):
        return None
    if op.shape_attr and 0 in (params[op.shape_attr] or ()):
        return None
    key = (op, params.key, tuple(shapes), dtypes)
    if key not in _COSTS:
        remember(_COSTS, key, _counted(op, params, key[2], dtypes), _COSTS_LIMIT)
    return _COSTS[key]


def _counted(op: OpDef, params: Params, shapes: Any, dtypes: tuple[str, ...]) -> float | None:
    """Operations that XLA counts in the operator's unoptimised program; nothing is compiled."""
    with jax.enable_x64(True):
        arrays = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
        key = jax.eval_shape(lambda: jax.random.key(0)) if op.key_name else None
        lowered = jax.jit(lambda key, *xs: op.apply(params, xs, key=key, train=False)).lower(
            key, *arrays
        )
        cost = lowered.cost_analysis()
    if not cost:
        return None
    return cost.get("flops", 0.0) + cost.get("transcendentals", 0.0)
