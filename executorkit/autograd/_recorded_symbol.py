"""Recorded calls as a symbol."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ..calls.recording import Variable
from ..errors import NotSupportedError
from ..symbol.node import Entry, Node
from ._recorded_segment import RecordedSegment
from ._tape_segment import RecordedValue


class Names:
    """Names of a symbol's variables and nodes, and the nodes of named values."""

    def __init__(self) -> None:
        self._variables: dict[Hashable, Node] = {}
        self.entries: dict[tuple[int, int], Entry] = {}
        self._n_nodes = 0

    def variable(self, entry: Any, key: Any = None) -> Node:
        """Returns the node of a variable, or of the constant that ``key`` identifies."""
        is_variable = isinstance(entry, Variable)
        key = id(entry) if is_variable else key
        if key not in self._variables:
            prefix = "var" if is_variable else "null"
            self._variables[key] = Node(None, f"{prefix}{len(self._variables)}", {})
        return self._variables[key]

    def node(self) -> str:
        self._n_nodes += 1
        return f"node_{self._n_nodes - 1}"


def recorded_entry(value: RecordedValue, names: Names) -> Entry:
    segment = value.segment
    key = segment.number, value.number
    if key in names.entries:
        return names.entries[key]
    if not isinstance(segment, RecordedSegment):
        problem = "the graph has a Function, or an operator that ran when it was recorded"
        raise NotSupportedError("autograd.get_symbol", problem)
    trace = segment.trace
    positions = {number: i for i, number in enumerate(trace.leaf_numbers)}
    for call in trace.calls_for([value.number]):
        inputs = []
        for n in call.inputs:
            number = n if n >= 0 else ~n
            at = segment.number, number
            if at not in names.entries:
                entry = segment.leaf_entries[positions[number]]
                if isinstance(entry, RecordedValue):
                    names.entries[at] = recorded_entry(entry, names)
                else:
                    names.entries[at] = names.variable(entry, at), 0
            inputs.append(names.entries[at])
        if (segment.number, call.outputs.start) in names.entries:
            continue
        texts = dict(call.resolved.texts)
        node = Node(call.op, names.node(), texts, call.resolved.params, tuple(inputs))
        for k, number in enumerate(call.outputs):
            names.entries[segment.number, number] = node, k
    return names.entries[key]
