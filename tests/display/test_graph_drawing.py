"""Drawings: blocks cover all nodes once, boxes never overlap, edges point downwards."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from executorkit.display import Block, Box, Drawing, blocks
from executorkit.display._graph_drawing import layout

from ._html import checked

BOX, GAP = (100.0, 30.0), (10.0, 20.0)

graphs = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.sets(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1]),
            max_size=20,
        ).map(sorted),
    )
)


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_boxes_do_not_overlap_and_edges_go_down(graph):
    count, edges = graph
    placed = layout(count, edges, BOX, GAP)
    assert len(placed.centres) == count
    for i, (x, y) in enumerate(placed.centres):
        assert BOX[0] / 2 - 0.01 <= x <= placed.width - BOX[0] / 2 + 0.01
        assert BOX[1] / 2 - 0.01 <= y <= placed.height - BOX[1] / 2 + 0.01
        for other_x, other_y in placed.centres[:i]:
            assert abs(y - other_y) > BOX[1] or abs(x - other_x) > BOX[0]
    for path in placed.paths:
        heights = [y for _, y in path]
        assert heights == sorted(heights)
        assert heights[0] < heights[-1]


def test_a_chain_is_straight():
    placed = layout(5, [(i, i + 1) for i in range(4)], BOX, GAP)
    assert len({x for x, _ in placed.centres}) == 1


def test_an_empty_graph_has_a_drawing():
    assert layout(0, [], BOX, GAP).centres == []
    checked(Drawing([], []).html())


def _leaves(part: Block) -> list[int]:
    if not part.parts:
        assert part.size == 1
        return [part.start]
    assert [p.start for p in part.parts] == sorted(p.start for p in part.parts)
    return [i for p in part.parts for i in _leaves(p)]


names = st.lists(
    st.lists(st.sampled_from(["a", "b", "stage1", "conv", ""]), min_size=1, max_size=4).map(
        "_".join
    ),
    max_size=60,
)


@settings(max_examples=100, deadline=None)
@given(names, st.integers(2, 6))
def test_blocks_hold_every_node_once_and_have_few_parts(words, limit):
    tree = blocks(words, limit)
    assert [i for part in tree for i in _leaves(part)] == list(range(len(words)))
    todo = [tree]
    while todo:
        parts = todo.pop()
        assert len(parts) <= limit
        todo += [p.parts for p in parts if p.parts]


def test_blocks_follow_prefixes():
    words = ["data"] + [f"s{s}_u{u}_op{k}" for s in range(3) for u in range(4) for k in range(5)]
    tree = blocks(words, 10)
    assert [b.label for b in tree] == ["data", "s0", "s1", "s2"]
    assert [b.label for b in tree[1].parts] == ["s0_u0", "s0_u1", "s0_u2", "s0_u3"]


def test_long_names_are_shortened_and_shown_in_full_on_hover():
    name = "a_very_long_name_of_a_node_in_a_network"
    html = Drawing([Box(name, ("<op>",))], []).html()
    assert f"<title>{name}</title>" in html
    assert "&lt;op&gt;" in html
    checked(html)
