"""Parts of views and text tables: both forms, escaped, well-formed."""

from __future__ import annotations

import pytest

from executorkit.display import (
    Emphasis,
    Fold,
    Line,
    Lines,
    Sparkline,
    Table,
    View,
    _parts,
    text_table,
)

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


def test_columns_are_as_wide_as_their_widest_cell():
    table = text_table(["a", "number"], [["long name", "1"], ["b", "12,345,678"]], right={1})
    assert table == (
        "a              number\n---------  ----------\nlong name           1\nb          12,345,678"
    )


def test_a_footer_stands_below_a_line_and_no_line_ends_in_blanks():
    table = text_table(["a", "b"], [["1", ""]], footer=["sum", ""])
    assert table == "a    b\n---  -\n1\n---  -\nsum"


def test_a_table_without_rows_is_its_header():
    assert text_table(["a", "b"], []) == "a  b\n-  -"


def test_texts_of_numbers_and_shapes():
    assert (_parts.count(1234567), _parts.count(None)) == ("1,234,567", "?")
    assert (_parts.many(1, "compilation"), _parts.many(1200, "row")) == (
        "1 compilation", "1,200 rows",
    )  # fmt: skip
    shapes = [(32, 10), (0, 5), None, (3,)]
    assert [_parts.shape(s) for s in shapes] == ["(32, 10)", "(?, 5)", "?", "(3,)"]
    assert [_parts.value(x) for x in (0.123456, 1e-9, None)] == ["0.1235", "1e-09", ""]


def test_markup_is_escaped():
    assert _parts.escape('<script> & "x"') == "&lt;script&gt; &amp; &quot;x&quot;"


def test_a_text_table_aligns_its_columns():
    table = text_table(["layer", "size"], [["fc1", "1,280"], ["relu1", "0"]], right={1})
    assert table.splitlines() == [
        "layer   size", "-----  -----", "fc1    1,280", "relu1      0",
    ]  # fmt: skip
