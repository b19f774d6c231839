"""Layers: shapes, parameters and operations of every node, from data rather than from a run."""

from __future__ import annotations

import executorkit as mx
from executorkit.lowering._layers import layers


def test_operations_grow_with_the_batch_and_parameters_do_not():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    one, two = (layers(net, {"data": (n, 8)}, ["fc_weight", "fc_bias"])[0] for n in (1, 2))
    assert one.parameters == two.parameters == {"fc_weight": 24, "fc_bias": 3}
    assert (one.output_shapes, two.output_shapes) == (((1, 3),), ((2, 3),))
    assert two.flops == 2 * one.flops
    assert one.flops == 2 * 24 + 3


def test_transcendental_functions_count():
    net = mx.sym.exp(mx.sym.Variable("data"))
    assert layers(net, {"data": (4, 5)}, [])[0].flops == 20


def test_all_visible_outputs_have_shapes_and_hidden_ones_do_not_show():
    data = mx.sym.Variable("data")
    split = mx.sym.SliceChannel(data, num_outputs=2, name="split")
    norm = mx.sym.BatchNorm(split[0], name="bn")
    found = layers(mx.sym.Group([split, norm]), {"data": (2, 6)}, [])
    assert [layer.output_shapes for layer in found] == [((2, 3), (2, 3)), ((2, 3),)]


def test_random_operators_are_counted_too():
    found = layers(mx.sym.Dropout(mx.sym.Variable("data"), name="drop"), {"data": (2, 6)}, [])
    assert found[0].flops is not None


def test_what_is_not_known_is_none():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    (layer,) = layers(net, {}, ["fc_weight", "fc_bias"])
    assert layer.output_shapes == (None,)
    assert layer.parameters == {"fc_weight": None, "fc_bias": 3}
    assert layer.flops is None
