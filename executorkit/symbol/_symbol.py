"""Symbol: a list of outputs of a graph, to be composed, inspected, bound and run.

Lowering and the executor stand above this package; they are imported when they are called.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from .._support.shape_semantics import numpy_shapes
from ..context import Context, current_context
from ..display import Viewed
from ..errors import (
    ArgumentValueError,
    AttributeValueError,
    InputTypeError,
    MXNetError,
    NotImplementedForSymbol,
    NotSupportedError,
    shorten,
    similar_names,
)
from ..ops import OpDef
from ..ops.schema.calls import numpy_dtype_name
from ..ops.schema.operator_modules import OPERATOR_METHODS, operator_method
from ._compose import (
    check_auxiliaries,
    compose_call,
    copy_graph,
    entry_of,
    parse_attrs,
    require_operator,
)
from ._load import read_json
from ._python_operators import PythonOperators
from .node import Entry, Node, auxiliary_nodes, hide, shown, topological_order
from .symbol_json import debug_text, save_text, write_json

if TYPE_CHECKING:
    from ..executor import Executor
    from ..lowering import JaxFunction
    from ..ndarray import NDArray

Shape = tuple[int, ...]

#: MXNet's backends that rewrite graphs of the kind that is read from files.
_BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE")
#: Methods of NDArray that have no meaning for a symbol.
_ARRAY_METHODS = (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read",
)  # fmt: skip


class Symbol(PythonOperators, Viewed):
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
        return call_operator(require_operator(op), func_name, args, kwargs)

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
        """Names of the variables, without auxiliary states, in the order of the graph."""
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
        positions = [i for i, output in enumerate(outputs) if output == name]
        if len(positions) == 1:
            return positions[0]
        where = shorten(repr(self), 100)
        if positions:
            problem = f"{len(positions)} outputs are called {name!r}"
            raise ArgumentValueError(
                where, problem, hint=f"a number: {', '.join(map(str, positions))}"
            )
        raise ArgumentValueError(
            where, f"no output {name!r}", hint=self._similar_output(name, outputs)
        )

    def _similar_output(self, name: str, outputs: Sequence[str]) -> str:
        """The hint for a name that is not among the outputs."""
        if name in self.get_internals().list_outputs():
            return f"get_internals()[{name!r}]"
        close = [output for output in outputs if output.startswith(name)]
        if close:
            return f"one of: {', '.join(close[:10])}"
        return similar_names(name, outputs) or f"one of: {shorten(', '.join(outputs))}"

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
                raise MXNetError(f"{self!r}", f"there is no variable {key!r}", hint=hint)
            replace.update(dict.fromkeys(targets, entry_of(value, key)))
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

    def debug_str(self) -> str:
        """The graph in words: outputs, then each node with its inputs and attributes."""
        return debug_text(self._heads)

    # Shapes and types

    def get_backend_symbol(self, backend: str) -> Symbol:
        """A copy of the symbol: XLA fuses its operators, whatever the backend. In MXNet the names
        of fused nodes change. MXNetError for a backend that MXNet does not know."""
        if backend not in _BACKENDS:
            raise MXNetError(
                "get_backend_symbol",
                f"there is no backend {backend!r}",
                hint=" or ".join(map(repr, _BACKENDS)),
            )
        return copy(self)

    def optimize_for(
        self,
        backend: str,
        args: Any = None,
        aux: Any = None,
        ctx: Context | None = None,
        shape_dict: Mapping[str, Shape] | None = None,
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, Any] | None = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """A copy of the symbol, which XLA optimises when it is compiled; the other arguments are
        taken for MXNet's sake. AssertionError if ``backend`` is no str."""
        if not isinstance(backend, str):
            raise InputTypeError("optimize_for", f"backend is {backend!r}, expected a str")
        return copy(self)

    def infer_shape(self, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states, from the shapes of some inputs.

        Shapes are given by name, or by position in the order of ``list_arguments`` (None for
        unknown); a 0 in a shape is an unknown dimension, or -1 under
        :func:`executorkit.util.np_shape`. Returns three lists of shapes, or three times None, with
        a warning that names the unknown ones, if they do not follow. Raises :class:`ShapeError` for
        a contradiction and :class:`MXNetError` for an unknown name; NotSupportedError for an axis
        of length 0 under ``np_shape``, which graphs do not have.

        >>> import executorkit as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        >>> net.infer_shape(data=(32, 10))
        ([(32, 10), (3, 10), (3,)], [(32, 3)], [])
        """
        result = self._infer_shapes(self._known_shapes(args, kwargs))
        scalars = numpy_shapes()
        return self._complete(result, "shapes", lambda s: s is None or 0 in s or not (s or scalars))

    def infer_shape_partial(self, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
        """The known part of :meth:`infer_shape`: () for an unknown shape, 0 for an unknown
        dimension. Under :func:`executorkit.util.np_shape` they are None and -1."""
        inferred = self._infer_shapes(self._known_shapes(args, kwargs))
        shown = _numpy_shape if numpy_shapes() else (lambda s: () if s is None else s)
        arguments, outputs, states = (list(map(shown, part)) for part in inferred)
        return arguments, outputs, states

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Element types of arguments, outputs and auxiliary states, as NumPy scalar classes.

        Types are given by name or by position, as anything that NumPy takes for a dtype. Returns
        three times None, with a warning, if they do not follow. Raises :class:`DTypeError` for a
        contradiction and :class:`MXNetError` for an unknown name.
        """
        result = self._infer_types(self._known_types(args, kwargs))
        return self._complete(result, "types", lambda t: t is None)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """The known part of :meth:`infer_type`: None for an unknown type."""
        return self._infer_types(self._known_types(args, kwargs))

    def summary(self, type_dict: Mapping[str, Any] | None = None, **shapes: Sequence[int]) -> Any:
        """Output shapes, parameters, FLOPs and bytes of every layer.

        Shapes, and types in ``type_dict``, are given by name, those of the inputs usually; unknown
        results are shown as "?". Returns a :class:`~executorkit.lowering.Summary`,
        which is a table when it is printed and in a notebook, and has the numbers: ``parameters``,
        ``parameter_bytes``, ``output_bytes``, ``flops``, ``macs``, and its items, the layers.

        FLOPs are those of one forward pass at inference, before XLA fuses anything: two for each
        product of a convolution (those with its padding too) or of matrices, one for each other
        element computed. Nothing is compiled. Raises :class:`ShapeError` for a contradiction and
        :class:`MXNetError` for an unknown name. MXNet has no such method; see
        ``mx.viz.print_summary`` for its table.

        >>> import executorkit as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
        >>> net.summary(data=(32, 784))
        Symbol fc: 1 operator
        inputs: data (32, 784)
        layer  operator        output shape  parameters  FLOPs    output
        -----  --------------  ------------  ----------  -----  --------
        fc     FullyConnected  (32, 10)           7,850  502 k  1.25 KiB
        -----  --------------  ------------  ----------  -----  --------
        sum                                       7,850  502 k  1.25 KiB
        parameters (learned): 7,850, 30.7 KiB
        one forward pass: 502 kFLOPs, with 251 kMACs in convolutions and matrix products
        """
        from ..lowering import Summary

        known_shapes = {name: tuple(sizes) for name, sizes in shapes.items()}
        types = self._known_types((), type_dict or {})
        return Summary.of(self, self._known_shapes((), known_shapes), types)

    def _infer_shapes(self, shapes: dict[str, Shape]) -> tuple[Any, Any, Any]:
        from ..lowering import infer_shapes

        return infer_shapes(self, shapes)

    def _infer_types(self, types: dict[str, str]) -> tuple[Any, Any, Any]:
        from ..lowering import infer_types

        inferred = infer_types(self, types)
        arguments, outputs, states = (
            [None if t is None else np.dtype(t).type for t in part] for part in inferred
        )
        return arguments, outputs, states

    def _by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if args and kwargs:
            raise ValueError("give shapes or types by position or by name, not both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise TypeError(f"{len(args)} given, but there are {len(names)} arguments")
        inputs = self.list_inputs()
        for name in kwargs:
            if name not in inputs:
                hint = f"one of: {', '.join(inputs)}"
                raise MXNetError(f"{self!r}", f"there is no argument {name!r}", hint=hint)
        by_position = zip(names, args, strict=False)
        return {name: value for name, value in by_position if value is not None} | dict(kwargs)

    def _known_shapes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Shape]:
        shapes = self._by_name(args, kwargs)
        for name, shape in shapes.items():
            if not isinstance(shape, tuple):
                raise TypeError(f"shape of {name!r} is {shape!r}, expected a tuple")
        known = {name: tuple(int(d) for d in shape) for name, shape in shapes.items()}
        if not numpy_shapes():
            return known
        # Under MXNet's own semantics () declares nothing.
        attrs = self.attr_dict()
        scalars = [n for n in self.list_inputs() if attrs.get(n, {}).get("__shape__") == "()"]
        return dict.fromkeys(scalars, ()) | _unknown_as_zero(known)

    def _known_types(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, str]:
        return {name: numpy_dtype_name(t) for name, t in self._by_name(args, kwargs).items()}

    def _complete(
        self, inferred: tuple[Any, Any, Any], noun: str, unknown: Callable[[Any], bool]
    ) -> tuple[Any, Any, Any]:
        names = (self.list_arguments(), self.list_outputs(), self.list_auxiliary_states())
        missing = [
            [n for n, value in zip(part, values, strict=True) if unknown(value)]
            for part, values in zip(names, inferred, strict=True)
        ]
        if not any(missing):
            return inferred
        first = missing[0] or missing[2] or missing[1]
        warnings.warn(f"{noun} do not follow for {', '.join(first)}; give them", stacklevel=3)
        return None, None, None

    # Ways to run it

    def bind(
        self,
        ctx: Context,
        args: Any,
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Any = None,
        shared_exec: Any = None,
        compute_dtype: str | None = None,
        remat: Any = None,
    ) -> Executor:
        """An executor of this graph over arrays of the caller's; see :class:`executorkit.Executor`.

        ctx
            the device that it runs on.
        args, aux_states
            NDArrays of all arguments and auxiliary states, a list in the order of
            ``list_arguments()`` and ``list_auxiliary_states()``, or a dict by name. They are the
            executor's own from then on: it reads them as they are written to.
        args_grad
            NDArrays that gradients are written to, in the same form, None for none. Those that a
            dict does not have, or that are None, are not computed.
        grad_req
            'write', 'add' or 'null', or a list or dict of these by argument.
        group2ctx
            contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
        shared_exec
            accepted; executors of equal graphs share their programs anyway.
        compute_dtype, remat
            precision and rematerialization, as for :meth:`simple_bind`.

        Raises ValueError for a missing array or one that does not fit (ShapeError, which names the
        node), TypeError for something that is no NDArray. Nothing is compiled until it runs.

        >>> import executorkit as mx
        >>> x, grad = mx.nd.array([1, 2, 3]), mx.nd.zeros((3,))
        >>> executor = (mx.sym.Variable("x") ** 2).bind(mx.cpu(), [x], [grad])
        >>> executor.forward(is_train=True)[0].asnumpy().tolist()
        [1.0, 4.0, 9.0]
        >>> executor.backward(mx.nd.ones((3,)))
        >>> grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]
        """
        from ..executor import bind

        return bind(
            self, ctx, args, args_grad, grad_req, aux_states, group2ctx,
            shared_exec, compute_dtype, remat,
        )  # fmt: skip

    def simple_bind(
        self,
        ctx: Context,
        grad_req: Any = "write",
        type_dict: Any = None,
        stype_dict: Any = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        compute_dtype: Any = None,
        remat: Any = None,
        **kwargs: Any,
    ) -> Executor:
        """An executor of this graph over arrays that it makes, from the shapes of some inputs.

        ctx
            the device that it runs on.
        grad_req
            'write', 'add' or 'null', or a list or dict of these by argument. Gradients are made for
            every argument that it is not 'null' for, data too.
        type_dict
            types of arguments by name; float32 by default if none follows.
        stype_dict
            storage types by name: only 'default' is served.
        group2ctx
            contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
        shared_arg_names, shared_exec, shared_buffer
            arguments whose arrays are taken from another executor, that executor, and a dict of
            arrays by name to take others from, if they fit, and to add new ones to.
        compute_dtype
            'bfloat16' or 'float16': float32 arrays are cast to it inside the program; the bound
            ones stay as they are, so that weights are master weights. Default: as bound.
        remat
            rematerialization, the values that backward computes again instead of storing them:
            'mirror' (all but convolutions and products of matrices), 'full' (all but those that
            cross between segments of the graph, about as many as each has operators), or a policy
            of ``jax.checkpoint_policies``. ``executor.program.memory()`` tells the savings: the
            temporaries of a training step of ResNet-50 on 8 images of 64x64 are 166 MiB without,
            137 MiB and 77 MiB.
        kwargs
            shapes of arguments by name.

        Without ``compute_dtype`` and ``remat``, which MXNet does not have, it is as
        ``mx.program.options`` says; see :class:`executorkit.program.Options`.

        Arrays are filled with zeros. Raises RuntimeError if shapes do not follow, naming the
        missing ones, :class:`ShapeError` for a contradiction, naming the node, and ValueError if
        two arguments have one name.

        >>> import executorkit as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        >>> executor = net.simple_bind(mx.cpu(), data=(2, 4))
        >>> {name: array.shape for name, array in executor.arg_dict.items()}
        {'data': (2, 4), 'fc_weight': (3, 4), 'fc_bias': (3,)}
        """
        from ..executor import simple_bind

        return simple_bind(
            self, ctx, grad_req, type_dict, stype_dict, group2ctx,
            shared_arg_names, shared_exec, shared_buffer, kwargs, compute_dtype, remat,
        )  # fmt: skip

    def eval(self, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
        """The outputs for the given arrays, which are bound to it and run once.

        >>> import executorkit as mx
        >>> (mx.sym.Variable("a") + 1).eval(a=mx.nd.array([1, 2]))[0].asnumpy().tolist()
        [2.0, 3.0]
        """
        return self.bind(current_context() if ctx is None else ctx, kwargs).forward()

    def to_jax(self, **shapes: Sequence[int]) -> JaxFunction:
        """The graph as a pure JAX function; see :class:`executorkit.lowering.JaxFunction`.

        Shapes of inputs, by name, are for the function's docstring, which lists all others that
        follow from them.

        >>> import jax
        >>> import executorkit as mx
        >>> function = (mx.sym.Variable("x") ** 2).to_jax()
        >>> gradient = jax.grad(lambda x: function({"x": x})[0][0])
        >>> float(gradient(3.0))
        6.0
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
        >>> print(net.to_jax(data=(32, 784)).__doc__)
        fc as a pure function of JAX arrays.
        <BLANKLINE>
        ``function(args, key=None, is_train=False) -> (outputs, new_aux)``
        <BLANKLINE>
        args, a dict
            data       (32, 784)
            fc_weight  (10, 784)
            fc_bias    (10,)
        <BLANKLINE>
        outputs, a tuple
            fc_output  (32, 10)
        """
        from ..lowering import to_jax

        return to_jax(self, shapes)

    def gradient(self, wrt: Sequence[str]) -> NoReturn:
        """MXNet declares this and does not implement it; neither is it here."""
        hint = "bind the symbol and call backward, or use jax.grad on to_jax()"
        raise MXNetError(f"{self!r}", "gradient is not implemented", hint=hint)


def _refused_method(name: str) -> Callable[[Symbol], NoReturn]:
    def method(self: Symbol) -> NoReturn:
        raise NotImplementedForSymbol(name)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    method.__doc__ = "Only arrays have this; raises NotImplementedForSymbol."
    return method


def _from_json(text: str | bytes) -> Symbol:
    return Symbol(read_json(text))


def call_operator(
    op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Symbol:
    """The call ``mx.sym.<func_name>(*args, **kwargs)`` of an operator."""
    return Symbol(compose_call(op, func_name, args, kwargs))


for _name in (*OPERATOR_METHODS, "broadcast_to", "reshape"):
    setattr(Symbol, _name, operator_method(_name, "symbol", "Symbol", call_operator))
for _name in _ARRAY_METHODS:
    setattr(Symbol, _name, _refused_method(_name))


def _unknown_as_zero(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Shapes in NumPy's meaning, with 0 for an unknown length as everywhere else."""
    for name, shape in shapes.items():
        if 0 in shape:
            raise NotSupportedError(
                "infer_shape",
                f"{name!r} is {shape}, with an axis of length 0",
                because="graphs do not have such axes",
                hint="-1 for an unknown length",
            )
    return {name: tuple(max(d, 0) for d in shape) for name, shape in shapes.items()}


def _numpy_shape(shape: Shape | None) -> Shape | None:
    """A partly known shape in NumPy's meaning."""
    return None if shape is None else tuple(d or -1 for d in shape)
