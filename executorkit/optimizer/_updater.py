"""``Updater``: an optimizer together with the states of the parameters it updates."""

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

from .._support.annotations import Arrays, Attrs
from ..arrays.protocol import PendingValue
from ..calls.rollback import Rollback, complete
from ..calls.update_call import UpdateCall
from ..context import Context
from ..display import brief, many
from ..ndarray import NDArray
from ._apply_rules import Sharing, apply_rules, attach_update, check_arrays, misfits, plan_update
from ._optimizer import Optimizer
from ._rule import Index, State

_DTYPE = attrgetter("storage.dtype")


class Updater:
    """Updates parameters by index, making their states when it first sees them.

    ``updater(index, grad, weight)`` updates one weight in place; with lists, each of them, in one
    compiled call unless the optimizer's class overrides ``update``. After an exception all of them
    are updated and counted, or none.

    n_updates
        number of calls that have updated something.
    replicated_states
        for each index the state on all devices of a group, which the group keeps here.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Index, State] = {}
        self.states_synced: dict[Index, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0
        self.n_updates = 0
        self.replicated_states: dict[Index, State] = {}
        self._sharing = Sharing()

    def __repr__(self) -> str:
        return brief(self, None, [repr(self.optimizer), many(len(self.states), "state")])

    def __getstate__(self) -> Attrs:
        return {**vars(self), "replicated_states": {}}

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if isinstance(index, list | tuple):
            keys, grads, weights = list(index), grad, weight
        else:
            keys, grads, weights = [index], [grad], [weight]
        if not keys:
            return
        self.optimizer._set_current_context(weights[0].context.device_id)
        indices: list[Index] = keys
        if bytes in map(type, keys):
            indices = [i.decode() if isinstance(i, bytes) else i for i in keys]
        self.prepare(indices, weights)
        self._update(self._batches(indices, grads, weights))

    def update_if_finite(
        self,
        index: list[Any],
        grad: list[Any],
        weight: list[Any],
        finite: NDArray,
        undo: list[Callable[[], None]],
    ) -> None:
        """Updates weights in place unless a gradient is not finite; the program writes 1 in
        ``finite`` after an update, else 0, and ``undo`` gets the function that takes back the
        counts. Does nothing if the class overrides ``update``, or weights share their memory."""
        shared = len({id(w.storage) for w in weight}) < len(weight)
        if shared or self.optimizer._pure_rules(index, weight) is None:
            return
        self.optimizer._set_current_context(weight[0].context.device_id)
        self.prepare(index, weight)
        undo.append(self._count_undo(index))
        self._update(self._batches(index, grad, weight), finite)

    @property
    def is_pure(self) -> bool:
        """True if updates can be a part of a program: no subclass overrides ``update``."""
        return self.optimizer._is_pure

    def prepare(self, indices: Sequence[Index], weights: Sequence[NDArray]) -> None:
        """Makes missing states of parameters, and moves loaded ones to their weights' contexts."""
        ready = self.states_synced.get
        for i, w in zip(indices, weights, strict=True) if not all(map(ready, indices)) else ():
            if ready(i) is not True:
                self._prepare(i, w)

    def _prepare(self, index: Index, weight: NDArray) -> None:
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced.get(index, True):
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    def _batches(
        self, indices: list[Index], grads: Arrays, weights: Arrays
    ) -> list[tuple[list[Any], list[Any], list[Any]]]:
        dtypes = list(map(_DTYPE, weights)) if self.aggregate_updates else [None]
        if dtypes.count(dtypes[0]) == len(dtypes):
            return [(indices, list(grads), list(weights))]
        batches: dict[Hashable, tuple[list[Any], list[Any], list[Any]]] = {}
        for dtype, *parameter in zip(dtypes, indices, grads, weights, strict=True):
            for column, x in zip(batches.setdefault(dtype, ([], [], [])), parameter, strict=True):
                column.append(x)
        return list(batches.values())

    def _update(
        self,
        batches: Sequence[tuple[list[Any], list[Any], list[Any]]],
        finite: NDArray | None = None,
    ) -> None:
        optimizer = self.optimizer
        if len(batches) == 1:
            indices, grads, weights = batches[0]
        else:
            columns = zip(*batches, strict=True)
            indices, grads, weights = ([x for part in column for x in part] for column in columns)
        states = list(map(self.states.__getitem__, indices))
        rules = optimizer._pure_rules(indices, weights)
        if rules is None:
            self.n_updates += 1
            for update in self._calls(indices, weights, grads, states):
                optimizer.update_multi_precision(*update)
            return
        for k in misfits(weights, grads):
            i = indices[k]
            name = f"{type(optimizer).__name__}: parameter {optimizer.idx2name.get(i, i)!r}"
            check_arrays(name, weights[k], grads[k])
        together = optimizer.aggregate_num or 1

        def count() -> list[Any]:
            self.n_updates += 1
            return [x for batch, *_ in batches for x in optimizer._count_step(batch, together)]

        undo = self._count_undo(indices)
        apply_rules(
            rules, weights, grads, states, count=count, undo=undo, finite=finite,
            sharing=self._sharing,
        )  # fmt: skip

    def _calls(self, *columns: list[Any]) -> list[tuple[Any, ...]]:
        if not self.aggregate_updates:
            return list(zip(*columns, strict=True))
        size = self.optimizer.aggregate_num
        parts = [
            [column[start : start + size] for column in columns]
            for start in range(0, len(columns[0]), size)
        ]
        return [(*map(tuple, arrays), states) for *arrays, states in parts]

    def _count_undo(self, indices: Sequence[Index]) -> Callable[[], None]:
        n_updates, undo = self.n_updates, self.optimizer._count_undo(indices)

        def undo_all() -> None:
            undo()
            self.n_updates = n_updates

        return undo_all

    def owner(self, indices: Sequence[Index], index: Index, path: Sequence[Any]) -> int | None:
        """Returns the position, among ``indices``, of the parameter of a leaf of the state."""
        return indices.index(index)

    def attach(
        self,
        indices: Sequence[Index],
        first_weights: Sequence[NDArray],
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        state_of: Callable[[Index], State],
        others: Sequence[tuple[Any, Sequence[NDArray]]] = (),
    ) -> UpdateCall | None:
        """Makes one step for parameters a part of the program that computes their gradients.
        ``state_of`` returns a parameter's state, by its index, as a pytree of pending values;
        ``others`` are updaters of other devices, with their weights, which count the step too.
        None, with nothing changed, if it is impossible, as when the class overrides ``update``."""
        optimizer, context = self.optimizer, first_weights[0].context

        def prepare(rollback: Rollback) -> UpdateCall | None:
            rules = optimizer._pure_rules(indices, first_weights)
            if rules is None:
                return None
            undos: list[Callable[[], None]] = []

            def undo() -> None:
                for each in undos:
                    each()

            rollback.add(undo)
            counted = [u._counted(indices, w, undos) for u, w in ((self, first_weights), *others)]
            hyperparams = counted[0]
            draws = others and any(rule.uses_rng for rule in rules)
            if draws or any(numbers != hyperparams for numbers in counted):
                undo()
                return None
            states = tuple(map(state_of, indices))
            return plan_update(
                rules, hyperparams, states, context, undo=undo, sharing=self._sharing
            )

        return attach_update(weights, grads, prepare)

    def _counted(
        self, indices: Sequence[Index], weights: Sequence[NDArray], undos: list[Callable[[], None]]
    ) -> list[Any]:
        self.optimizer._set_current_context(weights[0].context.device_id)
        self.prepare(indices, weights)
        undos.insert(0, self._count_undo(indices))
        self.n_updates += 1
        return self.optimizer._count_step(indices, self.optimizer.aggregate_num or 1)

    def sync_state_context(self, state: State, context: Context) -> State:
        """Returns a state with its arrays in ``context``."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, tuple | list):
            return type(state)(self.sync_state_context(s, context) for s in state)
        return state

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Returns all states as bytes that MXNet reads, and the optimizer if asked."""
        from ._state_pickle import dump_states

        return dump_states((self.states, self.optimizer) if dump_optimizer else self.states)

    def set_states(self, states: bytes) -> None:
        """Replaces the states by bytes of :meth:`get_states`, from here or MXNet. Raises
        FileFormatError for other bytes; nothing that they name is imported or run."""
        from ._state_pickle import load_states

        loaded = load_states(states)
        optimizer = self.optimizer
        if isinstance(loaded, tuple):
            loaded, optimizer = loaded
        complete(lambda: self._take_over(loaded, optimizer))

    def _take_over(self, states: dict[Index, State], optimizer: Optimizer) -> None:
        self.states = states
        self.states_synced = dict.fromkeys(states, False)
        self.optimizer = optimizer
        self.aggregate_updates = optimizer.aggregate_num > 0


def get_updater(optimizer: Optimizer) -> Updater:
    """Returns an :class:`Updater` of an optimizer."""
    return Updater(optimizer)
