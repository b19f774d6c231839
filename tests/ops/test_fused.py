"""Networks that MXNet fused and quantised, layer by layer, from their files."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.symbol.node import Node, topological_order
from tests._tools import golden as _golden

pytestmark = pytest.mark.golden

NETWORKS = sorted(_golden.answers("quantized_networks").facts)


def stored(key):
    answers = _golden.answers("quantized_networks")
    facts = answers.facts[key]
    names = (*facts["parameters"], "data")
    places = {n: key if f"{key}|{n}" in answers else facts["network"] for n in names}
    return facts, {n: answers[f"{place}|{n}"] for n, place in places.items()}


def run(symbol, arrays):
    inputs = {n: mx.nd.array(a, dtype=a.dtype) for n, a in arrays.items()}
    states = {n: inputs[n] for n in symbol.list_auxiliary_states()}
    executor = symbol.bind(mx.cpu(), inputs, aux_states=states, grad_req="null")
    return [o.asnumpy() for o in executor.forward(is_train=False)]


def result(key):
    facts, arrays = stored(key)
    return run(mx.sym.load_json(facts["json"]), arrays)[0]


@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize("key", NETWORKS)
def test_every_layer_is_within_one_step_of_mxnets(key):
    """Each layer by itself, on the outputs of MXNet's previous layers."""
    facts, arrays = stored(key)
    answers = _golden.answers("quantized_networks")
    for name in facts["outputs"][:-1]:
        arrays[name] = answers[f"{key}|out:{name}"]
    variables = {name: Node(None, name, {}) for name in arrays}
    heads = []
    for node in topological_order(mx.sym.load_json(facts["json"]).heads):
        if node.op is None or node.output_names[0] not in arrays:
            continue
        read = [child.output_names[index] for child, index in node.inputs]
        if set(read) <= set(arrays):
            inputs = tuple((variables[name], 0) for name in read)
            alone = Node(node.op, node.name, node.attrs, node.params, inputs, node.subgraphs)
            heads += [(alone, i) for i in range(node.n_visible)]
    layers = mx.sym.Symbol(heads)
    outputs = run(layers, {name: arrays[name] for name in layers.list_inputs()})
    wrong = {}
    for name, ours in zip(layers.list_outputs(), outputs, strict=True):
        theirs = arrays[name]
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        distance = np.abs(ours.astype("f8") - theirs.astype("f8")).max()
        step = 1 if theirs.dtype.itemsize == 1 else 1e-6 * np.abs(theirs).max()
        if distance > max(step, theirs.dtype.kind == "i"):
            wrong[name] = distance
    assert wrong == {}
    assert len(outputs) >= 3


@pytest.mark.parametrize(
    "key", [n for n in NETWORKS if n.endswith(("fused", "quantised", "bytes"))]
)
def test_network_gives_what_mxnet_gives(key):
    theirs = _golden.answers("quantized_networks")[f"{key}|out:network"]
    allowed = 1e-5 if "fused" in key else 2e-2
    np.testing.assert_allclose(result(key), theirs, rtol=0, atol=allowed * np.abs(theirs).max())


@pytest.mark.parametrize("key", NETWORKS)
def test_lists_shapes_and_types_are_mxnets(key):
    facts, arrays = stored(key)
    symbol = mx.sym.load_json(facts["json"])
    assert symbol.list_arguments() == facts["arguments"]
    assert symbol.list_auxiliary_states() == facts["states"]
    shapes, _, states = symbol.infer_shape(data=arrays["data"].shape)
    assert shapes == [arrays[n].shape for n in facts["arguments"]]
    assert states == [arrays[n].shape for n in facts["states"]]
    types = symbol.infer_type(data="float32")[0]
    assert types == [arrays[n].dtype.type for n in facts["arguments"]]


@pytest.mark.parametrize("key", NETWORKS)
def test_text_survives(key):
    facts, _ = stored(key)
    symbol = mx.sym.load_json(facts["json"])
    again = json.loads(symbol.tojson())

    def plain(graph):
        """A graph without the versions of auxiliary states, which MXNet forgets in subgraphs, and
        without the numbers of outputs: on x86 its maximum pooling has a hidden one."""
        nodes = [
            {**n, "inputs": [i[:2] for i in n["inputs"]],
             "subgraphs": [plain(g) for g in n.get("subgraphs", [])]}
            for n in graph["nodes"]
        ]  # fmt: skip
        return {**graph, "nodes": nodes, "node_row_ptr": []}

    assert plain(again) == plain(json.loads(facts["json"]))


def test_a_quantised_network_is_near_the_real_one():
    real = result("mobile_fused")
    assert np.abs(result("mobile_quantised") - real).max() < 0.05 * np.abs(real).max()


def test_a_quantised_network_is_a_jax_function_without_float64():
    facts, arrays = stored("bottleneck_quantised")
    symbol = mx.sym.load_json(facts["json"])
    outputs, _ = jax.jit(symbol.to_jax())(
        {n: arrays[n] for n in symbol.list_arguments()},
        {n: arrays[n] for n in symbol.list_auxiliary_states()},
    )
    theirs = _golden.answers("quantized_networks")["bottleneck_quantised|out:network"]
    assert np.abs(outputs[0] - theirs).max() < 2e-2
