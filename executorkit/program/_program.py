"""The program of a graph on one device, and the function that finds or makes it."""

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from .._support.annotations import Attrs, Function, Key, Operands, Raw, Tree
from ..errors import NotFingerprintableError
from ..jax_internals import in_x64
from ..jaxprs import FlatProgram
from ..lowering import (
    LOWERING_PASSES,
    Cost,
    Graph,
    disabled_passes,
    memoize,
    signature_of,
    written_states,
)
from ..ops.custom import with_kernels
from ..ops.nn.conv_kernels import native_convolution, use_winograd, winograd_in
from ..ops.schema.traits import CALLS_PYTHON, CONVOLUTION
from ..ops.tensor.binary_arithmetic import convert
from . import disk_cache
from ._activity import active_values, constant_inputs, may_need_head_gradient, used_inputs
from ._analysis import Analysis
from ._compiled_function import MAX_COMPILED_SHAPES, CompiledFunction
from ._compiler_options import compiler_options
from ._graph_evaluator import GraphEvaluator
from ._integer_gradients import integer_gradients
from ._observation import Observation
from ._prepared_inference import prepared_inference
from ._program_cache import programs_by_signature
from ._program_options import Options, current_options, mirrored_steps
from ._program_report import (
    compilation_history,
    compiled_function,
    cost_of_function,
    required_function,
)
from ._residuals import ArraySpec, Residuals, residuals_of, with_few_residuals
from ._trace_history import History
from ._train_step import Arrays, StepSpec, add_accumulated, make_backward_step, make_step
from .base_program import BaseProgram, ProgramCall

_Derived = TypeVar("_Derived", bound=BaseProgram)


#: Maximum number of training steps of a program, each with an update of its own.
MAX_STEPS = 32
#: Number of operators of a graph from which tracing it takes longer than a look at the disk.
_LARGE_STEPS = 32


