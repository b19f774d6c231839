"""Symbol: a list of outputs of a graph, to be composed, inspected, bound and run.

Packages above attach methods: ``lowering`` for inference and lowering (``infer_shape``, ...),
``executor`` for binding (``bind``, ``simple_bind``, ``eval``). A stub declares them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from importlib import import_module
from typing import IO, Any, NoReturn

from ..display import Viewed
from ..errors import (
    ArgumentValueError,
    AttributeValueError,
    InputTypeError,
    MXNetError,
    NotImplementedForSymbol,
    shorten,
    similar_names,
)
from ..ops.schema.operator_modules import OPERATOR_METHODS, operator_method
from ..ops.schema.operator_registry import OpDef
from ._compose import (
    check_auxiliaries,
    compose,
    compose_call,
    copy_graph,
    entry_of,
    operator_attrs,
    parse_attrs,
    require_operator,
)
from ._load import read_json
from ._python_operators import PythonOperators
from .node import Entry, Node, auxiliary_nodes, hide, shown, topological_order
from .symbol_json import debug_text, save_text, write_json

#: MXNet's backends that rewrite graphs of the kind that is read from files.
_BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE")
#: Methods of NDArray that have no meaning for a symbol.
_ARRAY_METHODS = (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read",
)  # fmt: skip


class Symbol(PythonOperators, Viewed):
    """Outputs of a graph of operators, to be bound to arrays and run.

    Created by ``mx.sym.Variable``, the functions of ``mx.sym``, ``Group`` and ``get_internals``.
    Calling a symbol composes it: ``net(data=other)`` is a copy of ``net`` that reads ``other`` in
    place of its variable ``data``.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> net.list_arguments(), net.list_outputs()
    (['data', 'fc_weight', 'fc_bias'], ['fc_output'])
    >>> (net * 2)(data=mx.sym.Variable("pixels")).list_arguments()
    ['pixels', 'fc_weight', 'fc_bias']
    """

    __slots__ = ("__weakref__", "_heads")
    _text_is_repr = True

    def __init__(self, heads: Sequence[Entry]) -> None:
        self._heads = tuple(heads)

    @property
    def heads(self) -> tuple[Entry, ...]:
        """The outputs: pairs of a node and the number of its output."""
        return self._heads

    @staticmethod
    def _call(op: str, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Symbol:
        return call_operator(require_operator(op), func_name, args, kwargs)

    def _single(self) -> Node | None:
        first = self._heads[0][0]
        return first if all(node is first for node, _ in self._heads) else None

    # Names and lists

    @property
    def name(self) -> str | None:
        """The name of the node, None for a group."""
        node = self._single()
        return None if node is None else node.name

    def __repr__(self) -> str:
        if self.name is None:
            return f"<Symbol group [{', '.join(node.name for node, _ in self._heads)}]>"
        return f"<Symbol {self.name}>"

    def _variables(self, auxiliary: bool | None = None) -> list[str]:
        order = topological_order(self._heads)
        states = auxiliary_nodes(order)
        return [
            node.name
            for node in order
            if node.op is None and (auxiliary is None or (node in states) == auxiliary)
        ]

    def list_arguments(self) -> list[str]:
        """Returns the variables' names, without auxiliary states, in the order of the graph."""
        return self._variables(auxiliary=False)

    def list_auxiliary_states(self) -> list[str]:
        """Returns the names of the variables that operators change, such as moving averages."""
        return self._variables(auxiliary=True)

    def list_inputs(self) -> list[str]:
        """Returns the names of all variables."""
        return self._variables()

    def list_outputs(self) -> list[str]:
        """Returns the names of the outputs: ``fc1_output``, or a variable's own name."""
        return [node.output_names[index] for node, index in self._heads]

    # Parts

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol((entry,)) for entry in self._heads)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """Returns an output by number or name (``internals["fc1_output"]``), or a slice of them."""
        if isinstance(index, slice):
            heads = self._heads[index]
            if not heads:
                raise TypeError(f"{self!r}: {index} selects no output")
            return Symbol(heads)
        if isinstance(index, str):
            return Symbol((self._heads[self._position(index)],))
        if not isinstance(index, int):
            raise TypeError(f"{self!r}: index {index!r}, expected a number, a name or a slice")
        if index < 0:
            raise MXNetError(f"{self!r}: index {index} is negative; outputs count from 0")
        if index >= len(self._heads):
            raise IndexError(f"{self!r}: index {index}, but there are {len(self._heads)} outputs")
        return Symbol((self._heads[index],))

    def _position(self, name: str) -> int:
        outputs = self.list_outputs()
        positions = [i for i, output in enumerate(outputs) if output == name]
        if len(positions) == 1:
            return positions[0]
        where = shorten(repr(self), 100)
        if positions:
            problem = f"{len(positions)} outputs are called {name!r}"
            hint = f"a number: {', '.join(map(str, positions))}"
            raise ArgumentValueError(where, problem, hint=hint)
        problem = f"no output {name!r}"
        raise ArgumentValueError(where, problem, hint=self._similar_output(name, outputs))

    def _similar_output(self, name: str, outputs: Sequence[str]) -> str:
        if name in self.get_internals().list_outputs():
            return f"get_internals()[{name!r}]"
        close = [output for output in outputs if output.startswith(name)]
        if close:
            return f"one of: {', '.join(close[:10])}"
        return similar_names(name, outputs) or f"one of: {shorten(', '.join(outputs))}"

    def get_internals(self) -> Symbol:
        """Returns all outputs of all nodes, inputs first:
        ``net.get_internals()["flatten0_output"]``.

        >>> import executorkit as mx
        >>> x = mx.sym.exp(mx.sym.Variable("x"), name="e")
        >>> (x + 1).get_internals().list_outputs()[:2]
        ['x', 'e_output']
        """
        order = topological_order(self._heads)
        return Symbol([(node, i) for node in order for i in range(node.n_visible)])

    def get_children(self) -> Symbol | None:
        """Returns the inputs of the outputs' nodes; None if there are none."""
        nodes = dict.fromkeys(node for node, _ in self._heads)
        entries = [entry for node in nodes for entry in node.inputs]
        return Symbol(entries) if entries else None

    # Attributes

    def attr(self, key: str) -> str | None:
        """Returns the attribute ``key`` of the node as text; None if absent, or for a group."""
        node = self._single()
        if node is None:
            return None
        return node.name if key == "name" else node.attrs.get(hide(key))

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Returns all attributes of the node, for a group of the first; see ``attr_dict`` for the
        graph. ``recursive=True`` raises a DeprecationWarning, as in MXNet."""
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True) is gone: use attr_dict()")
        return shown(self._heads[0][0].attrs) if self._heads else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Returns the attributes of every node that has some, by name."""
        result: dict[str, dict[str, str]] = {}
        for node in topological_order(self._heads):
            if node.attrs:
                result.setdefault(node.name, {}).update(shown(node.attrs))
        return result

    def _set_attr(self, **kwargs: str) -> None:
        node = self._single()
        if node is None:
            raise MXNetError(f"{self!r}: attributes can be set on one node only")
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise AttributeValueError(f"{self!r}: {key}={value!r} is not a text")
        attrs = {**node.attrs, **{hide(key): value for key, value in kwargs.items()}}
        node.edit(attrs, None if node.op is None else parse_attrs(node.op, node.name, attrs))

    # Composition and copies

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Returns a copy of this graph that reads other symbols for its variables, by position in
        ``list_arguments`` or by name; ``name`` renames the first output's node."""
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError(f"{self!r}: compose by position or by name, not both")
        for value in (*args, *kwargs.values()):
            if not isinstance(value, Symbol):
                raise TypeError(f"{self!r}: composed with {value!r}, expected a Symbol")
        atomic = self._single()
        if atomic is not None and atomic.op is not None and not (atomic.name or atomic.inputs):
            positional = [entry_of(value, f"arg{i}") for i, value in enumerate(args)]
            named = {key: entry_of(value, key) for key, value in kwargs.items()}
            node = compose(atomic.op, name or "", atomic.attrs, positional, named, atomic.subgraphs)
            return _outputs_of(node)
        order = topological_order(self._heads)
        replace = self._replacements(order, args, kwargs)
        rename = {self._heads[0][0]: name} if name else {}
        result = Symbol(copy_graph(self._heads, order, replace, rename))
        for node in topological_order(result._heads):
            check_auxiliaries(node)
        return result

    def _gen_atomic_symbol(self) -> Symbol:
        """Returns the operator of this symbol alone, without name and inputs: a call supplies them.
        MXNetError for a group and for a variable (in MXNet the latter ends the process)."""
        node = self._single()
        if node is None or node.op is None:
            kind = "a group" if node is None else "a variable"
            raise MXNetError("_gen_atomic_symbol", f"{self!r} is {kind}, expected one operator")
        attrs = operator_attrs(node.op, node.attrs)
        return _outputs_of(Node(node.op, "", attrs, node.params, (), node.subgraphs))

    def _replacements(
        self, order: Sequence[Node], args: Sequence[Symbol], kwargs: Mapping[str, Symbol]
    ) -> dict[Node, Entry]:
        variables = [node for node in order if node.op is None]
        if args:
            states = auxiliary_nodes(order)
            arguments = [node for node in variables if node not in states]
            if len(args) > len(arguments):
                raise MXNetError(f"{self!r}: {len(args)} inputs given, there are {len(arguments)}")
            pairs = zip(arguments, args, strict=False)
            return {node: entry_of(value, node.name) for node, value in pairs}
        replace: dict[Node, Entry] = {}
        for key, value in kwargs.items():
            targets = [node for node in variables if node.name == key]
            if not targets:
                hint = f"one of: {', '.join(node.name for node in variables)}"
                raise MXNetError(f"{self!r}", f"unknown variable {key!r}", hint=hint)
            replace.update(dict.fromkeys(targets, entry_of(value, key)))
        return replace

    def as_nd_ndarray(self) -> Symbol:
        """Returns the same outputs as a symbol of ``mx.sym``."""
        return Symbol(self._heads)

    def as_np_ndarray(self) -> Any:
        """Returns the same outputs as a symbol of ``mx.sym.np``."""
        package = __name__.partition(".")[0]
        return import_module(f"{package}.numpy.symbolic").NumpySymbol(self._heads)

    def __copy__(self) -> Symbol:
        return Symbol(copy_graph(self._heads, topological_order(self._heads)))

    def __deepcopy__(self, memo: object) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_json, (self.tojson(remove_amp_cast=False),)

    # Texts and files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Returns the graph as MXNet 1.9.1's JSON, which MXNet loads. ``remove_amp_cast`` leaves
        out the casts of automatic mixed precision."""
        return write_json(self._heads, remove_amp_cast=remove_amp_cast)

    def save(self, fname: str | os.PathLike[str] | IO[Any], remove_amp_cast: bool = True) -> None:
        """Writes :meth:`tojson` to ``fname``: a path, all or nothing, or an open file.
        FileAccessError if it cannot be written, TypeError for another object."""
        save_text(fname, self.tojson(remove_amp_cast))

    def debug_str(self) -> str:
        """Describes the graph: outputs, then each node with its inputs and attributes."""
        return debug_text(self._heads)

    # Backends of MXNet

    def get_backend_symbol(self, backend: str) -> Symbol:
        """Returns a copy of the symbol: XLA fuses operators for every backend (MXNet renames fused
        nodes). Raises MXNetError for a backend that MXNet does not know."""
        if backend not in _BACKENDS:
            problem = f"unknown backend {backend!r}"
            raise MXNetError("get_backend_symbol", problem, hint=" or ".join(map(repr, _BACKENDS)))
        return copy(self)

    def optimize_for(
        self,
        backend: str,
        args: Any = None,
        aux: Any = None,
        ctx: Any = None,
        shape_dict: Mapping[str, Any] | None = None,
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, Any] | None = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """Returns a copy of the symbol, which XLA optimises when it compiles; no argument has an
        effect. Raises AssertionError if ``backend`` is not a str."""
        if not isinstance(backend, str):
            raise InputTypeError("optimize_for", f"backend is {backend!r}, expected a str")
        return copy(self)

    def gradient(self, wrt: Sequence[str]) -> NoReturn:
        """Raises an error: MXNet declares this method and does not implement it either."""
        hint = "bind the symbol and call backward, or use jax.grad on to_jax()"
        raise MXNetError(f"{self!r}", "gradient is not implemented", hint=hint)


def _refused_method(name: str) -> Callable[[Symbol], NoReturn]:
    def method(self: Symbol) -> NoReturn:
        raise NotImplementedForSymbol(name)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    method.__doc__ = "Only arrays have this; raises NotImplementedForSymbol."
    return method


def _outputs_of(node: Node) -> Symbol:
    return Symbol([(node, i) for i in range(node.n_visible)])


def _from_json(text: str | bytes) -> Symbol:
    return Symbol(read_json(text))


def call_operator(
    op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Symbol:
    """Calls ``mx.sym.<func_name>(*args, **kwargs)``; a symbol of ``mx.np`` gives one."""
    classes = {type(x) for x in (*args, *kwargs.values()) if isinstance(x, Symbol)} - {Symbol}
    cls = classes.pop() if classes else Symbol
    return cls(compose_call(op, func_name, args, kwargs))


for _name in (*OPERATOR_METHODS, "broadcast_to", "reshape"):
    setattr(Symbol, _name, operator_method(_name, "symbol", "Symbol", call_operator))
for _name in _ARRAY_METHODS:
    setattr(Symbol, _name, _refused_method(_name))
