"""A rolled graph, run: loops as ``lax.scan``, batches under ``vmap``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

from ..ops import Params
from ..ops._axes import normal_axis
from ..ops._recur import scan_with_vjp
from ._graph import Graph, GraphStep
from ._reroll import Batch, Link, Loop, Plan
from ._reroll_body import Body
from ._reroll_values import Stack, Store
from ._step import call, required, run_step, scope

#: What is called for one turn of a loop, made of the function that computes it.
BodyWrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def execute_plan(
    graph: Graph,
    plan: Plan,
    args: Sequence[Any],
    aux: Sequence[Any],
    key: Any,
    train: bool,
    filled: Mapping[int, Params],
    channels_last: bool,
    wrap_body: BodyWrapper | None = None,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Outputs and new auxiliary states of a graph, as ``lower`` gives them."""
    run = _Run(graph, plan, key, train, filled, channels_last, wrap_body)
    store = run.store
    for places, arrays in ((graph.arg_values, args), (graph.aux_values, aux)):
        for i, array in zip(places, arrays, strict=True):
            store[i] = array
    for number, array in enumerate(aux):
        store[graph.n_values + number] = array
    for item in plan.items:
        if isinstance(item, GraphStep):
            run.step(item)
        elif isinstance(item, Batch):
            run.batch(item)
        else:
            run.loop(item)
    outputs = tuple(store[i] for i in graph.heads)
    return outputs, tuple(store[graph.n_values + n] for n in range(len(aux)))


