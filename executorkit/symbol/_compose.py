"""Composition: from a call of ``mx.sym.X`` to a node.

Arguments become inputs, attributes (as texts) and options; missing inputs become variables; name
and annotations come from the current scopes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import AttributeValueError, InputTypeError, MXNetError, UnknownOperatorError
from ..ops.schema.attrs import to_text
from ..ops.schema.call_rules import WIDEST, call_rules
from ..ops.schema.calls import bind_call
from ..ops.schema.inference import Params
from ..ops.schema.operator_registry import OpDef, lookup
from ..ops.schema.traits import MUTATES
from ._python_operators import PythonOperators
from .naming import AttrScope, NameManager
from .node import Entry, Node, hide, input_names, is_annotation

#: Initializers of variables that become auxiliary states, by input name, in MXNet's JSON form.
_AUX_INIT = {
    "moving_mean": '["zero", {}]',
    "moving_var": '["one", {}]',
    "moving_avg": '["zero", {}]',
}


def operator_attrs(op: OpDef, attrs: Mapping[str, str]) -> dict[str, str]:
    if op.open_attrs:
        return {key: text for key, text in attrs.items() if not is_annotation(key)}
    if op.ignores_unknown:
        return {key: text for key, text in attrs.items() if key in op.attrs}
    return {key: text for key, text in attrs.items() if key in op.attrs or not is_annotation(key)}


def parse_attrs(op: OpDef, name: str, attrs: Mapping[str, str]) -> Params:
    """Parses the operator attributes among ``attrs``; errors name the node. Operators with
    ``ignore_unknown`` take any others as annotations, as in MXNet."""
    try:
        return op.parse(operator_attrs(op, attrs))
    except AttributeValueError as error:
        raise AttributeValueError(f"node {name!r}: {error}") from None


def attr_texts(attrs: Mapping[str, Any]) -> dict[str, str]:
    return {hide(key): to_text(value) for key, value in attrs.items()}


def compose(
    op: OpDef,
    name: str,
    attrs: Mapping[str, str],
    positional: Sequence[Entry] = (),
    named: Mapping[str, Entry] | None = None,
    subgraphs: tuple[tuple[Entry, ...], ...] = (),
) -> Node:
    """Creates a node of ``op``; missing inputs become variables called ``name_input``.

    These variables carry a copy of the node's attributes, as in MXNet. Raises
    :class:`AttributeValueError` for unknown attributes, and :class:`MXNetError` for unknown inputs
    and for operators that change arrays.
    """
    if MUTATES in op.traits:
        problem = "this operator changes arrays in place, so it cannot be part of a graph"
        raise MXNetError(f"node {name!r} ({op.name})", problem, hint="call it on arrays: mx.nd")
    named = named or {}
    attrs = dict(attrs)
    if op.count and op.count not in attrs:
        attrs[op.count] = str(len(positional) + len(named))
    params = parse_attrs(op, name, attrs)
    names = input_names(op, params, len(positional) + len(named))
    where = f"node {name!r} ({op.name})"
    if len(positional) > len(names):
        raise MXNetError(where, f"got {len(positional)} inputs, takes {len(names)}")
    for key in named:
        if key not in names:
            hint = f"one of: {', '.join(names) or 'it has none'}"
            raise MXNetError(where, f"unknown input {key!r}", hint=hint)
    entries = {**dict(zip(names, positional, strict=False)), **named}
    states = op.aux_of(params)
    inputs = complete_inputs(op, states, name, attrs, entries, names)
    for key, (node, _) in entries.items():
        init = _initializer_of(op, states, key)
        if node.op is None and init is not None:
            node.attrs.setdefault("__init__", init)
    return Node(op, name, attrs, params, inputs, subgraphs)


def complete_inputs(
    op: OpDef,
    states: Sequence[str],
    name: str,
    attrs: Mapping[str, str],
    entries: Mapping[str, Entry],
    names: Sequence[str],
) -> tuple[Entry, ...]:
    """Returns a node's inputs: ``entries``, and new variables. MXNetError for an auxiliary state
    (one of ``states``) that is not a variable."""
    inputs: list[Entry] = []
    for key in names:
        if key in entries:
            entry = entries[key]
            if key in states:
                check_auxiliary(f"node {name!r} ({op.name})", key, entry[0])
        else:
            init = _initializer_of(op, states, key)
            first = {} if init is None else {"__init__": init}
            entry = Node(None, f"{name}_{key}", {**first, **attrs}), 0
        inputs.append(entry)
    return tuple(inputs)


def check_auxiliary(where: str, key: str, node: Node) -> None:
    if node.op is not None:
        problem = f"auxiliary state {key!r} is an output of {node.name!r}, expected a variable"
        raise MXNetError(where, problem)


def check_auxiliaries(node: Node) -> None:
    for child, _ in node.aux_inputs:
        check_auxiliary(f"node {node.name!r}", child.name, child)


def _initializer_of(op: OpDef, states: Sequence[str], key: str) -> str | None:
    if op.open_attrs:  # a user's own operator: its names mean what the user wants
        return None
    return _AUX_INIT.get(key) if key in states else op.file_format.initializers.get(key)


def copy_graph(
    heads: Sequence[Entry],
    order: Sequence[Node],
    replace: Mapping[Node, Entry] | None = None,
    rename: Mapping[Node, str] | None = None,
) -> tuple[Entry, ...]:
    """Copies a graph into new nodes, some renamed or replaced; replacements are not copied."""
    replace, rename = replace or {}, rename or {}
    copies: dict[Node, Node] = {}

    def moved(entry: Entry) -> Entry:
        node, index = entry
        return replace[node] if node in replace else (copies[node], index)

    for node in order:
        if node not in replace:
            copies[node] = Node(
                node.op, rename.get(node, node.name), dict(node.attrs), node.params,
                tuple(moved(e) for e in node.inputs), node.subgraphs,
            )  # fmt: skip
    return tuple(moved(entry) for entry in heads)


def require_operator(name: str) -> OpDef:
    op = lookup(name)
    if op is None:
        raise UnknownOperatorError(f"operator {name!r} is not served")
    return op


def entry_of(value: Any, name: str) -> Entry:
    if not isinstance(value, PythonOperators):
        shape = getattr(value, "shape", None)
        description = repr(value) if shape is None else f"an array of shape {shape}"
        hint = "wrap it in mx.sym.Variable"
        if isinstance(value, list | tuple) and any(isinstance(x, PythonOperators) for x in value):
            description = f"a {type(value).__name__} of {len(value)} symbols"
            hint = "the symbols one by one: *symbols"
        elif shape is not None:
            hint = f"mx.sym.Variable({name!r}), and the array where you bind or call forward"
        problem = f"{name!r} is {description}, expected a Symbol"
        raise InputTypeError("symbol input", problem, hint=hint)
    if len(value.heads) != 1:
        problem = f"{name!r} is {value!r}, which has {len(value.heads)} outputs, expected one"
        raise MXNetError("symbol input", problem, hint="choose one, as in symbol[0]")
    return value.heads[0]


def compose_call(
    op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[Entry]:
    """Creates a node of ``op``, called as ``func_name``, and returns its visible outputs.

    Annotations come from the call, then from the current AttrScope, then from ``attr``; later ones
    win, and the operator's own attributes win over all.
    """
    sorted_call = bind_call(op, "symbol", func_name, args, kwargs)
    positional = [entry_of(value, f"arg{i}") for i, value in enumerate(sorted_call.arrays)]
    named = {key: entry_of(value, key) for key, value in sorted_call.named.items()}
    attrs: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for key, value in sorted_call.attrs.items():
        if isinstance(value, PythonOperators):
            named[key] = entry_of(value, key)
        else:
            (attrs if key in op.attrs else annotations)[key] = value
    if positional and named:
        raise TypeError(f"{func_name}() takes inputs by position or by keyword, not both")
    options = sorted_call.options
    name = NameManager.current.get(options.get("name"), func_name.lower())
    scope = AttrScope.current.get(options.get("attr"))
    node = compose(op, name, attr_texts({**annotations, **scope, **attrs}), positional, named)
    rule = call_rules.rule
    if rule is not None:
        rule.symbol_call(op)
        dtype = rule.input_type(op, kwargs)
        if dtype is not None:
            node = _with_cast_inputs(node, dtype)
    return [(node, i) for i in range(node.n_visible)]


def _with_cast_inputs(node: Node, dtype: str) -> Node:
    assert node.op is not None
    states = node.aux_names
    names = zip(node.input_names, node.inputs, strict=True)
    entries = [entry for name, entry in names if name not in states]
    if dtype == WIDEST:
        cast = _cast_node("amp_multicast", {"num_outputs": str(len(entries))}, entries)
        casts = iter([(cast, i) for i in range(len(entries))])
    else:
        casts = iter([(_cast_node("amp_cast", {"dtype": dtype}, [e]), 0) for e in entries])
    names = zip(node.input_names, node.inputs, strict=True)
    inputs = tuple([entry if name in states else next(casts) for name, entry in names])
    return Node(node.op, node.name, node.attrs, node.params, inputs, node.subgraphs)


def _cast_node(name: str, attrs: dict[str, str], inputs: Sequence[Entry]) -> Node:
    op = require_operator(name)
    scope = attr_texts(AttrScope.current.get(None))
    return compose(op, NameManager.current.get(None, name), {**scope, **attrs}, inputs)
