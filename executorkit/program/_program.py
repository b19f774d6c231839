"""A graph's compiled programs: one set per graph signature and choice of gradients.

What ``forward`` keeps for ``backward``, and what goes back through it.

What makes two graphs the same program: structure and attributes, never names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import NotFingerprintableError
from ..lowering import LOWERING_PASSES, Graph, disabled_passes, evaluate
from ..lowering._graph import GraphStep
from ._activity import (
    active_values,
    constant_inputs,
    differentiable_inputs,
    may_need_head_gradient,
    on_active_path,
    used_inputs,
)
from ._compiler_options import compiler_options
from ._graph_evaluator import GraphEvaluator
from ._jit import InstrumentedJit
from ._program_options import Options, mirrored_steps
from ._program_report import Explaining
from .disk_cache.fingerprint import fingerprint, structure_fingerprint
from .protocol import Totals

Arrays = Sequence[Any]


class Program(Totals, Explaining):
    """The jitted functions of one graph, shared by every executor of an equal graph.

    Arrays come and go as flat tuples in the graph's order (the cheapest call that JAX offers).
    ``wanted`` are the positions of the arguments whose gradients are computed, ``add`` says which
    of them are added to the old gradient. ``key`` is None for graphs without random operators.
    ``options`` say in which precision it computes and what it keeps for backward.

    infer[train](args, aux, key)                -> outputs, forward_states
    forward[train](args, aux, key)              -> outputs, forward_states, backward_states, residuals
    backward(residuals, heads, old)             -> grads
    forward_backward[train](args, aux, key, heads, old)
                                                -> outputs, forward_states, backward_states, grads

    ``forward_states`` are the auxiliary states that change whenever the graph runs (a Custom
    operator's), ``backward_states`` those that MXNet changes in backward (BatchNorm's statistics):
    numbers in ``forward_state_indices`` and ``backward_state_indices``. ``heads`` are head gradients, None
    for an output that needs none; ``old`` the old gradients of the arguments in ``add``.
    """

    def __init__(
        self,
        graph: Graph,
        argnums: tuple[int, ...],
        accumulate: tuple[bool, ...],
        options: Options | None = None,
        split_temp_buffers: bool = False,
    ) -> None:
        self.graph = graph
        self.options = options or Options()
        self.argnums = argnums
        self.accumulate = accumulate
        #: For every value, whether it depends on an argument whose gradient is wanted.
        self.reached = active_values(graph, argnums)
        self._live = tuple(s for s in graph.steps if on_active_path(s, self.reached))
        live = {n for s in self._live for *_, n in s.aux_writes}
        side = {n for s in graph.steps if s.op.effects for *_, n in s.aux_writes}
        self.forward_state_indices = tuple(sorted(side))
        self.backward_state_indices = tuple(sorted(live - side))
        self.may_need_head_gradient = may_need_head_gradient(graph, self.reached)
        self._needs_head: dict[Any, tuple[bool, ...]] = {}
        self.constant_inputs = constant_inputs(graph, self._live)
        self._off = disabled_passes().intersection(LOWERING_PASSES)
        self._evaluation = GraphEvaluator(graph, self.options, argnums)
        self.compiler_options = compiler_options(
            graph, self._evaluation.has_barriers, split_temp_buffers
        )
        self._text: str | None = None
        #: Other forms of this program (mapped over devices), by what they were made for.
        self.variants: dict[Any, Any] = {}
        self.infer = self._both(self._infer, "infer", kept=True)
        # What goes from forward to backward has a structure that only tracing makes.
        self.forward = self._both(self._forward, "forward")
        self.forward_backward = self._both(self._forward_backward, "forward_backward", kept=True)
        self.observe = self._both(self._observe, "observe")
        self.observe_backward = self._both(self._observe_backward, "observe_backward")
        self.backward = InstrumentedJit(
            self._backward, "backward", compiler_options=self.compiler_options
        )

    def _both(
        self, method: Any, name: str, kept: bool = False
    ) -> tuple[InstrumentedJit, InstrumentedJit]:
        def counted(train: bool, name: str) -> InstrumentedJit:
            return InstrumentedJit(
                lambda *args: method(train, *args),
                name,
                compiler_options=self.compiler_options,
                fingerprint_of=self.fingerprint_of if kept else None,
            )

        return counted(False, name), counted(True, f"{name}_train")

    def fingerprint_of(self, *more: Any) -> str:
        """A text that tells this program, and ``more``, from all others in every process; raises
        NotFingerprintableError where there is none."""
        if self.graph.has_effects:
            raise NotFingerprintableError("Python operators")
        if self._text is None:
            facts = (
                self.argnums,
                self.accumulate,
                self.options,
                mirrored_steps(self.graph),
                self._off,
            )
            self._text = fingerprint(facts) + structure_fingerprint(
                signature_of(self.graph).content
            )
        return self._text + fingerprint(more)

    @property
    def functions(self) -> tuple[InstrumentedJit, ...]:
        """Every jitted function of this program."""
        steps = (f for f in self.variants.values() if isinstance(f, InstrumentedJit))
        return (
            *self.infer, *self.forward, *self.forward_backward, self.backward, *self.observe,
            *self.observe_backward, *steps,
        )  # fmt: skip

    def steps(self, train: bool) -> list[InstrumentedJit]:
        """The steps with an update of a mode, in the order in which they were first asked for."""
        found = [(what, f) for what, f in self.variants.items() if isinstance(f, InstrumentedJit)]
        return [f for what, f in found if what[0] == train]

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Any) -> tuple[bool, ...]:
        """For every output, whether ``backward`` needs a head gradient for it: whether one can
        change a wanted gradient. ``args`` and ``aux`` may be arrays, or shapes and dtypes.

        Where the graph alone cannot tell (an output that is no loss, on a path to a wanted
        argument), forward and backward are traced once: comparisons, argmax, index inputs and so
        on have no gradient wherever they stand, as their derivatives say themselves.
        """
        if not any(self.may_need_head_gradient):
            return self.may_need_head_gradient
        dtypes = tuple(x.dtype for x in (*args, *aux))
        if dtypes not in self._needs_head:
            arrays = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (args, aux))
            with jax.enable_x64(True):
                outputs = jax.eval_shape(lambda *a: self._vjp(True, *a)[0], *arrays, key)

            def gradients(heads: Arrays, args: Arrays, aux: Arrays, key: Any) -> Any:
                residuals = self._vjp(True, args, aux, key)[3]
                return residuals.vjp(cotangents(heads, residuals.outputs))

            used = used_inputs(gradients, outputs, *arrays, key)
            self._needs_head[dtypes] = tuple(
                a and b for a, b in zip(self.may_need_head_gradient, used, strict=True)
            )
        return self._needs_head[dtypes]

    def cast(self, args: Arrays, aux: Arrays, key: Any) -> tuple[Any, ...]:
        """The arguments in the types that the program computes in (``options.compute_dtype``)."""
        with jax.enable_x64(True):
            return self._evaluation.cast(args, aux, key)

    def clear(self) -> None:
        """Drops the compiled code of this program."""
        for f in self.functions:
            f.clear()

    def _infer(self, train: bool, args: Arrays, aux: Arrays, key: Any) -> Any:
        outputs, new_aux = self._evaluation(args, aux, key, train)
        return outputs, tuple(new_aux[n] for n in self.forward_state_indices)

    def _vjp(self, train: bool, args: Arrays, aux: Arrays, key: Any, scale: Any = None) -> Any:
        floating = tuple(i for i in self.argnums if jnp.issubdtype(args[i].dtype, jnp.inexact))

        def function(*differentiated: Any) -> Any:
            full = list(args)
            for i, x in zip(floating, differentiated, strict=True):
                full[i] = x
            outputs, new_aux = self._evaluation.kept(full, aux, key, train, scale)
            inexact = tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))
            return inexact, (outputs, new_aux)

        function = self._evaluation.rematerialised(function)
        _, vjp, (outputs, new_aux) = jax.vjp(function, *(args[i] for i in floating), has_aux=True)
        side = tuple(new_aux[n] for n in self.forward_state_indices)
        step = tuple(new_aux[n] for n in self.backward_state_indices) if train else ()
        shapes = tuple(ArraySpec(x.shape, x.dtype) for x in outputs)
        argnums = tuple(ArraySpec(args[i].shape, args[i].dtype) for i in self.argnums)
        return outputs, side, step, Residuals(vjp, shapes, argnums)

    def _forward(self, train: bool, args: Arrays, aux: Arrays, key: Any) -> Any:
        return self._vjp(train, args, aux, key)

    def _backward(self, residuals: Residuals, heads: Arrays, old: Arrays) -> tuple[Any, ...]:
        computed = iter(residuals.vjp(cotangents(heads, residuals.outputs)))
        previous = iter(old)
        grads = []
        for like, accumulate in zip(residuals.argnums, self.accumulate, strict=True):
            if jnp.issubdtype(like.dtype, jnp.inexact):
                grad = next(computed)
            else:
                grad = jnp.zeros(like.shape, like.dtype)
            grads.append(next(previous) + grad if accumulate else grad)
        return tuple(grads)

    def _forward_backward(
        self, train: bool, args: Arrays, aux: Arrays, key: Any, heads: Arrays, old: Arrays,
        scale: Any = None,
    ) -> Any:  # fmt: skip
        outputs, side, step, residuals = self._vjp(train, args, aux, key, scale)
        return outputs, side, step, self._backward(residuals, heads, old)

    def _observe(self, train: bool, args: Arrays, aux: Arrays, key: Any) -> Any:
        values, new_aux = evaluate(self.graph, args, aux, key, train)
        return tuple(values), tuple(new_aux[n] for n in self.forward_state_indices)

    def input_gradient_names(self, graph: Graph) -> list[str]:
        """Names of what ``observe_backward`` returns, for this or an equal graph: one for every
        input of every operator that MXNet goes back through, last operator first
        (``fc_backward_output0``)."""
        names = []
        for own, step in zip(reversed(self.graph.steps), reversed(graph.steps), strict=True):
            if on_active_path(own, self.reached):
                inputs = differentiable_inputs(step)
                stem = f"{step.node.name}_backward_output"
                names += [f"{stem}{k}" for k in range(len(inputs))] if len(inputs) > 1 else [stem]
        return names

    def _observe_backward(
        self, train: bool, args: Arrays, aux: Arrays, key: Any, heads: Arrays
    ) -> tuple[Any, ...]:
        """Gradients of every operator's inputs: of zeros that are added to them."""
        values = jax.eval_shape(
            lambda: tuple(evaluate(self.graph, args, aux, key, train)[0]),
        )
        zeros = {
            (s.index, k): jnp.zeros(values[s.inputs[k]].shape, values[s.inputs[k]].dtype)
            for s in reversed(self._live)
            for k in differentiable_inputs(s)
        }
        floating = {at: z for at, z in zeros.items() if jnp.issubdtype(z.dtype, jnp.inexact)}

        def function(added: dict[Any, Any]) -> tuple[Any, ...]:
            def observe(step: GraphStep, inputs: list[Any]) -> list[Any]:
                return [
                    x + added[step.index, k] if (step.index, k) in added else x
                    for k, x in enumerate(inputs)
                ]

            found, _ = evaluate(self.graph, args, aux, key, train, observe)
            outputs = (found[i] for i in self.graph.heads)
            return tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))

        _, vjp = jax.vjp(function, floating)
        (gradients,) = vjp(cotangents(heads, [values[i] for i in self.graph.heads]))
        return tuple(gradients.get(at, zero) for at, zero in zeros.items())


