"""A graph in words: what ``debug_str`` shows."""

from __future__ import annotations

from collections.abc import Sequence

from ._json import versions
from ._node import Entry, Node, topological_order


def debug_text(heads: Sequence[Entry]) -> str:
    """Outputs, then every node with its inputs and attributes, in MXNet's layout."""
    if len(heads) == 1 and not heads[0][0].inputs:
        node = heads[0][0]
        return (
            f"Variable:{node.name}\n" if node.op is None else f"AtomicFunctor  Op:{node.op.name}\n"
        )
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
