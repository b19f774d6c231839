"""Evaluates a graph on arrays, in the precision and with the rematerialisation of its options."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .._support.annotations import Function, Key, Operands, Raw, Tree
from ..lowering import (
    Graph,
    GraphStep,
    channels_last_allowed,
    disabled,
    disabled_passes,
    evaluate,
    evaluate_with_checkpoints,
    infer,
    lower,
    lower_for_inference,
    plan_of,
    shared_state_updates,
)
from ..ops.nn.conv_kernels import prepared_weights, use_winograd, winograd_in
from ..ops.tracing import with_derivatives, without_derivatives
from ._activity import dependent_results
from ._program_options import Options, checkpoint_policy, mirrored_steps, save_all_but, scale_losses
from ._train_step import Arrays


class GraphEvaluator:
    """``evaluator(args, aux, key, train) -> (outputs, new_aux)`` of inference, in bound dtypes.

    With ``compute_dtype`` float32 arguments are cast on the way in, and results back on the way
    out; gradients come back through the casts.
    """

    def __init__(self, graph: Graph, options: Options, argnums: tuple[int, ...]) -> None:
        self._graph = graph
        self._options = options
        self._argnums = argnums
        self._mirrored = mirrored_steps(graph)
        self._backward_updates = shared_state_updates(graph, argnums)
        self._run = lower(graph, backward_updates=self._backward_updates)
        self._run_inference: Callable[..., Operands] | None = None
        self._disabled = disabled_passes()
        self._channels_last = channels_last_allowed()
        #: True if backward computes anything again.
        self.recomputes = options.remat is not None or bool(self._mirrored)
        #: True if it does so segment by segment, or for each iteration of a loop.
        self._by_segments = options.remat == "full"
        may_reroll = "reroll" not in disabled_passes() and not self._backward_updates
        self._rerolled = may_reroll and plan_of(graph) is not None
        #: True if the computation has more optimization barriers than its operators have.
        self.has_barriers = self.recomputes or self._rerolled
        self._casts: dict[Hashable, tuple[str | None, ...]] = {}

    def __call__(self, args: Arrays, aux: Arrays, key: Key, train: bool) -> Tree:
        run = partial(self._run, aux=aux, key=key, train=train)
        with without_derivatives():
            return self._with_casts(args, aux, key, run, train)

    def for_inference(self, args: Arrays, aux: Arrays, key: Key) -> Operands:
        """Returns the outputs; what depends on parameters alone is computed from these alone."""
        if self._options.compute_dtype is not None:
            return self(args, aux, key, False)[0]
        if self._run_inference is None:
            with disabled(*self._disabled) if self._disabled else nullcontext():
                self._run_inference = lower_for_inference(self._graph)
        winograd = use_winograd(winograd_in(self._options.winograd, False))
        with winograd, prepared_weights(), without_derivatives():
            return self._run_inference(args, aux, key)

    def for_backward(self, args: Arrays, aux: Arrays, key: Key, train: bool, scale: Raw) -> Tree:
        """Evaluates the graph to be differentiated: with saved values marked, and losses scaled."""
        observers: list[Callable[[GraphStep, list[Raw]], list[Raw]]] = []
        if self._mirrored and self._options.remat is None:
            observers.append(save_all_but(self._mirrored, self._graph))
        if scale is not None:
            observers.append(scale_losses(scale))
        if not observers and (self._rerolled or not self._by_segments):
            wrap_body = partial(jax.checkpoint, prevent_cse=False) if self._by_segments else None
            return self._with_casts(
                args, aux, key, lambda cast: self._run(cast, aux, key, train, wrap_body), True
            )

        def observe(step: GraphStep, inputs: list[Raw]) -> list[Raw]:
            for observer in observers:
                inputs = observer(step, inputs)
            return inputs

        def run(cast: Arrays) -> Tree:
            arguments = self._graph, cast, aux, key, train
            options = observe, self._channels_last, self._backward_updates
            if self._by_segments:  # the inputs of a segment are saved
                return evaluate_with_checkpoints(*arguments, jax.checkpoint, *options)
            values, new_aux = evaluate(*arguments, *options)
            return tuple(values[i] for i in self._graph.heads), new_aux

        return self._with_casts(args, aux, key, run, True)

    def rematerialized(self, function: Function) -> Function:
        """Returns ``function`` so that its derivative saves the values that the options ask for."""
        if self._by_segments or not self.recomputes:
            return function
        return jax.checkpoint(function, policy=checkpoint_policy(self._options.remat))

    def cast(self, args: Arrays, aux: Arrays, key: Key) -> Operands:
        """Returns the arguments in the dtypes that they are computed in."""
        if self._options.compute_dtype is None:
            return tuple(args)
        dtypes = tuple(x.dtype for x in (*args, *aux))
        if dtypes not in self._casts:
            self._casts[dtypes] = self._cast_targets(args, aux, key)
        pairs = zip(args, self._casts[dtypes], strict=True)
        return tuple(x if target is None else x.astype(target) for x, target in pairs)

    def _with_casts(
        self, args: Arrays, aux: Arrays, key: Key, run: Callable[[Arrays], Any], training: bool
    ) -> Tree:
        with use_winograd(winograd_in(self._options.winograd, training)):
            if self._options.compute_dtype is None:
                return run(args)
            outputs, new_aux = run(self.cast(args, aux, key))
        dtypes = {n: x.dtype.name for n, x in zip(self._graph.arg_names, args, strict=True)}
        out_dtypes = infer(self._graph, {}, dtypes).out_dtypes
        return (
            tuple(
                x if dtype is None else x.astype(dtype)
                for x, dtype in zip(outputs, out_dtypes, strict=True)
            ),
            tuple(new.astype(old.dtype) for new, old in zip(new_aux, aux, strict=True)),
        )

    def _cast_targets(self, args: Arrays, aux: Arrays, key: Key) -> tuple[str | None, ...]:
        graph, dtype = self._graph, self._options.compute_dtype
        assert dtype is not None
        avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]
        states = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in aux]
        single = [i for i, x in enumerate(avals) if x.dtype == jnp.float32]

        # Labels and indices have no gradient, as the gradient's own jaxpr says.
        def gradients(args: Arrays, aux: Arrays, key: Key) -> Tree:
            def floating_outputs(*differentiated: Raw) -> Tree:
                full = list(args)
                for i, x in zip(single, differentiated, strict=True):
                    full[i] = x
                outputs, _ = self._run(full, aux, key, True)
                return tuple(x for x in outputs if jnp.issubdtype(x.dtype, jnp.inexact))

            heads, vjp = jax.vjp(floating_outputs, *(args[i] for i in single))
            return vjp(heads)

        with with_derivatives():
            depends = dependent_results(gradients, avals, states, key)
        candidates = {i for i, yes in zip(single, depends, strict=True) if yes}
        data = [i for i in candidates if i not in self._argnums] or sorted(candidates)[:1]
        # Without gradients every argument is data, unless others decide its dtype.
        dtypes: Sequence[str | None] = [None] * len(avals)
        known = {graph.arg_names[i]: "" for i in candidates}
        for i in data:
            if dtypes[i] is None:
                known[graph.arg_names[i]] = dtype
                dtypes = infer(graph, {}, known).arg_dtypes
        return tuple(
            dtype if i in candidates and dtypes[i] in (None, dtype) else None
            for i in range(len(avals))
        )
