"""Compiled functions that return the values of every operator, for monitors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .._support.annotations import Key, Operands, Raw, Tree
from ..lowering import Graph, GraphStep, evaluate
from ..ops.nn.conv_kernels import use_winograd, winograd_in
from ..ops.schema.traits import NAMED_GRADIENTS, STOPS_GRADIENT, SUMS
from ._activity import differentiable_inputs
from ._compiled_function import CompiledFunction
from ._program_options import Options
from ._residuals import cotangents
from ._train_step import Arrays


class Observation:
    """The functions of a graph, by mode, and those of its ``steps`` that MXNet runs backward.

    forward[train](args, aux, key)          -> every value, forward_states
    backward[train](args, aux, key, heads)  -> gradients of every operator's inputs
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        steps: Sequence[GraphStep],
        forward_state_indices: Sequence[int],
        compiled: Callable[..., tuple[CompiledFunction, CompiledFunction]],
    ) -> None:
        self._graph = graph
        self._steps = [
            s for s in steps if s.op.name not in SUMS and STOPS_GRADIENT not in s.op.traits
        ]
        self._winograd = options.winograd
        self._forward_state_indices = forward_state_indices
        self.forward = compiled(self._forward, "observe")
        self.backward = compiled(self._backward, "observe_backward")

    def _forward(self, train: bool, args: Arrays, aux: Arrays, key: Key) -> Tree:
        with use_winograd(winograd_in(self._winograd, train)):
            values, new_aux = evaluate(self._graph, args, aux, key, train)
        return tuple(values), tuple(new_aux[n] for n in self._forward_state_indices)

    def _backward(
        self, train: bool, args: Arrays, aux: Arrays, key: Key, heads: Arrays
    ) -> Operands:
        """Computes gradients of zeros that are added to the inputs."""
        graph = self._graph
        values = jax.eval_shape(lambda: tuple(evaluate(graph, args, aux, key, train)[0]))
        zeros = {
            (s.index, k): jnp.zeros(values[s.inputs[k]].shape, values[s.inputs[k]].dtype)
            for s in reversed(self._steps)
            for k in differentiable_inputs(s)
        }
        floating = {at: z for at, z in zeros.items() if jnp.issubdtype(z.dtype, jnp.inexact)}

        def function(perturbations: dict[Hashable, Any]) -> Operands:
            def perturb(step: GraphStep, inputs: list[Raw]) -> list[Raw]:
                return [
                    x + perturbations[step.index, k] if (step.index, k) in perturbations else x
                    for k, x in enumerate(inputs)
                ]

            with use_winograd(winograd_in(self._winograd, True)):
                perturbed, _ = evaluate(graph, args, aux, key, train, perturb)
            outputs = (perturbed[i] for i in graph.heads)
            return tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))

        _, vjp = jax.vjp(function, floating)
        (gradients,) = vjp(cotangents(heads, [values[i] for i in graph.heads]))
        return tuple(gradients.get(at, zero) for at, zero in zeros.items())

    def input_gradient_names(self, graph: Graph) -> list[str]:
        """Lists the names of the results of ``backward``, for this or an equal graph.

        There is one for every input of every operator that MXNet runs backward, the last operator
        first (``fc_backward_output0``).
        """
        named = {step.index: step for step in graph.steps}
        names = []
        for step in reversed(self._steps):
            inputs = differentiable_inputs(named[step.index])
            stem = f"{named[step.index].node.name}_backward_"
            if step.op.name in NAMED_GRADIENTS:
                names += [stem + step.names[k] for k in inputs]
            else:
                stem += "output"
                names += [f"{stem}{k}" for k in range(len(inputs))] if len(inputs) > 1 else [stem]
        return names
