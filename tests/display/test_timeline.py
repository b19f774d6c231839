"""Timelines: every span has its place, whatever the number; overlaps get rows of their own."""

from __future__ import annotations

import re

import pytest

from executorkit.display import Lane, Span, Timeline

from ._calls import calls_of
from ._html import checked, drawings, drawn_texts


def _text_rows(lanes):
    return Timeline(lanes).text().split("\n")


def test_text_shows_when_each_name_ran():
    lanes = [
        Lane("first", [Span("a", 0, 30), Span("b", 30, 60)]),
        Lane("second", [Span("a", 45, 45)]),
    ]
    rows = _text_rows(lanes)
    # By total time: a 75, b 60.
    assert rows[:3] == [
        f"first   {'a' * 30}{'b' * 60}",
        f"second  {' ' * 45}{'a' * 45}",
        "0 to 90 us",
    ]
    assert rows[5:] == ["a  a     75 us      2", "b  b     60 us      1"]


def test_overlapping_spans_stand_below_each_other():
    rows = _text_rows([Lane("t", [Span("outer", 0, 90), Span("inner", 30, 30)])])
    assert rows[0] == f"t  {'a' * 90}"
    assert rows[1] == f"{' ' * 33}{'b' * 30}"
    deep = [Span(f"n{k}", k, 100 - 2 * k) for k in range(10)]
    assert len(_text_rows([Lane("t", deep)])) == 3 + 1 + 2 + 10


def test_names_shapes_and_times_are_in_the_picture():
    html = Timeline([Lane("<t>", [Span("conv & <b>", 0, 2500), Span("fc", 2500, 500)])]).html()
    checked(html)
    texts = drawn_texts(html)
    assert "<t>" in texts
    assert "conv & <b>" in texts
    assert {"0", "1", "2", "3 ms"} <= set(texts)
    titles = [t.text for svg in drawings(html) for t in svg.iter() if t.tag.endswith("title")]
    assert titles == ["2.5 ms", "500 us"]


def test_without_svg_the_words_are_the_text_form():
    lanes = [Lane("t", [Span("a", 0, 30), Span("b", 30, 60), Span("c", 50, 10)])]
    words = checked(Timeline(lanes).html(), joined="")
    for line in _text_rows(lanes)[:2]:
        assert line.strip() in words
    assert [words.index(f"{letter}{name}") for letter, name in ("ab", "ba", "cc")]


@pytest.mark.parametrize("lanes", [[], [Lane("t", [])]])
def test_an_empty_timeline(lanes):
    assert Timeline(lanes).text() == "nothing was recorded"
    assert checked(Timeline(lanes).html()) == "nothing was recorded"


def test_a_span_without_duration_is_shown():
    assert _text_rows([Lane("t", [Span("a", 5.0, 0.0)])])[0].startswith("t  a")
    checked(Timeline([Lane("t", [Span("a", 5.0, 0.0)])]).html())


def test_large_recordings_are_bounded_and_all_times_counted():
    lanes = [
        Lane(f"thread {k}", [Span(f"n{i % 300}", 10.0 * i, 7.0) for i in range(4000)])
        for k in range(30)
    ]
    timeline = Timeline(lanes)
    (html, text), calls = calls_of(lambda: (timeline.html(), timeline.text()))
    assert calls < 2_000_000
    assert len(html) < 1_200_000
    assert len(text) < 8_000
    assert "6 more lanes" in checked(html)
    assert "284 others" in text
    counts = [int(n.replace(",", "")) for n in re.findall(r" ([\d,]+)$", text, re.MULTILINE)]
    assert sum(counts) == 30 * 4000


def test_in_a_column_of_many_spans_the_longest_together_win():
    spans = [Span("a", i, 0.25) for i in range(1000)] + [
        Span("b", i + 0.5, 0.5) for i in range(1000)
    ]
    row = _text_rows([Lane("t", sorted(spans, key=lambda s: s.begin))])[0]
    # b has the most time everywhere, and so the letter a.
    assert set(row[3:]) == {"a"}
