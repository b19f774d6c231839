"""Nodes and the order of a walk over them."""

from __future__ import annotations

from executorkit.ops import lookup
from executorkit.symbol.node import Node, auxiliary_nodes, topological_order


def _variable(name: str) -> Node:
    return Node(None, name, {})


def _add(name: str, *inputs: Node) -> Node:
    op = lookup("FullyConnected")
    assert op is not None
    attrs = {"num_hidden": "3", "no_bias": "True"}
    return Node(op, name, attrs, op.parse(attrs), tuple((node, 0) for node in inputs))


def test_names_of_a_variable_and_of_an_operator():
    data, weight = _variable("data"), _variable("w")
    fc = _add("fc", data, weight)
    assert data.is_variable
    assert data.output_names == ("data",)
    assert (data.n_outputs, data.n_visible, data.input_names) == (1, 1, ())
    assert not fc.is_variable
    assert fc.output_names == ("fc_output",)
    assert fc.input_names == ("data", "weight")
    assert (fc.n_outputs, fc.n_visible) == (1, 1)
    assert repr(fc) == "<Node fc: FullyConnected>"


def test_order_is_post_order_of_a_walk_from_first_input_to_last():
    a, b, c = _variable("a"), _variable("b"), _variable("c")
    left = _add("left", a, b)
    right = _add("right", left, c)
    top = _add("top", c, right)
    assert [n.name for n in topological_order([(top, 0)])] == [
        "c",
        "a",
        "b",
        "left",
        "right",
        "top",
    ]
    both = topological_order([(left, 0), (top, 0)])
    assert " ".join(n.name for n in both) == "a b left c right top"


def test_a_shared_node_is_visited_once_and_depth_is_no_limit():
    node = _variable("data")
    for i in range(20_000):
        node = _add(f"n{i}", node, node)
    order = topological_order([(node, 0), (node, 0)])
    assert len(order) == 20_001
    assert order[0].name == "data"
    assert order[-1] is node


def test_auxiliary_nodes_are_decided_by_the_operator():
    assert auxiliary_nodes([_add("fc", _variable("data"), _variable("w"))]) == set()
