"""Text tables."""

from __future__ import annotations

from executorkit.display._parts import text_table


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
