"""Symbol files: JSON of every MXNet generation, checked and brought into one form.

Files before 0.9 keep a node's attributes under ``param`` and ``attr``, its inputs as pairs, and
name no version; later ones use ``attr``, then ``attrs``, and triples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .._files import HEAD, SYMBOL, describe_misfit
from ..errors import FileFormatError, shorten
from .node import hide

#: The version of files that name none.
OLDEST = 800
#: Maximum number of subgraphs inside each other: loops in loops.
MAX_DEPTH = 32


@dataclass(slots=True)
class RawNode:
    """A node of a file: attributes are texts, inputs are (node number, output number)."""

    op: str
    name: str
    attrs: dict[str, str]
    inputs: list[tuple[int, int]]
    subgraphs: list[Document] = field(default_factory=list)

    @property
    def is_variable(self) -> bool:
        return self.op == "null"


@dataclass(slots=True)
class Document:
    """A file: its nodes, outputs and MXNet version; ``order`` puts each node after its inputs."""

    nodes: list[RawNode]
    heads: list[tuple[int, int]]
    version: int
    order: Sequence[int]

    def all_nodes(self) -> Iterator[RawNode]:
        for node in self.nodes:
            yield node
            for subgraph in node.subgraphs:
                yield from subgraph.all_nodes()


def read_document(text: str | bytes) -> Document:
    """Parses and checks a symbol's JSON; :class:`FileFormatError` names the error and its place."""
    try:
        raw = json.loads(text, strict=False)  # MXNet writes control characters as they are
    except json.JSONDecodeError as error:
        _check_kind(text)
        ended = not error.doc[error.pos :].strip()
        hint = "the text ends early: is the file complete?" if ended else None
        _refuse(f"line {error.lineno}, column {error.colno}: {error.msg}", hint)
    except RecursionError:
        _refuse("this is not JSON of a symbol: lists and objects are nested too deeply")
    except ValueError as error:  # no text in any encoding, or an integer of thousands of digits
        _check_kind(text)
        _refuse(f"this is not JSON: {error}")
    return _document(raw, None, 0)


def _check_kind(text: str | bytes) -> None:
    start = text[:HEAD]
    head = start.encode(errors="replace") if isinstance(start, str) else start
    misfit = describe_misfit("symbol JSON", head, SYMBOL) if head else None
    if misfit is not None:
        raise FileFormatError(misfit) from None


def _refuse(problem: str, hint: str | None = None) -> NoReturn:
    raise FileFormatError("symbol JSON", problem, hint=hint)


def _document(raw: Any, version: int | None, depth: int) -> Document:
    if depth > MAX_DEPTH:
        _refuse(f"subgraphs are nested in more than {MAX_DEPTH} levels")
    if not isinstance(raw, dict):
        _refuse(f"expected an object with 'nodes' and 'heads', got {_kind(raw)}")
    for key in ("nodes", "arg_nodes", "heads"):
        if not isinstance(raw.get(key), list):
            _refuse(f"{key!r} is missing" if key not in raw else f"{key!r} is not a list")
    version = _version(raw) if version is None else version
    nodes = [_node(item, i, version, depth) for i, item in enumerate(raw["nodes"])]
    heads = [_entry(item, f"head {i}", len(nodes)) for i, item in enumerate(raw["heads"])]
    if not heads:
        _refuse("'heads' is empty: the symbol has no output")
    for node in nodes:
        for number, _ in node.inputs:
            if number >= len(nodes):
                _refuse(f"node {node.name!r} reads node {number}, but there are {len(nodes)}")
    for number in raw["arg_nodes"]:
        if not isinstance(number, int) or not 0 <= number < len(nodes):
            _refuse(f"'arg_nodes' names node {number!r}, but there are {len(nodes)}")
        if not nodes[number].is_variable:
            _refuse(f"'arg_nodes' names node {nodes[number].name!r}, which is not a variable")
    return Document(nodes, heads, version, _order(nodes))


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value)) or shorten(repr(value))


def _version(raw: dict[str, Any]) -> int:
    attrs = raw.get("attrs")
    value = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    if isinstance(value, list) and len(value) == 2:
        value = value[1]
    return value if isinstance(value, int) else OLDEST


def _node(raw: Any, number: int, version: int, depth: int) -> RawNode:
    if not isinstance(raw, dict):
        _refuse(f"node {number} is {_kind(raw)}, expected an object")
    for key in ("op", "name"):
        if not isinstance(raw.get(key), str):
            _refuse(f"node {number}: {key!r} is {_kind(raw.get(key))}, expected a text")
    where = f"node {shorten(raw['name'])!r}"
    _check_text(where, raw["name"])
    attrs: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):
        part = raw.get(key) or {}
        if not isinstance(part, dict):
            _refuse(f"{where}: {key!r} is {_kind(part)}, expected an object")
        for name, value in part.items():
            if not isinstance(value, str | int | float):
                _refuse(f"{where}: attribute {name!r} is {_kind(value)}, expected a text")
            _check_text(where, name)
            if isinstance(value, str):
                _check_text(where, value)
            attrs[hide(name)] = value if isinstance(value, str) else str(value)
    inputs = raw.get("inputs", [])
    if not isinstance(inputs, list):
        _refuse(f"{where}: 'inputs' is {_kind(inputs)}, expected a list")
    entries = [_entry(item, f"{where}: input {i}", None) for i, item in enumerate(inputs)]
    if raw["op"] == "null" and entries:
        _refuse(f"{where} is a variable, but has inputs")
    subgraphs = raw.get("subgraphs") or []
    if not isinstance(subgraphs, list):
        _refuse(f"{where}: 'subgraphs' is {_kind(subgraphs)}, expected a list")
    bodies = [_document(body, version, depth + 1) for body in subgraphs]
    return RawNode(raw["op"], raw["name"], attrs, entries, bodies)


def _check_text(where: str, text: str) -> None:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        _refuse(f"{where}: its name or an attribute is not Unicode text")


def _entry(raw: Any, where: str, limit: int | None) -> tuple[int, int]:
    numbers = raw if isinstance(raw, list) else []
    if len(numbers) not in (2, 3) or not all(isinstance(n, int) and n >= 0 for n in numbers):
        _refuse(f"{where} is {shorten(json.dumps(raw))}, expected two or three numbers")
    if limit is not None and numbers[0] >= limit:
        _refuse(f"{where} is node {numbers[0]}, but there are {limit}")
    return numbers[0], numbers[1]


def _order(nodes: list[RawNode]) -> Sequence[int]:
    if all(child < i for i, node in enumerate(nodes) for child, _ in node.inputs):
        return range(len(nodes))
    waiting = [len({child for child, _ in node.inputs}) for node in nodes]
    readers: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for child in {child for child, _ in node.inputs}:
            readers[child].append(i)
    order = [i for i, count in enumerate(waiting) if count == 0]
    for i in order:
        for reader in readers[i]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                order.append(reader)
    if len(order) < len(nodes):
        names = [nodes[i].name for i, count in enumerate(waiting) if count]
        _refuse(f"the graph has a cycle: {', '.join(names[:10])} depend on each other")
    return order
