"""The graph of a quantised network: 8-bit layers, and changes of representation around them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ...context import Context
from ...errors import ArgumentValueError, AttributeValueError
from ...ops import lookup
from ...ops.quantized.quantized_forms import CALIBRATED_ENTRY, FORMS, NAMED_OUTPUTS, QuantizedForm
from ...symbol import Symbol
from ...symbol.node import Entry, Node, is_annotation, topological_order

DTYPES = ("int8", "uint8", "auto")
GRANULARITIES = ("tensor-wise", "channel-wise")
MODES = ("full", "smart")


def quantize_symbol(
    sym: Symbol,
    ctx: Context | None = None,
    excluded_symbols: Collection[str] | None = None,
    excluded_operators: Collection[str] | None = None,
    offline_params: Iterable[str] | None = None,
    quantized_dtype: Literal["int8", "uint8", "auto"] = "int8",
    quantize_mode: Literal["smart", "full"] = "smart",
    quantize_granularity: Literal["tensor-wise", "channel-wise"] = "tensor-wise",
) -> tuple[Symbol, list[str]]:
    """Returns a symbol with 8-bit layers, and the names of the outputs to measure.

    ``offline_params`` are the variables whose quantised values become parameters (``w`` as
    ``w_quantize``, ``w_quantize_min``, ``w_quantize_max``). ``quantize_mode`` "full" quantises
    every possible operator; "smart" convolutions, affine maps, and operators between them.
    ``quantize_granularity`` and ``ctx`` have no effect. Raises AttributeValueError for other
    values.
    """
    where = "quantize_symbol"
    check_choice(where, "quantized_dtype", quantized_dtype, DTYPES)
    check_choice(where, "quantize_mode", quantize_mode, MODES)
    check_choice(where, "quantize_granularity", quantize_granularity, GRANULARITIES)
    order = topological_order(sym.heads)
    names, operators = set(excluded_symbols or ()), set(excluded_operators or ())
    candidates = [n for n in order if n.name not in names and _operator(n) not in operators]
    chosen = {n: form for n in candidates if (form := _form_of(n)) is not None}
    if quantize_mode == "smart":
        between = _between_essential(order, chosen)
        chosen = {n: form for n, form in chosen.items() if form.essential or n in between}
    rewriter = _Rewriter(chosen, quantized_dtype, set(offline_params or ()))
    heads = rewriter.rewrite(order, sym.heads)
    measured = [rewriter.measured_name(node) for node in topological_order(heads)]
    return Symbol(heads), [name for name in measured if name is not None]


def calibrate_symbol(qsym: Symbol, th_dict: Mapping[str, tuple[Any, Any]] | None) -> Symbol:
    """Returns a copy of a quantised symbol with ranges by output, ``{"conv0_output": (-1.5,
    2.0)}``, as its nodes' ``min_calib_range`` and ``max_calib_range``; nodes without one stay."""
    if not th_dict:
        return qsym
    copies: dict[Node, Node] = {}
    for node in topological_order(qsym.heads):
        inputs = tuple((copies[child], index) for child, index in node.inputs)
        attrs, op = dict(node.attrs), node.op
        if op is not None and op.name in CALIBRATED_ENTRY:
            position = CALIBRATED_ENTRY[op.name]
            source, number = (node, 0) if position is None else node.inputs[position]
            limits = th_dict.get(source.output_names[number].removeprefix("quantized_"))
            if limits is not None:
                ends = zip(("min_calib_range", "max_calib_range"), limits, strict=True)
                attrs.update({key: f"{np.asarray(end).item():.6f}" for key, end in ends})
        copies[node] = copied_node(
            op.name if op else None, node.name, attrs, inputs, node.subgraphs
        )
    return Symbol([(copies[node], index) for node, index in qsym.heads])


