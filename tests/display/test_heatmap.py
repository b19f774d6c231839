"""Heat maps: both forms, for few values and many, and for what is not finite."""

from __future__ import annotations

import math

import pytest

from executorkit.display import HeatMap

from ._html import checked
from ._snapshots import matches

NAN, INF = math.nan, math.inf


def _map(rows):
    count = max(map(len, rows.values()), default=0)
    return HeatMap(list(rows), [f"batch {i}" for i in range(count)], list(rows.values()))


def test_text_form():
    rows = {"conv_output": [1e-3, 1e-2, 1e-1, 1, 10], "fc": [0, -1, None, NAN, -INF]}
    matches("heatmap", _map(rows).text())
    checked(_map(rows).html())


@pytest.mark.parametrize("rows", [{}, {"a": []}])
def test_nothing_to_show(rows):
    assert _map(rows).text() == "nothing to show yet"
    assert checked(_map(rows).html()) == "nothing to show yet"


@pytest.mark.parametrize("row", [[0, 0], [NAN, INF], [None, None], [2.5, 2.5], [5e-324, 1e308]])
def test_every_row_can_be_shown(row):
    checked(_map({"a": row}).html())
    assert _map({"a": row}).text().startswith("a")


def test_what_is_not_finite_stands_out_and_is_never_thinned_away():
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
