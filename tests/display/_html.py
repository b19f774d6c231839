"""Checks that HTML is well-formed and harmless: every element closed in order, no scripts, no
handlers, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

_VOID = {"br", "hr", "img", "input", "meta", "link"}
_ALLOWED = {
    "b", "body", "details", "div", "head", "html", "p", "path", "pre", "style", "summary", "svg",
    "table", "tbody", "td", "text", "tfoot", "th", "thead", "title", "tr",
}  # fmt: skip


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.words: list[str] = []
        self.count = 0

    def handle_starttag(self, tag, attrs):
        assert tag in _ALLOWED, f"<{tag}> has no place in a view"
        assert tag not in _VOID
        self.open.append(tag)
        self.count += 1
        for name, value in attrs:
            assert not name.startswith("on"), f"a handler: {name}"
            assert name not in ("href", "src"), f"something loaded: {name}={value}"
            assert "url(" not in (value or "")

    def handle_startendtag(self, tag, attrs):
        raise AssertionError(f"<{tag}/> is not closed in HTML")

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    def handle_comment(self, data):
        raise AssertionError("a comment in a view")


def checked(html: str, joined: str = " ") -> str:
    """The words in the document, if it is well-formed and harmless: those of a reader's page, or of
    a page that strips SVG and styles."""
    checker = _Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open, f"left open: {checker.open}"
    assert checker.count > 0
    return joined.join(checker.words)


def drawings(html: str) -> list[ElementTree.Element]:
    """The SVG elements of a document, parsed as XML."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def drawn_texts(html: str) -> list[str]:
    """The texts that the drawings of a document show."""
    return [
        text.text or ""
        for svg in drawings(html)
        for text in svg.iter()
        if text.tag.rpartition("}")[2] == "text"
    ]