class Program(BaseProgram):
    """The jitted functions of one graph, shared by every executor of an equal graph.

    See :class:`BaseProgram` for the functions and their arguments."""

    infer: tuple[CompiledFunction, CompiledFunction]

    def __init__(
        self, graph: Graph, argnums: tuple[int, ...], options: Options | None = None
    ) -> None:
        self.graph = graph
        self.options = options or Options()
        self.argnums = argnums
        active = active_values(graph, argnums)
        #: The steps whose backward MXNet runs: only then do their auxiliary states change.
        self._active_steps = tuple(s for s in graph.steps if active[s.first_output])
        in_forward = written_states(s for s in graph.steps if CALLS_PYTHON in s.op.traits)
        self.forward_state_indices = tuple(sorted(in_forward))
        self.backward_state_indices = tuple(sorted(written_states(self._active_steps) - in_forward))
        self.may_need_head_gradient = may_need_head_gradient(graph, active)
        self.constant_inputs = constant_inputs(graph, self._active_steps)
        self._evaluator = GraphEvaluator(graph, self.options, argnums)
        passes = disabled_passes().intersection(LOWERING_PASSES)
        is_native = _is_native(graph, self.options)
        self._fingerprint = cache(
            partial(_fingerprint, graph, argnums, self.options, passes, is_native)
        )
        ops = {step.op for step in graph.steps}
        options_of = partial(compiler_options, ops, self._evaluator.has_barriers)
        inference = {"compiler_options": options_of(trains=False)}
        self._compiled: Callable[..., CompiledFunction] = partial(
            CompiledFunction,
            compiler_options=options_of(trains=True),
            interpret=self.options.interpret,
            checks=graph.checks_values,
            is_native=is_native,
        )
        if graph.has_effects:
            make, own = self._compiled, partial(with_kernels, weakref.WeakValueDictionary())
            self._compiled = lambda function, *args, **facts: make(own(function), *args, **facts)
        #: By mode, None for the halves of backward.
        self._train_steps: dict[tuple[bool | None, StepSpec], CompiledFunction] = {}
        self._derived: dict[Hashable, Any] = {}
        self._users: weakref.WeakSet[object] = weakref.WeakSet()
        #: Arrays, by shapes and dtypes, for which executables were looked for on disk.
        self._prefetched: set[Hashable] = set()
        self.infer = self._both_modes(self._infer, "infer", on_disk=True, **inference)
        self.prepared = prepared_inference(
            graph, self.options, self._evaluator.for_inference, self.infer[False],
            partial(self._jitted, **inference), self._stages_question,
            is_native=is_native,
        )  # fmt: skip

    # Residuals have a structure that only tracing makes.
    @cached_property
    def forward(self) -> tuple[CompiledFunction, CompiledFunction]:
        """Runs forward for a backward that comes later."""
        return self._both_modes(self._forward, "forward")

    @cached_property
    def forward_backward(self) -> tuple[CompiledFunction, CompiledFunction]:
        """Runs forward and backward in one."""
        return self._both_modes(self._forward_backward, "forward_backward", on_disk=True)

    @cached_property
    def backward(self) -> CompiledFunction:
        """Computes gradients from what forward has left."""
        return self._compiled(self._backward, "backward", any_sizes=False)

    @cached_property
    def observation(self) -> Observation:
        """Returns the functions that compute every value."""
        return Observation(
            self.graph, self.options, self._active_steps, self.forward_state_indices,
            self._both_modes,
        )  # fmt: skip

    def _jitted(
        self, stage: Callable[[], FlatProgram], name: str, facts: Hashable, **settings: Any
    ) -> CompiledFunction:
        return self._compiled(
            lambda *lists: stage()(*itertools.chain(*lists)),
            name,
            fingerprint=lambda: self.fingerprint(name, facts),
            program=stage,
            **settings,
        )

    def _stages_question(self, facts: Hashable, platform: str) -> Hashable:
        settings = disk_cache.jax_settings()
        return "stages", self.fingerprint(facts), platform, settings, disk_cache.trace_context()

    def _both_modes(
        self, method: Function, name: str, on_disk: bool = False, **settings: Any
    ) -> tuple[CompiledFunction, CompiledFunction]:
        def jitted(train: bool, name: str) -> CompiledFunction:
            return self._compiled(
                lambda *args: method(train, *args),
                name,
                any_sizes=on_disk,
                fingerprint=self.fingerprint if on_disk else None,
                **settings,
            )

        return jitted(False, name), jitted(True, f"{name}_train")

    def fingerprint(self, *facts: Any) -> str:
        """Distinguishes this program, with further facts, in every process, or raises
        NotFingerprintableError."""
        return self._fingerprint() + disk_cache.fingerprint(facts)

    # -- functions of arrays, traced by JAX ------------------------------------------------------

    def _infer(self, train: bool, args: Arrays, aux: Arrays, key: Key) -> Tree:
        outputs, new_aux = self._evaluator(args, aux, key, train)
        return outputs, tuple(new_aux[n] for n in self.forward_state_indices)

    def _vjp(self, train: bool, args: Arrays, aux: Arrays, key: Key, scale: Raw = None) -> Tree:
        integers = None
        if scale is None and self.options.compute_dtype is None:
            integers = integer_gradients(self.graph, self.argnums, args, aux)
        if integers is not None:
            args = integers.carry_arguments(args)
        floating = tuple(i for i in self.argnums if jnp.issubdtype(args[i].dtype, jnp.inexact))

        def function(*differentiated: Raw) -> Tree:
            full = list(args)
            for i, x in zip(floating, differentiated, strict=True):
                full[i] = x
            if integers is not None:
                outputs, new_aux = integers.evaluate(full, aux, key, train)
            else:
                outputs, new_aux = self._evaluator.for_backward(full, aux, key, train, scale)
            inexact = tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))
            return inexact, (outputs, new_aux)

        function = self._evaluator.rematerialized(function)
        differentiated = tuple(args[i] for i in floating)
        with use_winograd(winograd_in(self.options.winograd, True)):
            _, vjp, (outputs, new_aux) = jax.vjp(function, *differentiated, has_aux=True)
        forward_states = tuple(new_aux[n] for n in self.forward_state_indices)
        backward_states = tuple(new_aux[n] for n in self.backward_state_indices) if train else ()
        output_specs = tuple(ArraySpec(x.shape, x.dtype) for x in outputs)
        argument_specs = tuple(
            ArraySpec(args[i].shape, args[i].dtype, integers and integers.argument_dtype(i))
            for i in self.argnums
        )
        if integers is not None:
            outputs = integers.restore_outputs(outputs)
        residuals = residuals_of(vjp, output_specs, argument_specs)
        return tuple(outputs), forward_states, backward_states, residuals

    def _forward(self, train: bool, args: Arrays, aux: Arrays, key: Key) -> Tree:
        return with_few_residuals(partial(self._vjp, train), args, aux, key)

    def _backward(self, residuals: Residuals, heads: Arrays, accumulated: Arrays = ()) -> Operands:
        with use_winograd(winograd_in(self.options.winograd, True)):
            computed = iter(residuals.gradients(heads))
        grads = []
        for spec in residuals.derivative.arguments:
            if jnp.issubdtype(spec.dtype, jnp.inexact):
                grad = next(computed)
                grad = grad if spec.integer_dtype is None else convert(grad, spec.integer_dtype)
            else:
                grad = jnp.zeros(spec.shape, spec.dtype)
            grads.append(grad)
        return add_accumulated(accumulated, grads)

    def _forward_backward(
        self, train: bool, args: Arrays, aux: Arrays, key: Key, heads: Arrays,
        accumulated: Arrays = (), scale: Raw = None,
    ) -> Tree:  # fmt: skip
        *results, residuals = self._vjp(train, args, aux, key, scale)
        return *results, self._backward(residuals, heads, accumulated)

    # -- training steps and other forms ----------------------------------------------------------

    @property
    def can_fuse_updates(self) -> bool:
        return True

    def gradient_function(self, train: bool) -> Function:
        """Returns ``forward_backward``, not jitted, with a loss scale as its last argument."""
        return self.forward_backward[train].function

    def step_function(self, train: bool, spec: StepSpec) -> CompiledFunction:
        def make() -> CompiledFunction:
            fingerprint = partial(self.fingerprint, train, spec)
            step = make_step(self, train, spec)
            return self._compiled(step, "step", donates=True, fingerprint=fingerprint)

        return self._step(train, spec, make)

    def backward_step_function(self, spec: StepSpec) -> CompiledFunction:
        def make() -> CompiledFunction:
            # Residuals have a structure that only tracing makes: it is not stored on disk.
            step = make_backward_step(self._backward, self.argnums, spec)
            return self._compiled(step, "backward_step", donates=True, any_sizes=False)

        return self._step(None, spec, make)

    def _step(
        self, train: bool | None, spec: StepSpec, make: Callable[[], CompiledFunction]
    ) -> CompiledFunction:
        step = self._train_steps.get((train, spec))
        if step is None:
            step = memoize(self._train_steps, (train, spec), make(), MAX_STEPS)
        return step

    def derived(self, key: Hashable, make: Callable[[], _Derived]) -> _Derived:
        """Returns another form of this program (pmapped, say), made once for a key."""
        form = self._derived.get(key)
        if form is None:
            form = self._derived[key] = make()
        return form

    def prefetch(self, bound: Hashable, calls: Callable[[], Iterable[ProgramCall]]) -> None:
        if not disk_cache.disk_cache_enabled():
            return
        disk_cache.read_process_facts()
        if len(self.graph.steps) < _LARGE_STEPS or bound in self._prefetched:
            return
        if len(self._prefetched) >= MAX_COMPILED_SHAPES:
            self._prefetched.clear()
        self._prefetched.add(bound)
        for function, avals in calls():
            if isinstance(function, CompiledFunction):
                function.prefetch(*avals)

    # -- its code in memory ----------------------------------------------------------------------

    @property
    def in_use(self) -> bool:
        return len(self._users) > 0

    def add_user(self, user: object) -> None:
        self._users.add(user)

    def clear(self) -> None:
        self._prefetched.clear()
        super().clear()

    # -- questions -------------------------------------------------------------------------------

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Key) -> tuple[bool, ...]:
        if not any(self.may_need_head_gradient):
            return self.may_need_head_gradient
        dtypes = tuple(x.dtype for x in (*args, *aux))
        key_of_answer = "needs head gradients", self.argnums, self.options, dtypes
        answer = self.graph.memo.get(key_of_answer)
        if answer is None:
            arrays = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (args, aux))
            outputs = in_x64(jax.eval_shape)(lambda *a: self._vjp(True, *a)[0], *arrays, key)

            def gradients(heads: Arrays, args: Arrays, aux: Arrays, key: Key) -> Tree:
                return self._vjp(True, args, aux, key)[3].gradients(heads)

            used = used_inputs(gradients, outputs, *arrays, key)
            pairs = zip(self.may_need_head_gradient, used, strict=True)
            answer = memoize(self.graph.memo, key_of_answer, tuple(a and b for a, b in pairs))
        return answer

    def comes_once(self, args: Arrays, aux: Arrays, key: Key) -> bool:
        call = args, aux, key
        return self.forward[1].is_new_to(*call) and not self.infer[1].is_listed(*call)

    @in_x64
    def cast(self, args: Arrays, aux: Arrays, key: Key) -> Operands:
        """Returns the arguments in the dtypes of the computation (``options.compute_dtype``)."""
        return self._evaluator.cast(args, aux, key)

    @property
    def functions(self) -> tuple[CompiledFunction, ...]:
        prepared = () if self.prepared is None else self.prepared.functions
        present = vars(self)  # with the functions that were asked for
        backward, observation = present.get("backward"), present.get("observation")
        return (
            *self.infer, *prepared, *present.get("forward", ()),
            *present.get("forward_backward", ()), *((backward,) if backward else ()),
            *((*observation.forward, *observation.backward) if observation else ()),
            *self._train_steps.values(),
        )  # fmt: skip

    @property
    def compiler_options(self) -> Attrs:
        """Options of XLA's compiler for the functions of one device."""
        return self.backward.compiler_options

    @property
    def serves_any_sizes(self) -> bool:
        """True if functions were traced for all sizes, and none failed to be."""
        answers = [f.serves_any_sizes for f in self.functions]
        return True in answers and False not in answers

    @property
    def all_functions(self) -> tuple[CompiledFunction, ...]:
        return (*self.functions, *(f for form in self._derived.values() for f in form.functions))

    def analyse(self) -> Analysis:
        function = compiled_function(self.all_functions, None, "analyse")
        if function is None or function.avals is None:
            return Analysis()
        return Analysis.of(function.name, function.compile(*function.avals))

    def hlo(self, function: str | None = None, optimized: bool = True) -> str:
        jitted, avals = required_function(self.all_functions, function, "hlo")
        if optimized:
            return jitted.compile(*avals).as_text() or ""
        return jitted.lower(*avals).as_text()

    def cost(self, function: str | None = None, names_from: Graph | None = None) -> Cost:
        jitted, avals = required_function(self.all_functions, function, "cost")
        return cost_of_function(jitted, avals, self.graph, names_from or self.graph)

    def explain(self) -> History:
        return compilation_history(self, self.all_functions, programs_by_signature.values())


def _is_native(graph: Graph, options: Options) -> bool:
    return (
        not options.deterministic
        and "native_convolutions" not in disabled_passes()
        and any(CONVOLUTION in step.op.traits for step in graph.steps)
        and native_convolution.wanted()
    )


def _fingerprint(
    graph: Graph, argnums: tuple[int, ...], options: Options, passes: Iterable[str], is_native: bool
) -> str:
    if graph.has_effects:
        raise NotFingerprintableError("Python operators")
    options = replace(options, interpret=None, deterministic=False, prepare=None)
    choices = argnums, options, mirrored_steps(graph), passes, is_native
    return disk_cache.fingerprint(choices) + disk_cache.structure_fingerprint(graph.structure)


def program_for(graph: Graph, argnums: tuple[int, ...] = ()) -> Program:
    """Returns the program of a graph with the present options. Equal graphs share it."""
    options = current_options()
    passes = disabled_passes().intersection(LOWERING_PASSES)
    key = signature_of(graph), argnums, options, mirrored_steps(graph), passes
    program = programs_by_signature.get_or_make(key, lambda: Program(graph, argnums, options))
    assert isinstance(program, Program)
    return program
