"""Graphs as texts: MXNet 1.9.1's JSON, its files, and ``debug_str``.

The JSON loads in MXNet, and is byte for byte what MXNet itself writes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from .._files import SYMBOL, read_bytes, write_atomically
from .._support.shape_semantics import numpy_shapes
from ..errors import InputTypeError
from ..ops.schema.traits import AMP_CAST
from ._document import OLDEST as OLDEST, read_document
from .node import Entry, Node, topological_order

#: The version whose format is written.
MXNET_VERSION = 10901

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _string(text: str) -> str:
    return '"' + text.translate(_ESCAPES) + '"'


def _list(items: Sequence[str], indent: int, *, broken: bool | None = None) -> str:
    if not items:
        return "[]"
    if broken or (broken is None and len(items) > 10):
        gap = "\n" + " " * (indent + 2)
        return "[" + gap + f", {gap}".join(items) + "\n" + " " * indent + "]"
    return "[" + ", ".join(items) + "]"


def _dict(items: Mapping[str, str], indent: int, *, broken: bool | None = None) -> str:
    pairs = [f"{_string(key)}: {value}" for key, value in items.items()]
    if broken or (broken is None and len(pairs) > 1):
        gap = "\n" + " " * (indent + 2)
        return "{" + gap + f", {gap}".join(pairs) + "\n" + " " * indent + "}"
    return "{" + ", ".join(pairs) + "}"


def versions(order: Iterable[Node]) -> Iterator[tuple[Node, list[int]]]:
    """Yields each node with its inputs' versions: how often a variable has been an auxiliary state,
    MXNet's record of the operators that change it."""
    counts: dict[Node, int] = {}
    for node in order:
        auxiliary = set(node.aux_inputs)
        for child, _ in auxiliary:
            counts[child] = counts.get(child, 0) + 1
        yield node, [counts.get(child, 0) for child, _ in node.inputs]


def _graph(heads: Sequence[Entry], indent: int) -> dict[str, str]:
    order = topological_order(heads)
    number = {node: i for i, node in enumerate(order)}
    inner = indent + 2
    nodes: list[str] = []
    rows = [0]
    for node, input_versions in versions(order):
        rows.append(rows[-1] + node.n_outputs)
        if node.op is not None and node.params is not None:
            rows[-1] += node.op.file_format.scratch_outputs(node.params)
        kind = _string("null" if node.op is None else node.op.name)
        item = {"op": kind, "name": _string(node.name)}
        if node.attrs:
            attrs = {key: _string(node.attrs[key]) for key in sorted(node.attrs)}
            item["attrs"] = _dict(attrs, inner + 4)
        pairs = zip(node.inputs, input_versions, strict=True)
        inputs = [f"[{number[child]}, {index}, {version}]" for (child, index), version in pairs]
        item["inputs"] = _list(inputs, inner + 4)
        if node.subgraphs:
            graphs = (_graph(body, inner + 6) for body in node.subgraphs)
            bodies = [_dict(graph, inner + 6, broken=True) for graph in graphs]
            item["subgraphs"] = _list(bodies, inner + 4, broken=True)
        nodes.append(_dict(item, inner + 2, broken=True))
    variables = [str(i) for i, node in enumerate(order) if node.op is None]
    tops = [f"[{number[node]}, {index}, 0]" for node, index in heads]
    return {
        "nodes": _list(nodes, inner, broken=True),
        "arg_nodes": _list(variables, inner),
        "node_row_ptr": _list([str(row) for row in rows], inner),
        "heads": _list(tops, inner),
    }


def write_json(heads: Sequence[Entry], *, remove_amp_cast: bool = True) -> str:
    """Returns the JSON text of a graph; ``remove_amp_cast`` leaves out mixed precision's casts."""
    if remove_amp_cast:
        heads = without_casts(heads)
    graph = _graph(heads, 0)
    facts = {"is_np_shape": 1} if numpy_shapes() else {}
    facts["mxnet_version"] = MXNET_VERSION
    attrs = {key: _list([_string("int"), str(number)], 2) for key, number in facts.items()}
    graph["attrs"] = _dict(attrs, 2)
    return _dict(graph, 0, broken=True)


def without_casts(heads: Sequence[Entry]) -> list[Entry]:
    new: dict[Node, Node] = {}

    def source(entry: Entry) -> Entry:
        node, index = entry
        while node.op is not None and AMP_CAST in node.op.traits:
            node, index = node.inputs[index]
        return new.get(node, node), index

    for node in topological_order(heads):
        inputs = tuple(source(entry) for entry in node.inputs)
        if inputs != node.inputs:
            new[node] = Node(node.op, node.name, node.attrs, node.params, inputs, node.subgraphs)
    return [(new.get(node, node), index) for node, index in heads]


def read_source(source: str | os.PathLike[str] | IO[Any]) -> str | bytes:
    return read_bytes(source, SYMBOL) if isinstance(source, str | os.PathLike) else source.read()


def stored_version(text: str | bytes) -> int:
    """Returns the version of MXNet that a symbol's JSON names, such as 10901, or :data:`OLDEST`."""
    return read_document(text).version


def save_text(target: str | os.PathLike[str] | IO[Any], text: str) -> None:
    if not isinstance(target, str | os.PathLike):
        if not hasattr(target, "write"):
            kind = type(target).__name__
            raise InputTypeError("save", f"{target!r} ({kind}) is neither a path nor a file")
        try:
            target.write(text)
        except TypeError:
            target.write(text.encode())
        return
    write_atomically(os.fspath(target), [text.encode()])


def debug_text(heads: Sequence[Entry]) -> str:
    """Describes outputs, then every node with its inputs and attributes, in MXNet's layout."""
    if len(heads) == 1 and not heads[0][0].inputs:
        node = heads[0][0]
        op = node.op
        return f"Variable:{node.name}\n" if op is None else f"AtomicFunctor  Op:{op.name}\n"
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={node.name}({index})" for i, (node, index) in enumerate(heads)]
    for node, input_versions in versions(topological_order(heads)):
        lines += _node_lines(node, input_versions)
    return "\n".join(lines) + "\n"


def _node_lines(node: Node, input_versions: Sequence[int]) -> list[str]:
    if node.op is None:
        return [f"Variable:{node.name}"]
    lines = ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
    for i, ((child, index), version) in enumerate(zip(node.inputs, input_versions, strict=True)):
        suffix = f" version={version}" if child.op is None else ""
        lines.append(f"\targ[{i}]={child.name}({index}){suffix}")
    if node.attrs:
        lines.append("Attrs:")
        lines += [f"\t{key}={node.attrs[key]}" for key in sorted(node.attrs)]
    return lines
