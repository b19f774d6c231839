"""A graph with operators on 8-bit integers in place of those that have one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ops import lookup
from ..ops.quantized.quantizable import QUANTIZABLE, Quantizable
from ..symbol import Symbol, load_json


@dataclass(eq=False)
class _Node:
    """A node of the new graph; inputs are (node, number of its output)."""

    op: str
    name: str
    attrs: dict[str, str] = field(default_factory=dict)
    inputs: list[tuple[_Node, int]] = field(default_factory=list)


#: An output of a node.
_Entry = tuple[_Node, int]
#: A quantised tensor: its integers, its least and its greatest value.
_Triple = tuple[_Entry, _Entry, _Entry]


@dataclass(frozen=True)
class QuantizedGraph:
    """A quantised symbol, and the names of the tensors whose ranges calibration may supply."""

    symbol: Symbol
    calibrated: list[str]


def quantized_graph(
    symbol: Symbol,
    excluded_names: Collection[str],
    excluded_ops: Collection[str],
    offline_params: Collection[str],
    quantized_dtype: str,
    mode: str,
) -> QuantizedGraph:
    """Replaces the operators that have a quantised form.

    offline_params
        variables that are quantised beforehand: the graph has three variables in place of each.
    mode
        'full': every such operator; 'smart': those that do much work, and others between two of
        them.
    """
    graph = json.loads(symbol.tojson())
    chosen = _chosen(graph["nodes"], excluded_names, excluded_ops, mode, offline_params)
    rewrite = _Rewrite(graph["nodes"], chosen, set(offline_params), quantized_dtype)
    heads = [rewrite.float_entry(head[0], head[1]) for head in graph["heads"]]
    return QuantizedGraph(load_json(_as_json(heads)), rewrite.calibrated)


def set_ranges(symbol: Symbol, ranges: Mapping[str, tuple[float, float]]) -> Symbol:
    """The quantised symbol with the ranges of tensors, by name, where it takes them."""
    graph = json.loads(symbol.tojson())
    nodes = graph["nodes"]
    for node in nodes:
        source = None
        if node["op"] == "_contrib_quantize_v2":
            number, output, *_ = node["inputs"][0]
            source = _output_name(nodes[number], output)
        elif node["op"] == "_contrib_requantize":
            source = f"{node['name'].removeprefix('requantize_')}_output"
        elif node["op"] == "_contrib_quantized_batch_norm":
            source = f"{node['name'].removeprefix('quantized_')}_output"
        if source in ranges:
            low, high = ranges[source]
            attrs = node.setdefault("attrs", {})
            # MXNet writes six decimals.
            attrs["min_calib_range"], attrs["max_calib_range"] = f"{low:.6f}", f"{high:.6f}"
    return load_json(json.dumps(graph))


def _rule(node: Mapping[str, Any]) -> Quantizable | None:
    op = lookup(node["op"])
    rule = None if op is None else QUANTIZABLE.get(op.name)
    return rule if rule is not None and rule.accepts(node.get("attrs", {})) else None


def _chosen(
    nodes: list[dict[str, Any]],
    excluded_names: Collection[str],
    excluded_ops: Collection[str],
    mode: str,
    offline_params: Collection[str],
) -> dict[int, Quantizable]:
    """Numbers of the nodes that are quantised, with their rules."""
    rules = {}
    for number, node in enumerate(nodes):
        rule = None if node["op"] == "null" else _rule(node)
        if rule is None or node["name"] in excluded_names or node["op"] in excluded_ops:
            continue
        if rule.offline_only and any(
            nodes[node["inputs"][i][0]]["name"] not in offline_params
            for i in rule.quantized_inputs or ()
        ):
            continue
        rules[number] = rule
    if mode == "full":
        return rules
    essential = {number for number, rule in rules.items() if rule.essential}
    below, above = set(essential), set(essential)
    for number, node in enumerate(nodes):
        if number in rules and any(i[0] in below for i in node["inputs"]):
            below.add(number)
    for number in reversed(range(len(nodes))):
        if number in above and number in rules:
            above.update(i[0] for i in nodes[number]["inputs"])
    return {n: rule for n, rule in rules.items() if n in essential or (n in below and n in above)}


def _output_name(node: Mapping[str, Any], output: int) -> str:
    """The name of a node's output, as ``list_outputs`` has it."""
    if node["op"] == "null":
        return node["name"]
    op = lookup(node["op"])
    assert op is not None, node["op"]
    names = op.outputs(op.parse(node.get("attrs", {})))
    return f"{node['name']}_{names[output]}"


