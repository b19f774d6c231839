"""Bars of progress: their HTML, and times in words."""

import pytest

from executorkit.display import _progress
from tests.display._html import checked


def test_html_of_a_bar():
    assert checked(_progress._NotebookBar(3, "<b>")._repr_html_()) != ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (185, "3:05"), (3785, "1:03:05"), (-1, "0:00")]
)
def test_clock(seconds, words):
    assert _progress._clock(seconds) == words
