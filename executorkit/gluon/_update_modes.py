"""Ways in which the parameters of a trainer are updated: on each context, or on a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, is_
from typing import Any, NamedTuple, Protocol

from .. import kvstore as kv, optimizer as opt, parallel
from .._files import AnyPath, naming, write_atomically
from ..calls.recording import Variable
from ..calls.rollback import Rollback, all_or_none, complete
from ..errors import ArgumentValueError, RefusedCallError
from ..kvstore import Aggregation, choose_store
from ..ndarray import NDArray, ones
from ..optimizer import Updater, get_updater, is_transformation
from ..parallel import ReplicatedArray, replicated
from ..processes import process_count
from ._parameter import Parameter

_DATA, _GRADS, _ENTRY = attrgetter("_data"), attrgetter("_grad"), attrgetter("graph_entry")


class Column(NamedTuple):
    """The arguments of an updater: the parameters with gradients of one context."""

    indices: list[int]
    grads: list[NDArray]
    weights: list[NDArray]


class ParameterArrays:
    """The arrays of parameters as lists, created once: for each parameter with a gradient, once if
    it is repeated, its place and its arrays on all contexts; ``columns`` has them by context."""

    def __init__(self, parameters: Sequence[Parameter], n_contexts: int) -> None:
        self._parameters = parameters
        self._data = [p.list_data() for p in parameters]
        self._grads = list(map(_GRADS, parameters))
        places = {id(p): i for i, p in reversed([*enumerate(parameters)])}
        repeats = (p for i, p in enumerate(parameters) if places[id(p)] != i)
        self.repeated = next(repeats, None)
        self.indices = [i for i in sorted(places.values()) if self._grads[i] is not None]
        self.grads: list[list[NDArray]] = [self._grads[i] for i in self.indices]
        self.weights = [self._data[i] for i in self.indices]
        self.columns: list[Column] = []
        rows = [*zip(self.indices, self.grads, self.weights, strict=True)]
        for k in range(n_contexts):
            here = [(i, g[k], w[k]) for i, g, w in rows if k < len(w)]
            self.columns.append(Column(*map(list, zip(*here, strict=True))) if here else _NOTHING)
        together = n_contexts > 1 or process_count() > 1
        self.replicated = _replicated(self.weights, self.grads) if together else None

    def is_current(self) -> bool:
        parameters = self._parameters
        return all(map(is_, map(_GRADS, parameters), self._grads)) and all(
            map(is_, map(_DATA, parameters), self._data)
        )

    def combine_steps(self) -> None:
        if self.replicated is not None:
            combine_steps(self.grads[0])

    def update_together(
        self, updaters: Sequence[Any], sum_of: Aggregation, sums_gradients: bool
    ) -> bool:
        """Updates replicated weights by the sums of the gradients in the program that computes
        them; in a job also in one that takes them. False, with nothing changed, if impossible."""
        assert self.replicated is not None
        weights, grads = self.replicated
        in_job = sum_of is Aggregation.JOB
        if not combine_steps(self.grads[0], sums_gradients, in_job):
            if not in_job:
                return False
            for grad in grads:
                grad.compute()
        return parallel.update_together(
            updaters, self.indices, weights, grads,
            all_processes=in_job, sums_gradients=sums_gradients,
        )  # fmt: skip

    def fresh_columns(self, ignore_stale: bool) -> list[Column]:
        """Returns the columns, without parameters whose gradients are older than the last step;
        raises RefusedCallError (a UserWarning) for these, unless they are to be ignored."""
        if self.repeated is not None and not ignore_stale:
            raise _stale(self.repeated, self.columns[0].weights[0])
        fresh = []
        for column in self.columns:
            flags = _are_fresh(column.weights)
            if all(flags):
                fresh.append(column)
                continue
            if not ignore_stale:
                k = flags.index(False)
                raise _stale(self._parameters[column.indices[k]], column.weights[k])
            kept = [x for x, flag in zip(zip(*column, strict=True), flags, strict=True) if flag]
            fresh.append(Column(*map(list, zip(*kept, strict=True))) if kept else _NOTHING)
        return fresh


def combine_steps(*args: Any) -> bool:
    from ..autograd.context_steps import combine_steps  # one context needs none of it

    return combine_steps(*args)


class ReplicatedParameters(NamedTuple):
    weights: list[ReplicatedArray]
    grads: list[ReplicatedArray]


def _replicated(
    weights: Sequence[Sequence[NDArray]], grads: Sequence[Sequence[NDArray]]
) -> ReplicatedParameters | None:
    arrays_of = [[x for row in rows if (x := replicated(row))] for rows in (weights, grads)]
    complete = weights and all(len(arrays) == len(weights) for arrays in arrays_of)
    return ReplicatedParameters(*arrays_of) if complete else None


_NOTHING = Column([], [], [])


def _are_fresh(weights: Sequence[NDArray]) -> list[bool]:
    entries: list[Any] = list(map(_ENTRY, weights))
    return [entry.__class__ is Variable and entry.is_fresh for entry in entries]


def _use_up(columns: Sequence[Column]) -> None:
    for column in columns:
        for weight in column.weights:
            weight.graph_entry.is_fresh = False


def _stale(parameter: Parameter, weight: NDArray) -> RefusedCallError:
    return RefusedCallError(
        "Trainer.step",
        f"the gradient of {parameter.name!r} on {weight.context} has not been computed by backward "
        "since the last step",
        because="a parameter that no loss depends on keeps an old gradient",
        hint="ignore_stale_grad=True updates the others, grad_req='null' leaves it out",
    )


class GradientChecks(Protocol):
    """The factor of losses, and the checks of gradients that change it."""

    @property
    def loss_scale(self) -> float: ...

    def has_overflow(self, params: Sequence[Parameter]) -> bool: ...

    def defer(self, finite: NDArray, undo: Callable[[], object]) -> None:
        """Counts a step; ``finite`` tells later whether it changed anything, else ``undo`` runs."""
        ...

    def settle(self) -> None: ...


class DeviceUpdates:
    """Updates on each context by an updater, with optimizer states of its own.

    uses_up
        whether a step uses gradients up, so that another one needs a backward before it.
    """

    def __init__(self, updaters: list[Any], store: Any, uses_up: bool = True) -> None:
        self.updaters = updaters
        #: Sums the gradients of all contexts first; None if each follows its own.
        self.store = store
        self._uses_up = uses_up

    @property
    def n_updates(self) -> int:
        return sum([updater.n_updates for updater in self.updaters])

    def update_together(self, arrays: ParameterArrays, ignore_stale: bool) -> bool:
        """Takes a step by the sums in the program that computes all contexts' gradients. False,
        with nothing changed, if impossible. After an exception all have taken it, or none."""
        sum_of = Aggregation.of(self.store)
        if arrays.replicated is None or sum_of not in _IN_PROGRAMS:
            return False
        if ignore_stale and sum_of is Aggregation.JOB:
            return False  # every process decides alike, whichever gradients are stale there
        columns = arrays.fresh_columns(ignore_stale)
        if any(c.indices != arrays.indices for c in columns):
            return False
        with self._using_up(columns):
            updated = arrays.update_together(self.updaters, sum_of, sums_gradients=True)
            if updated:
                _use_up(columns)
        return updated

    def _using_up(self, columns: Sequence[Column]) -> Rollback:
        before = self.n_updates
        return Rollback(lambda: self.n_updates != before, finish=partial(_use_up, columns))

    def reduce(self, arrays: ParameterArrays) -> None:
        if self.store is None or not arrays.indices:
            return
        with Rollback() as rollback:
            rollback.add(restoring(arrays))
            _push_and_pull(self.store, arrays.indices, arrays.grads, None)

    def update(self, arrays: ParameterArrays, ignore_stale: bool) -> None:
        """Takes a step on each context, or after an exception on none."""
        columns = arrays.fresh_columns(ignore_stale)
        used = columns if self._uses_up else ()
        with self._using_up(used):
            self._update(columns)
            _use_up(used)

    def update_if_finite(self, arrays: ParameterArrays, scaler: GradientChecks) -> bool:
        """Takes a step on the only context unless the program finds a gradient that is not finite,
        which the scaler reads. False, with nothing changed, if a program cannot check this."""
        updater, column = self.updaters[0], arrays.columns[0]
        alone = len(self.updaters) == 1 and isinstance(updater, Updater) and arrays.indices
        if not alone or arrays.repeated is not None or not all(_are_fresh(column.weights)):
            return False
        used = [column] if self._uses_up else []
        finite, before = ones((1,), ctx=column.weights[0].context), updater.n_updates
        undo: list[Callable[[], None]] = []

        def take_back() -> None:
            undo[0]()
            for each in used:
                for weight in each.weights:
                    weight.graph_entry.is_fresh = True

        try:
            updater.update_if_finite(*column, finite, undo)
        finally:
            updated = updater.n_updates != before
            if updated:
                _use_up(used)
                scaler.defer(finite, take_back)
        return updated

    def _update(self, columns: Sequence[Column]) -> None:
        if len(columns) == 1:
            if columns[0].indices:
                self.updaters[0](*columns[0])
            return
        pairs = [(u, c) for u, c in zip(self.updaters, columns, strict=True) if c.indices]
        all_or_none([(partial(u, *c), partial(getattr, u, "n_updates")) for u, c in pairs])

    def states(self) -> bytes:
        return self.updaters[0].get_states(dump_optimizer=True)

    def save(self, fname: AnyPath) -> None:
        write_atomically(fname, [self.states()])

    def load(self, fname: AnyPath) -> Any:
        """Gives the states of a file to all contexts; returns the optimizer in it."""
        with naming(fname):
            content = opt.read_state_file(fname)
            complete(lambda: [updater.set_states(content) for updater in self.updaters])
        optimizer = self.updaters[0].optimizer
        for updater in self.updaters:
            updater.optimizer = optimizer
        return optimizer


class StoreUpdates:
    """Updates by a store, which sums the gradients of all contexts; the parameters are copies."""

    def __init__(self, store: Any, optimizer: Any) -> None:
        self.store = store
        self._optimizer = optimizer
        #: Versions of the weights as they were pulled last; None where the store follows them.
        self._pulled: list[list[int]] | None = None
        self._updater: Any = None
        if isinstance(store, kv.KVStore):
            self._updater = get_updater(optimizer)
            store.set_updater(self._updater)
        else:
            store.set_optimizer(optimizer)

    def update(self, arrays: ParameterArrays, ignore_stale: bool) -> None:
        """Takes a step; after an exception all parameters have taken it, or none. As in MXNet,
        stale gradients count if they are ignored, and no gradient is used up."""
        store, updater = self.store, self._updater
        if not ignore_stale:
            arrays.fresh_columns(ignore_stale)
        if not arrays.indices or self._update_together(arrays):
            return
        before = 0 if updater is None else updater.n_updates

        def pull() -> None:
            store.pull(arrays.indices, out=arrays.weights)
            self.note_pulled(arrays.weights)

        with Rollback(lambda: updater is not None and updater.n_updates != before, finish=pull):
            _push_and_pull(store, arrays.indices, arrays.grads, arrays.weights)
        self.note_pulled(arrays.weights)

    def note_pulled(self, weights: Sequence[Sequence[NDArray]]) -> None:
        self._pulled = _versions(weights)

    def _update_together(self, arrays: ParameterArrays) -> bool:
        sum_of = Aggregation.of(self.store)
        if arrays.replicated is None or sum_of not in _IN_PROGRAMS:
            return False
        if not self._follows(arrays):
            if sum_of is not Aggregation.JOB:
                return False
            # Values that this process wrote to weights are dropped, as by a pull after the step.
            for grad in arrays.replicated.grads:
                grad.compute()
            self.store.pull(arrays.indices, out=arrays.weights)
            self.note_pulled(arrays.weights)
            if not self._follows(arrays):
                return False
        return arrays.update_together([self._updater], sum_of, sums_gradients=False)

    def _follows(self, arrays: ParameterArrays) -> bool:
        together = arrays.replicated
        assert together is not None
        if self._pulled is None:
            if any(w.has_written_members for w in together.weights):
                return False
        elif self._pulled != _versions(arrays.weights):
            return False
        else:
            for weight in together.weights:
                weight.compute()
        if not self.store.follow(arrays.indices, together.weights):
            return False
        self._pulled = None
        return True

    def save(self, fname: AnyPath) -> None:
        self.store.save_optimizer_states(fname, dump_optimizer=True)

    def load(self, fname: AnyPath) -> Any:
        self.store.load_optimizer_states(fname)
        if self._updater is not None:
            self._optimizer = self._updater.optimizer
        return self._optimizer


UpdateMode = DeviceUpdates | StoreUpdates

#: The places of sums that are a part of programs.
_IN_PROGRAMS = Aggregation.DEVICES, Aggregation.JOB


def _versions(weights: Sequence[Sequence[NDArray]]) -> list[list[int]]:
    return [[x.storage.version for x in row] for row in weights]


def restoring(arrays: ParameterArrays) -> Callable[[], None]:
    contents = [(g, g.value) for grads in arrays.grads for g in grads]

    def restore() -> None:
        for grad, value in contents:
            if grad.current is not value:
                grad.assign(value, shared=True)

    return restore


def _push_and_pull(store: Any, keys: list[int], values: list[Any], outs: Any) -> None:
    if isinstance(store, kv.KVStore):
        store.pushpull(keys, values, out=outs)
        return
    for k, (key, value) in enumerate(zip(keys, values, strict=True)):
        store.pushpull(key, value, out=value if outs is None else outs[k], priority=-key)


def decide(
    optimizer: Any,
    updaters: list[Any],
    parameters: Sequence[Parameter],
    sizes: Sequence[int],
    *,
    kvstore: Any,
    update_on_kvstore: bool | None,
    compression_params: Any,
) -> tuple[UpdateMode, Any, bool | None]:
    """Returns the mode, the store, and whether it updates. Gives the store the parameters, whose
    numbers of elements are ``sizes``. A store of this package shares the arrays of one context and
    is not called: there is nothing to sum, and the update stays a part of the program that computes
    the gradients."""
    wish = update_on_kvstore
    store, on_store = choose_store(kvstore, len(updaters), sizes)
    optax = is_transformation(optimizer)
    _check_wish(store, wish, optax)
    on_store = (on_store if wish is None else wish) and not optax
    if store is None:
        return DeviceUpdates(updaters, None), None, wish
    if "async" in store.type and not on_store:
        problem = f"a {store.type!r} store takes the steps itself"
        raise ArgumentValueError("Trainer: update_on_kvstore", problem, hint="True")
    if compression_params:
        store.set_gradient_compression(compression_params)
    if len(updaters) == 1 and Aggregation.of(store) is Aggregation.DEVICES:
        if on_store:
            store.set_updater(updaters[0])
        for i, parameter in enumerate(parameters):
            store.share(i, parameter.list_data()[0])
        return DeviceUpdates(updaters, None, uses_up=not on_store), store, on_store
    mode: UpdateMode = DeviceUpdates(updaters, store)
    if on_store:
        mode = StoreUpdates(store, optimizer)
    arrays = [p.list_data() for p in parameters]
    if isinstance(store, kv.KVStore):
        store.broadcast([*range(len(arrays))], [row[0] for row in arrays], arrays)
    else:
        for i, row in enumerate(arrays):
            store.broadcast(i, row[0], row)
    if isinstance(mode, StoreUpdates):
        mode.note_pulled([p.list_data() for p in parameters if p.grad_req != "null"])
    return mode, store, on_store


def _check_wish(store: Any, wish: bool | None, optax: bool) -> None:
    if not wish:
        return
    where, problem = "Trainer: update_on_kvstore", None
    if store is None:
        problem = "True, without a store"
    elif optax:
        problem = "True, and stores do not take steps of optax transformations"
    elif not store.is_capable(store.OPTIMIZER):
        problem = f"True, and a {type(store).__name__} only sums"
    if problem is not None:
        raise ArgumentValueError(where, problem, hint="False or None")
