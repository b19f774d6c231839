"""The parts of views: lines, tables and folds, each with an HTML form and a text form.

HTML is static, and texts are escaped. Colours follow the classes and attributes of JupyterLab, VS
Code and Sphinx themes, else the system's preference.
"""

import html
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

# Escaped elements

#: Characters that no HTML or SVG document may contain.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escape(text: object) -> str:
    return html.escape(_FORBIDDEN.sub("\ufffd", str(text)), quote=True)


def tag(name: str, *content: str, **attributes: object) -> str:
    """Returns an HTML element of HTML content; attributes are escaped, or left out if None. A
    trailing underscore of a name is dropped, others become hyphens.

    >>> tag("p", escape("a < b"), class_="note")
    '<p class="note">a &lt; b</p>'
    """
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{attribute_text}>{''.join(content)}</{name}>"


def drawn_or_read(svg: str) -> str:
    """Returns an SVG element with text in its stead for untrusted notebooks, which strip SVG."""
    return tag("pre", svg, class_="v")


# Numbers and names in words


def count(number: float | None) -> str:
    return "?" if number is None else f"{number:,.0f}"


def many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def total(numbers: Collection[float | None]) -> str:
    """Returns the sum of the known numbers, marked if some are unknown.

    >>> total([1000, 234]), total([5, None]), total([None])
    ('1,234', '5 + ?', '?')
    """
    summands = [number for number in numbers if number is not None]
    if not summands:
        return "?" if numbers else "0"
    return count(sum(summands)) + (" + ?" if len(summands) < len(numbers) else "")


def scaled(number: float | None, unit: str = "", base: int = 1000) -> str:
    """Returns a number with three digits and a unit prefix.

    >>> scaled(7.7e9, "FLOPs"), scaled(102400, "B", 1024), scaled(12, "B"), scaled(None, "B")
    ('7.7 GFLOPs', '100 KiB', '12 B', '?')
    """
    if number is None or not isfinite(number):
        return "?"
    size = float(number)
    prefixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi") if base == 1024 else ("", "k", "M", "G", "T", "P")
    for prefix in prefixes:
        if abs(size) < base * 0.9995 or prefix == prefixes[-1]:
            break
        size /= base
    return f"{size:.3g} {prefix}{unit}".rstrip()


