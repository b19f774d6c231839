"""Timelines: what ran when, in lanes, as SVG and as characters."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from ._charts import ticks
from ._parts import KINDS, Cell, Table, clipped, count, drawn_or_read, escape, tag

_WIDTH, _NAMES_WIDTH, _ROW, _BOTTOM = 720, 190, 18, 20
_NAME_LENGTH, _COLUMNS = 24, 90
#: Maximum numbers of lanes, of rows of a lane whose spans overlap, and of names in the table.
_MAX_LANES, _MAX_DEPTH, _MAX_NAMES = 24, 3, 16
#: Least widths in pixels of a span that tells its name when pointed at, and that shows it.
_POINTED, _LABELLED = 6, 40
_CHARACTER = 6.5
_TICKS = 8
#: Colours of the names with the most time, and the colour of all others.
_COLOURS = [kind for kind in KINDS if kind != "block"]
_OTHER = "soft"


class Span(NamedTuple):
    """Something that ran: its name, when it began and how long it took, in microseconds."""

    name: str
    begin: float
    duration: float


class Lane(NamedTuple):
    name: str
    spans: Sequence[Span]


class _Piece(NamedTuple):
    name: str
    first: int
    last: int
    time: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes of spans over time, with the names that take the most time.

    A lane has a row more where spans overlap; of several spans on one pixel the longest is drawn.

    >>> lane = Lane("thread", [Span("a", 0, 30), Span("b", 30, 60)])
    >>> print(*Timeline([lane]).text().splitlines()[1:], sep=chr(10))
    0 to 90 us
       name   time  count
    -  ----  -----  -----
    a  b     60 us      1
    b  a     30 us      1
    """

    lanes: Sequence[Lane]
    names: list[tuple[str, float, int]] = field(init=False)

    def __post_init__(self) -> None:
        totals: dict[str, list[float]] = {}
        for lane in self.lanes:
            for span in lane.spans:
                entry = totals.setdefault(span.name, [0.0, 0])
                entry[0] += span.duration
                entry[1] += 1
        names = [(name, time, int(n)) for name, (time, n) in totals.items()]
        object.__setattr__(self, "names", sorted(names, key=lambda entry: -entry[1]))

    def html(self) -> str:
        if not self.names:
            return tag("p", "nothing was recorded")
        start, end = self._range()
        rows = self._rows(_WIDTH)
        colours = {name: colour for (name, *_), colour in zip(self.names, _COLOURS, strict=False)}
        labels, shapes = [], []
        pairs = zip(rows, self._letter_rows(), strict=True)
        for y, ((title, pieces), (_, letters)) in enumerate(pairs):
            place = f'x="0" y="{y * _ROW + 13}" style="text-anchor:start"'
            name = escape(clipped(title, _NAME_LENGTH))
            labels.append(f"<text {place}>{name}</text>  {letters}\n")
            shapes.append(_row_shapes(pieces, y * _ROW, colours))
        bottom = len(rows) * _ROW
        axis = self._axis(end - start, bottom)
        size = f'width="{_NAMES_WIDTH + _WIDTH + 30}" height="{bottom + _BOTTOM}"'
        svg = f"<svg {size}>{''.join(labels)}{axis}\n{''.join(shapes)}</svg>"
        hidden = len(self.lanes) - _MAX_LANES
        more = tag("p", f"{hidden} more lanes") if hidden > 0 else ""
        swatches = {
            name: Swatch(colours.get(name, _OTHER), letter)
            for name, letter in self._letters().items()
        }
        return tag("div", drawn_or_read(svg), class_="x") + more + self._table(swatches).html()

    def text(self) -> str:
        if not self.names:
            return "nothing was recorded"
        start, end = self._range()
        rows = self._letter_rows()
        width = max(len(title) for title, _ in rows)
        lines = [f"{title.ljust(width)}  {letters}".rstrip() for title, letters in rows]
        if len(self.lanes) > _MAX_LANES:
            lines.append(f"... {len(self.lanes) - _MAX_LANES} more lanes")
        lines.append(f"0 to {_time(end - start)}")
        return "\n".join([*lines, self._table(self._letters()).text()])

    def _letters(self) -> dict[str, str]:
        return dict(zip((name for name, *_ in self.names), string.ascii_letters, strict=False))

    def _letter_rows(self) -> list[tuple[str, str]]:
        letters = self._letters()
        rows = []
        for title, pieces in self._rows(_COLUMNS):
            characters = [" "] * _COLUMNS
            for piece in pieces:
                letter = letters.get(piece.name, "*")
                characters[piece.first : piece.last] = letter * (piece.last - piece.first)
            rows.append((clipped(title, _NAME_LENGTH), "".join(characters).rstrip()))
        return rows

    def _table(self, marks: Mapping[str, Cell]) -> Table:
        rows: list[list[Cell]] = []
        for name, time, times in self.names[:_MAX_NAMES]:
            rows.append([marks.get(name, ""), clipped(name, 60), _time(time), count(times)])
        if len(self.names) > len(rows):
            rest = self.names[len(rows) :]
            time, times = sum(t for _, t, _ in rest), sum(n for *_, n in rest)
            rows.append(["", f"{len(rest)} others", _time(time), count(times)])
        return Table(["", "name", "time", "count"], rows, {2, 3})

    def _range(self) -> tuple[float, float]:
        begins = [span.begin for lane in self.lanes for span in lane.spans]
        ends = [span.begin + span.duration for lane in self.lanes for span in lane.spans]
        return min(begins), max(*ends, min(begins) + 1e-3)

    def _rows(self, columns: int) -> list[tuple[str, list[_Piece]]]:
        start, end = self._range()
        scale = columns / (end - start)
        rows = []
        for lane in self.lanes[:_MAX_LANES]:
            for depth, spans in enumerate(_stacked(lane.spans)):
                pieces = _pieces(spans, start, scale, columns)
                rows.append((lane.name if depth == 0 else "", pieces))
        return rows

    def _axis(self, length: float, bottom: int) -> str:
        units = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))
        unit, name = next((u for u in units if length >= 2 * u[0]), units[-1])
        places = ticks(0.0, length / unit, _TICKS)
        marks, words = "", []
        for tick in places:
            x = _NAMES_WIDTH + tick * unit / length * _WIDTH
            marks += f"M{x:.0f} 0V{bottom + 3}"
            text = f"{tick:.6g} {name}" if tick == places[-1] else f"{tick:.6g}"
            words.append(f'<text class="d" x="{x:.0f}" y="{bottom + 15}">{text}</text>')
        grid = f'<path d="{marks}" fill="none" stroke="var(--line)" stroke-dasharray="1 3"></path>'
        return grid + " ".join(words)


