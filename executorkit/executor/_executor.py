"""An executor's arrays by name, and what is written to them by name.

Looking into an executor: internal outputs, plans, the graph as it runs.

What an executor is bound to: its arrays, and the program of its graph.

The Executor: arrays bound to a program.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from ..context import Context
from ..display import View, Viewed
from ..errors import (
    BindError,
    MXNetError,
    ShapeError,
    UnknownArgumentError,
    did_you_mean,
    explain,
    similar_names,
)
from ..lowering import Graph, graph_of, optimized, placements
from ..ndarray import NDArray
from ..ndarray.pending import register_pending_owner, resolve_pending
from ..ndarray.random_state import next_key
from ..ndarray.values import FittedValue
from ..program import (
    Options,
    PartitionedProgram,
    Precompilation,
    Program,
    current_options,
    program_for,
)
from ..program._compiler_options import can_split_temp_buffers
from ..program._jit import InstrumentedJit
from ..program._program_options import use_options
from ..program._train_step import StepSpec, step_function
from ..program.disk_cache.store import disk_cache_enabled
from ..symbol import Symbol
from ._buffers import Buffers, full, lazy_zeros, zeros
from ._pending_step import PendingStep
from ._precompile_spec import prefetch
from ._validation import (
    check_arrays,
    check_head_gradients,
    convert_for,
    head_gradients,
    is_assignable,
    parse_is_train,
    transfer_batch,
    type_phrase,
)

if TYPE_CHECKING:
    from ..debugging.finite_report import FiniteReport


def is_input_name(name: str) -> bool:
    """Whether an argument of this name is data or a label: ``data``, ``left_data``, ``label``,
    ``softmax_label``. Such names are what MXNet's training interfaces look for."""
    return name.endswith(("data", "label"))


class NamedArrays:
    """The lists of an executor's arrays as dicts."""

    _graph: Graph
    _arg_dict: dict[str, NDArray] | None
    _aux_dict: dict[str, NDArray] | None
    arg_arrays: list[NDArray]
    grad_arrays: list[NDArray | None] | None
    aux_arrays: list[NDArray]
    outputs: list[NDArray]

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name. ValueError if names repeat."""
        if self._arg_dict is None:
            self._arg_dict = _dict_by_name(self._graph.arg_names, self.arg_arrays, "arguments")
        return self._arg_dict

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradient arrays by argument name, None where there is none."""
        arrays = self.grad_arrays or [None] * len(self.arg_arrays)
        return _dict_by_name(self._graph.arg_names, arrays, "arguments")

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name. ValueError if names repeat."""
        if self._aux_dict is None:
            self._aux_dict = _dict_by_name(
                self._graph.aux_names, self.aux_arrays, "auxiliary states"
            )
        return self._aux_dict

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name. ValueError if names repeat."""
        return _dict_by_name(self._graph.output_names, self.outputs, "outputs")

    def params(self) -> dict[str, jax.Array]:
        """The parameters as a dict of ``jax.Array``, for optax: the arguments with a gradient, but
        for data and labels (by name, see :func:`is_input_name`).

        The arrays do not change when the executor goes on.
        """
        return {n: self.arg_dict[n].jax for n in self._parameter_names()}

    def grads(self) -> dict[str, jax.Array]:
        """The gradients of :meth:`params`, by the same names."""
        grads = self.grad_dict
        return {n: grads[n].jax for n in self._parameter_names()}  # type: ignore[union-attr]

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Replaces parameters by those of a dict, as ``optax.apply_updates`` returns it.

        Raises ValueError for an unknown name or a wrong shape; nothing is changed then.
        """
        self.copy_params_from(params)

    def _parameter_names(self) -> list[str]:
        grads = self.grad_dict
        return [n for n in self._graph.arg_names if grads[n] is not None and not is_input_name(n)]

    def copy_params_from(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copies parameters by name into the bound arrays, converted to their dtypes.

        Raises ValueError for a name that the symbol does not have, unless ``allow_extra_params``,
        and for a wrong shape; nothing is copied then.
        """
        writes = []
        for given in (arg_params, {} if aux_params is None else aux_params):
            if not isinstance(given, Mapping):
                problem = f"{type_phrase(given)}, expected a dict of NDArray"
                raise TypeError(explain("copy_params_from", problem))
        for params, arrays, what in (
            (arg_params, self.arg_dict, "argument"),
            (aux_params or {}, self.aux_dict, "auxiliary state"),
        ):
            for name, value in params.items():
                target = arrays.get(name)
                if target is not None:
                    where = f"copy_params_from: {what} {name!r}"
                    writes.append((target, convert_for(value, target, where)))
                elif not allow_extra_params:
                    some = ", ".join(map(repr, itertools.islice(params, 8)))
                    close = f"{similar_names(name, arrays)}, or ".removeprefix(", or ")
                    raise BindError(
                        explain(
                            "copy_params_from",
                            f"{name!r} is not an {what} of this symbol",
                            given_by=f"a dict with {some}" + (", ..." if len(params) > 8 else ""),
                            hint=f"{close}allow_extra_params=True to skip such names",
                        )
                    )
        for target, fitted in writes:
            target.assign(*fitted)

    def feed(self, given: Mapping[str, Any]) -> None:
        """Writes new contents of arguments, all of them or, where one does not fit, none."""
        arrays = self._arg_dict or self.arg_dict
        writes = []
        for name, value in given.items():
            target = arrays.get(name)
            if target is None:
                raise UnknownArgumentError(
                    explain(
                        "forward", f"unknown argument {name!r}", hint=did_you_mean(name, arrays)
                    )
                )
            if value.__class__ is NDArray and is_assignable(value, target):
                writes.append((target, value.jax, True))
            else:
                writes.append((target, *_convert_input(value, target, name)))
        for target, contents, shared in writes:
            target.assign(contents, shared)