class _Rewrite:
    """One rewrite of a graph: tensors of the old one as floats, and as integers with ranges."""

    def __init__(
        self,
        nodes: list[dict[str, Any]],
        chosen: dict[int, Quantizable],
        offline_params: set[str],
        quantized_dtype: str,
    ) -> None:
        self._old = nodes
        self._chosen = chosen
        self._offline = offline_params
        self._dtype = quantized_dtype
        self._floats: dict[tuple[int, int], _Entry] = {}
        self._triples: dict[tuple[int, int], _Triple] = {}
        self._new: dict[int, _Node] = {}
        self.calibrated: list[str] = []
        for number in range(len(nodes)):
            self._translate(number)

    def _translate(self, number: int) -> None:
        old = self._old[number]
        rule = self._chosen.get(number)
        if rule is not None:
            self._quantize_node(number, old, rule)
        elif old["op"] != "null" or old["name"] not in self._offline:
            node = _Node(old["op"], old["name"], dict(old.get("attrs", {})))
            node.inputs = [self.float_entry(i[0], i[1]) for i in old["inputs"]]
            self._new[number] = node

    def _quantize_node(self, number: int, old: dict[str, Any], rule: Quantizable) -> None:
        inputs = [(i[0], i[1]) for i in old["inputs"]]
        numbers = range(len(inputs)) if rule.quantized_inputs is None else rule.quantized_inputs
        triples = {i: self._triple(*inputs[i]) for i in numbers}
        node = _Node(rule.name, f"quantized_{old['name']}", dict(old.get("attrs", {})))
        node.inputs = [
            triples[i][0] if i in triples else self.float_entry(*entry)
            for i, entry in enumerate(inputs)
        ]
        node.inputs += [bound for triple in triples.values() for bound in triple[1:]]
        if rule.requantized:
            requantize = _Node(
                "_contrib_requantize",
                f"requantize_{old['name']}",
                {"out_type": self._dtype},
                [(node, 0), (node, 1), (node, 2)],
            )
            node = requantize
        if rule.requantized or rule.calibrated:
            self.calibrated.append(_output_name(old, 0))
        self._triples[number, 0] = (node, 0), (node, 1), (node, 2)

    def _triple(self, number: int, output: int) -> _Triple:
        """A tensor as integers: of a quantised node, a parameter, or quantised here."""
        key = number, output
        if key not in self._triples:
            old = self._old[number]
            if old["op"] == "null" and old["name"] in self._offline:
                name = f"{old['name']}_quantize"
                variables = [_Node("null", f"{name}{end}") for end in ("", "_min", "_max")]
                self._triples[key] = tuple((v, 0) for v in variables)  # type: ignore[assignment]
            else:
                quantize = _Node(
                    "_contrib_quantize_v2",
                    self._quantize_name(old, output),
                    {"out_type": self._dtype},
                    [self.float_entry(number, output)],
                )
                self.calibrated.append(_output_name(old, output))
                self._triples[key] = (quantize, 0), (quantize, 1), (quantize, 2)
        return self._triples[key]

    def _quantize_name(self, old: dict[str, Any], output: int) -> str:
        """MXNet's name of the node that quantises an output: elementary operators have numbers of
        outputs where layers have names."""
        if old["op"] == "null":
            return f"{old['name']}_quantize"
        if old["op"][:1].isupper():
            return f"{_output_name(old, output)}_quantize"
        return f"{old['name']}_{output}_quantize"

    def float_entry(self, number: int, output: int) -> _Entry:
        """A tensor as floats: an output of a node that stays, or dequantised."""
        if number not in self._chosen:
            if number not in self._new:  # a parameter that is needed as it is, too
                old = self._old[number]
                self._new[number] = _Node("null", old["name"], dict(old.get("attrs", {})))
            return self._new[number], output
        key = number, output
        if key not in self._floats:
            name = f"{self._old[number]['name']}_dequantize"
            node = _Node("_contrib_dequantize", name, {}, list(self._triples[key]))
            self._floats[key] = node, 0
        return self._floats[key]


def _as_json(heads: list[_Entry]) -> str:
    """The graph of these outputs in MXNet's JSON, inputs before the nodes that use them."""
    order: dict[int, int] = {}
    nodes: list[dict[str, Any]] = []
    stack = [(node, False) for node, _ in reversed(heads)]
    while stack:
        node, ready = stack.pop()
        if id(node) in order:
            continue
        if not ready:
            stack.append((node, True))
            stack += [(source, False) for source, _ in reversed(node.inputs)]
            continue
        order[id(node)] = len(nodes)
        entries = [[order[id(source)], output, 0] for source, output in node.inputs]
        nodes.append({"op": node.op, "name": node.name, "attrs": node.attrs, "inputs": entries})
    return json.dumps(
        {
            "nodes": nodes,
            "arg_nodes": [i for i, node in enumerate(nodes) if node["op"] == "null"],
            "heads": [[order[id(node)], output, 0] for node, output in heads],
            "attrs": {"mxnet_version": ["int", 10901]},
        }
    )
