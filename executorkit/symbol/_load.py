"""From a symbol's JSON text to a graph, brought up to the form of MXNet 1.9.1."""

from __future__ import annotations

from dataclasses import dataclass

from .._support.garbage_collection import paused_collection
from ..errors import FileFormatError, shorten
from ._compose import check_auxiliaries, complete_inputs
from ._coverage import CheckedNode, report
from ._document import Document, RawNode, read_document
from ._upgrade import ResolvedNode, resolve_node
from .node import Entry, Node, input_names

#: Files before this version leave out inputs that were added later (BatchNorm's statistics).
_COMPLETE = 900
#: Length of a text from which on Python's cyclic garbage collector pauses: at each of its runs it
#: walks over all that was built so far, and takes two thirds of the time.
_LONG_TEXT = 1 << 18


def read_json(text: str | bytes) -> tuple[Entry, ...]:
    """Parses a symbol's JSON text, of any MXNet version, and returns the graph's heads.

    Raises :class:`FileFormatError` for malformed text. Everything that is not served is named at
    once, by an :class:`UnknownOperatorError` if an operator is absent, else by an
    :class:`AttributeValueError`. A million nodes take ten seconds and 2 GiB, twice MXNet's.
    """
    with paused_collection(len(text) >= _LONG_TEXT):
        return _read(text)


def _read(text: str | bytes) -> tuple[Entry, ...]:
    document = read_document(text)
    checked: list[CheckedNode] = []
    resolved = _resolve(document, checked)
    if any(problems for _, problems in checked):
        raise report(checked).error()
    return _build(document, resolved)


@dataclass(slots=True)
class _Graph:
    nodes: dict[int, ResolvedNode]
    bodies: dict[int, list[_Graph]]


def _resolve(document: Document, checked: list[CheckedNode]) -> _Graph:
    graph = _Graph({}, {})
    for number, raw in enumerate(document.nodes):
        if not raw.is_variable:
            resolved = graph.nodes[number] = resolve_node(raw, document.version)
            checked.append((raw, resolved.problems))
            graph.bodies[number] = [_resolve(body, checked) for body in raw.subgraphs]
    return graph


def _build(document: Document, graph: _Graph) -> tuple[Entry, ...]:
    nodes: dict[int, Node] = {}
    for number in document.order:
        raw = document.nodes[number]
        if raw.is_variable:
            nodes[number] = Node(None, raw.name, raw.attrs)
            continue
        where = f"node {shorten(raw.name)!r}"
        inputs = [_output(nodes[child], index, where) for child, index in raw.inputs]
        bodies = zip(raw.subgraphs, graph.bodies[number], strict=True)
        subgraphs = tuple(_build(body, inner) for body, inner in bodies)
        nodes[number] = _node(raw, graph.nodes[number], inputs, subgraphs, document.version)
    numbered = enumerate(document.heads)
    return tuple(_output(nodes[child], index, f"head {i}") for i, (child, index) in numbered)


def _node(
    raw: RawNode,
    resolved: ResolvedNode,
    inputs: list[Entry],
    subgraphs: tuple[tuple[Entry, ...], ...],
    version: int,
) -> Node:
    op, params = resolved.op, resolved.params
    if op is None or params is None:
        raise ValueError(f"node {raw.name!r} was not resolved")
    names = input_names(op, params, len(inputs))
    if len(inputs) < len(names) and version < _COMPLETE:
        entries = dict(zip(names, inputs, strict=False))
        states = op.aux_of(params)
        inputs = list(complete_inputs(op, states, raw.name, resolved.attrs, entries, names))
    elif len(inputs) != len(names) and not subgraphs:
        problem = f"it has {len(inputs)} inputs, expected {len(names)}: {shorten(', '.join(names))}"
        raise FileFormatError(f"node {shorten(raw.name)!r} ({op.name})", problem)
    for key, (child, _) in zip(names, inputs, strict=False):
        if child.op is None:
            child.attrs.update(resolved.input_attrs.get(key, {}))
    node = Node(op, raw.name, resolved.attrs, params, tuple(inputs), subgraphs)
    check_auxiliaries(node)
    return node


def _output(node: Node, index: int, where: str) -> Entry:
    if index >= node.n_outputs:
        problem = f"asks for output {index} of {shorten(node.name)!r}, which has {node.n_outputs}"
        raise FileFormatError("symbol JSON", f"{where} {problem}")
    return node, index