def _convert_input(value: Any, target: NDArray, name: str) -> FittedValue:
    """What ``forward`` was given for an argument, as that can be assigned it."""
    if not isinstance(value, NDArray | np.ndarray | jax.Array):
        raise BindError(
            explain(
                f"forward: {name!r}",
                f"{type_phrase(value)}, expected an NDArray, a NumPy or a JAX array",
            )
        )
    try:
        return transfer_batch(value, target, f"forward: {name!r}")
    except ShapeError as error:
        if value.shape[1:] != target.shape[1:]:
            raise
        grows = "allow_up_sizing=True, " if len(value) > len(target) else ""
        hint = f"executor.reshape({grows}{name}={tuple(value.shape)}, ...)"
        raise ShapeError(f"{error}\n  try: {hint}") from None


def _dict_by_name(names: Sequence[str], arrays: Sequence[Any], what: str) -> dict[str, Any]:
    found = dict(zip(names, arrays, strict=True))
    if len(found) != len(names):
        repeated = sorted({n for n in names if list(names).count(n) > 1})
        raise BindError(
            explain(
                "executor",
                f"{what} share a name: {', '.join(map(repr, repeated))}",
                hint="use the list of arrays, or give the variables different names",
            )
        )
    return found


class Inspection(Viewed):
    """What an executor tells about itself. Nothing here changes an array."""

    _graph: Graph
    _ctx: Context
    _options: Options
    _run: PendingStep | None

    def internals(self, names: str | Sequence[str]) -> Any:
        """Values of internal outputs (``"relu1_output"``) for the last forward's inputs.

        One name gives an NDArray, a list of names a list; names are those of
        ``symbol.get_internals().list_outputs()``. Compiles one extra program per set of names.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        entries = {}
        for node in self._graph.nodes:
            for k, name in enumerate(node.output_names):
                entries[name] = (node, k)
        unknown = [n for n in wanted if n not in entries]
        if unknown:
            raise MXNetError(
                explain(
                    "internals",
                    f"no output named {', '.join(map(repr, unknown))}",
                    hint="symbol.get_internals().list_outputs() lists the names",
                )
            )
        first = {s.node: s.first_output for s in self._graph.steps}
        first.update(zip(self._graph.args, self._graph.arg_values, strict=True))
        first.update(zip(self._graph.aux, self._graph.aux_values, strict=True))
        heads = tuple(entries[n] for n in wanted)
        graph = dataclasses.replace(
            self._graph,
            heads=tuple(first[node] + k for node, k in heads),
            head_entries=heads,
        )
        run = self._run or PendingStep(cast("Executor", self), False)
        with use_options(self._options):
            program = program_for(graph)
        values, _ = program.infer[run.train](run.args, run.aux, run.key)
        arrays = [NDArray.from_jax(v, self._ctx) for v in values]
        return arrays[0] if isinstance(names, str) else arrays

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity of what was finite.

            executor.forward(is_train=True)
            executor.backward()
            print(executor.check_finite())

        Runs the last forward again, node by node, with the same inputs, random numbers and mode,
        then, if all is finite, backward with the head gradients that were used last. Without a
        forward it is the bound arrays that are checked, in training mode if gradients are bound.
        No array of the executor changes; operators written in Python are called again. Nodes of
        equal attributes and shapes are compiled once, at the first check.

        out_grads
            other head gradients, as ``backward`` takes them.
        raise_error
            raises NotFiniteError (a FloatingPointError) if something is not finite.

        The report is true if everything is finite, tells the first place where something else came
        up, with the ranges of the node's inputs, and lists all such places in ``findings``.
        """
        from ..debugging.check_finite import check

        report = check(cast("Executor", self), out_grads)
        return report.raise_if_found() if raise_error else report

    def _as_view(self) -> View:
        from ._executor_view import executor_view

        return executor_view(cast("Executor", self))

    def debug_str(self) -> str:
        """The execution plan in MXNet's form, then what XLA says of memory and operations."""
        from ._executor_view import debug_str

        return debug_str(cast("Executor", self))

    def get_optimized_symbol(self) -> Symbol:
        """The symbol after the graph passes, as it is lowered."""
        return Symbol(optimized(self._graph.head_entries))


