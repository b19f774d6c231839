"""A network's picture without graphviz: the same DOT text, and an SVG drawing by this package."""

import os
import re
import warnings
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._files import write_atomically
from ..display import Drawing, Flow, Line, View, Viewed, view_of

#: A node's name and its attributes.
StyledNode = tuple[str, Mapping[str, str]]
_Path = str | os.PathLike[str] | None

_PLAIN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*|-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)")
_HTML = re.compile(r"<.*>", re.DOTALL)
_KEYWORDS = frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"})
_UNESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)"')
_NOTE = "drawn without graphviz: pip install graphviz, and Graphviz's dot, for its layout and PDF"


@dataclass(frozen=True, slots=True)
class DotEdge:
    tail: str
    head: str
    label: str

    @property
    def attributes(self) -> dict[str, str]:
        return {"label": self.label, "dir": "back", "arrowtail": "open"}


class NetworkPicture(Viewed):
    """The result of ``plot_network`` where Graphviz or its package is not installed.

    It has the properties and methods of ``graphviz.Digraph`` for looking at pictures; ``source`` is
    the same DOT text. The drawing is static SVG, inputs on top; Graphviz attributes of nodes do not
    change it. A notebook shows large networks by blocks, which unfold; files have every node.
    """

    def __init__(
        self,
        name: str,
        format: str,
        nodes: Sequence[StyledNode],
        arrows: Sequence[DotEdge],
        drawing: Drawing,
        folded: Flow,
    ) -> None:
        self.name = name
        self.format = format
        self._nodes = nodes
        self._arrows = arrows
        self.drawing = drawing
        self.folded = folded

    @property
    def source(self) -> str:
        """The graph in DOT."""
        lines = [f"digraph {_quoted(self.name)} {{" if self.name else "digraph {"]
        lines += [f"\t{_quoted(name)} [{_attributes(style)}]" for name, style in self._nodes]
        for arrow in self._arrows:
            ends = f"{_port(arrow.tail)} -> {_port(arrow.head)}"
            lines.append(f"\t{ends} [{_attributes(arrow.attributes)}]")
        return "\n".join([*lines, "}", ""])

    def save(self, filename: _Path = None, directory: str | None = None) -> str:
        """Writes ``source`` to a file, ``NAME.gv`` unless given, and returns its path."""
        path = self._path(filename, directory)
        write_atomically(path, [self.source.encode()], durable=False)
        return path

    def render(
        self,
        filename: _Path = None,
        directory: str | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
    ) -> str:
        """Writes the drawing to ``filename`` (default ``NAME.gv``) with ``.svg`` added, and returns
        that path.

        view
            Shows the drawing in the browser as well.
        cleanup
            Has no effect: no other file is written.
        format
            Anything but SVG needs Graphviz: a UserWarning says that it is SVG all the same.
        """
        requested = (format or self.format).lower()
        if requested != "svg":
            warnings.warn(f"no {requested} but SVG is written; {_NOTE}", UserWarning, stacklevel=2)
        path = self._path(filename, directory) + ".svg"
        write_atomically(path, [self.drawing.picture().encode()], durable=False)
        if view:
            webbrowser.open(Path(path).resolve().as_uri())
        return path

    def view(self, filename: _Path = None, directory: str | None = None) -> str:
        """Renders the drawing and shows it in the browser; returns its path."""
        return self.render(filename, directory, view=True)

    def _path(self, filename: _Path, directory: str | None) -> str:
        name = f"{self.name or 'Digraph'}.gv" if filename is None else os.fspath(filename)
        if directory is not None:
            os.makedirs(directory, exist_ok=True)
        return os.path.join(directory or "", name)

    def _repr_svg_(self) -> str:
        return self.drawing.picture()

    def __str__(self) -> str:
        return self.source


@view_of.register
def _(picture: NetworkPicture) -> View:
    return View(picture.name or "", [picture.folded, Line(_NOTE)])


def _quoted(text: str) -> str:
    if _HTML.fullmatch(text):
        return text
    if _PLAIN.fullmatch(text) and text.lower() not in _KEYWORDS:
        return text
    return '"' + _UNESCAPED_QUOTE.sub(r'\1\\"', text) + '"'


def _port(name: str) -> str:
    # DOT takes the part after a colon for a port, and so does MXNet.
    node, colon, port = name.partition(":")
    return f"{_quoted(node)}:{_quoted(port)}" if colon else _quoted(node)


def _attributes(attributes: Mapping[str, str]) -> str:
    others = {name: value for name, value in attributes.items() if name != "label"}
    pairs = [("label", attributes["label"]), *sorted(others.items())]
    return " ".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)
