"""Symbol: a list of outputs of a graph."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from ..display import View, Viewed
from ..errors import AttributeValueError, MXNetError, explain
from ..ops import OpDef
from ._call import call, entry_of, find
from ._compose import check_auxiliaries, copy_graph, parse_attrs
from ._json import save_text, write_json
from ._load import read_json
from ._methods import GraphMethods
from ._node import Entry, Node, auxiliary_nodes, hide, shown, topological_order
from ._operator_methods import OperatorMethods
from ._operators import PythonOperators
from ._text import debug_text


class Symbol(PythonOperators, OperatorMethods, GraphMethods, Viewed):
    """Outputs of a graph of operators, to be bound to arrays and run.

    Symbols are made by ``mx.sym.Variable`` and the functions of ``mx.sym``; a symbol with several
    outputs is made by operators that have them, by ``Group`` and by ``get_internals``. Calling a
    symbol composes it: ``net(data=other)`` is a copy of ``net`` that reads ``other`` in place of
    its variable ``data``.

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
        return call_operator(find(op), func_name, args, kwargs)

    def _single(self) -> Node | None:
        """The node whose outputs these are, or None if they are of several nodes."""
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
        """Names of the variables, without auxiliary states, in the order in which they are met."""
        return self._variables(auxiliary=False)

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators change, such as moving averages."""
        return self._variables(auxiliary=True)

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return self._variables()

    def list_outputs(self) -> list[str]:
        """Names of the outputs: ``fc1_output``, or a variable's own name."""
        return [node.output_names[index] for node, index in self._heads]

    # Parts

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol((entry,)) for entry in self._heads)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output by number or by name (``internals["fc1_output"]``), or several by a slice."""
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
        found = [i for i, output in enumerate(outputs) if output == name]
        if len(found) == 1:
            return found[0]
        close = [output for output in outputs if output.startswith(name)]
        hint = f"one of: {', '.join(close[:10])}" if close and not found else None
        problem = f"{len(found)} outputs are called {name!r}" if found else f"no output {name!r}"
        raise ValueError(explain(f"{self!r}", problem, hint=hint))

    def get_internals(self) -> Symbol:
        """All outputs of all nodes, inputs first: ``net.get_internals()["flatten0_output"]``.

        >>> import executorkit as mx
        >>> x = mx.sym.exp(mx.sym.Variable("x"), name="e")
        >>> (x + 1).get_internals().list_outputs()[:2]
        ['x', 'e_output']
        """
        order = topological_order(self._heads)
        return Symbol([(node, i) for node in order for i in range(node.n_visible)])

    def get_children(self) -> Symbol | None:
        """The inputs of the outputs' nodes; None if there are none."""
        nodes = dict.fromkeys(node for node, _ in self._heads)
        entries = [entry for node in nodes for entry in node.inputs]
        return Symbol(entries) if entries else None

    # Attributes

    def attr(self, key: str) -> str | None:
        """The attribute ``key`` of the node as text, None if it has none or this is a group."""
        node = self._single()
        if node is None:
            return None
        return node.name if key == "name" else node.attrs.get(hide(key))

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the node, of a group's first; of the whole graph see ``attr_dict``.

        ``recursive=True`` is a DeprecationWarning, raised, as in MXNet.
        """
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True) is gone: use attr_dict()")
        return shown(self._heads[0][0].attrs) if self._heads else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of every node that has some, by name."""
        result: dict[str, dict[str, str]] = {}
        for node in topological_order(self._heads):
            if node.attrs:
                result.setdefault(node.name, {}).update(shown(node.attrs))
        return result

    def _set_attr(self, **kwargs: str) -> None:
        """Changes attributes of the node, in every symbol that holds it."""
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
        """A copy of this graph that reads other symbols in place of its variables.

        Symbols are given by variable name, or by position in the order of ``list_arguments``;
        ``name`` renames the first output's node. Neither this symbol nor those given change.
        """
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError(f"{self!r}: compose by position or by name, not both")
        for value in (*args, *kwargs.values()):
            if not isinstance(value, Symbol):
                raise TypeError(f"{self!r}: composed with {value!r}, expected a Symbol")
        order = topological_order(self._heads)
        replace = self._replacements(order, args, kwargs)
        rename = {self._heads[0][0]: name} if name else {}
        result = Symbol(copy_graph(self._heads, order, replace, rename))
        for node in topological_order(result._heads):
            check_auxiliaries(node)
        return result

    def _replacements(
        self, order: Sequence[Node], args: Sequence[Symbol], kwargs: Mapping[str, Symbol]
    ) -> dict[Node, Entry]:
        variables = [node for node in order if node.op is None]
        if args:
            states = auxiliary_nodes(order)
            places = [node for node in variables if node not in states]
            if len(args) > len(places):
                raise MXNetError(f"{self!r}: {len(args)} inputs given, there are {len(places)}")
            pairs = zip(places, args, strict=False)
            return {node: entry_of(value, node.name) for node, value in pairs}
        replace: dict[Node, Entry] = {}
        for key, value in kwargs.items():
            places = [node for node in variables if node.name == key]
            if not places:
                hint = f"one of: {', '.join(node.name for node in variables)}"
                raise MXNetError(explain(f"{self!r}", f"there is no variable {key!r}", hint=hint))
            replace.update(dict.fromkeys(places, entry_of(value, key)))
        return replace

    def __copy__(self) -> Symbol:
        return Symbol(copy_graph(self._heads, topological_order(self._heads)))

    def __deepcopy__(self, memo: object) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_json, (self.tojson(remove_amp_cast=False),)

    # Texts and files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as MXNet 1.9.1's JSON, which MXNet loads.

        ``remove_amp_cast`` leaves out the casts of automatic mixed precision.
        """
        return write_json(self._heads, remove_amp_cast=remove_amp_cast)

    def save(self, fname: str | os.PathLike[str] | IO[Any], remove_amp_cast: bool = True) -> None:
        """Writes :meth:`tojson` to ``fname``: a path, all or nothing, or an open file.

        Raises :class:`FileAccessError` if it cannot be written, TypeError for something else.
        """
        save_text(fname, self.tojson(remove_amp_cast))

    def _as_view(self) -> View:
        from ._views import symbol_view

        return symbol_view(self)

    def debug_str(self) -> str:
        """The graph in words: outputs, then each node with its inputs and attributes."""
        return debug_text(self._heads)


def _from_json(text: str | bytes) -> Symbol:
    return Symbol(read_json(text))


def call_operator(
    op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Symbol:
    """The call ``mx.sym.<func_name>(*args, **kwargs)`` of an operator."""
    return Symbol(call(op, func_name, args, kwargs))
