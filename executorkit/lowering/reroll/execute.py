"""The values of a graph while it is traced, some of them as rows of stacked arrays.

The body of a loop: its columns as one turn.

A rolled graph, run: loops as ``lax.scan``, batches under ``vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ops import Params
from ...ops.recurrence.scan import scan_with_vjp
from ...ops.recurrence.scan_body import Constants, ScanBody, ScanProduct
from ...ops.schema.inference import normal_axis
from .._graph import Graph, GraphStep
from .._interpreter import Values, call, required, run_step, scope
from .ir import Batch, Link, Loop, Plan

#: Shape and dtype of an array.
Kind = tuple[tuple[int, ...], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """``count`` arrays in one: rows of ``array`` along its first axis or, given ``axis``, parts of
    it along that axis, which are of size 1 and come without the axis if ``squeeze`` is set.

    ``make`` computes all parts and stores them, where they are wanted one by one.
    """

    array: Any
    count: int
    axis: int | None = None
    squeeze: bool = False
    make: Callable[[], None] | None = None

    @property
    def kind(self) -> Kind:
        shape = list(self.array.shape)
        at = self.axis or 0
        if self.axis is None or self.squeeze:
            del shape[at]
        else:
            shape[at] //= self.count
        return tuple(shape), self.array.dtype

    def rows(self, first: int, count: int, stride: int) -> Any:
        """Some of the arrays along a new first axis."""
        last = first + (count - 1) * stride
        low, high = min(first, last), max(first, last)
        array = self.array
        if self.axis is None:
            array = _slice(array, low, high + 1, 0)
        else:
            size = array.shape[self.axis] // self.count
            array = _slice(array, low * size, (high + 1) * size, self.axis)
            shape = array.shape
            parts = () if self.squeeze else (size,)
            array = jnp.moveaxis(
                array.reshape(*shape[: self.axis], high + 1 - low, *parts, *shape[self.axis + 1 :]),
                self.axis,
                0,
            )
        if abs(stride) > 1:
            array = lax.slice_in_dim(array, 0, None, abs(stride), 0)
        return lax.rev(array, (0,)) if stride < 0 else array


def _slice(array: Any, low: int, high: int, axis: int) -> Any:
    if low == 0 and high == array.shape[axis]:
        return array
    return lax.slice_in_dim(array, low, high, axis=axis)


class Store(Values):
    """Arrays by number. Rows of stacks are cut out only where someone wants one by itself."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._rows: dict[int, tuple[Stack, int]] = {}
        self._stacked: dict[tuple[int, ...], Any] = {}

    def __getitem__(self, number: int) -> Any:
        if self._arrays[number] is None and number in self._rows:
            stack, row = self._rows[number]
            if stack.make is not None:
                stack.make()
            else:
                self._arrays[number] = lax.index_in_dim(stack.array, row, 0, keepdims=False)
        return super().__getitem__(number)

    def put(self, numbers: Sequence[int], stack: Stack) -> None:
        """Values ``numbers`` are the arrays of a stack."""
        for row, number in enumerate(numbers):
            self._rows[number] = stack, row
            self._arrays[number] = None

    def kind(self, number: int) -> Kind:
        """Shape and dtype of a value."""
        if self._arrays[number] is None and number in self._rows:
            return self._rows[number][0].kind
        array = self[number]
        return tuple(array.shape), array.dtype

    def alike(self, numbers: Sequence[int]) -> bool:
        """Whether all these values have one shape and dtype."""
        first = self.kind(numbers[0])
        return all(self.kind(n) == first for n in numbers)

    def descends(self, numbers: Sequence[int]) -> int:
        """1 if these values are rows of one stack from the last to the first, -1 if they are from
        the first to the last, else 0."""
        runs = list(self._runs(numbers))
        if len(runs) > 1 or runs[0][0] is None:
            return 0
        return -1 if runs[0][3] > 0 else 1

    def stacked(self, numbers: tuple[int, ...]) -> Any:
        """Values of one shape and dtype, along a new first axis."""
        if numbers not in self._stacked:
            blocks = [self._block(*run) for run in self._runs(numbers)]
            self._stacked[numbers] = lax.concatenate(blocks, 0) if len(blocks) > 1 else blocks[0]
        return self._stacked[numbers]

    def joined(self, numbers: Sequence[int], axis: int, new: bool) -> Any:
        """Values one after the other along an axis, or along a ``new`` one; None where no two of
        them are neighbours in a stack, so that there is no shorter way than one by one."""
        runs = list(self._runs(numbers))
        if all(count == 1 for *_, count, _ in runs):
            return None
        blocks = []
        for run in runs:
            block = jnp.moveaxis(self._block(*run), 0, axis)
            if not new:
                shape = block.shape
                merged = shape[axis] * shape[axis + 1]
                block = block.reshape(*shape[:axis], merged, *shape[axis + 2 :])
            blocks.append(block)
        return lax.concatenate(blocks, axis) if len(blocks) > 1 else blocks[0]

    def _runs(self, numbers: Sequence[int]) -> Iterator[tuple[Stack | None, int, int, int]]:
        """Cuts a list of values into (stack, first row, count, stride); (None, value, 1, 1) for a
        value of its own."""
        stack, first, count, stride = None, 0, 0, 1
        for number in numbers:
            here, row = self._rows.get(number, (None, 0))
            if here is not None and here is stack:
                if count == 1 and row != first:
                    count, stride = 2, row - first
                    continue
                if count > 1 and row == first + count * stride:
                    count += 1
                    continue
            if count:
                yield stack, first, count, stride
            stack, first, count, stride = here, (number if here is None else row), 1, 1
        if count:
            yield stack, first, count, stride

    def _block(self, stack: Stack | None, first: int, count: int, stride: int) -> Any:
        if stack is None:
            return lax.expand_dims(self[first], (0,))
        return stack.rows(first, count, stride)


