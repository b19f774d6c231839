"""Layers of a network: output shapes, parameters and operations, without running anything."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax

from ...jax_internals import in_x64
from ...ops import OpDef, Params
from ...ops.schema.attrs import Shape
from ...ops.schema.inference import is_fully_known
from .._graph import memoize
from .._infer import infer, resolve_open_shapes, value_dtypes
from .._numbering import graph_of
from .cost_model import OperationCount, total_work

_COUNTS: dict[Hashable, OperationCount] = {}
_COUNTS_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator of a graph.

    output_shapes, output_dtypes
        Of visible outputs: shapes are None where nothing is known and 0 for an unknown dimension;
        types are float32 unless known.
    parameters, parameter_dtypes
        Shapes (None if unknown) and types, by variable name, of the parameters that it reads first.
    flops, macs
        Operations of one forward pass at inference, before any fusion, and its multiply-accumulate
        operations; None where unknown.
    uncounted
        Descriptions of work that cannot be counted, or is counted as something else.
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
    """Returns the operators of a symbol in topological order, given shapes and dtypes by name.
    Variables in ``parameters`` are counted where they are first read. A contradiction raises
    ShapeError, naming the node."""
    graph = graph_of(symbol.heads)
    values = infer(graph, shapes, dtypes).values
    types = [t or "float32" for t in value_dtypes(graph, dtypes or {})]
    resolved = resolve_open_shapes(graph, values)
    unread = set(parameters)
    result = []
    for step in graph.steps:
        parameter_shapes: dict[str, Shape | None] = {}
        parameter_dtypes: dict[str, str] = {}
        for (child, _), number in zip(step.node.inputs, step.inputs, strict=True):
            if child.is_variable and child.name in unread:
                unread.discard(child.name)
                shape = values[number]
                parameter_shapes[child.name] = shape if is_fully_known(shape) else None
                parameter_dtypes[child.name] = types[number]
        outputs = slice(step.first_output, step.first_output + step.node.n_visible)
        work = _work(
            step.op,
            resolved.get(step.index, step.params),
            [values[i] for i in step.inputs],
            tuple(types[i] for i in step.inputs),
        )
        result.append(
            Layer(
                name=step.node.name,
                op=step.op.name,
                output_shapes=tuple(values[outputs]),
                output_dtypes=tuple(types[outputs]),
                parameters=parameter_shapes,
                parameter_dtypes=parameter_dtypes,
                flops=work.flops if work and not work.is_partial else None,
                macs=work.macs if work and not work.is_partial else None,
                uncounted=tuple(sorted(work.uncounted)) if work else (),
            )
        )
    return result


def elements_of_shape(shape: Shape | None) -> int | None:
    return prod(shape) if shape is not None and is_fully_known(shape) else None


def _work(
    op: OpDef, params: Params, shapes: Sequence[Shape | None], dtypes: tuple[str, ...]
) -> OperationCount | None:
    if not all(is_fully_known(shape) for shape in shapes) or op.open_shape(params) is not None:
        return None
    key = (op, params.key, tuple(shapes), dtypes)
    if key not in _COUNTS:
        memoize(_COUNTS, key, _traced_work(op, params, key[2], dtypes), _COUNTS_LIMIT)
    return _COUNTS[key]


@in_x64
def _traced_work(op: OpDef, params: Params, shapes: Any, dtypes: tuple[str, ...]) -> OperationCount:
    arrays = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
    key = jax.eval_shape(lambda: jax.random.key(0)) if op.key_name else None
    try:
        traced = jax.make_jaxpr(lambda key, *xs: op.apply(params, xs, key=key, train=False))
        return total_work(traced(key, *arrays).jaxpr)
    except Exception as error:
        # An operator whose result depends on values runs, though it cannot be traced.
        return OperationCount(uncounted={f"{op.name} cannot be traced: {type(error).__name__}"})
