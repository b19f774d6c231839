"""``HybridBlock``: a block that computes with arrays or with symbols, and can run as one graph."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax

from .. import ndarray, symbol
from .._support.annotations import Attrs, Function
from ..calls.recording import modes
from ..errors import ArgumentValueError, DeferredInitializationError, MXNetError
from ..ndarray import NDArray, save as save_arrays
from ..symbol import Symbol, Variable, load_json
from ._block import Block
from ._parameter_dict import ParameterDict
from ._plain_calls import record_plain
from ._traced_graph import CompiledGraph, TracedGraph, flatten, input_shapes, regroup, trace
from ._types import DType, Ops, Tensor


class HybridBlock(Block):
    """A block whose ``hybrid_forward(F, x, ..., **parameters)`` computes with ``F``, ``mx.nd`` or
    ``mx.sym``. All of its children are HybridBlocks.

    Unknown lengths (0) of its parameters' shapes are inferred at the first call. After
    ``hybridize()`` calls run as one graph, traced at the first call. Under ``autograd.record()`` a
    network that is not hybridized becomes the same program; hybridizing saves time in Python.

    >>> import executorkit as mx
    >>> class Scaled(mx.gluon.HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.scale = self.params.get("scale", shape=(1,), init="ones")
    ...     def hybrid_forward(self, F, x, scale):
    ...         return F.broadcast_mul(x, scale) + 1
    >>> net = Scaled()
    >>> net.initialize()
    >>> x = mx.nd.array([1, 2])
    >>> net(x).asnumpy().tolist()
    [2.0, 3.0]
    >>> net.hybridize()
    >>> net(x).asnumpy().tolist()
    [2.0, 3.0]
    >>> net(mx.sym.Variable("data")).list_arguments()
    ['data', 'scaled0_scale']
    """

    #: False if calls are not the same while attributes, children and parameters are.
    _is_plain = True
    _plain_call: Any = None
    #: The number of assignments of attributes.
    _version = 0

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._active = False
        self._kwargs: Attrs = {}
        self._flags: list[tuple[str, Any]] = []
        self._traced: TracedGraph | None = None
        #: The shapes of the inputs of a first call, by the names that the graph has for them.
        self._input_shapes: dict[str, tuple[int, ...]] = {}
        self._compiled: CompiledGraph | None = None
        self._callback: Any = None
        self._monitor_all = False

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self)["_version"] = self._version + 1
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def __getstate__(self) -> Attrs:
        return {**vars(self), "_compiled": None, "_plain_call": None}

    def register_child(self, block: Any, name: str | None = None) -> None:
        if not isinstance(block, HybridBlock):
            problem = f"{block!r} is a {type(block).__name__}, not a HybridBlock"
            hint = "nn.Sequential in place of nn.HybridSequential, Block in place of HybridBlock"
            raise ArgumentValueError("HybridBlock: child", problem, hint=hint)
        super().register_child(block, name)
        self._clear_cached_op()

    def cast(self, dtype: DType) -> None:
        self._clear_cached_op()
        super().cast(dtype)

    # -- graphs ------------------------------------------------------------------------------------

    def hybridize(
        self, active: bool = True, backend: Any = None, clear: bool = True,
        static_alloc: bool = False, static_shape: bool = False, inline_limit: int = 2,
        forward_bulk_size: int | None = None, backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        """Makes the block and its children run as graphs.

        active
            False: they run call by call again.
        clear
            Whether graphs are traced again at the next call.

        The other arguments have no effect: XLA decides on memory and fusion.
        """
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(
                f'"{self}" is being hybridized while still having forward hook/pre-hook. '
                f'If "{self}" is a child of HybridBlock, the hooks will not take effect.',
                stacklevel=2,
            )
        self._active = active
        flags = {
            "static_alloc": static_alloc, "static_shape": static_shape,
            "inline_limit": inline_limit, "forward_bulk_size": forward_bulk_size,
            "backward_bulk_size": backward_bulk_size,
        }  # fmt: skip
        self._flags = [(name, flag) for name, flag in flags.items() if flag is not None]
        if clear:
            self._clear_cached_op()
        super().hybridize(active, **flags, **kwargs)

    def optimize_for(
        self, x: Tensor, *args: Any, backend: str | None = None, clear: bool = False,
        static_alloc: bool = False, static_shape: bool = False, inline_limit: int = 2,
        forward_bulk_size: int | None = None, backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        """Hybridizes the block, and calls it once with ``x`` and ``args``. ``clear`` and the other
        arguments are as in :meth:`hybridize`. ``backend`` must be given (ArgumentValueError), and
        has no effect: XLA compiles every graph."""
        if backend is None:
            problem = 'Must specify "backend" to optimize_for'
            raise ArgumentValueError("optimize_for", problem, hint="hybridize()")
        self.hybridize(
            True, backend, clear, static_alloc=static_alloc, static_shape=static_shape,
            inline_limit=inline_limit, forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size, **kwargs,
        )  # fmt: skip
        self(x, *args)

    def _facts(self) -> Attrs:
        facts = super()._facts()
        graph = self._traced
        if graph is not None:
            facts["in_format"] = graph.in_structure
            facts["out_format"] = graph.out_structure
            facts["inputs"] = [x.tojson() for x in graph.inputs]
            facts["symbol"] = graph.output.tojson()
        facts["hybridized"] = graph is not None
        return facts

    def _restore(self, name: str, parameters: ParameterDict, facts: Mapping[str, Any]) -> None:
        super()._restore(name, parameters, facts)
        self._active = facts.get("hybridized", False)
        if "symbol" in facts:
            self._clear_cached_op()
            inputs = [load_json(text) for text in facts["inputs"]]
            structure = facts["in_format"], facts["out_format"]
            self._traced = TracedGraph(inputs, load_json(facts["symbol"]), *structure)

    def _clear_cached_op(self) -> None:
        self._traced = None
        self._compiled = None

    def _check_runs_layers(self) -> None:
        if self._active:
            problem = f"{self.name!r} is hybridized, and its layers do not run one by one"
            raise ArgumentValueError("summary", problem, hint="hybridize(False)")

    def _get_graph(self, *args: Any) -> tuple[list[Symbol], Symbol]:
        graph = self._graph(args)
        return graph.inputs, graph.output

    def called_graph(self) -> tuple[list[Symbol], Symbol]:
        """Returns the variables of the inputs of the graph that calls compute, and its outputs.
        Raises RuntimeError before the first call of the hybridized block."""
        if self._traced is None or not self._active:
            problem = "it has no graph yet: call hybridize(), and then the block once"
            raise MXNetError(type(self).__name__, problem)
        return self._traced.inputs, self._traced.output

    @property
    def _cached_graph(self) -> tuple[Any, ...]:
        return () if self._traced is None else (self._traced.inputs, self._traced.output)

    @property
    def _in_format(self) -> Any:
        return None if self._traced is None else self._traced.in_structure

    @_in_format.setter
    def _in_format(self, structure: Any) -> None:
        self._restructure(in_structure=structure)

    @property
    def _out_format(self) -> Any:
        return None if self._traced is None else self._traced.out_structure

    @_out_format.setter
    def _out_format(self, structure: Any) -> None:
        self._restructure(out_structure=structure)

    def _restructure(self, **structure: Any) -> None:
        if self._traced is not None:
            self._traced = self._traced._replace(**structure)
            self._compiled = None

    def _graph(self, args: Sequence[Any]) -> TracedGraph:
        if self._traced is None:
            self._traced = trace(self, args)
            self._input_shapes = input_shapes(args)
        return self._traced

    def to_jax(self, *args: Any) -> tuple[Function, dict[str, jax.Array]]:
        """Returns the block as a pure JAX function, and its parameters as JAX arrays by name.

        args
            Inputs, for a block with several inputs that was not traced yet.

        The function is ``function(parameters, *inputs, key=None, is_train=False) -> (outputs,
        states)``: outputs in the structure in which the block returns them, and new auxiliary
        states (moving statistics) by name. ``key`` is for random operators.

        >>> import executorkit as mx, jax
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize(mx.init.One())
        >>> function, parameters = net.to_jax()
        >>> loss = lambda parameters, x: function(parameters, x)[0].sum()
        >>> gradients = jax.grad(loss)(parameters, mx.nd.ones((1, 3)).jax)
        >>> gradients[net.weight.name].tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        """
        graph = self._traced or trace(self, args or (Variable("data"),))
        run, states = graph.output.to_jax(), set(graph.output.list_auxiliary_states())
        known, used = self.collect_params(), graph.output.list_inputs()

        def function(
            parameters: Any, *inputs: Tensor, key: Any = None, is_train: bool = False
        ) -> Any:
            leaves = jax.tree.leaves(inputs)
            if len(leaves) != len(graph.inputs):
                problem = f"it is given {len(leaves)} inputs, expected {len(graph.inputs)}"
                raise ArgumentValueError(f"{type(self).__name__}.to_jax", problem)
            arrays = dict(parameters)
            arrays.update((x.name, leaf) for x, leaf in zip(graph.inputs, leaves, strict=True))
            outputs, new_states = run(
                {name: x for name, x in arrays.items() if name in used and name not in states},
                {name: arrays[name] for name in states}, key, is_train,
            )  # fmt: skip
            return regroup(outputs, graph.out_structure)[0], new_states

        return function, {name: known[name].data().jax for name in used if name in known}

    def infer_shape(self, *args: Any) -> None:
        """Infers the parameters' shapes from the inputs."""
        self._infer("shape", args)

    def infer_type(self, *args: Any) -> None:
        """Infers the parameters' dtypes from the inputs."""
        self._infer("dtype", args)

    def _infer(self, attribute: str, args: Sequence[Any]) -> None:
        graph = self._graph(args)
        output = graph.output
        used = set(output.list_inputs())
        arrays = [x for x in flatten(args, "input")[0] if x is not None]
        known = {
            x.name: getattr(array, attribute)
            for x, array in zip(graph.inputs, arrays, strict=True)
            if x.name in used
        }
        infer = output.infer_shape if attribute == "shape" else output.infer_type
        of_arguments, _, of_states = infer(**known)
        names = [*output.list_arguments(), *output.list_auxiliary_states()]
        inferred = dict(zip(names, [*(of_arguments or ()), *(of_states or ())], strict=True))
        for parameter in self.collect_params().values():
            if parameter.name in inferred:
                setattr(parameter, attribute, inferred[parameter.name])

    def _deferred_infer_shape(self, args: Sequence[Any]) -> None:
        try:
            self.infer_shape(*args)
        except Exception as error:
            problem = "Deferred initialization failed because shape cannot be inferred."
            raise ArgumentValueError(type(self).__name__, f"{problem} {error}") from error

    # -- computing ---------------------------------------------------------------------------------

    def forward(self, x: Tensor, *args: Tensor) -> Tensor:
        """Returns the outputs for arrays, or for symbols. ValueError for both, or neither."""
        first = x if isinstance(x, NDArray) and not args else _first_input(x, args)
        if isinstance(first, Symbol):
            parameters = {name: p.var() for name, p in self._reg_params.items()}
            with self.name_scope():
                return self.hybrid_forward(symbol, x, *args, **parameters)
        if self._active:
            return self._call_cached_op(x, *args)
        compute = partial(self._compute, first.context)
        if not self._input_shapes:
            self._input_shapes = input_shapes((x, *args))
        elif modes.recording and self._is_plain:
            return record_plain(self, (x, *args), compute)
        return compute(x, *args)

    def _compute(self, context: Any, *args: Tensor) -> Tensor:
        try:
            arrays = {name: p.data(context) for name, p in self._reg_params.items()}
        except DeferredInitializationError:
            self._deferred_infer_shape(args)
            for parameter in self.params.values():
                parameter._finish_deferred_init()
            arrays = {name: p.data(context) for name, p in self._reg_params.items()}
        return self.hybrid_forward(ndarray, *args, **arrays)

    def hybrid_forward(self, F: Ops, x: Tensor, *args: Tensor, **kwargs: Any) -> Tensor:
        """Computes the outputs with ``F``, ``mx.nd`` or ``mx.sym``. Subclasses override it; they
        get parameters by the names of their attributes."""
        raise NotImplementedError

    def _call_cached_op(self, *args: Any) -> Any:
        compiled = self._compiled
        if compiled is None:
            parameters = dict(self.collect_params().items())
            compiled = CompiledGraph(self._graph(args), parameters, self._flags)
            if self._callback is not None:
                compiled.op.register_op_hook(self._callback, self._monitor_all)
            self._compiled = compiled
        try:
            return compiled(args)
        except DeferredInitializationError:
            self._deferred_infer_shape(args)
            for parameter in compiled.parameters:
                parameter._finish_deferred_init()
            return compiled(args)

    def register_op_hook(self, callback: Any, monitor_all: bool = False) -> None:
        self._callback = callback
        self._monitor_all = monitor_all
        if self._compiled is not None:
            self._compiled.op.register_op_hook(callback, monitor_all)
        super().register_op_hook(callback, monitor_all)

    # -- files -------------------------------------------------------------------------------------

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Writes ``path-symbol.json`` and ``path-0000.params`` (with the number ``epoch``), which
        ``mx.model.load_checkpoint``, ``Module`` and :class:`SymbolBlock` read. Raises RuntimeError
        before the first call of the hybridized block."""
        _, output = self.called_graph()
        states = set(output.list_auxiliary_states())
        parameters = self.collect_params()
        arrays = {}
        for name in output.list_inputs():
            if name in parameters:
                kind = "aux" if name in states else "arg"
                arrays[f"{kind}:{name}"] = parameters[name]._reduce()
        save_arrays(f"{path}-{epoch:04d}.params", arrays)
        output.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)


def traced_output(block: Any) -> Symbol | None:
    """Returns the graph that a hybridized block was called as; None for others."""
    traced = block._traced if isinstance(block, HybridBlock) else None
    return None if traced is None else traced.output


def _first_input(x: Tensor, args: Sequence[Any]) -> Any:
    arrays, symbols = [], []
    values: list[Any] = [*reversed(args), x]
    while values:
        value = values.pop()
        if isinstance(value, NDArray):
            arrays.append(value)
        elif isinstance(value, Symbol):
            symbols.append(value)
        elif isinstance(value, (list, tuple)):
            values += reversed(value)
    if arrays and symbols:
        problem = "its inputs are NDArrays and Symbols, expected one kind"
        raise ArgumentValueError("HybridBlock", problem)
    if not arrays and not symbols:
        problem = "there is neither an NDArray nor a Symbol among its inputs"
        raise ArgumentValueError("HybridBlock", problem)
    return (arrays or symbols)[0]
