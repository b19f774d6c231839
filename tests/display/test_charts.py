"""Curves and heat maps: both forms, for little data and much, NaNs and infinities."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings, strategies as st

from executorkit.display import Curve, Curves, HeatMap
from executorkit.display._charts import Bar, ticks

from ._html import checked
from ._snapshots import matches

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([], "c    -"),
        ([(0, 2.0)], "c  █  2"),
        ([(0, 2.0), (1, 2.0)], "c  ██  2"),
        ([(0, 1), (1, 2), (2, 3)], "c  ▁▅█  3"),
        ([(0, 1), (1, NAN), (2, INF)], "c  █  inf"),
    ],
)
def test_text_of_curves(points, expected):
    assert Curves([Curve("c", points)]).text() == expected


def test_long_curves_are_lines_of_text_too():
    name, bars, last = Curves([Curve("c", [(i, i) for i in range(1000)])]).text().split()
    assert (name, last, len(bars), list(bars)) == ("c", "999", 40, sorted(bars))


@pytest.mark.parametrize("points", [[], [(0, NAN)], [(NAN, 0)]])
def test_an_empty_chart(points):
    assert checked(Curves([Curve("c", points)]).html()) == "nothing to draw yet"


def _numbers(html: str) -> list[float]:
    (path,) = re.findall(r'<path d="(M[\d.L ]+)" fill="none"', html)
    return [float(x) for x in re.findall(r"[\d.]+", path)]


def test_points_fill_the_frame():
    html = Curves([Curve("c", [(0, 5), (10, 7), (20, 6)])], axis="s").html()
    words = " ".join(checked(html).split())
    assert words == "c 6 ▁█▅ 5 5.5 6 6.5 7 0 5 10 15 20 s"
    assert _numbers(html) == [56, 186, 282, 22, 508, 104]


@pytest.mark.parametrize("whole", [False, True])
@given(
    st.floats(-1e6, 1e6),
    st.floats(0, 1e6).filter(lambda width: width == 0 or width > 1e-6),
    st.integers(2, 12),
)
@settings(max_examples=60, deadline=None)
def test_ticks_are_few_round_and_inside(whole, low, width, most):
    high = low + width
    numbers = ticks(low, high, most, whole)
    assert len(numbers) <= most
    slack = 1e-9 * max(abs(low), abs(high), 1)
    assert all(low - slack <= n <= high + slack for n in numbers)
    if whole:
        assert all(n == int(n) for n in numbers)
    elif width > 1e-4:
        assert len(numbers) >= 1


def test_ticks_of_counts():
    assert ticks(0, 3, 9, whole=True) == [0, 1, 2, 3]
    assert ticks(0.25, 0.75, 9, whole=True) == []
    assert ticks(1, 89, 9, whole=True) == [10, 20, 30, 40, 50, 60, 70, 80]


def test_without_svg_the_words_say_what_is_drawn():
    curves = Curves([Curve("a", [(0, 1), (1, 2)]), Curve("b", [(0, 2), (1, 1)])], "epoch")
    assert checked(curves.html(), joined="").startswith("a 2  ▁█\nb 1  █▁\n")
    rows = {"conv_output": [1, 2, 3], "fc": [3, None, NAN]}
    words = checked(_map(rows).html(), joined="")
    assert all(line.split() in [w.split() for w in words.split("\n")]
               for line in _map(rows).text().split("\n"))  # fmt: skip


def test_many_points_are_thinned_out_and_the_last_stays():
    html = Curves([Curve("c", [(i, i) for i in range(100_001)])]).html()
    numbers = _numbers(html)
    assert len(numbers) <= 800
    assert numbers[-2:] == [508, 22]
    assert len(html) < 10_000


def test_names_are_escaped():
    html = Curves([Curve("<script>", [(0, 1)]), Curve("b", [])], axis="<i>").html()
    assert "<script>" in checked(html)
    assert "<script" not in html


NAN, INF = math.nan, math.inf


def _map(rows):
    count = max(map(len, rows.values()), default=0)
    return HeatMap(list(rows), [f"batch {i}" for i in range(count)], list(rows.values()))


def test_text_of_heat_maps():
    rows = {"conv_output": [1e-3, 1e-2, 1e-1, 1, 10], "fc": [0, -1, None, NAN, -INF]}
    matches("heatmap", _map(rows).text())
    checked(_map(rows).html())


@pytest.mark.parametrize("rows", [{}, {"a": []}])
def test_an_empty_heat_map(rows):
    assert _map(rows).text() == "nothing to show yet"
    assert checked(_map(rows).html()) == "nothing to show yet"


@pytest.mark.parametrize("row", [[0, 0], [NAN, INF], [None, None], [2.5, 2.5], [5e-324, 1e308]])
def test_every_row_can_be_shown(row):
    checked(_map({"a": row}).html())
    assert _map({"a": row}).text().startswith("a")


def test_nans_and_infinities_stand_out_and_are_never_thinned_away():
    rows = {"a": [1.0] * 5000, "b": [1.0] * 777 + [NAN] + [1.0] * 4222}
    text = _map(rows).text()
    assert text.split("\n")[0].count("!") == 0
    assert text.split("\n")[1].count("!") == 1
    html = _map(rows).html()
    assert html.count("var(--bad)") == 1
    assert len(html) < 20_000


def test_many_rows_are_bounded_and_names_escaped():
    html = _map({f"<script>{i}": [1.0, 2.0] for i in range(2000)}).html()
    assert "<script" not in html
    assert "1700 more rows" in checked(html)
    assert len(html) < 100_000
    text = _map({f"n{i}": [1.0] for i in range(100)}).text()
    assert "... 40 more" in text


def test_a_bar_is_filled_up_to_its_fraction():
    assert Bar(0.25).text() == "█" * 10 + "░" * 30