class ArraySpec:
    """Shape and dtype of an array, as a static part of a pytree."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ArraySpec) and self.shape == other.shape and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


@jax.tree_util.register_pytree_node_class
class Residuals:
    """What ``forward`` keeps for ``backward``: the linearised graph with its arrays."""

    __slots__ = ("outputs", "vjp", "argnums")

    def __init__(
        self, vjp: Any, outputs: tuple[ArraySpec, ...], argnums: tuple[ArraySpec, ...]
    ) -> None:
        self.vjp = vjp
        self.outputs = outputs
        self.argnums = argnums

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return (self.vjp,), (self.outputs, self.argnums)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], children: tuple[Any, ...]) -> Residuals:
        return cls(children[0], *static)


def cotangents(heads: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents of the floating outputs: the head gradients, zeros where none is needed."""
    return tuple(
        jnp.zeros(like.shape, like.dtype) if head is None else head.astype(like.dtype)
        for head, like in zip(heads, outputs, strict=True)
        if jnp.issubdtype(like.dtype, jnp.inexact)
    )


class Signature:
    """A graph's structure as a value: equal when the same computations read the same values.

    Names of nodes and variables do not count, annotations neither. Comparing two of them costs
    one walk; the hash is computed once.
    """

    __slots__ = ("_hash", "content")

    def __init__(self, graph: Graph) -> None:
        self.content = graph.structure
        self._hash = hash(self.content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Signature)
            and self._hash == other._hash
            and self.content == other.content
        )


@lru_cache(maxsize=512)
def signature_of(graph: Graph) -> Signature:
    """The signature of a graph, computed once per graph."""
    return Signature(graph)
