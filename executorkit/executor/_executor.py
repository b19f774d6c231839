"""The Executor: a symbol bound to arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import jax

from ..arrays.random_state import next_key
from ..arrays.values import filled
from ..calls.rollback import NO_ROLLBACK, Rollback, complete
from ..context import Context
from ..debugging import FiniteReport, check_snapshots
from ..display import Viewed, brief, brief_arrays, many
from ..errors import InputTypeError, MXNetError, UnknownArgumentError, did_you_mean
from ..lowering import Graph, InferenceResult, graph_of, optimized, placements, with_merged_heads
from ..ndarray import NDArray
from ..program import (
    BaseProgram,
    FedArguments,
    Options,
    PartitionedProgram,
    Precompilation,
    Program,
    current_options,
    program_for,
    reached_arguments,
    retain_freed_memory,
    use_options,
)
from ..symbol import Symbol
from ..symbol.symbol_view import input_names
from ._backward import (
    backward_in_inference,
    check_head_gradients,
    head_gradients,
    inference_program,
)
from ._buffers import lazy_zeros
from ._monitor_callback import Callback, MonitorCallback
from ._pending_step import PendingStep
from ._precompile_spec import PrecompileSpec, bound_avals, expected_calls, precompile_shapes
from ._reshape import BoundArrays
from ._snapshot import last_snapshot, node_devices, nonfinite_accumulated
from ._validation import (
    check_arrays,
    check_input,
    convert_input,
    dict_by_name,
    is_assignable,
    is_input_name,
    parameter_writes,
    parse_is_train,
    type_phrase,
)
from .runnable import BoundGraph


class Executor(BoundGraph[NDArray], Viewed):
    """A symbol bound to arrays: runs it forwards and backwards as compiled XLA programs.

    Created by ``Symbol.bind`` and ``Symbol.simple_bind``. Execution is deferred: ``forward`` takes
    a snapshot of its inputs and defers its outputs; a ``backward`` before these are read runs both
    as one program. Overwriting an argument between ``forward`` and ``backward`` does not change the
    gradients (in MXNet it does).

    arg_arrays, aux_arrays
        the user's NDArrays of ``list_arguments()`` and ``list_auxiliary_states()``.
    grad_arrays
        NDArrays that ``backward`` writes to, None for an argument without gradient; None altogether
        if ``bind`` got no ``args_grad``.
    outputs
        NDArrays of ``list_outputs()``, the same ones after each ``forward``.
    symbol, program
        the bound symbol, and its compiled programs, shared with every executor of an equal graph.

    A notebook shows all with their statistics, without pending work.

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
        self.symbol = symbol
        self.context = ctx
        self.options = options or current_options()
        self.grad_req = list(grad_req)
        self.group2ctx = dict(group2ctx or {})
        self.grad_arrays = None if grad_arrays is None else list(grad_arrays)
        graph = graph_of(symbol.heads)
        inferred = check_arrays(graph, arg_arrays, aux_arrays, grad_arrays)
        targets = {
            i: grad
            for i, (req, grad) in enumerate(zip(self.grad_req, grad_arrays or (), strict=False))
            if req != "null" and grad is not None
        }
        retain_freed_memory(graph, inferred)
        self._gradients = list(targets.values())
        super().__init__(
            graph,
            self._make_program(graph, tuple(targets)),
            arg_arrays,
            aux_arrays,
            self._new_outputs(graph, inferred) if outputs is None else outputs,
            self._gradients,
            accumulate=[self.grad_req[i] == "add" for i in targets],
        )
        self.last_step: PendingStep | None = None
        #: Number of steps that a ``training.Step`` has taken since the last forward.
        self.steps_taken = 0
        self._no_heads = (None,) * len(self.output_names)
        self._arg_dict: dict[str, NDArray] | None = None
        self._aux_dict: dict[str, NDArray] | None = None
        #: Empty, or the one that is set; shared with executors that this one is reshaped to.
        self._monitors: list[MonitorCallback] = []
        inputs = filter(is_input_name, graph.arg_names)
        self._fed = FedArguments(graph.arg_names, inputs, trained=bool(targets))
        self.program.add_user(self)
        bound = inferred.arg_shapes, inferred.arg_dtypes, inferred.aux_shapes, ctx
        self.program.prefetch(bound, lambda: expected_calls(self))

    def _make_program(self, graph: Graph, argnums: tuple[int, ...]) -> BaseProgram:
        lowered = graph_of(optimized(graph.head_entries))
        with use_options(self.options):
            if self.group2ctx:
                return PartitionedProgram(lowered, argnums, self.context, self.group2ctx)
            if not lowered.has_effects:
                return program_for(lowered, argnums)
        # A Python operator may keep something between forward and backward: its object belongs to
        # a program, so executors must not share one.
        return Program(lowered, argnums, self.options)

    def _new_outputs(self, graph: Graph, inferred: InferenceResult) -> list[NDArray]:
        contexts = [self.context] * len(graph.heads)
        if self.group2ctx:
            placed = placements(graph, self.context, self.group2ctx)
            contexts = [placed[node] for node, _ in graph.head_entries]
        return [
            lazy_zeros(shape or (), dtype, context)
            for shape, dtype, context in zip(
                inferred.out_shapes, inferred.out_dtypes, contexts, strict=True
            )
        ]

    def __repr__(self) -> str:
        shapes = {n: a.shape for n, a in zip(self.graph.arg_names, self.arg_arrays, strict=True)}
        inputs = [(n, shapes[n]) for n in input_names(self.symbol) if n in shapes]
        outputs = [(n, a.shape) for n, a in zip(self.output_names, self.outputs, strict=True)]
        return brief(
            self,
            f"of {self.symbol.name or self.output_names[0]} on {self.context}",
            [
                *brief_arrays(inputs),
                f"{many(len(self.arg_arrays) - len(inputs), 'parameter')} -> "
                + ", ".join(brief_arrays(outputs)),
                self.last_run,
            ],
        )

    @property
    def last_run(self) -> str:
        """A description of the last run of the executor, or of a ``training.Step`` on it."""
        if self.steps_taken:
            return f"trained by a Step, {many(self.steps_taken, 'step')}"
        step = self.last_step
        if step is None:
            return "not run yet"
        mode = "training" if step.train else "inference"
        read = "" if step.has_outputs else ", not read yet"
        return f"last forward for {mode}{read}"

    # -- running -------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Runs the symbol on the bound arrays; returns ``outputs``.

        is_train
            True for training behaviour (Dropout, batch statistics); ``backward`` may follow.
        kwargs
            new contents of arguments: NDArrays or NumPy arrays of the bound shapes, converted to
            the bound dtypes.

        Raises TypeError for an unknown name, ValueError for a wrong shape or type; no array is
        changed then.
        """
        if kwargs:
            self.feed(kwargs)
        if self.program.constant_inputs:
            self.overwrite_constants()
        train = is_train if is_train.__class__ is bool else parse_is_train(is_train)
        self.steps_taken = 0
        with Rollback(streams=True) if self.uses_rng[train] else NO_ROLLBACK:
            self.last_step = step = PendingStep(self, train)
        if self._monitors:
            self._monitors[0].observe_forward(step, self.outputs)
        elif self.runs_eagerly:
            step.force()
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the arguments and writes or adds them to ``grad_arrays``.

        out_grads
            head gradients: an NDArray, a list, or a dict by output name. An output of a loss
            operator, or without computed gradient, needs none and ignores one.
        is_train
            False differentiates batch normalisations by their moving statistics, and leaves these
            unchanged; all else is in the mode of ``forward``. (Without effect on several devices.)

        Auxiliary states such as BatchNorm's moving averages change here, once per call. May be
        called again for the same ``forward``. Without a ``forward`` before, one in training mode
        runs on the bound arrays. (MXNet then reads uninitialised memory.) Raises MXNetError if a
        head gradient is missing or misshapen.
        """
        step = self.last_step
        if step is None:
            self.forward(is_train=True)
            step = self.last_step
            assert step is not None
        names, heads = self.output_names, self._no_heads
        if out_grads is not None:
            heads = head_gradients(out_grads, self)
        needed = self.program.may_need_head_gradient
        if True in needed and any(n and h is None for n, h in zip(needed, heads, strict=True)):
            check_head_gradients(heads, names, step.needs_head_gradients())
        program = None if is_train else inference_program(self)
        if program is not None:
            backward_in_inference(self, program, step, heads)
            return
        step.backward(heads)
        if self._monitors:
            self._monitors[0].observe_backward(step, heads)

    def count_step(self) -> None:
        """Counts a step of a ``training.Step`` on these arrays, which stored no gradients."""
        self.steps_taken += 1

    def feed(self, inputs: Mapping[str, Any]) -> None:
        """Writes new contents of arguments: all of them or, if one does not fit, none."""
        arrays = self._arg_dict or self.arg_dict
        writes = []
        for name, value in inputs.items():
            target = arrays.get(name)
            if target is None:
                check_input(value, name)
                hint = did_you_mean(name, arrays)
                raise UnknownArgumentError("forward", f"unknown argument {name!r}", hint=hint)
            if value.__class__ is NDArray and is_assignable(value, target):
                writes.append((target, value.jax, True))
            else:
                writes.append((target, *convert_input(value, target, name)))
        for target, contents, shared in writes:
            target.assign(contents, shared)
        self._fed.add(inputs)

    def compile(self, is_train: bool = False, backward: bool | None = None) -> Executor:
        """Compiles ahead, without running it, what ``forward`` (and ``backward``) will run; returns
        self.

        ``backward`` defaults to ``is_train`` with gradients bound.
        """
        for function, avals in PrecompileSpec(is_train, backward).calls(self, *bound_avals(self)):
            function.compile(*avals)
        return self

    def precompile(
        self,
        shapes: Sequence[Mapping[str, Sequence[int]]],
        is_train: bool = False,
        backward: bool | None = None,
    ) -> Precompilation:
        """Compiles in the background the programs that :meth:`reshape` to other shapes will run.

            precompilation = executor.precompile([{"data": (1, 3, s, s)} for s in (224, 256, 288)])

        shapes
            the arguments of ``reshape``, once for each; a bound shape may be one.
        is_train, backward
            as in :meth:`compile`. After a training step with an update, that step is compiled for
            the new shapes.

        Returns at once. ``wait()`` of the result waits for all of them and raises the first error;
        ``done`` and ``errors`` report progress. An executor of one of these shapes compiles nothing
        more, or waits for its own compilation only. A function keeps 128 compiled shapes; one more
        clears its cache.

        Raises as ``reshape`` does, and MXNetError for symbols with Python operators, whose
        executors share no programs.
        """
        return precompile_shapes(self, shapes, PrecompileSpec(is_train, backward))

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Sequence[int]
    ) -> Executor:
        """Returns an executor of the same symbol for other input shapes, sharing this one's memory.

        Arrays that shrink, outputs too, are views of the first elements of this executor's; both
        see writes. The program is shared: a shape seen before compiles nothing. So is the monitor's
        callback.

        partial_shaping
            allows arguments that are not named in ``kwargs`` to change their shape too.
        allow_up_sizing
            allows arrays to grow, as new arrays of zeros (in MXNet: uninitialised).
        """
        bound = BoundArrays(self.arg_arrays, self.grad_arrays, self.aux_arrays, self.outputs)
        arrays = bound.reshaped(self.graph, kwargs, partial_shaping, allow_up_sizing)
        executor = Executor(
            self.symbol,
            self.context,
            arrays.args,
            arrays.grads,
            self.grad_req,
            arrays.aux,
            group2ctx=self.group2ctx,
            outputs=arrays.outputs,
            options=self.options,
        )
        executor.share_monitor(self)
        return executor

    def zero_grad(self) -> None:
        """Sets every gradient array to zero (for ``grad_req='add'``)."""
        for target in self._gradients:
            target.assign(self.filled_like(target, 0))

    # -- what a pending step needs ---------------------------------------------------------------

    def next_key(self) -> jax.Array:
        return next_key(self.context)

    @property
    def fed_positions(self) -> frozenset[int]:
        return self._fed.positions

    def infer(self, args: Sequence[Any], aux: Sequence[Any], key: Any) -> Any:
        return self.program.infer_fed(args, aux, key, self._fed)

    def key_aval(self) -> Any:
        key = jax.eval_shape(lambda: jax.random.key(0))
        sharding = jax.sharding.SingleDeviceSharding(self.context.device)
        return jax.ShapeDtypeStruct(key.shape, key.dtype, sharding=sharding)

    def filled_like(self, array: NDArray, number: float) -> jax.Array:
        return filled(number, array.shape, array.storage.dtype, array.context.device)

    # -- arrays by name --------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name. ValueError if names repeat."""
        if self._arg_dict is None:
            self._arg_dict = dict_by_name(self.graph.arg_names, self.arg_arrays, "arguments")
        return self._arg_dict

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradient arrays by argument name, None for an argument without gradient."""
        arrays = self.grad_arrays or [None] * len(self.arg_arrays)
        return dict_by_name(self.graph.arg_names, arrays, "arguments")

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name. ValueError if names repeat."""
        if self._aux_dict is None:
            self._aux_dict = dict_by_name(self.graph.aux_names, self.aux_arrays, "auxiliary states")
        return self._aux_dict

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name. ValueError if names repeat."""
        return dict_by_name(self.output_names, self.outputs, "outputs")

    def params(self) -> dict[str, jax.Array]:
        """Returns the parameters as a dict of ``jax.Array``, for optax: the arguments with a
        gradient, except data and labels, recognised by name (``data``, ``label``,
        ``softmax_label``). Later steps do not change the arrays."""
        return {name: self.arg_dict[name].jax for name, _ in self._parameter_gradients()}

    def grads(self) -> dict[str, jax.Array]:
        """Returns the gradients of :meth:`params`, by the same names."""
        return {name: grad.jax for name, grad in self._parameter_gradients()}

    def _parameter_gradients(self) -> list[tuple[str, NDArray]]:
        return [(n, g) for n, g in self.grad_dict.items() if g is not None and not is_input_name(n)]

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Replaces parameters by name, with the dict that ``optax.apply_updates`` returns, for
        instance.

        Raises ValueError for an unknown name or a wrong shape; nothing is changed then.
        """
        self.copy_params_from(params)

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
        aux_params = {} if aux_params is None else aux_params
        writes = parameter_writes(
            (arg_params, self.arg_dict, "argument"),
            (aux_params, self.aux_dict, "auxiliary state"),
            allow_extra_params,
        )
        complete(lambda: [target.assign(*value) for target, value in writes])

    # -- MXNet's private names, which scripts read ----------------------------------------------

    _symbol = property(attrgetter("symbol"))
    _ctx = property(attrgetter("context"))
    _grad_req = property(attrgetter("grad_req"))
    _group2ctx = property(attrgetter("group2ctx"))
    _grad_dict = property(attrgetter("grad_dict"))
    _output_dict = property(attrgetter("output_dict"))

    @property
    def _monitor_callback(self) -> Callback | None:
        return self._monitors[0].callback if self._monitors else None

    # -- inspection ------------------------------------------------------------------------------

    @property
    def effective_grad_req(self) -> list[str]:
        """The gradient request of each argument: 'null' also where no gradient array is bound."""
        targets = self.grad_arrays or [None] * len(self.arg_arrays)
        return ["null" if t is None else req for t, req in zip(targets, self.grad_req, strict=True)]

    @property
    def is_monitored(self) -> bool:
        """True if a monitor callback is set."""
        return bool(self._monitors)

    def set_monitor_callback(self, callback: Callback | None, monitor_all: bool = False) -> None:
        """Calls ``callback(name, NDArray)`` for every operator's outputs during ``forward``, and
        for the gradients of every operator's inputs (``fc_backward_output0``) during ``backward``.

        ``monitor_all`` adds the inputs, as ``fc_data``, and variables by their own name. While a
        callback is set, ``forward`` runs at once, as a program that returns every value. None
        removes the callback. (MXNet passes a raw handle; the array can be cast to one.)
        """
        if callback is not None and not callable(callback):
            problem = f"{type_phrase(callback)}, expected a function of a name and an NDArray"
            raise InputTypeError("set_monitor_callback", problem)
        self._monitors.clear()
        if callback is not None:
            gather = bool(self.group2ctx)
            self._monitors.append(
                MonitorCallback(
                    self.graph, self.program.argnums, self.context, gather, callback, monitor_all
                )
            )

    def share_monitor(self, other: Executor) -> None:
        """Calls the callback of another executor of the same symbol, too, now and later."""
        self._monitors = other._monitors

    def internals(self, names: str | Sequence[str]) -> Any:
        """Returns internal outputs (``"relu1_output"``) for the last forward's inputs: an NDArray
        for one name, a list for a list. Names are as in ``symbol.get_internals().list_outputs()``.
        Compiles one extra program per set of names."""
        requested = [names] if isinstance(names, str) else list(names)
        graph = self.graph
        entries = {name: (n, k) for n in graph.nodes for k, name in enumerate(n.output_names)}
        unknown = [n for n in requested if n not in entries]
        if unknown:
            problem = f"no output named {', '.join(map(repr, unknown))}"
            hint = "symbol.get_internals().list_outputs() lists the names"
            raise MXNetError("internals", problem, hint=hint)
        first = {s.node: s.first_output for s in graph.steps}
        first.update(zip(graph.args, graph.arg_values, strict=True))
        first.update(zip(graph.aux, graph.aux_values, strict=True))
        heads = tuple(entries[n] for n in requested)
        values = tuple(first[node] + k for node, k in heads)
        inner = dataclasses.replace(graph, heads=values, head_entries=heads)
        step = self.last_step or PendingStep(self, False)
        with use_options(self.options):
            program = program_for(inner)
        values, _ = program.infer[step.train](step.args, step.aux, step.key)
        arrays = [NDArray.from_jax(v, self.context) for v in values]
        return arrays[0] if isinstance(names, str) else arrays

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity of finite values.

            executor.forward(is_train=True)
            executor.backward()
            print(executor.check_finite())

        Runs the last forward again, node by node, with the same inputs, random numbers and mode,
        then, if all is finite, the last backward. Without a forward it checks the bound arrays, in
        training mode if gradients are bound. No array of the executor changes; operators written in
        Python are called again.

        out_grads
            other head gradients, as ``backward`` takes them.
        raise_error
            raises NotFiniteError (a FloatingPointError) if a value is not finite.

        The report is true if everything is finite. It names the first node with a NaN or an
        infinity, with the ranges of its inputs, and lists all such nodes in ``findings``.
        """
        snapshot, notes = last_snapshot(self, self.last_step, out_grads)
        device_of = node_devices(self.graph, self.context, self.group2ctx)
        report = check_snapshots(
            self.graph,
            self.program.argnums,
            {"": snapshot},
            lambda _, step: device_of(step),
            [*notes, *nonfinite_accumulated(self)],
        )
        return report.raise_if_found() if raise_error else report

    def debug_str(self) -> str:
        """Returns the execution plan in MXNet's form (the graph in order, then the megabytes of its
        arrays), then XLA's analysis of the most complete compiled program. Gradients that nothing
        flows to, such as those below a BlockGrad, are not counted."""
        reached = reached_arguments(self.graph)
        pairs = zip(self.program.argnums, self._gradients, strict=False)
        gradients = [target for i, target in pairs if reached[i]]
        arrays = [*self.arg_arrays, *self.aux_arrays, *gradients, *self.outputs]
        n_bytes = sum(a.size * a.storage.dtype.itemsize for a in arrays)
        lines = [self.symbol.debug_str().rstrip("\n"), f"Total {n_bytes // 2**20} MB allocated"]
        analysis = self.program.analyse()
        if analysis.function is None:
            lines.append("XLA: not compiled yet; run it, or call executor.compile()")
        else:
            lines.append(f"XLA program {analysis.function}:")
            if analysis.memory is None:
                lines.append("\tmemory: not told by this backend")
            else:
                lines += [f"\t{k}: {v} bytes" for k, v in analysis.memory.items()]
            flops = analysis.flops
            lines.append(f"\toperations: {'not told' if flops is None else f'{flops:.6g} FLOPs'}")
        return "\n".join(lines) + "\n"

    def get_optimized_symbol(self) -> Symbol:
        """Returns the symbol after the graph passes. Equal outputs are shown as one and copies of
        it, called ``NAME_0_copy``, as in MXNet."""
        return Symbol(with_merged_heads(self.graph.head_entries))
