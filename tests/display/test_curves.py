"""Curves: both forms, for few points and many, and for what cannot be drawn."""

from __future__ import annotations

import math
import re

import pytest

from executorkit.display import Curve, Curves

from ._html import checked

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
def test_text(points, expected):
    assert Curves([Curve("c", points)]).text() == expected


def test_long_curves_are_lines_of_text_too():
    name, bars, last = Curves([Curve("c", [(i, i) for i in range(1000)])]).text().split()
    assert (name, last, len(bars), list(bars)) == ("c", "999", 40, sorted(bars))


@pytest.mark.parametrize("points", [[], [(0, NAN)], [(NAN, 0)]])
def test_nothing_to_draw(points):
    assert checked(Curves([Curve("c", points)]).html()) == "nothing to draw yet"


def _numbers(html: str) -> list[float]:
    (path,) = re.findall(r'<path d="(M[\d.L ]+)" fill="none"', html)
    return [float(x) for x in re.findall(r"[\d.]+", path)]


def test_points_fill_the_frame():
    html = Curves([Curve("c", [(0, 5), (10, 7), (20, 6)])], axis="s").html()
    words = checked(html)
    assert words == "5 7 0 20 s c 6"
    assert _numbers(html) == [56, 190, 282, 22, 508, 106]


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