@dataclass(frozen=True, slots=True)
class Swatch:
    """A coloured cell: the colour of a kind of boxes, or a letter where there are none."""

    kind: str
    letter: str

    def html(self) -> str:
        outline = f'<path class="n {self.kind}" d="M0 1h14v12h-14z"></path>'
        return f'<svg width="14" height="14">{self.letter}{outline}</svg>'

    def text(self) -> str:
        return self.letter


def _time(microseconds: float) -> str:
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} us"


def _stacked(spans: Sequence[Span]) -> list[list[Span]]:
    # A longer span stands above others that begin with it; the last row takes those too high.
    rows: list[list[Span]] = [[]]
    ends = [float("-inf")]
    for span in sorted(spans, key=lambda s: (s.begin, -s.duration)):
        # Times are rounded to nanoseconds, so that neighbours may overlap by one.
        depth = next((k for k, end in enumerate(ends) if end <= span.begin + 1e-2), len(ends))
        if depth == _MAX_DEPTH:
            depth -= 1
        if depth == len(ends):
            rows.append([])
            ends.append(0.0)
        rows[depth].append(span)
        ends[depth] = max(ends[depth], span.begin + span.duration)
    return rows


def _pieces(spans: Sequence[Span], start: float, scale: float, columns: int) -> list[_Piece]:
    # Of several spans on one column, the one of the most time is drawn.
    totals: dict[int, dict[str, float]] = {}
    owners: list[Span | None] = [None] * columns
    for span in spans:
        first = min(columns - 1, int((span.begin - start) * scale))
        last = min(columns, max(first + 1, round((span.begin + span.duration - start) * scale)))
        if last - first == 1:
            times = totals.setdefault(first, {})
            times[span.name] = times.get(span.name, 0.0) + span.duration
            continue
        for column in range(first, last):
            owners[column] = span
    names: list[tuple[str, int, float] | None] = []
    for column, owner in enumerate(owners):
        times = totals.get(column)
        if owner is not None:
            names.append((owner.name, id(owner), owner.duration))
        elif times:
            name = max(times, key=times.__getitem__)
            names.append((name, 0, times[name]))
        else:
            names.append(None)
    pieces = []
    column = 0
    for key, group in groupby(names, key=lambda entry: entry and entry[:2]):
        members = list(group)
        if key is not None:
            name, identity = key
            times_taken = [entry[2] for entry in members if entry is not None]
            time = times_taken[0] if identity else sum(times_taken)
            pieces.append(_Piece(name, column, column + len(members), time))
        column += len(members)
    return pieces


def _row_shapes(pieces: Sequence[_Piece], top: int, colours: dict[str, str]) -> str:
    narrow: dict[str, str] = {}
    shapes = []
    for piece in pieces:
        width, x = piece.last - piece.first, _NAMES_WIDTH + piece.first
        kind = colours.get(piece.name, _OTHER)
        outline = f"M{x} {top + 2}h{width}v{_ROW - 4}h-{width}z"
        if width < _POINTED:
            narrow[kind] = narrow.get(kind, "") + outline
            continue
        label = clipped(piece.name, int((width - 6) / _CHARACTER) - 1)
        words = _time(piece.time)
        if width < _LABELLED or label != piece.name:
            words = f"{clipped(piece.name, 80)}, {words}"
        title = f"<title>{escape(words)}</title>"
        shapes.append(f'<path class="n {kind}" d="{outline}">{title}</path> ')
        if width >= _LABELLED:
            at = f'x="{x + width / 2:.0f}" y="{top + 13}"'
            shapes.append(f"<text {at}>{escape(label)}</text> ")
    filled = [
        f'<path class="n {kind}" style="stroke:none" d="{outlines}"></path>'
        for kind, outlines in narrow.items()
    ]
    return "".join([*filled, *shapes])
