"""``mx.nd.CachedOp``: a graph that is called with arrays, as a function."""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from .. import ndarray
from .._support.annotations import Arrays, Raw, Tree
from ..arrays.random_state import next_key, next_key_data
from ..arrays.values import to_device
from ..calls.recording import Variable, check_unrecorded, modes
from ..calls.resolved_calls import (
    NEEDS_VALUES_ERRORS,
    GraphCall,
    ResolvedCall,
    call_of,
    check_targets,
    resolve,
)
from ..calls.ways import forward, run_graph_on_host
from ..context import Context
from ..errors import AttributeValueError, BindError, InputTypeError, MXNetError
from ..lowering import GraphStep, graph_of, memoize, optimized, resolved_params
from ..ndarray import NDArray
from ..ops import Params
from ..ops.schema.traits import NEEDS_VALUES
from ..program import FedArguments, Program, program_for, retain_freed_memory
from ..symbol import Symbol
from ..symbol.node import is_annotation
from ._monitor_callback import operator_input_names
from ._validation import check_arrays

_FLAGS = {
    "inline_limit", "forward_bulk_size", "backward_bulk_size", "static_alloc", "static_shape",
    "is_dynamic", "data_indices", "param_indices",
}  # fmt: skip


class CachedOp:
    """A symbol as a function of arrays, compiled for their shapes: ``mx.nd.CachedOp``.

    sym
        the symbol.
    flags
        pairs of MXNet's names and values. ``data_indices`` are the positions of the inputs that
        differ from call to call: values that depend on the others alone are prepared for inference.
        The other flags have no effect.

    A call takes NDArrays of one context, in the order of ``sym.list_inputs()``, and returns an
    NDArray, or a list for several outputs, or writes to ``out``. It computes as in training where
    ``autograd`` says so. Under ``autograd.record()`` the graph's operators are recorded: gradients
    are differentiable again, auxiliary states change in ``backward``, in the program of the step.

    Raises MXNetError for another number of arrays, and for shapes and dtypes that do not fit.
    Unlike in MXNet, an output that is an input is a copy of it, and is differentiated.

    >>> import executorkit as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> function = mx.nd.CachedOp(a * b + a)
    >>> x, y = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    >>> function(x, y).asnumpy().tolist()
    [4.0, 10.0]
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     z = function(x, y)
    >>> z.backward()
    >>> x.grad.asnumpy().tolist()
    [4.0, 5.0]
    """

    def __init__(self, sym: Symbol, flags: Iterable[tuple[str, Any]] = ()) -> None:
        if not isinstance(sym, Symbol):
            raise InputTypeError("CachedOp", f"{type(sym).__name__} is not a Symbol")
        flags = list(flags)
        unknown = [name for name, _ in flags if name not in _FLAGS]
        if unknown:
            problem = f"unknown flags: {', '.join(unknown)}"
            raise AttributeValueError("CachedOp", problem, hint=", ".join(sorted(_FLAGS)))
        self._graph = graph_of(sym.heads)
        self._variables = [node for node in self._graph.nodes if node.is_variable]
        self._needs_values = any(NEEDS_VALUES in s.op.traits for s in self._graph.steps)
        #: True if all operators have functions of NumPy arrays, so that images of any size are
        #: computed without a program.
        self._has_host_calls = all(s.op.host for s in self._graph.steps)
        #: Programs, by whether their working memory may be taken in pieces.
        self._program: Program | None = None
        #: Shapes and dtypes of arrays that fit.
        self._checked: set[Hashable] = set()
        self._calls: dict[Hashable, ResolvedCall] = {}
        #: The graph's calls, by the shapes and dtypes of arrays where attributes depend on these.
        self._graph_calls: dict[Hashable, GraphCall] = {}
        #: Results of its operators without inputs, by call and context.
        self._constants: dict[Hashable, Sequence[jax.Array]] = {}
        data = next((v for k, v in flags if k == "data_indices"), ())
        # MXNet's own callers pass texts.
        self._data: Sequence[int] = () if isinstance(data, str) else data
        #: Facts about the arguments of inference, by their shapes and dtypes.
        self._fed: dict[Hashable, FedArguments] = {}
        self._hook: Any = None
        self._hook_has_inputs = False

    def __call__(self, *args: NDArray, out: Any = None) -> Tree:
        self._check(args)
        targets = [out] if isinstance(out, NDArray) else out
        results = self.call_checked(args, targets)
        if targets is not None:
            check_targets("CachedOp", targets, [(x.shape, x.storage.dtype) for x in results])
            for target, result in zip(targets, results, strict=True):
                if modes.recording:
                    check_unrecorded(target)
                if result.graph_entry is not None and modes.recording:
                    modes.recorder.record_write(target, result, covers=True)
                else:
                    target.assign(result.value, shared=True)
            return out
        return results[0] if len(results) == 1 else results

    def register_op_hook(self, callback: Any, monitor_all: bool = False) -> None:
        """Calls ``callback(name, operator, array)`` with each operator's outputs, and with its
        inputs if ``monitor_all``. MXNet passes bytes, and the address of an array."""
        self._hook = callback
        self._hook_has_inputs = monitor_all

    _register_op_hook = register_op_hook  # MXNet's name

    def _check(self, arrays: Arrays) -> None:
        variables = self._variables
        contexts = set()
        for node, x in zip(variables, arrays, strict=False):
            if isinstance(x, NDArray):
                contexts.add(id(x.context))
            else:
                problem = f"{type(x).__name__} is not an NDArray"
                raise InputTypeError(f"CachedOp: {node.name!r}", problem)
        if len(arrays) != len(variables) or not variables:
            names = ", ".join([node.name for node in variables])
            problem = (
                f"it is given {len(arrays)} arrays, expected {len(variables) or 'one or more'}"
            )
            raise BindError("CachedOp", problem, because=f"its inputs are {names}")
        context = arrays[0].context
        if len(contexts) > 1 and any(x.context != context for x in arrays):
            problem = f"its inputs are in {', '.join(str(x.context) for x in arrays)}"
            distinct = dict.fromkeys(x.context for x in arrays)
            kept = next((c for c in distinct if c.device_type != "cpu_shared"), context)
            raise MXNetError("CachedOp", problem, hint=f"x.as_in_context(mx.{kept})")

    def _check_types(self, arrays: Sequence[NDArray]) -> None:
        types = tuple([(x.shape, x.storage.dtype) for x in arrays])
        if types not in self._checked:
            if not self._needs_values:
                inferred = check_arrays(self._graph, *self._sorted(arrays), None)
                retain_freed_memory(self._graph, inferred)
            self._checked.add(types)

    def _sorted(self, arrays: Arrays) -> tuple[list[Raw], list[Raw]]:
        by_node = dict(zip(self._variables, arrays, strict=True))
        return [by_node[n] for n in self._graph.args], [by_node[n] for n in self._graph.aux]

    def call_checked(self, arrays: Sequence[NDArray], targets: Any = None) -> list[NDArray]:
        """Returns the results for one or more arrays on one context, one for each input."""
        if modes.recording and modes.recorder.takes(arrays, targets):
            return self._record(arrays)
        if self._has_host_calls and self._hook is None:
            results = run_graph_on_host(self._graph_call(arrays), type(arrays[0]), arrays)
            if results is not None:
                return results
        self._check_types(arrays)
        if self._needs_values or self._hook is not None:
            return [x.detach() for x in self._record(arrays)]
        context, train = arrays[0].context, modes.training
        program = self._program
        if program is None:
            program = self._program = program_for(graph_of(optimized(self._graph.head_entries)))
        args, aux = self._sorted(arrays)
        values = [tuple([x.value for x in part]) for part in (args, aux)]
        key = self._random_key(program, context, train)
        if train:
            outputs, states = program.infer[True](*values, key)
        else:
            fed = self._fed_arguments(program, arrays)
            outputs, states = program.infer_fed(values[0], values[1], key, fed)
        for n, state in zip(program.forward_state_indices, states, strict=True):
            aux[n].assign(state)
        cls = type(arrays[0])
        return [cls.from_jax(value, context) for value in outputs]

    def _fed_arguments(self, program: Program, arrays: Sequence[NDArray]) -> FedArguments:
        types = tuple([(x.shape, x.storage.dtype) for x in arrays])
        fed = self._fed.get(types)
        if fed is None:
            inputs = [self._variables[i].name for i in self._data]
            entries = [x.graph_entry for x in arrays]
            trained = any(isinstance(e, Variable) and e.is_trained for e in entries)
            fed = memoize(self._fed, types, FedArguments(program.graph.arg_names, inputs, trained))
        return fed

    @staticmethod
    def _random_key(program: Program, context: Context, train: bool) -> Any:
        if not program.graph.uses_rng(train):
            return None
        steps = [s for s in program.graph.steps if s.op.key_name is not None]
        draws = [s.op.uses_rng(s.params, train) for s in steps]
        nothing = np.zeros(2, np.uint32)
        rows = [next_key_data(context) if draw else nothing for draw in draws]
        return to_device(np.stack(rows), context.device)

    def _record(self, arrays: Sequence[NDArray]) -> list[NDArray]:
        if self._graph.has_open_shapes:
            self._check_types(arrays)
        graph_call = self._graph_call(arrays)
        distinct = len({*arrays}) == len(arrays)
        if graph_call.is_simple and distinct and self._hook is None:
            check = partial(self._check_types, arrays)
            try:
                return modes.recorder.record_graph(graph_call, type(arrays[0]), arrays, check)
            except NEEDS_VALUES_ERRORS:
                graph_call.is_simple = False
        self._check_types(arrays)
        context, cls = arrays[0].context, type(arrays[0])
        values = dict(zip(graph_call.inputs, arrays, strict=True))
        for i, (call, numbers, results) in enumerate(graph_call.calls):
            inputs = [values[n] for n in numbers]
            computed = modes.recorder.record(call, cls, inputs) if inputs else None
            if computed is None:
                sources = self._source(call, context)
                computed = [cls.from_jax(x, context, shared=True) for x in sources]
            computed = computed if isinstance(computed, list) else [computed]
            values.update(zip(results, computed, strict=False))
            if self._hook is not None and i < len(self._graph.steps):
                self._report(self._graph.steps[i], inputs, computed)
        return [values[n] for n in graph_call.outputs]

    def _source(self, call: ResolvedCall, context: Context) -> Arrays:
        place = call, context
        if place in self._constants:
            return self._constants[place]
        key = next_key(context) if call.op.key_name is not None else None
        contents = forward(call, modes.training, key, (), on_host=False)
        moved = [jax.device_put(x, context.device) for x in contents]
        return moved if key is not None else memoize(self._constants, place, moved)

    def _report(self, step: GraphStep, inputs: Arrays, outputs: Arrays) -> None:
        node, operator = step.node, step.op.name
        if self._hook_has_inputs:
            for name, x in zip(operator_input_names(step), inputs, strict=True):
                self._hook(f"{node.name}_{name}", operator, x)
        for name, x in zip(node.output_names, outputs, strict=False):
            self._hook(name, operator, x)

    def _graph_call(self, arrays: Sequence[NDArray]) -> GraphCall:
        graph = self._graph
        types = None
        if graph.has_open_shapes:
            types = tuple([(x.shape, x.storage.dtype) for x in arrays])
        known = self._graph_calls.get(types)
        if known is not None:
            return known
        resolved = resolved_params(graph, *self._sorted(arrays))
        numbers = dict(graph.variables)
        inputs = [numbers[node] for node in self._variables]
        calls: list[Raw] = []
        for step in graph.steps:
            call = self._call_of(step, resolved)
            calls.append((call, step.inputs, tuple(step.outputs)[: call.n_visible]))
        outputs = list(graph.heads)
        copy = call_of("_copy", {})
        copies = itertools.count(1 + max(inputs + [n for s in graph.steps for n in s.outputs]))
        for i, number in enumerate(outputs):
            if number in inputs:
                outputs[i] = next(copies)
                calls.append((copy, (number,), (outputs[i],)))
        return memoize(self._graph_calls, types, GraphCall(inputs, calls, outputs))

    def _call_of(self, step: GraphStep, resolved: Mapping[int, Params]) -> ResolvedCall:
        """Returns the operator's call as arrays would make it, so that traces of both are one."""
        texts = tuple([(k, v) for k, v in step.node.attrs.items() if not is_annotation(k)])
        params = resolved.get(step.index)
        if params is None and not step.node.subgraphs:
            return resolve(step.op, texts, ())
        params = params or step.params
        key = step.index, params.key
        if key not in self._calls:
            self._calls[key] = ResolvedCall(step.op, texts, (), params)
        return self._calls[key]


setattr(ndarray, CachedOp.__name__, CachedOp)