def shape(sizes: Sequence[int] | None) -> str:
    """Returns a shape as text; '?' for an unknown one, and for unknown dimensions (0)."""
    if sizes is None:
        return "?"
    words = [str(size) if size else "?" for size in sizes]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def value(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def clipped(name: str, length: int) -> str:
    """Returns a name, shortened in the middle if it is longer than ``length``.

    >>> clipped("stage1_unit1_conv1", 10), clipped("conv", 10)
    ('stage…conv1', 'conv')
    """
    if len(name) <= length + 1:
        return name
    half = length // 2
    return f"{name[:half]}…{name[-half:]}"


# The style sheet

_LIGHT = (
    "--fg:#1c1e21;--soft:#666c75;--line:#d4d8de;--rule:#eceef1;--bg:#fff;--mark:#3574b5;--bad:#c0272d;"
    "--dense:#f6c7c0;--norm:#d3cfe8;--act:#fbf3b8;--pool:#bcd9ec;--shape:#fbd9b0;--loss:#fbd3e6;"
    "--input:#bfe6dd;--block:#e6e9ee;--other:#dfeccb"
)
_DARK = (
    "--fg:#e4e6ea;--soft:#9aa1ab;--line:#4a5058;--rule:#33383f;--bg:#16181b;--mark:#6ea8e0;--bad:#ff7b72;"
    "--dense:#6b362f;--norm:#474068;--act:#5c5420;--pool:#274b63;--shape:#664522;--loss:#63324a;"
    "--input:#215249;--block:#31363d;--other:#3f4d29"
)
_DARK_PAGES = (
    '[data-jp-theme-light="false"]', ".jp-mod-dark", ".vscode-dark", ".vscode-high-contrast",
    '[data-theme="dark"]', '[theme="dark"]', '[data-md-color-scheme="slate"]', ".theme-dark",
    ".quarto-dark",
)  # fmt: skip
_LIGHT_PAGES = (
    '[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light",
    '[data-theme="light"]', '[theme="light"]', '[data-md-color-scheme="default"]', ".quarto-light",
)  # fmt: skip

_RULES = """
.ek{font:13px/1.45 system-ui,sans-serif;color:var(--fg);max-width:100%}
.ek .h{font-weight:600;margin:2px 0 4px}
.ek p{margin:2px 0;color:var(--soft)}
.ek pre{margin:2px 0;font-size:12px;color:var(--fg);background:none;white-space:pre;overflow-x:auto}
.ek .x,.ek .g{overflow:auto}
.ek .x{max-height:520px}
.ek .g{max-height:min(85vh,1000px);margin:4px 0;border:1px solid var(--rule);border-radius:4px}
.ek .g::-webkit-scrollbar,.ek .x::-webkit-scrollbar{width:11px;height:11px}
.ek .g::-webkit-scrollbar,.ek .x::-webkit-scrollbar{background:var(--rule)}
.ek .g::-webkit-scrollbar-thumb,.ek .x::-webkit-scrollbar-thumb{background:var(--soft)}
@media print{.ek .x,.ek .g{max-height:none}}
.ek pre.v{font-size:11px;margin:0;padding:0;border:0;overflow:visible}
.ek .a{margin:0 0 0 52px;line-height:1;color:var(--soft)}
.ek details.k{margin:2px 0 2px 6px}
.ek .k>summary{display:inline-block;padding:2px 10px;border:1px solid var(--line)}
.ek .k>summary{border-radius:4px;background:var(--block)}
.ek .k>summary::before{content:"▸ "}
.ek .k[open]>summary::before{content:"▾ "}
.ek .k>.i{margin:3px 0 3px 10px;padding-left:8px;border-left:2px solid var(--mark)}
.ek table{border-collapse:collapse;margin:2px 0 6px;font-size:12px}
.ek .x th,.ek .x td{padding:1px 10px 1px 0;text-align:left;white-space:nowrap}
.ek .x th,.ek .x td{background:none;color:var(--fg)}
.ek .x th{color:var(--soft);font-weight:500;border-bottom:1px solid var(--line)}
.ek .x td{border-bottom:1px solid var(--rule)}
.ek .x .r{text-align:right;font-variant-numeric:tabular-nums}
.ek .x tfoot td{font-weight:600;border-top:1px solid var(--line)}
.ek details{margin:1px 0 1px 2px}
.ek details>:not(summary){margin-left:14px}
.ek summary{cursor:pointer}
.ek b.bad{color:var(--bad)}
.ek svg{display:block}
.ek svg.s{display:inline-block;vertical-align:middle}
.ek svg.s path{fill:var(--mark)}
.ek text{font:11px system-ui,sans-serif;fill:var(--fg);text-anchor:middle}
.ek .d{fill:var(--soft);font-size:10px}
.ek .e{fill:none;stroke:var(--soft);stroke-width:1}
.ek .n{stroke:var(--line);stroke-width:1}
.ek .n.soft{fill:var(--soft);fill-opacity:.3}
"""

#: Kinds of boxes in drawings of graphs, each with a colour.
KINDS = (
    "dense", "norm", "act", "pool", "shape", "loss", "input", "block", "other",
)  # fmt: skip


def _sheet() -> str:
    kinds = "".join(f".ek .n.{kind}{{fill:var(--{kind})}}" for kind in KINDS)
    dark, light = (",".join(f"{p} .ek" for p in pages) for pages in (_DARK_PAGES, _LIGHT_PAGES))
    return (
        f".ek{{{_LIGHT}}}"
        f"@media (prefers-color-scheme:dark){{.ek{{{_DARK}}}}}"
        f"{light}{{{_LIGHT}}}{dark}{{{_DARK}}}" + _RULES.replace("\n", "") + kinds
    )


def _picture_sheet() -> str:
    kinds = "".join(f".n.{kind}{{fill:var(--{kind})}}" for kind in KINDS)
    rules = [
        line
        for line in _RULES.split("\n")
        if line.startswith((".ek text", ".ek .d", ".ek .e", ".ek .n"))
    ]
    dark = f"@media (prefers-color-scheme:dark){{svg{{{_DARK}}}}}"
    return f"svg{{{_LIGHT}}}{dark}" + "".join(rules).replace(".ek ", "") + kinds


#: Style sheets: of every view, and of a drawing in a file of its own.
SHEET = _sheet()
PICTURE_SHEET = _picture_sheet()


# Parts


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    footer: Sequence[str] | None = None,
) -> str:
    """Returns columns as wide as their widest cell, two spaces apart, the header underlined.
    ``right`` are the right-aligned columns; ``footer`` is a last row below another rule."""
    lines = [header, *rows, *([footer] if footer is not None else [])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    lines = [header, rule, *rows, *([rule, footer] if footer is not None else [])]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


class Part(Protocol):
    def html(self) -> str: ...

    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Line:
    words: str
    bad: bool = False

    def html(self) -> str:
        words = escape(self.words)
        return tag("p", tag("b", words, class_="bad") if self.bad else words)

    def text(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Lines:
    lines: Sequence[str]

    def html(self) -> str:
        return tag("pre", escape("\n".join(self.lines)))

    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Emphasis:
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
    """Rows of cells with a ``footer``; ``right`` columns align right; ``most_lines`` as text."""

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
        hidden = len(self.rows) - len(rows)
        return f"{table}\n... {hidden} more" if hidden else table


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts under a title that opens and closes on a click."""

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
    """A title and parts: the form in which a notebook shows an object."""

    title: str
    parts: Sequence[Part] = ()

    def html(self) -> str:
        head = tag("div", escape(self.title), class_="h")
        inner = "".join(part.html() for part in self.parts)
        return f"<style>{SHEET}</style>{tag('div', head, inner, class_='ek')}"

    def text(self) -> str:
        return "\n".join([self.title, *(part.text() for part in self.parts)])
