"""Views of blocks in notebooks: layers, parameters, operations."""

from __future__ import annotations

import pytest

import executorkit as mx
from tests.display._html import checked

nn = mx.gluon.nn


def _words(net: mx.gluon.Block) -> str:
    return checked(net._repr_html_())


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("known", [False, True], ids=["deferred", "known"])
def test_operations_are_told_after_the_first_call(known, hybridized):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4 if known else 0), nn.Dense(2, in_units=3 if known else 0))
    net.initialize()
    if hybridized:
        net.hybridize()
    assert "FLOPs" not in _words(net)
    assert "2 shapes not known yet" in _words(net) or known
    names = net(mx.sym.Variable("data")).list_arguments()
    net(mx.nd.ones((5, 4)))
    words = _words(net)
    assert "4 parameters, 23 elements, on cpu(0)" in words
    # Two for each product of a weight, one for each sum with a bias.
    assert f"{5 * (2 * (12 + 6) + 3 + 2)} FLOPs for (5, 4)" in words
    assert ("hybridized" in words) is hybridized
    assert net(mx.sym.Variable("data")).list_arguments() == names


def test_several_inputs_have_shapes_in_their_order():
    class Sum(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.dot(x, y)

    net = Sum()
    net(mx.nd.ones((2, 3)), mx.nd.ones((3, 4)))
    assert "FLOPs for (2, 3), (3, 4)" in _words(net)


def test_a_block_that_looks_at_values_has_a_view_without_a_graph():
    class Positive(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x if x.sum().asscalar() > 0 else -x

    net = Positive()
    net(mx.nd.ones((2, 3)))
    words = _words(net)
    assert "Positive" in words
    assert "FLOPs" not in words
    assert "graph" not in words