class Bound(NamedArrays):
    """A symbol with the arrays of its arguments, gradients, auxiliary states and outputs."""

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        arg_arrays: Sequence[NDArray],
        grad_arrays: Sequence[NDArray | None] | None,
        grad_req: Sequence[str],
        aux_arrays: Sequence[NDArray],
        group2ctx: Mapping[str, Context] | None = None,
        outputs: Sequence[NDArray] | None = None,
        options: Options | None = None,
    ) -> None:
        self._symbol = symbol
        self._options = options or current_options()
        self._ctx = ctx
        self._grad_req = list(grad_req)
        self._group2ctx = dict(group2ctx or {})
        self._graph = graph_of(symbol.heads)
        self.arg_arrays = list(arg_arrays)
        self.grad_arrays = None if grad_arrays is None else list(grad_arrays)
        self.aux_arrays = list(aux_arrays)
        wanted = tuple(
            i
            for i, req in enumerate(self._grad_req)
            if req != "null" and grad_arrays is not None and grad_arrays[i] is not None
        )
        self._grad_targets: list[NDArray] = [self.grad_arrays[i] for i in wanted]  # type: ignore[index,misc]
        self._arg_dict: dict[str, NDArray] | None = None
        self._aux_dict: dict[str, NDArray] | None = None
        self._pinned: dict[int, jax.Array] = {}
        self._run: PendingStep | None = None
        self._callback: Callable[..., Any] | None = None
        self._monitor_all = False
        found = check_arrays(self._graph, self.arg_arrays, self.aux_arrays, self.grad_arrays)
        self._wanted = wanted
        self._add = tuple(self._grad_req[i] == "add" for i in wanted)
        self._again = _duplicate_positions(self._grad_targets)
        self._target_numbers = {id(g): k for k, g in enumerate(self._grad_targets)}
        self._keep_gradients = True
        self._in_pieces = can_split_temp_buffers(self._graph, found)
        self._program = self._make_program()
        self._eager = self._graph.has_effects
        self._draws = (self._graph.uses_rng(False), self._graph.uses_rng(True))
        self._output_names = self._graph.output_names
        self._no_heads = (None,) * len(self._output_names)
        if outputs is None:
            made = zip(found.out_shapes, found.out_dtypes, self._output_contexts(), strict=True)
            outputs = [lazy_zeros(shape or (), dtype, place) for shape, dtype, place in made]
        self.outputs = list(outputs)
        self._places = Buffers.of(
            self.arg_arrays, self.aux_arrays, self._grad_targets, self.outputs
        )
        register_pending_owner(self)
        if disk_cache_enabled():
            prefetch(self)

    def _make_program(self) -> Program | PartitionedProgram:
        lowered = graph_of(optimized(self._graph.head_entries))
        wanted, add = self._wanted, self._add
        with use_options(self._options):
            if self._group2ctx:
                return PartitionedProgram(lowered, wanted, add, self._ctx, self._group2ctx)
            if not lowered.has_effects:
                return program_for(lowered, wanted, add, self._in_pieces)
        # A Python operator may keep something between forward and backward: its object belongs to
        # a program, so executors must not share one.
        return Program(lowered, wanted, add, self._options, self._in_pieces)

    def _output_contexts(self) -> list[Context]:
        if not self._group2ctx:
            return [self._ctx] * len(self._graph.heads)
        placed = placements(self._graph, self._ctx, self._group2ctx)
        return [placed[node] for node, _ in self._graph.head_entries]

    @property
    def _fusable(self) -> bool:
        """Whether an update can be a part of this executor's program."""
        return isinstance(self._program, Program) and not (self._eager or self._again)

    def _step_function(self, train: bool, plan: StepSpec) -> InstrumentedJit:
        assert isinstance(self._program, Program)
        return step_function(self._program, train, plan)

    def _next_key(self) -> jax.Array:
        """A key from the stream of the executor's own context, as its device needs it."""
        return next_key(self._ctx)

    def _key_aval(self) -> Any:
        return jax.eval_shape(lambda: jax.random.key(0))

    def force(self) -> None:
        """Computes whatever is promised to one of these arrays and not computed yet."""
        promised = (self._grad_targets, self.outputs, self.aux_arrays, self.arg_arrays)
        resolve_pending(itertools.chain(*promised))

    def _pin(self, constant_inputs: Sequence[tuple[int, float]]) -> None:
        """Overwrites what MXNet overwrites when it runs (gamma, with fix_gamma)."""
        for number, constant in constant_inputs:
            target = self.arg_arrays[number]
            pinned = self._pinned.get(number)
            if pinned is None or target.value is not pinned:
                dtype = target.storage.dtype
                self._pinned[number] = full(target.shape, dtype, target.context, constant)
                target.assign(self._pinned[number], shared=True)

    def zero_grad(self) -> None:
        """Sets every gradient array to zero (for ``grad_req='add'``)."""
        for target in self._grad_targets:
            target.assign(zeros(target.shape, target.dtype_name, target.context))

    @property
    def program(self) -> Program | PartitionedProgram:
        """The compiled programs, shared with every executor of an equal graph."""
        return self._program

    @property
    def symbol(self) -> Symbol:
        """The symbol that was bound."""
        return self._symbol


