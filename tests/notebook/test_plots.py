"""Plots without background, in colours that can be read on light and on dark pages."""

from __future__ import annotations

import io
import sys

import pytest

import executorkit as mx
from executorkit.notebook import plots

pytestmark = pytest.mark.notebook

LIGHT, DARK = "#ffffff", "#16181b"


def _luminance(colour: str) -> float:
    """Relative luminance: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(a: str, b: str) -> float:
    low, high = sorted([_luminance(a), _luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", [LIGHT, DARK])
def test_words_and_curves_stand_out_from_the_page(page):
    greys = {v for v in plots.PAGE_STYLE.values() if str(v).startswith("#")}
    assert len(greys) == 2
    assert all(_contrast(grey, page) >= 3.9 for grey in greys)
    assert all(_contrast(colour, page) >= 3 for colour in plots._CYCLE)


def test_the_background_of_a_plot_is_transparent():
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    with matplotlib.rc_context():
        mx.notebook.plots.follow_page()
        figure = Figure(figsize=(1, 1), dpi=40)
        figure.subplots().plot([1, 2])
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        picture.seek(0)
        alpha = imread(picture)[..., 3]
    assert alpha[0, 0] == 0
    assert alpha.max() > 0.5


def test_ipython_puts_no_background_behind_a_plot():
    matplotlib = pytest.importorskip("matplotlib")
    backend = pytest.importorskip("matplotlib_inline.backend_inline")
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        figure = Figure()
        figure.subplots().plot([1, 2])
        figure.set_facecolor("none")
        assert backend._fetch_figure_metadata(figure) == {"needs_background": "light"}
        mx.notebook.plots.follow_page()
        figure = Figure()
        figure.subplots().plot([1, 2])
        assert backend._fetch_figure_metadata(figure) is None


def test_missing_matplotlib_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError) as caught:
        plots.follow_page()
    assert str(caught.value) == (
        "follow_page: matplotlib is not installed\n  try: pip install matplotlib"
    )
