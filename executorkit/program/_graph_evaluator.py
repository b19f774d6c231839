"""A graph as a function of arrays, in the precision that the options ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from ..lowering import Graph, channels_last_allowed, disabled_passes, evaluate, infer, lower
from ..lowering._graph import GraphStep
from ..lowering._segments import evaluate_with_checkpoints
from ..lowering.reroll.fold import plan_of
from ._activity import dependent_results
from ._program_options import Options, checkpoint_policy, mirrored_steps, save_all_but, scale_losses

Arrays = Sequence[Any]


class GraphEvaluator:
    """``evaluation(args, aux, key, train) -> (outputs, new_aux)``, in arrays of the bound types.

    With ``compute_dtype`` float32 arguments are cast on the way in, and results back on the way
    out; gradients come back through the casts.
    """

    def __init__(self, graph: Graph, options: Options, argnums: tuple[int, ...]) -> None:
        self._graph = graph
        self._options = options
        self._argnums = argnums
        self._mirrored = mirrored_steps(graph)
        self._run = lower(graph)
        self._channels_last = channels_last_allowed()
        #: Whether backward computes anything again.
        self.recomputes = options.remat is not None or bool(self._mirrored)
        #: Whether it does so for segments or turns of loops one by one.
        self._apart = options.remat == "full"
        self._rolled = "reroll" not in disabled_passes() and plan_of(graph) is not None
        #: Whether barriers keep apart what must not be computed as one.
        self.has_barriers = (
            self.recomputes or self._rolled or any(step.op.name == "RNN" for step in graph.steps)
        )
        self._casts: dict[Any, tuple[str | None, ...]] = {}

    def __call__(self, args: Arrays, aux: Arrays, key: Any, train: bool) -> Any:
        return self._cast(args, aux, key, lambda cast: self._run(cast, aux, key, train))

    def kept(self, args: Arrays, aux: Arrays, key: Any, train: bool, scale: Any) -> Any:
        """The same, as it is differentiated: with what is kept marked, and losses scaled."""
        observers: list[Callable[[GraphStep, list[Any]], list[Any]]] = []
        if self._mirrored and self._options.remat is None:
            observers.append(save_all_but(self._mirrored, self._graph))
        if scale is not None:
            observers.append(scale_losses(scale))
        if not observers and self._rolled:
            wrap_body = partial(jax.checkpoint, prevent_cse=False) if self._apart else None
            return self._cast(
                args, aux, key, lambda cast: self._run(cast, aux, key, train, wrap_body)
            )
        if not observers and not self._apart:
            return self(args, aux, key, train)

        def observe(step: GraphStep, inputs: list[Any]) -> list[Any]:
            for observer in observers:
                inputs = observer(step, inputs)
            return inputs

        def run(cast: Arrays) -> Any:
            given = self._graph, cast, aux, key, train
            if self._apart:  # what goes into a segment is kept
                return evaluate_with_checkpoints(
                    *given, jax.checkpoint, observe, self._channels_last
                )
            values, new_aux = evaluate(*given, observe, self._channels_last)
            return tuple(values[i] for i in self._graph.heads), new_aux

        return self._cast(args, aux, key, run)

    def rematerialised(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` so that its derivative keeps what the options say."""
        if self._apart or not self.recomputes:
            return function
        return jax.checkpoint(function, policy=checkpoint_policy(self._options.remat))

    def cast(self, args: Arrays, aux: Arrays, key: Any) -> tuple[Any, ...]:
        """The arguments in the types that they are computed in."""
        if self._options.compute_dtype is None:
            return tuple(args)
        targets = self._targets(args, aux, key)
        return tuple(x if t is None else x.astype(t) for x, t in zip(args, targets, strict=True))

    def _cast(self, args: Arrays, aux: Arrays, key: Any, run: Callable[[Arrays], Any]) -> Any:
        if self._options.compute_dtype is None:
            return run(args)
        outputs, new_aux = run(self.cast(args, aux, key))
        names = self._graph.arg_names
        found = infer(self._graph, {}, {n: x.dtype.name for n, x in zip(names, args, strict=True)})
        return (
            tuple(
                x if dtype is None else x.astype(dtype)
                for x, dtype in zip(outputs, found.out_dtypes, strict=True)
            ),
            tuple(new.astype(old.dtype) for new, old in zip(new_aux, aux, strict=True)),
        )

    def _targets(self, args: Arrays, aux: Arrays, key: Any) -> tuple[str | None, ...]:
        """The type that each argument is computed in; None for its own."""
        dtypes = tuple(x.dtype for x in (*args, *aux))
        if dtypes not in self._casts:
            self._casts[dtypes] = self._found_targets(args, aux, key)
        return self._casts[dtypes]

    def _found_targets(self, args: Arrays, aux: Arrays, key: Any) -> tuple[str | None, ...]:
        graph, dtype = self._graph, self._options.compute_dtype
        assert dtype is not None
        avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]
        states = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in aux]
        single = [i for i, x in enumerate(avals) if x.dtype == jnp.float32]

        # Labels and indices have no gradient, as the gradient's own jaxpr says.
        def gradients(args: Arrays, aux: Arrays, key: Any) -> Any:
            def outputs(*some: Any) -> Any:
                full = list(args)
                for i, x in zip(single, some, strict=True):
                    full[i] = x
                found, _ = self._run(full, aux, key, True)
                return tuple(x for x in found if jnp.issubdtype(x.dtype, jnp.inexact))

            heads, vjp = jax.vjp(outputs, *(args[i] for i in single))
            return vjp(heads)

        depends = dependent_results(gradients, avals, states, key)
        candidates = {i for i, yes in zip(single, depends, strict=True) if yes}
        data = [i for i in candidates if i not in self._argnums] or sorted(candidates)[:1]
        types = infer(graph, {}, {graph.arg_names[i]: dtype for i in data}).arg_dtypes
        return tuple(
            dtype if i in candidates and types[i] in (None, dtype) else None
            for i in range(len(avals))
        )