def check_choice(where: str, name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        expected = ", ".join(map(repr, allowed))
        raise AttributeValueError(where, f"{name}={value!r}, expected one of {expected}")


def check_names(where: str, name: str, value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ArgumentValueError(where, f"{name} is {value!r}, expected a list of names")
    return value


def _operator(node: Node) -> str | None:
    return node.op.name if node.op else None


def _form_of(node: Node) -> QuantizedForm | None:
    form = FORMS.get(_operator(node) or "")
    return form if form is not None and form.applies(node) else None


def _between_essential(order: Sequence[Node], chosen: Mapping[Node, QuantizedForm]) -> set[Node]:
    consumers: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for child, _ in node.inputs:
            consumers[child].append(node)

    def reached(neighbours: Callable[[Node], Iterable[Node]]) -> set[Node]:
        nodes: set[Node] = set()
        pending = [node for node, form in chosen.items() if form.essential]
        while pending:
            for other in neighbours(pending.pop()):
                if other in chosen and other not in nodes:
                    nodes.add(other)
                    pending.append(other)
        return nodes

    return reached(lambda n: (child for child, _ in n.inputs)) & reached(consumers.__getitem__)


def copied_node(
    op_name: str | None,
    name: str,
    attrs: dict[str, str],
    inputs: tuple[Entry, ...] = (),
    subgraphs: tuple[tuple[Entry, ...], ...] = (),
) -> Node:
    op = lookup(op_name) if op_name else None
    if op is None:
        return Node(None, name, attrs)
    params = op.parse({k: v for k, v in attrs.items() if not is_annotation(k)})
    return Node(op, name, attrs, params, inputs, subgraphs)


@dataclass(slots=True)
class _Rewriter:
    """Copies a graph node by node, with the chosen nodes in 8 bits. ``copies`` has the new node by
    old node, ``floating`` the dequantising node of a chosen one, ``quantizing`` the quantising node
    (or variables) of an entry, ``measured`` the old entry whose range a new node takes."""

    chosen: Mapping[Node, QuantizedForm]
    dtype: str
    offline: Collection[str]
    copies: dict[Node, Node] = field(default_factory=dict)
    floating: dict[Node, Node] = field(default_factory=dict)
    quantizing: dict[Entry, tuple[Entry, Entry, Entry]] = field(default_factory=dict)
    measured: dict[Node, Entry] = field(default_factory=dict)

    def rewrite(self, order: Sequence[Node], heads: Sequence[Entry]) -> list[Entry]:
        for node in order:
            form = self.chosen.get(node)
            if form is not None:
                self.copies[node] = self._quantized(node, form)
            else:
                inputs = tuple(self._floating_entry(entry) for entry in node.inputs)
                self.copies[node] = copied_node(
                    _operator(node), node.name, dict(node.attrs), inputs, node.subgraphs
                )
        return [self._floating_entry(entry) for entry in heads]

    def measured_name(self, node: Node) -> str | None:
        if node not in self.measured:
            return None
        source, index = self.measured[node]
        return source.output_names[index]

    def _quantized(self, node: Node, form: QuantizedForm) -> Node:
        arrays: list[Entry] = []
        ends: list[Entry] = []
        for position, entry in enumerate(node.inputs):
            if position in form.floating_inputs:
                arrays.append(self._floating_entry(entry))
                continue
            array, *limits = self._quantized_entry(entry)
            arrays.append(array)
            ends += limits
        copy = copied_node(form.name, f"quantized_{node.name}", dict(node.attrs), (*arrays, *ends))
        if copy.op is not None and copy.op.name in CALIBRATED_ENTRY:
            self.measured[copy] = (node, 0)
        if not form.requantized:
            return copy
        attrs, inputs = {"out_type": self.dtype}, ((copy, 0), (copy, 1), (copy, 2))
        last = copied_node("_contrib_requantize", f"requantize_{node.name}", attrs, inputs)
        self.measured[last] = (node, 0)
        return last

    def _floating_entry(self, entry: Entry) -> Entry:
        node, index = entry
        copy = self.copies[node]
        if node not in self.chosen:
            return copy, index
        if node not in self.floating:
            ends = ((copy, 0), (copy, 1), (copy, 2))
            self.floating[node] = copied_node(
                "_contrib_dequantize", f"{node.name}_dequantize", {}, ends
            )
        return self.floating[node], 0

    def _quantized_entry(self, entry: Entry) -> tuple[Entry, Entry, Entry]:
        node, index = entry
        copy = self.copies[node]
        if node in self.chosen:
            return (copy, 0), (copy, 1), (copy, 2)
        if entry in self.quantizing:
            return self.quantizing[entry]
        if node.is_variable and node.name in self.offline:
            name = f"{node.name}_quantize"
            low, high = (copied_node(None, f"{name}_{end}", {}) for end in ("min", "max"))
            entries = (copied_node(None, name, {}), 0), (low, 0), (high, 0)
        else:
            name, attrs = f"{node.name}{_suffix(entry)}_quantize", {"out_type": self.dtype}
            quantizing = copied_node("_contrib_quantize_v2", name, attrs, ((copy, index),))
            self.measured[quantizing] = entry
            entries = (quantizing, 0), (quantizing, 1), (quantizing, 2)
        self.quantizing[entry] = entries
        return entries


def _suffix(entry: Entry) -> str:
    node, index = entry
    if node.op is None or node.params is None:
        return ""
    named = node.op.name in NAMED_OUTPUTS
    return f"_{node.op.outputs(node.params)[index]}" if named else f"_{index}"
