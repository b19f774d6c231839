"""A graph's compiled programs: one set per graph signature and choice of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..lowering import LOWERINGS, Graph, evaluate, switched_off
from ..lowering._graph import Step
from ._canonical import NoTextError, structure_text, text_of
from ._compiling import compiler_options
from ._counted import Counted
from ._evaluation import Evaluation
from ._explaining import Explaining
from ._heads import inputs_used
from ._options import Options, mirrored
from ._reach import differentiable, is_live, may_need_head, pins, reached
from ._residuals import Like, Residuals, cotangents
from ._signature import signature_of
from ._totals import Totals

Arrays = Sequence[Any]


class Program(Totals, Explaining):
    """The jitted functions of one graph, shared by every executor of an equal graph.

    Arrays come and go as flat tuples in the graph's order (the cheapest call that JAX offers).
    ``wanted`` are the positions of the arguments whose gradients are computed, ``add`` says which
    of them are added to the old gradient. ``key`` is None for graphs without random operators.
    ``options`` say in which precision it computes and what it keeps for backward.

    infer[train](args, aux, key)                -> outputs, side_aux
    forward[train](args, aux, key)              -> outputs, side_aux, step_aux, residuals
    backward(residuals, heads, old)             -> grads
    forward_backward[train](args, aux, key, heads, old)
                                                -> outputs, side_aux, step_aux, grads

    ``side_aux`` are the auxiliary states that change whenever the graph runs (a Custom
    operator's), ``step_aux`` those that MXNet changes in backward (BatchNorm's statistics):
    numbers in ``side_aux_numbers`` and ``step_aux_numbers``. ``heads`` are head gradients, None
    for an output that needs none; ``old`` the old gradients of the arguments in ``add``.
    """

    def __init__(
        self,
        graph: Graph,
        wanted: tuple[int, ...],
        add: tuple[bool, ...],
        options: Options | None = None,
        in_pieces: bool = False,
    ) -> None:
        self.graph = graph
        self.options = options or Options()
        self.wanted = wanted
        self.add = add
        #: For every value, whether it depends on an argument whose gradient is wanted.
        self.reached = reached(graph, wanted)
        self._live = tuple(s for s in graph.steps if is_live(s, self.reached))
        live = {n for s in self._live for *_, n in s.aux_writes}
        side = {n for s in graph.steps if s.op.effects for *_, n in s.aux_writes}
        self.side_aux_numbers = tuple(sorted(side))
        self.step_aux_numbers = tuple(sorted(live - side))
        self.may_need_head = may_need_head(graph, self.reached)
        self._needs_head: dict[Any, tuple[bool, ...]] = {}
        self.pins = pins(graph, self._live)
        self._off = switched_off().intersection(LOWERINGS)
        self._evaluation = Evaluation(graph, self.options, wanted)
        self.compiler_options = compiler_options(graph, self._evaluation.has_barriers, in_pieces)
        self._text: str | None = None
        #: Other forms of this program (mapped over devices), by what they were made for.
        self.variants: dict[Any, Any] = {}
        self.infer = self._both(self._infer, "infer", kept=True)
        # What goes from forward to backward has a structure that only tracing makes.
        self.forward = self._both(self._forward, "forward")
        self.forward_backward = self._both(self._forward_backward, "forward_backward", kept=True)
        self.observe = self._both(self._observe, "observe")
        self.observe_backward = self._both(self._observe_backward, "observe_backward")
        self.backward = Counted(self._backward, "backward", compiler_options=self.compiler_options)

    def _both(self, method: Any, name: str, kept: bool = False) -> tuple[Counted, Counted]:
        def counted(train: bool, name: str) -> Counted:
            return Counted(
                lambda *args: method(train, *args),
                name,
                compiler_options=self.compiler_options,
                identity=self.identity if kept else None,
            )

        return counted(False, name), counted(True, f"{name}_train")

    def identity(self, *more: Any) -> str:
        """A text that tells this program, and ``more``, from all others in every process; raises
        NoTextError where there is none."""
        if self.graph.has_effects:
            raise NoTextError("Python operators")
        if self._text is None:
            facts = self.wanted, self.add, self.options, mirrored(self.graph), self._off
            self._text = text_of(facts) + structure_text(signature_of(self.graph).content)
        return self._text + text_of(more)

    @property
    def functions(self) -> tuple[Counted, ...]:
        """Every jitted function of this program."""
        steps = (f for f in self.variants.values() if isinstance(f, Counted))
        return (
            *self.infer, *self.forward, *self.forward_backward, self.backward, *self.observe,
            *self.observe_backward, *steps,
        )  # fmt: skip

    def steps(self, train: bool) -> list[Counted]:
        """The steps with an update of a mode, in the order in which they were first asked for."""
        found = [(what, f) for what, f in self.variants.items() if isinstance(f, Counted)]
        return [f for what, f in found if what[0] == train]

    def needs_head(self, args: Arrays, aux: Arrays, key: Any) -> tuple[bool, ...]:
        """For every output, whether ``backward`` needs a head gradient for it: whether one can
        change a wanted gradient. ``args`` and ``aux`` may be arrays, or shapes and dtypes.

        Where the graph alone cannot tell (an output that is no loss, on a path to a wanted
        argument), forward and backward are traced once: comparisons, argmax, index inputs and so
        on have no gradient wherever they stand, as their derivatives say themselves.
        """
        if not any(self.may_need_head):
            return self.may_need_head
        dtypes = tuple(x.dtype for x in (*args, *aux))
        if dtypes not in self._needs_head:
            arrays = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (args, aux))
            with jax.enable_x64(True):
                outputs = jax.eval_shape(lambda *a: self._vjp(True, *a)[0], *arrays, key)

            def gradients(heads: Arrays, args: Arrays, aux: Arrays, key: Any) -> Any:
                residuals = self._vjp(True, args, aux, key)[3]
                return residuals.vjp(cotangents(heads, residuals.outputs))

            used = inputs_used(gradients, outputs, *arrays, key)
            self._needs_head[dtypes] = tuple(
                a and b for a, b in zip(self.may_need_head, used, strict=True)
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
        return outputs, tuple(new_aux[n] for n in self.side_aux_numbers)

    def _vjp(self, train: bool, args: Arrays, aux: Arrays, key: Any, scale: Any = None) -> Any:
        floating = tuple(i for i in self.wanted if jnp.issubdtype(args[i].dtype, jnp.inexact))

        def function(*differentiated: Any) -> Any:
            full = list(args)
            for i, x in zip(floating, differentiated, strict=True):
                full[i] = x
            outputs, new_aux = self._evaluation.kept(full, aux, key, train, scale)
            inexact = tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))
            return inexact, (outputs, new_aux)

        function = self._evaluation.rematerialised(function)
        _, vjp, (outputs, new_aux) = jax.vjp(function, *(args[i] for i in floating), has_aux=True)
        side = tuple(new_aux[n] for n in self.side_aux_numbers)
        step = tuple(new_aux[n] for n in self.step_aux_numbers) if train else ()
        shapes = tuple(Like(x.shape, x.dtype) for x in outputs)
        wanted = tuple(Like(args[i].shape, args[i].dtype) for i in self.wanted)
        return outputs, side, step, Residuals(vjp, shapes, wanted)

    def _forward(self, train: bool, args: Arrays, aux: Arrays, key: Any) -> Any:
        return self._vjp(train, args, aux, key)

    def _backward(self, residuals: Residuals, heads: Arrays, old: Arrays) -> tuple[Any, ...]:
        computed = iter(residuals.vjp(cotangents(heads, residuals.outputs)))
        previous = iter(old)
        grads = []
        for like, add in zip(residuals.wanted, self.add, strict=True):
            if jnp.issubdtype(like.dtype, jnp.inexact):
                grad = next(computed)
            else:
                grad = jnp.zeros(like.shape, like.dtype)
            grads.append(next(previous) + grad if add else grad)
        return tuple(grads)

    def _forward_backward(
        self, train: bool, args: Arrays, aux: Arrays, key: Any, heads: Arrays, old: Arrays,
        scale: Any = None,
    ) -> Any:  # fmt: skip
        outputs, side, step, residuals = self._vjp(train, args, aux, key, scale)
        return outputs, side, step, self._backward(residuals, heads, old)

    def _observe(self, train: bool, args: Arrays, aux: Arrays, key: Any) -> Any:
        values, new_aux = evaluate(self.graph, args, aux, key, train)
        return tuple(values), tuple(new_aux[n] for n in self.side_aux_numbers)

    def input_gradient_names(self, graph: Graph) -> list[str]:
        """Names of what ``observe_backward`` returns, for this or an equal graph: one for every
        input of every operator that MXNet goes back through, last operator first
        (``fc_backward_output0``)."""
        names = []
        for own, step in zip(reversed(self.graph.steps), reversed(graph.steps), strict=True):
            if is_live(own, self.reached):
                inputs = differentiable(step)
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
            for k in differentiable(s)
        }
        floating = {at: z for at, z in zeros.items() if jnp.issubdtype(z.dtype, jnp.inexact)}

        def function(added: dict[Any, Any]) -> tuple[Any, ...]:
            def observe(step: Step, inputs: list[Any]) -> list[Any]:
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
