"""Parts of views: both forms, escaped, well-formed; and what happens when a view fails."""

from __future__ import annotations

import pytest

from executorkit.display import Emphasis, Fold, Line, Lines, Sparkline, Table, View, Viewed

from ._html import checked
from ._snapshots import matches

NASTY = "<script>alert('x')</script> & \"quotes\" \x00"


def _view(word: str) -> View:
    table = Table(
        ["name", "size", "shape"],
        [[word, "1", Sparkline([0, 1, 4, 8])], ["b", Emphasis("12"), ""]],
        right={1},
        footer=["2", "13", ""],
    )
    return View(word, [Line(word), Line("bad", bad=True), Fold(word, [table, Lines([word, "x"])])])


def test_text_form():
    matches("parts", _view("word").text())


@pytest.mark.parametrize("word", ["word", NASTY, "]]>", "</div>", "é\ud800", ""])
def test_html_is_well_formed_and_escaped(word):
    html = _view(word).html()
    words = checked(html)
    assert "<script" not in html
    html.encode("utf-8")
    if word.isprintable():
        assert word in words


def test_the_checker_checks():
    for bad in ("<script></script>", "<div><b></div></b>", "<div>", '<p onclick="x">', "<p/>", ""):
        with pytest.raises(AssertionError):
            checked(bad)


def test_colours_for_light_and_dark_pages_are_in_the_style_sheet():
    html = _view("x").html()
    assert "prefers-color-scheme:dark" in html
    assert '[data-jp-theme-light="false"] .ek' in html


class _Shown(Viewed):
    def _as_view(self):
        return View("title", [Line("words")])

    def __repr__(self):
        return "plain"


class _Failing(_Shown):
    def _as_view(self):
        raise RuntimeError("no view")


class _Hopeless(_Failing):
    def __repr__(self):
        raise RuntimeError("no repr either")


def test_bundle_holds_both_forms_as_far_as_asked_for():
    shown = _Shown()
    assert set(shown._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert shown._repr_mimebundle_(include={"text/plain"}) == {"text/plain": "title\nwords"}
    assert set(shown._repr_mimebundle_(exclude={"text/plain"})) == {"text/html"}
    assert shown._repr_mimebundle_()["text/html"] == shown._repr_html_()


def test_a_failing_view_falls_back_to_the_repr():
    assert _Failing()._repr_mimebundle_() == {"text/plain": "plain"}
    assert _Failing()._repr_html_() == "<pre>plain</pre>"
    assert "_Hopeless object" in _Hopeless()._repr_mimebundle_()["text/plain"]
    assert "_Hopeless object" in checked(_Hopeless()._repr_html_())