class _Run:
    """One trace of a plan. Auxiliary state n, as it changes, is value ``n_values + n``."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        key: Any,
        train: bool,
        filled: Mapping[int, Params],
        channels_last: bool,
        wrap_body: BodyWrapper | None,
    ) -> None:
        self.graph = graph
        self.plan = plan
        self.key = key
        self.train = train
        self.filled = filled
        self.channels_last = channels_last
        self.wrap_body = wrap_body
        self.store = Store(graph.n_values + len(graph.aux))

    # -- one step ------------------------------------------------------------------------------

    def step(self, step: GraphStep) -> None:
        """Runs one operator, unless its results are better left as they are: parts of an array
        that are wanted together, or an array of parts that lie together."""
        outputs = range(step.first_output, step.first_output + step.n_outputs)
        if step.op.name == "SliceChannel" and not self.plan.stacked.isdisjoint(outputs):
            data = self.store[step.inputs[0]]
            axis = normal_axis(step.params.axis, data.ndim)
            if data.shape[axis] % step.n_outputs == 0:
                make = partial(self._call, step)
                squeeze = step.params.squeeze_axis
                self.store.put(outputs, Stack(data, step.n_outputs, axis, squeeze, make))
                return
        if step.op.name in ("Concat", "stack"):
            new = step.op.name == "stack"
            shape, _ = self.store.kind(step.inputs[0])
            axis = normal_axis(step.params["axis" if new else "dim"], len(shape) + new)
            with jax.named_scope(scope(step)):
                joined = self.store.joined(step.inputs, axis, new)
            if joined is not None:
                self.store[step.first_output] = joined
                return
        self._call(step)

    def _call(self, step: GraphStep) -> None:
        states = {k: self.store[self.graph.n_values + n] for k, _, n in step.aux_writes}
        filled = self.filled.get(step.index)
        results = run_step(
            step, self.store, states, self.key, self.train, filled, self.channels_last
        )
        for _, result, number in step.aux_writes:
            self.store[self.graph.n_values + number] = results[result]

    def _places(self, step: GraphStep) -> list[tuple[int, int]]:
        """(number, place among the results) of every value that a step makes or changes."""
        outputs = [(step.first_output + k, k) for k in range(step.n_outputs)]
        return outputs + [(self.graph.n_values + n, result) for _, result, n in step.aux_writes]

    def _unrolled(self, columns: Iterable[Sequence[GraphStep]]) -> None:
        for step in sorted((s for column in columns for s in column), key=lambda s: s.index):
            self.step(step)

    def _keys(self, steps: Sequence[GraphStep]) -> Any:
        """The keys of all repetitions of a step, or None if it draws nothing in this mode."""
        first = steps[0]
        if not first.op.uses_rng(first.params, self.train):
            return None
        numbers = np.array([s.random_number for s in steps], np.uint32)
        return jax.vmap(partial(jax.random.fold_in, required(first, self.key)))(numbers)

    def _put(self, steps: Sequence[GraphStep], result: int, array: Any) -> None:
        """The values that all repetitions make in one place, given as the rows of an array."""
        places = [place for s in steps for place, k in self._places(s) if k == result]
        self.store.put(places, Stack(array, len(steps)))

    # -- all repetitions at once ---------------------------------------------------------------

    def batch(self, batch: Batch) -> None:
        """Runs an operator in all repetitions at once."""
        steps, links = batch.steps, batch.links
        if not all(self.store.alike(link.values) for link in links):
            self._unrolled([steps])
            return
        if sum(self.store.descends(link.values) for link in links if link.stacked) > 0:
            steps = steps[::-1]
            links = tuple(Link(link.values[::-1]) for link in links)
        constant = {i: self.store[x.values[0]] for i, x in enumerate(links) if x.constant}
        varying = {i: self.store.stacked(x.values) for i, x in enumerate(links) if x.stacked}

        def one(varying: Mapping[int, Any], own_key: Any) -> tuple[Any, ...]:
            arrays = {**constant, **varying}
            inputs = [arrays[i] for i in range(len(links))]
            return call(steps[0], inputs, own_key, self.train)

        keys = self._keys(steps)
        if keys is None or str(jax.random.key_impl(keys)) == "threefry2x32":
            results = jax.vmap(one)(varying, keys)
        else:  # only threefry draws the same bits under vmap as without
            results = lax.map(lambda both: one(*both), (varying, keys))
        for _, result in self._places(steps[0]):
            self._put(steps, result, results[result])

    # -- turn by turn --------------------------------------------------------------------------

    def loop(self, loop: Loop) -> None:
        """Runs a recurrence."""
        links = [link for row in loop.links for link in row]
        stacked = {x.values: None for x in links if x.stacked}
        if not all(self.store.alike(values) for values in stacked):
            self._unrolled(loop.columns)
            return
        body = Body(loop, links, self.train)
        start = [[self.store[v] for v in values[:back]] for (_, back, values) in body.carried]
        reverse = sum(self.store.descends(values) for values in stacked) > 0

        def forwards(items: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(items[::-1] if reverse else items)

        varying = {values: self.store.stacked(forwards(values)) for values in stacked}
        keys = [self._keys(forwards(column)) for column in loop.columns]
        constant = {x.values[0]: self.store[x.values[0]] for x in links if x.constant}
        turn = body.turn
        if not _fits(partial(turn.plain, constant), start, (varying, keys)):
            self._unrolled(loop.columns)
            return
        if self.wrap_body:
            one = self.wrap_body(partial(turn.plain, constant))
            end, shown = lax.scan(one, start, (varying, keys), loop.turns, reverse=reverse)
        else:
            everything = (varying, keys), loop.turns, reverse
            end, shown = scan_with_vjp(turn, constant, start, *everything, body.weights)
        for (c, result), array in zip(body.shown, shown, strict=True):
            self._put(forwards(loop.columns[c]), result, array)
        for c, k in loop.last:
            at = next(i for i, (made, *_) in enumerate(body.carried) if made == (c, k))
            self.store[loop.columns[c][-1].first_output + k] = end[at][-1]


def _fits(turn: Callable[..., Any], start: Any, stacks: Any) -> bool:
    """Whether what a turn hands on has the shapes and dtypes of what it was handed."""
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), stacks)
    after, _ = jax.eval_shape(turn, start, one)
    return jax.tree.all(
        jax.tree.map(lambda a, b: a.shape == b.shape and a.dtype == b.dtype, after, start)
    )