#: Products whose gradients by what all turns share are taken over all turns at once.
_TAPPED = frozenset({"FullyConnected", "dot"})


class Body:
    """One turn of a loop: what is carried, what is shown, and the :class:`ScanBody` itself.

    carried
        (what is carried, for how many turns, the values of its reader) of every carry: a list of
        the last so many values, oldest first.
    shown
        (column, place among the results) of what every turn hands out.
    """

    def __init__(self, loop: Loop, links: Sequence[Link], train: bool) -> None:
        self.loop = loop
        self.train = train
        carried = {(x.made, x.back, x.values[: x.back]): None for x in links if x.made and x.back}
        self.carried: list[tuple[Any, int, Any]] = list(carried)
        self.shown = list(loop.shown)
        for c, column in enumerate(loop.columns):
            self.shown += [(c, result) for _, result, _ in column[0].aux_writes]
        self._tapped: dict[int, int] = {}
        products: list[ScanProduct] = []
        for c, (column, row) in enumerate(zip(loop.columns, loop.links, strict=True)):
            if column[0].op.name in _TAPPED and any(link.constant for link in row):
                self._tapped[c] = len(products)
                products.append(self._product(column[0], row))
        non_product_constants = {
            link.values[0]
            for c, row in enumerate(loop.links)
            for link in row
            if link.constant and c not in self._tapped
        }
        #: The weights of fully connected layers that all turns share, by number.
        self.weights = {
            row[1].values[0]
            for column, row in zip(loop.columns, loop.links, strict=True)
            if column[0].op.name == "FullyConnected" and row[1].constant
        }
        self.turn = ScanBody(self._call, products, sorted(non_product_constants))

    def _product(self, step: GraphStep, row: Sequence[Link]) -> ScanProduct:
        """An operator that is applied with what all turns share."""
        shared = {i: link.values[0] for i, link in enumerate(row) if link.constant}

        def apply(constants: Constants, fed: Mapping[int, Any]) -> Any:
            arrays = {
                i: constants[~n].T if ~n in constants else constants[n] for i, n in shared.items()
            }
            arrays.update(fed)
            (result,) = call(step, [arrays[i] for i in range(len(row))], None, self.train)
            return result

        return ScanProduct(apply, tuple(dict.fromkeys(shared.values())))

    def _call(
        self,
        constant: Constants,
        carry: list[list[Any]],
        now: Any,
        perturb: Callable[[int, Any], Any],
    ) -> tuple[list[list[Any]], list[Any]]:
        varying, keys = now
        made: list[tuple[Any, ...]] = []
        before: dict[Any, Any] = {
            carried: values[0] for carried, values in zip(self.carried, carry, strict=True)
        }
        rows = zip(self.loop.columns, self.loop.links, keys, strict=True)
        for number, (column, row, own_key) in enumerate(rows):
            inputs = []
            for link in row:
                if link.back:
                    inputs.append(before[link.made, link.back, link.values[: link.back]])
                elif link.made is not None:
                    c, k = link.made
                    inputs.append(made[c][k])
                elif link.constant:
                    inputs.append(constant[link.values[0]])
                else:
                    inputs.append(varying[link.values])
            if number in self._tapped:
                fed = {i: x for i, x in enumerate(inputs) if not row[i].constant}
                made.append((perturb(self._tapped[number], fed),))
            else:
                made.append(call(column[0], inputs, own_key, self.train))
        after = [
            [*values[1:], made[c][k]]
            for ((c, k), *_), values in zip(self.carried, carry, strict=True)
        ]
        return after, [made[c][k] for c, k in self.shown]


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
