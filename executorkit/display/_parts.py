"""What views are made of. Every part has an HTML form and a text form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from ._html import escape, tag
from ._style import SHEET
from ._table import text_table


class Part(Protocol):
    """A piece of a view."""

    def html(self) -> str:
        """As static HTML, escaped."""
        ...

    def text(self) -> str:
        """As plain text, without a line break at its end."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """A line of words; ``bad`` makes it stand out."""

    words: str
    bad: bool = False

    def html(self) -> str:
        words = escape(self.words)
        return tag("p", tag("b", words, class_="bad") if self.bad else words)

    def text(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Lines:
    """Preformatted lines."""

    lines: Sequence[str]

    def html(self) -> str:
        return tag("pre", escape("\n".join(self.lines)))

    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Words in a cell that stand out."""

    words: str

    def html(self) -> str:
        return tag("b", escape(self.words), class_="bad")

    def text(self) -> str:
        return self.words


Cell = str | Part


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text()


def _html(cell: Cell) -> str:
    return escape(cell) if isinstance(cell, str) else cell.html()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells. ``right`` are the columns aligned to the right, ``footer`` a last row.

    The text form has at most ``most_lines`` rows, and says how many more there are.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Collection[int] = ()
    footer: Sequence[str] | None = None
    most_lines: int | None = None

    def html(self) -> str:
        classes = [' class="r"' if i in self.right else "" for i in range(len(self.header))]

        def row(cells: Sequence[Cell], kind: str) -> str:
            pairs = zip(cells, classes, strict=True)
            return "<tr>" + "".join(f"<{kind}{c}>{_html(x)}</{kind}>" for x, c in pairs) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        foot = tag("tfoot", row(self.footer, "td")) if self.footer is not None else ""
        table = tag("table", tag("thead", row(self.header, "th")), tag("tbody", body), foot)
        return tag("div", table, class_="x")

    def text(self) -> str:
        rows = [[_text(cell) for cell in row] for row in self.rows[: self.most_lines]]
        table = text_table(self.header, rows, right=self.right, footer=self.footer)
        more = len(self.rows) - len(rows)
        return f"{table}\n... {more} more" if more else table


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts under a title that a click opens and closes."""

    title: str
    parts: Sequence[Part]
    open: bool = False

    def html(self) -> str:
        start = "<details open>" if self.open else "<details>"
        inner = "".join(part.html() for part in self.parts)
        return f"{start}{tag('summary', escape(self.title))}{inner}</details>"

    def text(self) -> str:
        inner = "\n".join(part.text() for part in self.parts)
        indented = "\n".join(f"  {line}" if line else "" for line in inner.split("\n"))
        return f"{self.title}\n{indented}"


@dataclass(frozen=True, slots=True)
class View:
    """A title and parts: what a notebook shows of an object."""

    title: str
    parts: Sequence[Part] = ()

    def html(self) -> str:
        """As a piece of static HTML with its style sheet."""
        head = tag("div", escape(self.title), class_="h")
        inner = "".join(part.html() for part in self.parts)
        return f"<style>{SHEET}</style>{tag('div', head, inner, class_='ek')}"

    def text(self) -> str:
        """As plain text."""
        return "\n".join([self.title, *(part.text() for part in self.parts)])
