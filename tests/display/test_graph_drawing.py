"""Drawings: boxes never overlap, edges point downwards; blocks that unfold stand between them."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from executorkit.display import BlockFold, Box, Drawing, Flow, Line
from executorkit.display._graph_drawing import layout

from ._html import checked, drawn_texts

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


def test_long_names_are_shortened_and_shown_in_full_on_hover():
    name = "a_very_long_name_of_a_node_in_a_network_with_many_blocks"
    html = Drawing([Box(name, ("<op>",))], []).html()
    assert f"<title>{name}</title>" in html
    assert "&lt;op&gt;" in html
    checked(html)


def test_without_svg_the_words_are_the_text_form():
    drawing = Drawing([Box("a"), Box("b", ("op", "(2, 3)"))], [(0, 1)], {0: "above"})
    assert drawing.text() == "a <- above\nb [op] [(2, 3)] <- a"
    assert checked(drawing.html(), joined="") == drawing.text()
    assert drawn_texts(drawing.html()) == ["a", "b", "op", "(2, 3)"]


def test_boxes_of_other_drawings_are_not_in_the_text():
    drawing = Drawing([Box("before", round=True), Box("b")], [(0, 1)], n_outside=1)
    assert drawing.text() == "b <- before"
    assert drawn_texts(drawing.html()) == ["before", "b"]


def test_blocks_unfold_in_their_places():
    inner = Drawing([Box("x")], [])
    block = BlockFold("<unit>", "x 3", [inner], [Line("unread")], follows=True)
    flow = Flow([Drawing([Box("first")], []), block, Drawing([Box("last")], [], {0: "<unit>"})])
    words = checked(flow.html())
    assert words.index("first") < words.index("<unit>") < words.index("x") < words.index("last")
    assert flow.html().count("<details") == 1
    assert flow.text() == "first\n<unit>: x 3\n  x\nlast <- <unit>"
    closed = BlockFold("<unit>", "x 3", [inner], is_open_in_text=False)
    assert closed.text() == "<unit>: x 3"
    assert "↓" not in checked(closed.html())
