"""Folding: what repeats in a graph becomes blocks, whatever the names; no node is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from executorkit.display import Block, GraphNodes, folded
from tests._tools.work import count_calls


def _nodes(kinds, reads, names=None, details=None):
    names = names or [f"n{i}" for i in range(len(kinds))]
    return GraphNodes(names, kinds, details or kinds, reads)


def _chain(kinds, **more):
    return _nodes(kinds, [[i - 1] if i else [] for i in range(len(kinds))], **more)


def _leaves(part: Block) -> list[int]:
    if not part.parts:
        assert part.size == 1
        return [part.start]
    return [i for p in part.parts for i in _leaves(p)]


def _check(nodes: GraphNodes, order: list[int], tree: tuple[Block, ...]) -> None:
    """Every node has its place, after what it reads; blocks are divided by their parts."""
    assert sorted(order) == list(range(len(nodes.names)))
    place = {node: i for i, node in enumerate(order)}
    assert all(place[j] < place[i] for i in order for j in nodes.reads[i])
    assert [i for part in tree for i in _leaves(part)] == list(range(len(order)))
    todo = list(tree)
    while todo:
        block = todo.pop()
        if block.parts:
            assert (block.start, block.stop) == (block.parts[0].start, block.parts[-1].stop)
            todo += block.parts
            if block.is_repeated:
                described = [[nodes.details[order[i]] for i in _leaves(p)
                              if nodes.reads[order[i]]] for p in block.parts]  # fmt: skip
                assert described == described[:1] * len(described)
        else:
            assert block.label == nodes.names[order[block.start]]


graphs = st.integers(1, 90).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from("abc"), min_size=n, max_size=n),
        st.lists(st.lists(st.integers(1, 6), max_size=3), min_size=n, max_size=n),
    )
)


@settings(max_examples=150, deadline=None)
@given(graphs, st.booleans())
def test_every_node_has_its_place(graph, keep_order):
    kinds, distances = graph
    reads = [sorted({i - d for d in ds if d <= i}) for i, ds in enumerate(distances)]
    nodes = _nodes(kinds, reads)
    order, tree = folded(nodes, keep_order=keep_order)
    _check(nodes, order, tree)
    if keep_order:
        assert order == list(range(len(kinds)))


def test_small_graphs_are_not_folded():
    assert [b.size for b in folded(_chain(["a", "b"] * 20))[1]] == [1] * 40


def test_a_repeated_stretch_is_one_block_of_equal_parts():
    nodes = _chain(["in", *(["conv", "norm", "relu"] * 30), "out"])
    order, tree = folded(nodes)
    _check(nodes, order, tree)
    assert [(b.size, len(b.parts), b.is_repeated) for b in tree] == [
        (1, 0, False), (90, 30, True), (1, 0, False),
    ]  # fmt: skip


def test_stretches_that_differ_in_detail_stand_side_by_side():
    kinds = ["in", *(["conv", "norm", "relu", "pool", "drop"] * 9), "out"]
    details = [f"{kind} {i // 5}" for i, kind in enumerate(kinds)]
    nodes = _chain(kinds, details=details)
    order, tree = folded(nodes)
    _check(nodes, order, tree)
    assert [b.size for b in tree] == [1, *([5] * 9), 1]


def _residual(units: tuple[int, ...]) -> GraphNodes:
    """Stages of units with a sum over each, and a projection in the first unit of a stage."""
    names, kinds, reads = ["data", "stem"], ["data", "conv"], [[], [0]]

    def add(name, kind, *sources):
        names.append(name)
        kinds.append(kind)
        reads.append(sorted(sources))
        return len(names) - 1

    x = 1
    for stage, count in enumerate(units):
        for unit in range(count):
            prefix = f"stage{stage}_unit{unit}"
            short = x
            for k in range(3):
                norm = add(f"{prefix}_bn{k}", "norm", x)
                x = add(f"{prefix}_conv{k}", "conv", norm)
            if unit == 0:
                short = add(f"{prefix}_sc", "conv", short)
            x = add(f"_plus{len(names)}", "add", x, short)
    add("out", "dense", x)
    return _nodes(kinds, reads, names)


def test_stages_and_units_of_a_residual_network():
    nodes = _residual((3, 8, 36, 3))
    order, tree = folded(nodes)
    _check(nodes, order, tree)
    stages = [b for b in tree if b.parts]
    assert [b.label for b in stages] == ["stage0", "stage1", "stage2", "stage3"]
    assert [b.size for b in stages] == [22, 57, 253, 22]
    (units,) = [b for b in stages[2].parts if b.parts]
    assert (units.is_repeated, len(units.parts)) == (True, 35)
    first = units.parts[0]
    assert first.label == "stage2_unit1"
    assert [nodes.kinds[order[i]] for i in range(first.start, first.stop)] == [
        "norm", "conv", "norm", "conv", "norm", "conv", "add",
    ]  # fmt: skip


def test_names_without_a_pattern_change_nothing_but_labels():
    nodes = _residual((3, 8, 36, 3))
    anonymous = _nodes(nodes.kinds, nodes.reads)
    sizes = [[b.size for b in folded(n)[1]] for n in (nodes, anonymous)]
    assert sizes[0] == sizes[1]


def test_an_input_stands_in_the_block_that_reads_it():
    names, kinds, reads = ["state"], ["in"], [[]]
    for step in range(30):
        last = len(names) - 1
        names += [f"t{step}_data", f"t{step}_i2h", f"t{step}_h2h", f"t{step}_h"]
        kinds += ["in", "dense", "dense", "add"]
        n = last + 1
        reads += [[], [n], [last], [n + 1, n + 2]]
    nodes = _nodes(kinds, reads, names)
    order, tree = folded(nodes)
    _check(nodes, order, tree)
    (steps,) = [b for b in tree if b.parts]
    assert len(steps.parts) in (29, 30)
    for part in steps.parts:
        words = {names[order[i]].split("_")[0] for i in range(part.start, part.stop)}
        assert len(words - {"state"}) == 1


@pytest.mark.parametrize("kinds", [["a"] * 4000, [f"k{i}" for i in range(4000)]])
def test_a_chain_is_folded_in_linear_time(kinds):
    short, long = (count_calls(folded, _chain(kinds[:n])) for n in (1000, 4000))
    assert long < 4.5 * short


@pytest.mark.parametrize("kinds", [[], ["a"], ["a"] * 6000, [f"k{i}" for i in range(6000)]])
def test_any_chain_has_few_parts(kinds):
    nodes = _chain(kinds)
    order, tree = folded(nodes)
    _check(nodes, order, tree)
    todo = [tree]
    while todo:
        parts = todo.pop()
        assert len(parts) <= 41
        todo += [p.parts for p in parts if p.parts and not p.is_repeated]
