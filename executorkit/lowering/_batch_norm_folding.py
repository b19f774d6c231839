"""Batch normalisation by moving statistics as a part of the convolution or dense layer before it.

``gamma (W x + b - mean) / sqrt(var + eps) + beta`` is ``W' x + b'`` with ``W' = scale W``, ``b' =
beta + scale (b - mean)`` and ``scale = gamma / sqrt(var + eps)``. For inference in float32 and
float64: rounding the scaled weight to 16 bits would lose the trained precision.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .._support.annotations import Attrs, DType
from ..ops import OpDef, Params
from ..ops.schema.operator_registry import lookup
from ..ops.schema.traits import FILTERS_FIRST, FILTERS_SECOND, MOVING_STATISTICS
from ..symbol.node import Entry, Node, topological_order
from ._graph import Graph
from ._interpreter import Key
from ._lower import lower
from ._numbering import graph_of
from ._passes import Heads, disabled_passes, rebuild, with_inputs

_RECTIFIED = "_contrib_BatchNormWithReLU"


def fold_batch_norms(heads: Heads) -> Heads:
    """Folds normalisations into the layers before them, for inference.

    Not folded: a layer whose result has other readers or is an output, a normalisation along
    another axis than the filters', or with statistics that are read.
    """
    order = topological_order(heads)
    readers = Counter(entry for node in order for entry in node.inputs)
    readers.update(heads)

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Entry | Node:
        if _normalizes(node) and node.inputs[0] in foldable:
            return _folded(node, inputs)
        return with_inputs(node, inputs)

    foldable = {
        node.inputs[0]
        for node in order
        if _normalizes(node)
        and readers[node.inputs[0]] == 1
        and not any(readers[node, k] for k in range(1, node.n_outputs))
        and _scales_filters(node.inputs[0][0], node)
    }
    return rebuild(heads, replace) if foldable else heads


def _normalizes(node: Node) -> bool:
    return node.op is not None and MOVING_STATISTICS in node.op.traits


def _scales_filters(layer: Node, normalization: Node) -> bool:
    if layer.params is None or normalization.params is None or _scale_shape(layer) is None:
        return False
    channels = _channel_axis(layer.params)
    axis, rank = normalization.params.get("axis", 1), len(layer.params.get("kernel", ())) + 2
    return channels is not None and axis in (channels, channels - rank)


def _channel_axis(p: Params) -> int | None:
    # None if the attributes do not say.
    if "kernel" not in p:
        return 1 if p.get("flatten", True) else None
    layout = p.get("layout")
    return layout.index("C") if layout else 1


def _scale_shape(layer: Node) -> tuple[int, ...] | None:
    # None for layers without such a shape. The weight of a transposed convolution is (channels,
    # filters, kernel...), or channels last (channels, kernel..., filters); the filters of several
    # groups share an index.
    p = layer.params
    if layer.op is None or p is None:
        return None
    ones = tuple(1 for _ in p.get("kernel", ()))
    if FILTERS_FIRST in layer.op.traits:
        return (-1, *ones, 1)
    if FILTERS_SECOND not in layer.op.traits or p.num_group > 1:
        return None
    return (1, *ones, -1) if p.layout and p.layout[-1] == "C" else (1, -1, *ones)


def _folded(normalization: Node, inputs: tuple[Entry, ...]) -> Node:
    (layer, _), gamma, beta, mean, var = inputs
    p, q = normalization.params, layer.params
    assert p is not None
    assert q is not None
    assert layer.op is not None
    name = normalization.name

    def call(op: str, *operands: Entry, **attrs: object) -> Entry:
        return _call(op, name, operands, attrs), 0

    scale = call("rsqrt", call("_plus_scalar", var, scalar=p.eps))
    if not p.fix_gamma:
        scale = call("elemwise_mul", gamma, scale)
    shape = _scale_shape(layer)
    weight = call("broadcast_mul", layer.inputs[1], call("Reshape", scale, shape=shape))
    shift = mean if q.no_bias else call("elemwise_sub", mean, layer.inputs[2])
    bias = call("elemwise_sub", beta, call("elemwise_mul", scale, shift))
    params = Params({**q, "no_bias": False})
    folded = Node(layer.op, layer.name, layer.attrs, params, (layer.inputs[0], weight, bias))
    if normalization.op is not None and normalization.op.name == _RECTIFIED:
        return _call("relu", name, ((folded, 0),), {})
    return folded


def _call(op_name: str, name: str, inputs: Sequence[Entry], attrs: Attrs) -> Node:
    op: OpDef | None = lookup(op_name)
    assert op is not None
    texts = {key: str(value) for key, value in attrs.items()}
    return Node(op, name, texts, op.parse(texts), tuple(inputs))


def lower_for_inference(graph: Graph) -> Callable[[Sequence[Any], Sequence[Any], Any], Any]:
    """Returns inference as a pure function ``run(args, aux, key)``; results differ by rounding."""
    plain = lower(graph)
    folded = _folded_graph(graph)
    folded_run = lower(folded)

    def run(args: Sequence[jax.Array], aux: Sequence[jax.Array], key: Key) -> tuple[jax.Array, ...]:
        if folded is graph or not all(_is_wide(x.dtype) for x in (*args, *aux)):
            return plain(args, aux, key, False)[0]
        arrays = dict(zip((*graph.args, *graph.aux), (*args, *aux), strict=True))
        inputs, states = ([arrays[n] for n in nodes] for nodes in (folded.args, folded.aux))
        return folded_run(inputs, states, key, False)[0]

    return run


def _folded_graph(graph: Graph) -> Graph:
    # The graph itself if nothing folds, or if it does not match its heads (a segment of a graph).
    heads = graph.head_entries
    if "batch_norms" in disabled_passes() or graph_of(heads).structure != graph.structure:
        return graph
    folded = fold_batch_norms(heads)
    return graph if folded == heads else graph_of(folded)


def _is_wide(dtype: DType) -> bool:
    return not jnp.issubdtype(dtype, jnp.floating) or jnp.finfo(dtype).bits >= 32
