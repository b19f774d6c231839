"""From a symbol file to a graph, brought up to what MXNet 1.9.1 would have written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, Any

from ..errors import FileAccessError, FileFormatError, explain
from ._compose import check_auxiliaries, complete_inputs
from ._coverage import CoverageProblem, ResolvedNode, report, resolve
from ._document import Document, RawNode, read_document
from .node import Entry, Node, input_names

#: Files before this version leave out inputs that were added later (BatchNorm's statistics).
_COMPLETE = 900


def read_source(source: str | os.PathLike[str] | IO[Any]) -> str | bytes:
    """The text of a path or an open file."""
    if not isinstance(source, str | os.PathLike):
        return source.read()
    try:
        with open(source, "rb") as file:
            return file.read()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise FileAccessError(explain(os.fspath(source), problem)) from None


def read_json(text: str | bytes) -> tuple[Entry, ...]:
    """Heads of the graph in a symbol's JSON text, of any MXNet version.

    Raises :class:`FileFormatError` for a text that is no such graph. What is not served is named
    all at once, by an :class:`UnknownOperatorError` where an operator is absent, otherwise by an
    :class:`AttributeValueError`.
    """
    document = read_document(text)
    checked: list[_Checked] = []
    resolved = _resolve(document, checked)
    if any(problems for _, problems in checked):
        raise report(checked).error()
    return _build(document, resolved)


_Checked = tuple[RawNode, tuple[CoverageProblem, ...]]


@dataclass(slots=True)
class _Graph:
    """What is known about a document's operator nodes, by node number."""

    nodes: dict[int, ResolvedNode]
    bodies: dict[int, list[_Graph]]


def _resolve(document: Document, checked: list[_Checked]) -> _Graph:
    graph = _Graph({}, {})
    for number, raw in enumerate(document.nodes):
        if not raw.is_variable:
            what = graph.nodes[number] = resolve(raw, document.version)
            checked.append((raw, what.problems))
            graph.bodies[number] = [_resolve(body, checked) for body in raw.subgraphs]
    return graph


def _build(document: Document, graph: _Graph) -> tuple[Entry, ...]:
    nodes: dict[int, Node] = {}
    for number in document.order:
        raw = document.nodes[number]
        if raw.is_variable:
            nodes[number] = Node(None, raw.name, raw.attrs)
            continue
        where = f"node {raw.name!r}"
        inputs = [_output(nodes[child], index, where) for child, index in raw.inputs]
        bodies = zip(raw.subgraphs, graph.bodies[number], strict=True)
        subgraphs = tuple(_build(body, inner) for body, inner in bodies)
        nodes[number] = _node(raw, graph.nodes[number], inputs, subgraphs, document.version)
    return tuple(
        _output(nodes[child], index, f"head {i}") for i, (child, index) in enumerate(document.heads)
    )


def _node(
    raw: RawNode,
    what: ResolvedNode,
    inputs: list[Entry],
    subgraphs: tuple[tuple[Entry, ...], ...],
    version: int,
) -> Node:
    op, params = what.op, what.params
    if op is None or params is None:
        raise ValueError(f"node {raw.name!r} was not resolved")
    names = input_names(op, params, len(inputs))
    if len(inputs) < len(names) and version < _COMPLETE:
        given = dict(zip(names, inputs, strict=False))
        states = op.aux_of(params)
        inputs = list(complete_inputs(op, states, raw.name, what.attrs, given, names))
    elif len(inputs) != len(names) and not subgraphs:
        problem = f"it has {len(inputs)} inputs, expected {len(names)}: {', '.join(names)}"
        raise FileFormatError(explain(f"node {raw.name!r} ({op.name})", problem))
    for key, (child, _) in zip(names, inputs, strict=False):
        if child.op is None:
            child.attrs.update(what.input_attrs.get(key, {}))
    node = Node(op, raw.name, what.attrs, params, tuple(inputs), subgraphs)
    check_auxiliaries(node)
    return node


def _output(node: Node, index: int, where: str) -> Entry:
    if index >= node.n_outputs:
        problem = f"asks for output {index} of {node.name!r}, which has {node.n_outputs}"
        raise FileFormatError(explain("symbol JSON", f"{where} {problem}"))
    return node, index
