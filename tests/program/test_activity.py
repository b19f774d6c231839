"""Head gradients that ``backward`` needs: as many as in MXNet, for every operator."""

from __future__ import annotations

import jax
import pytest

import executorkit as mx
from executorkit.lowering import graph_of
from executorkit.ops import lookup
from executorkit.program import Program, reached_arguments
from executorkit.symbol.node import Node
from tests._tools import golden as _golden
from tests._tools.answers import stored_answers

ANSWERS = stored_answers("heads")


def _params(case):
    op = lookup(case.op)
    attrs = dict(case.attrs)
    if op.variadic is not None and op.count is not None:
        attrs.setdefault(op.count, len(case.inputs))
    return op.parse(attrs)


def _needed(case, name: str) -> int:
    """The number of first outputs that include every one that needs a head gradient."""
    op, params = lookup(case.op), _params(case)
    variables = {n: Node(None, n, {}) for n in case.inputs}
    node = Node(op, "op", {}, params, tuple((v, 0) for v in variables.values()))
    graph = graph_of(tuple((node, k) for k in range(node.n_visible)))
    program = Program(graph, (graph.arg_names.index(name),))
    arrays = case.arrays(case.dtype)
    args = tuple(jax.ShapeDtypeStruct(arrays[n].shape, arrays[n].dtype) for n in graph.arg_names)
    aux = tuple(jax.ShapeDtypeStruct(arrays[n].shape, arrays[n].dtype) for n in graph.aux_names)
    with jax.enable_x64(True):
        key = jax.eval_shape(lambda: jax.random.key(0)) if graph.uses_rng(True) else None
    needs = program.needs_head_gradient(args, aux, key)
    return max((k + 1 for k, need in enumerate(needs) if need), default=0)


#: Inputs whose gradient is always zero; MXNet asks for a head gradient and drops it.
ZERO_GRADIENT = {
    ("BatchNorm", "gamma"),
    ("BatchNorm_v1", "gamma"),
    ("_contrib_SyncBatchNorm", "gamma"),
    ("_contrib_MultiBoxPrior", "data"),
    ("_contrib_MultiBoxDetection", "cls_prob"),
    ("_contrib_MultiBoxDetection", "loc_pred"),
    ("_contrib_MultiBoxDetection", "anchor"),
    ("_contrib_box_iou", "lhs"),
    ("_contrib_box_iou", "rhs"),
    ("sign", "data"),
    ("take", "indices"),
    ("_contrib_BilinearResize2D", "like"),
    ("SequenceLast", "sequence_length"),
    ("SequenceMask", "sequence_length"),
    ("SequenceReverse", "sequence_length"),
    ("slice_like", "shape_like"),
    ("Crop", "arg1"),
    ("ROIPooling", "rois"),
    # Each output depends on the input of the same number alone.
    ("amp_multicast", "data_0"),
}


@pytest.mark.parametrize("family", _golden.families())
def test_heads_needed_are_those_of_mxnet(family):
    wrong, seen = {}, set()
    for case in _golden.cases(family):
        for name in case.compared(case.dtype):
            theirs = ANSWERS.get(f"{family}:{case.name}:{name}")
            if theirs is None or name in lookup(case.op).aux_of(_params(case)):
                continue
            if (case.op, name, theirs) in seen:
                continue
            seen.add((case.op, name, theirs))
            ours = _needed(case, name)
            if ours != theirs and not (ours < theirs and (case.op, name) in ZERO_GRADIENT):
                wrong[f"{case.op} {case.name}:{name}"] = f"ours {ours}, MXNet {theirs}"
    assert wrong == {}


def test_no_gradient_reaches_what_is_below_a_block():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=512, name="a")
    blocked = mx.sym.FullyConnected(mx.sym.BlockGrad(net), num_hidden=512, name="b")
    graph = graph_of(blocked.heads)
    assert dict(zip(graph.arg_names, reached_arguments(graph), strict=True)) == {
        "data": False, "a_weight": False, "a_bias": False, "b_weight": True, "b_bias": True,
    }  # fmt: skip
    both = graph_of(mx.sym.Group([net, blocked]).heads)
    assert all(reached_arguments(both))

    def megabytes(symbol) -> int:
        text = symbol.simple_bind(mx.cpu(), data=(512, 512)).debug_str()
        return int(text.split("Total ")[1].split()[0])

    assert megabytes(mx.sym.Group([net, blocked])) > megabytes(blocked)
