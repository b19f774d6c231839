"""Trained networks of float32 as networks of mixed precision, by casts in their graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ... import gluon
from ...context import gpu
from ...errors import ArgumentValueError, DTypeError, MXNetError
from ...initializer import Zero
from ...ndarray import NDArray
from ...ops import lookup
from ...ops.precisions import CONDITIONS, NOT_INFERRED, PRECISIONS
from ...ops.quantized.quantized_forms import NAMED_OUTPUTS
from ...ops.schema.attrs import DTYPE_NUMBERS, DTYPES
from ...ops.schema.inference import TypeFacts
from ...symbol import Symbol, Variable
from ...symbol.node import Entry, Node, topological_order

_FLOAT32 = "float32"
_GPU = gpu(0)


def convert_symbol(
    sym: Symbol,
    target_dtype: str = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: list[tuple[str, str, list[str]]] | None = None,
    excluded_sym_names: list[str] | None = None,
    data_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Returns MXNet's graph of mixed precision, with casts; its outputs are float32.

    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops
        as for :func:`init`; an unknown operator is an AssertionError.
    excluded_sym_names
        nodes that compute in float32.
    data_names
        the inputs that are not parameters; the others get their type as an attribute.
    cast_optional_params
        True casts parameters that are only used in ``target_dtype``; it needs ``data_names``.

    Raises AssertionError (ArgumentValueError) for other arguments, and for an operator in two
    lists; MXNetError for ``data_names`` that are not inputs.
    """
    where = "amp.convert_symbol"
    _check(where, "sym", isinstance(sym, Symbol), "a Symbol")
    _check_dtype(where, target_dtype)
    for name, names in (("target_dtype_ops", target_dtype_ops), ("fp32_ops", fp32_ops),
                        ("excluded_sym_names", excluded_sym_names)):  # fmt: skip
        _check(where, name, names is None or _are_texts(names), "a list of names")
    lists = _lists(where, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    heads = _Converter(target_dtype, lists, set(excluded_sym_names or ())).convert(sym.heads)
    if data_names is not None:
        _note_types(where, Symbol(heads), data_names)
    if cast_optional_params:
        heads = _with_cast_parameters(heads, target_dtype)
    return Symbol(heads)


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    target_dtype: str = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: list[tuple[str, str, list[str]]] | None = None,
    excluded_sym_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Returns a network of mixed precision: the symbol of :func:`convert_symbol`, and new dicts of
    parameters, ``arg_params`` and ``aux_params``, which ``cast_optional_params`` may cast.
    :func:`convert_symbol` describes the other arguments. AssertionError (ArgumentValueError) for
    arguments of other types.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weight = {"fc_weight": mx.nd.ones((2, 3))}
    >>> net, weight, _ = mx.contrib.amp.convert_model(net, weight, {}, "bfloat16")
    >>> [node.name for node in net.get_internals()]
    ['data', 'data_amp_cast_bfloat16', 'fc_weight', 'fc_weight_amp_cast_bfloat16', 'fc',
    'fc_output_amp_cast_float32']
    """
    where = "amp.convert_model"
    _check(where, "sym", isinstance(sym, Symbol), "a Symbol")
    _check(where, "arg_params", isinstance(arg_params, dict), "a dict of NDArrays")
    _check(where, "aux_params", isinstance(aux_params, dict), "a dict of NDArrays")
    names = [n for n in sym.list_inputs() if n not in arg_params and n not in aux_params]
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        data_names=names, cast_optional_params=cast_optional_params,
    )  # fmt: skip
    types = _noted_types(converted)
    cast = [_cast(params, types) for params in (arg_params, aux_params)]
    return converted, cast[0], cast[1]


def convert_hybrid_block(
    block: Any,
    target_dtype: str = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: list[tuple[str, str, list[str]]] | None = None,
    excluded_sym_names: list[str] | None = None,
    ctx: Any = _GPU,
    cast_optional_params: bool = False,
) -> gluon.SymbolBlock:
    """Returns a ``SymbolBlock`` that computes a block in mixed precision, for inference. Other
    arguments as of :func:`convert_symbol`.

    block
        a HybridBlock that was hybridized and called; RuntimeError (MXNetError) if it was not,
        AssertionError (ArgumentValueError) for anything else.
    ctx
        the context of the new block's parameters; a GPU by default, as in MXNet.
    """
    where = "amp.convert_hybrid_block"
    _check(where, "block", isinstance(block, gluon.HybridBlock), "a HybridBlock")
    _check_dtype(where, target_dtype)
    inputs, output = block.called_graph()
    names = [str(x.name) for x in inputs]
    converted = convert_symbol(
        output, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        data_names=names, cast_optional_params=cast_optional_params,
    )  # fmt: skip
    result = gluon.SymbolBlock(converted, [Variable(name) for name in names])
    types, sources = _noted_types(converted), block.collect_params()
    for name, parameter in result.collect_params().items():
        parameter.cast(types.get(name, _FLOAT32))
        if name in sources:
            source = sources[name]
            parameter.shape = source.shape
            parameter.initialize(Zero(), ctx=ctx)
            parameter.set_data(source.data(source.list_ctx()[0]))
    return result


class _Lists(NamedTuple):
    low: Collection[str]
    float32: Collection[str]
    conditions: Sequence[tuple[str, str, Collection[str]]]
    widest: Collection[str]


def _lists(where: str, dtype: str, low: Any, float32: Any, conditions: Any) -> _Lists:
    defaults = PRECISIONS[dtype]
    conditions = CONDITIONS if conditions is None else conditions
    expected = "a list of (str, str, list of str)"
    _check(where, "conditional_fp32_ops", isinstance(conditions, list | tuple), expected)
    for condition in conditions:
        is_condition = isinstance(condition, tuple) and len(condition) == 3
        fits = is_condition and isinstance(condition[2], list | tuple)
        _check(where, "conditional_fp32_ops", fits and _are_texts(condition[2]), expected)
    lists = {
        "target_dtype_ops": set(defaults.low if low is None else low),
        "fp32_ops": set(defaults.float32 if float32 is None else float32),
        "conditional_fp32_ops": {name for name, _, _ in conditions},
    }
    names = list(lists)
    for i, name in enumerate(names):
        for other in names[i + 1 :]:
            both = lists[name] & lists[other]
            _check(where, name, not both, f"none that is in {other}, too: {sorted(both)}")
    known = {*defaults.low, *defaults.float32, *defaults.either, *(n for n, _, _ in CONDITIONS)}
    for name in names:
        unknown = lists[name] - known
        hint = "operators of the lists except the widest type"
        _check(where, name, not unknown, f"{hint}, not {sorted(unknown)}")
    return _Lists(lists["target_dtype_ops"], lists["fp32_ops"], conditions, defaults.widest)


def _check(where: str, name: str, fits: bool, expected: str) -> None:
    if not fits:
        raise ArgumentValueError(f"{where}: {name}", f"expected {expected}")


def _check_dtype(where: str, dtype: object) -> None:
    fits = isinstance(dtype, str) and dtype in PRECISIONS
    _check(where, "target_dtype", fits, "'float16' or 'bfloat16'")


def _are_texts(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)


def _canonical(names: Iterable[str]) -> set[str]:
    return {op.name for op in map(lookup, names) if op is not None}


class _Converter:
    """Copies a graph with casts. An entry has a version of its own type, and on demand a float32
    and a low-precision version; variables have only the first."""

    def __init__(self, dtype: str, lists: _Lists, excluded: Collection[str]) -> None:
        self._dtype = dtype
        self._low = _canonical(lists.low)
        self._float32 = _canonical(lists.float32)
        self._widest = _canonical(lists.widest)
        self._conditions = {name: (key, values) for name, key, values in lists.conditions}
        self._excluded = excluded
        self._copies: dict[Node, Node] = {}
        self._versions: dict[str, dict[Entry, Entry]] = {dtype: {}, _FLOAT32: {}}

    def convert(self, heads: Sequence[Entry]) -> list[Entry]:
        for node in topological_order(heads):
            self._copies[node] = self._copy(node)
        return [self._version(entry, _FLOAT32) for entry in heads]

    def _copy(self, node: Node) -> Node:
        op = node.op
        if op is None:
            return Node(None, node.name, dict(node.attrs))
        to = self._type_of(node)
        if to is not None:
            states = dict(node.aux_inputs) if to == self._dtype else {}
            inputs = tuple(
                self._plain(e) if e[0] in states or (to == _FLOAT32 and e[0].is_variable)
                else self._version(e, to)
                for e in node.inputs
            )  # fmt: skip
        elif op.name in self._widest and not any(map(self._is_unknown, node.inputs)):
            is_wide = any(e in self._versions[_FLOAT32] for e in node.inputs)
            to = _FLOAT32 if is_wide else self._dtype
            inputs = tuple(self._version(e, to) for e in node.inputs)
        elif op.name in self._widest and node.inputs:
            name = f"{_entry_name(node.inputs[0])}_amp_multicast"
            sources = tuple(map(self._plain, node.inputs))
            cast = _node("amp_multicast", name, {"num_outputs": str(len(sources))}, sources)
            inputs = tuple((cast, i) for i in range(len(sources)))
        else:
            inputs = tuple(map(self._plain, node.inputs))
        copy = Node(op, node.name, dict(node.attrs), node.params, inputs, node.subgraphs)
        for index in range(node.n_outputs):
            known = to if to or op.name in self._widest else self._inferred(node, index)
            if known in self._versions:
                self._versions[known][node, index] = copy, index
        return copy

    def _type_of(self, node: Node) -> str | None:
        assert node.op is not None
        name = node.op.name
        key, values = self._conditions.get(name, ("", ()))
        if node.name in self._excluded or name in self._float32 or node.attrs.get(key) in values:
            return _FLOAT32
        return self._dtype if name in self._low else None

    def _inferred(self, node: Node, index: int) -> str | None:
        # As in MXNet, the type of the first input decides if the rule allows it.
        assert node.op is not None
        assert node.params is not None
        types = [self._plain_type(entry) for entry in node.inputs]
        if not types or types[0] is None or node.op.name in NOT_INFERRED:
            return None
        outputs = [f"out{i}" for i in range(node.n_outputs)]
        names = dict(zip(node.input_names, types, strict=True))
        facts = TypeFacts(node.op.name, names | dict.fromkeys(outputs))
        try:
            node.op.infer_type(facts, node.params)
        except DTypeError:
            return None
        return facts[outputs[index]]

    def _plain_type(self, entry: Entry) -> str | None:
        # MXNet takes an entry cast for the low type, and refuses the graph: None here.
        low = self._versions[self._dtype].get(entry)
        if low is not None:
            return self._dtype if low == self._plain(entry) else None
        return _FLOAT32 if entry in self._versions[_FLOAT32] else None

    def _is_unknown(self, entry: Entry) -> bool:
        return all(entry not in entries for entries in self._versions.values())

    def _plain(self, entry: Entry) -> Entry:
        return self._copies[entry[0]], entry[1]

    def _version(self, entry: Entry, dtype: str) -> Entry:
        versions = self._versions[dtype]
        if entry not in versions:
            name = f"{_entry_name(entry)}_amp_cast_{dtype}"
            cast = _node("amp_cast", name, {"dtype": dtype}, (self._plain(entry),))
            versions[entry] = cast, 0
        return versions[entry]


def _entry_name(entry: Entry) -> str:
    node, index = entry
    if node.op is None:
        return node.name
    return node.output_names[index] if node.op.name in NAMED_OUTPUTS else f"{node.name}_{index}"


def _node(op_name: str, name: str, attrs: dict[str, str], inputs: tuple[Entry, ...]) -> Node:
    op = lookup(op_name)
    assert op is not None
    return Node(op, name, attrs, op.parse(attrs), inputs)


# Types of parameters


def _note_types(where: str, symbol: Symbol, data_names: Any) -> None:
    inputs = symbol.list_inputs()
    names = list(data_names)
    unknown = [name for name in names if name not in inputs]
    if unknown:
        hint = f"one of: {', '.join(inputs)}"
        raise MXNetError(f"{where}: data_names", f"{unknown[0]!r} is not an input", hint=hint)
    arguments, _, states = symbol.infer_type_partial(**dict.fromkeys(names, _FLOAT32))
    all_names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    types = dict(zip(all_names, [*arguments, *states], strict=True))
    for node in topological_order(symbol.heads):
        if node.is_variable and node.name not in names:
            known = types[node.name]
            name = _FLOAT32 if known is None else known.__name__
            node.attrs["__dtype__"] = str(DTYPE_NUMBERS[name])


def _with_cast_parameters(heads: Sequence[Entry], dtype: str) -> list[Entry]:
    new: dict[Node, Node] = {}
    for node in topological_order(heads):
        if _is_cast_parameter(node, dtype):
            new[node] = node.inputs[0][0]
            new[node].attrs["__dtype__"] = str(DTYPE_NUMBERS[dtype])
            continue
        inputs = tuple([(new.get(child, child), i) for child, i in node.inputs])
        if inputs != node.inputs:
            new[node] = Node(node.op, node.name, node.attrs, node.params, inputs, node.subgraphs)
    return [(new.get(node, node), i) for node, i in heads]


def _is_cast_parameter(node: Node, dtype: str) -> bool:
    if node.op is None or node.op.name != "amp_cast" or node.attrs["dtype"] != dtype:
        return False
    source, _ = node.inputs[0]
    return source.is_variable and "__dtype__" in source.attrs


def _noted_types(symbol: Symbol) -> dict[str, str]:
    attrs = symbol.attr_dict()
    numbers = {n: attrs[n]["__dtype__"] for n in attrs if "__dtype__" in attrs[n]}
    return {name: DTYPES[int(number)] for name, number in numbers.items()}


def _cast(params: Mapping[str, NDArray], types: Mapping[str, str]) -> dict[str, NDArray]:
    return {
        name: x if types.get(name, x.dtype_name) == x.dtype_name else x.astype(types[name])
        for name, x in params.items()
    }