def _duplicate_positions(arrays: Sequence[NDArray]) -> frozenset[int]:
    """Positions of arrays that stand earlier in the list already."""
    seen: set[int] = set()
    return frozenset(i for i, a in enumerate(arrays) if id(a) in seen or seen.add(id(a)))


class Executor(Bound, Inspection):
    """A symbol bound to arrays: runs it forwards and backwards as compiled XLA programs.

    Made by ``Symbol.bind`` and ``Symbol.simple_bind``. Execution is deferred: ``forward`` takes a
    snapshot of its inputs and promises its outputs; ``backward`` before anyone has looked at them
    runs one program that does both. An argument that is overwritten between ``forward`` and
    ``backward`` does not change the gradients (in MXNet it does).

    arg_arrays, aux_arrays
        the NDArrays of ``list_arguments()`` and ``list_auxiliary_states()``; the user's own.
    grad_arrays
        NDArrays that ``backward`` writes to, None where no gradient is wanted; None altogether if
        ``bind`` was given no ``args_grad``.
    outputs
        NDArrays of ``list_outputs()``. They keep their identity: one held over the next ``forward``
        shows the new value.

    A notebook shows all of them with their statistics, computed where they are. What is promised
    and not computed yet is not computed for that.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> executor = net.simple_bind(mx.cpu(), data=(2, 4))
    >>> executor.arg_dict["fc_weight"][:] = 0.5
    >>> (output,) = executor.forward(is_train=True, data=mx.nd.ones((2, 4)))
    >>> output.asnumpy().tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    >>> executor.backward(mx.nd.ones((2, 3)))
    >>> executor.grad_dict["fc_bias"].asnumpy().tolist()
    [2.0, 2.0, 2.0]
    """

    # -- running -------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Runs the symbol on the bound arrays; returns ``outputs``.

        is_train
            whether training behaviour is asked for (Dropout, batch statistics) and ``backward``
            is expected to follow.
        kwargs
            new contents of arguments: NDArrays or NumPy arrays of the bound shapes, converted to
            the bound dtypes.

        Raises TypeError for an unknown name, ValueError for a wrong shape or type; no array is
        changed then.
        """
        if kwargs:
            self.feed(kwargs)
        constant_inputs = self._program.constant_inputs
        if constant_inputs:
            self._pin(constant_inputs)
        self._run = run = PendingStep(
            self, is_train if is_train.__class__ is bool else parse_is_train(is_train)
        )
        if self._callback is not None:
            from ._monitor_callback import observe_forward

            observe_forward(self, run, self._callback, self._monitor_all)
        elif self._eager:
            run.force()
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the arguments and writes or adds them to ``grad_arrays``.

        out_grads
            head gradients: an NDArray, a list, or a dict by output name; not needed for outputs
            of loss operators.
        is_train
            accepted for MXNet's sake; the mode is that of the ``forward`` it belongs to.

        Auxiliary states such as BatchNorm's moving averages change here, once per call. May be
        called again for the same ``forward``. Raises MXNetError if a head gradient is missing or
        misshapen, or if there was no ``forward``.
        """
        run = self._run
        if run is None:
            raise MXNetError(
                explain(
                    "backward",
                    "there was no forward to go back through",
                    hint="call forward(is_train=True) first",
                )
            )
        names, program = self._output_names, self._program
        heads = self._no_heads
        if out_grads is not None:
            heads = head_gradients(out_grads, self.outputs, names)
        needed = program.may_need_head_gradient
        if True in needed and any(n and h is None for n, h in zip(needed, heads, strict=True)):
            check_head_gradients(
                heads, names, program.needs_head_gradient(run.args, run.aux, run.key)
            )
        run.backward(heads)
        if self._callback is not None:
            from ._monitor_callback import observe_backward

            observe_backward(self, run, heads, self._callback)

    def compile(self, is_train: bool = False, backward: bool | None = None) -> Executor:
        """Compiles ahead what ``forward`` (and ``backward``) will run; returns self.

        ``backward`` defaults to ``is_train`` with gradients bound. Nothing is executed.
        """
        from ._precompile_spec import PrecompileSpec, bound_avals

        for function, avals in PrecompileSpec(is_train, backward).calls(self, *bound_avals(self)):
            function.compile(*avals)
        return self

    def precompile(
        self,
        shapes: Sequence[Mapping[str, Sequence[int]]],
        is_train: bool = False,
        backward: bool | None = None,
    ) -> Precompilation:
        """Compiles ahead, in the background, what :meth:`reshape` to other shapes will run.

            warming = executor.warm([{"data": (1, 3, s, s)} for s in (224, 256, 288)])

        shapes
            for each of them what ``reshape`` is given; a shape that is bound already may be one.
        is_train, backward
            as in :meth:`compile`. Where a step of training has run already that ended in an
            update, it is that step which is compiled for the new shapes.

        Returns at once. ``wait()`` of the result waits for all of them and raises the first error,
        ``done`` and ``errors`` tell how it stands. An executor of one of these shapes compiles
        nothing more; one that is run before its turn has come waits for its own compilation only.
        Several compile at a time. Of one function 128 shapes stay compiled; one more empties that.

        Raises as ``reshape`` does for what is no argument, no shape, or does not fit the symbol,
        and MXNetError for symbols with Python operators, whose executors share no programs.
        """
        from ._precompile_spec import PrecompileSpec, precompile

        return precompile(self, shapes, PrecompileSpec(is_train, backward))

    # -- variants and views --------------------------------------------------------------------

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Sequence[int]
    ) -> Executor:
        """An executor of the same symbol for other input shapes, sharing this one's memory.

        Arrays that shrink are views of the first elements of this executor's; both see writes.
        The program is shared: a shape seen before compiles nothing.

        partial_shaping
            allows arguments that are not named in ``kwargs`` to change their shape too.
        allow_up_sizing
            allows arrays to grow; those are new, filled with zeros (in MXNet: uninitialised).
        """
        from ._bind import reshape

        return reshape(self, partial_shaping, allow_up_sizing, kwargs)

    def set_monitor_callback(
        self, callback: Callable[..., Any] | None, monitor_all: bool = False
    ) -> None:
        """Calls ``callback(name, NDArray)`` for every operator's outputs during ``forward``, and
        for the gradients of every operator's inputs (``fc_backward_output0``) during ``backward``.

        ``monitor_all`` adds the inputs, as ``fc_data``, and variables by their own name. While a
        callback is set, ``forward`` runs at once, as a program that returns every value. The
        callback gets an NDArray (in MXNet: a raw handle). None removes it.
        """
        if callback is not None and not callable(callback):
            problem = f"{type_phrase(callback)}, expected a function of a name and an NDArray"
            raise TypeError(explain("set_monitor_callback", problem))
        self._callback = callback
        self._monitor_all = monitor_all
