"""A graph layer by layer: output shapes, parameters and operations, without running anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax

from ...ops import OpDef, Params
from ...ops.schema.attrs import Shape
from ...ops.schema.inference import is_fully_known
from .._graph import graph_of, memoize
from .._infer import _infer_types, infer, resolve_open_shapes
from .cost_model import Count

_COUNTS: dict[Any, Count] = {}
_COUNTS_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator of a graph.

    output_shapes, output_dtypes
        of its visible outputs: shapes are None where nothing is known and 0 for an unknown
        dimension, types float32 unless something else is known.
    parameters
        the shapes of the parameters that it is the first to read, by variable name; None where
        they are not known.
    parameter_dtypes
        their types.
    flops, macs
        operations of one forward pass at inference, before any fusion, and the multiplications
        with addition among them; None where shapes are not known or a part cannot be counted.
    uncounted
        what cannot be counted, and what was counted as something else, in words.
    """

    name: str
    op: str
    output_shapes: tuple[Shape | None, ...]
    output_dtypes: tuple[str, ...]
    parameters: dict[str, Shape | None]
    parameter_dtypes: dict[str, str]
    flops: float | None
    macs: float | None
    uncounted: tuple[str, ...] = ()


def layers(
    symbol: Any,
    shapes: Mapping[str, Sequence[int]],
    parameters: Collection[str],
    dtypes: Mapping[str, str] | None = None,
) -> list[Layer]:
    """The operators of a symbol in topological order.

    shapes, dtypes
        known shapes and types of arguments and auxiliary states, by name.
    parameters
        names of the variables that count as parameters; each is counted once, where it is first
        read.

    Raises ShapeError, naming the node, if the shapes contradict each other.
    """
    graph = graph_of(symbol.heads)
    values = infer(graph, shapes, dtypes).values
    types = [t or "float32" for t in _infer_types(graph, dtypes or {})]
    filled = resolve_open_shapes(graph, values)
    left = set(parameters)
    result = []
    for step in graph.steps:
        read: dict[str, Shape | None] = {}
        read_types: dict[str, str] = {}
        for (child, _), number in zip(step.node.inputs, step.inputs, strict=True):
            if child.is_variable and child.name in left:
                left.discard(child.name)
                shape = values[number]
                read[child.name] = shape if is_fully_known(shape) else None
                read_types[child.name] = types[number]
        outputs = slice(step.first_output, step.first_output + step.node.n_visible)
        count = _count(
            step.op,
            filled.get(step.index, step.params),
            [values[i] for i in step.inputs],
            tuple(types[i] for i in step.inputs),
        )
        result.append(
            Layer(
                name=step.node.name,
                op=step.op.name,
                output_shapes=tuple(values[outputs]),
                output_dtypes=tuple(types[outputs]),
                parameters=read,
                parameter_dtypes=read_types,
                flops=count.flops if count and not count.hidden else None,
                macs=count.macs if count and not count.hidden else None,
                uncounted=tuple(sorted(count.uncounted)) if count else (),
            )
        )
    return result


def elements(shape: Shape | None) -> int | None:
    """The number of elements of a shape; None if it is not known."""
    return prod(shape) if shape is not None and is_fully_known(shape) else None


def _count(
    op: OpDef, params: Params, shapes: Sequence[Shape | None], dtypes: tuple[str, ...]
) -> Count | None:
    """The work of one operator; remembered. None where shapes are missing."""
    if not all(is_fully_known(shape) for shape in shapes):
        return None
    if op.shape_attr and 0 in (params[op.shape_attr] or ()):
        return None
    key = (op, params.key, tuple(shapes), dtypes)
    if key not in _COUNTS:
        memoize(_COUNTS, key, _counted(op, params, key[2], dtypes), _COUNTS_LIMIT)
    return _COUNTS[key]


def _counted(op: OpDef, params: Params, shapes: Any, dtypes: tuple[str, ...]) -> Count:
    """Traces the operator alone; nothing is lowered or compiled."""
    count = Count()
    with jax.enable_x64(True):
        arrays = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
        key = jax.eval_shape(lambda: jax.random.key(0)) if op.key_name else None
        try:
            traced = jax.make_jaxpr(lambda key, *xs: op.apply(params, xs, key=key, train=False))
            count.add(traced(key, *arrays).jaxpr)
        except Exception as error:
            # An operator whose result depends on values runs, though it cannot be traced.
            count.uncounted.add(f"{op.name} cannot be traced: {type(error).__name__}")
    return count


__all__ = ["Layer", "elements", "layers"]
