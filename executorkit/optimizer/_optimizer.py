"""The base class of optimizers: rates, multipliers and counts, as MXNet keeps them.

An optimizer of this package defines the update of a parameter by a rule, a pure function (see
``_rule``), and the hyperparameters of a step, which are applied to any number of arrays in one
compiled call. Optimizers of users override ``update`` and work on NDArrays.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from jax import Array

from .._support.annotations import Attrs
from .._support.keyword_arguments import CheckedKeywords
from ..display import brief, changed_values, many
from ..errors import InputTypeError, NotSupportedError, RefusedCallError, RegistryError
from ..ndarray import NDArray, zeros
from ._apply_rules import apply_rules, check_arrays
from ._rule import Hyperparams, Index, Number, NumbersAndState, Rule, State, is_half

if TYPE_CHECKING:
    import optax

Class = TypeVar("Class", bound=type)


#: The methods of a class that compute rates.
_rate_methods = attrgetter(
    "learning_rate", "_get_lr", "_get_lrs", "_get_wd", "_get_wds", "_begin_step"
)


_DTYPE = attrgetter("storage.dtype")
#: Registered classes by lower-case name.
_classes: dict[str, type[Any]] = {}


def is_transformation(optimizer: Any) -> bool:
    """Tells whether an optimizer is an optax transformation."""
    optax = sys.modules.get("optax")
    return optax is not None and isinstance(optimizer, optax.GradientTransformation)


class _Registry:
    """``Optimizer.opt_registry``: all registered classes."""

    def __get__(self, instance: object, owner: type) -> dict[str, type[Any]]:
        for module in iter_modules(sys.modules[str(__package__)].__path__):
            import_module(f"{__package__}.{module.name}")
        return _classes


class Optimizer(CheckedKeywords):
    """Base class of optimizers. In the equations of subclasses, g is the gradient times
    rescale_grad, then clipped, and h is ``clip(rescale_grad grad + wd weight)``.

    rescale_grad
        Gradients are multiplied by this factor, usually 1 / batch size.
    param_idx2name
        The names of the parameters by index. With names, only parameters whose name ends in
        ``_weight`` or ``_gamma`` are decayed.
    wd
        The weight decay.
    clip_gradient
        The limit of the magnitude of each element of a rescaled gradient; None for none.
    learning_rate
        The rate, 0.01 by default. With a scheduler it becomes the scheduler's ``base_lr``.
    lr_scheduler
        A function that computes the rate from the number of updates.
    sym
        A symbol, whose variables' ``__lr_mult__`` and ``__wd_mult__`` attributes are multipliers.
    begin_num_update
        The number of updates done before.
    multi_precision
        Whether float16 (and, unlike MXNet, bfloat16) weights are updated through a float32 copy.
    param_dict
        Objects with ``lr_mult`` and ``wd_mult`` by index; they override all other multipliers.
    """

    #: Classes by lower-case name.
    opt_registry: ClassVar = _Registry()
    #: True if the state of a half precision weight is (state, master) and not (master, state).
    _master_last: ClassVar[bool] = False

    # Defaults of attributes that older pickles lack.
    aggregate_num: int = 0
    allow_np_array: bool = False
    #: The parameters whose gradients are row_sparse, for lazy updates.
    row_sparse: Set[Index] = frozenset()
    #: True if ``update_multi_precision`` does not call ``update``, so that a subclass's ``update``
    #: has no effect: so in MXNet's SGD, NAG, LARS and LAMB.
    _skips_update: ClassVar[bool] = False
    #: True if rules differ from parameter to parameter, and not by dtype alone.
    _rules_by_index: ClassVar[bool] = False

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Any, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Any = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if param_idx2name is not None and not isinstance(param_idx2name, dict):
            problem = f"param_idx2name is {type(param_idx2name).__name__}, expected a dict"
            raise InputTypeError(type(self).__name__, problem, hint="{0: 'fc1_weight', ...}")
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None and learning_rate is None:
            learning_rate = 0.01
        elif lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate  # MXNet prints that it does so
        self.lr = learning_rate
        self.wd = wd
        self.lr_mult: dict[Index, float] = {}
        self.wd_mult: dict[Index, float] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Index, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name: dict[Index, str] = dict(param_idx2name or {})
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict = param_dict if param_dict else {}
        self.allow_np_array = False
        self.set_lr_mult({})
        self.set_wd_mult({})

    def __repr__(self) -> str:
        rate = f"learning_rate={self.lr}" if self.lr_scheduler is None else repr(self.lr_scheduler)
        values = changed_values(self, {"learning_rate", "begin_num_update"})
        return brief(self, None, [rate, *values, many(self.num_update, "update")])

    # Classes by name

    @staticmethod
    def register(klass: Class) -> Class:
        """Registers a class under its lower-case name; a decorator. Warns if that is taken."""
        if not isinstance(klass, type):
            raise InputTypeError("optimizer: register", f"{klass!r} is not a class of optimizers")
        name = klass.__name__.lower()
        # The classes of this package come first, whenever they are imported.
        is_ours = klass.__module__.startswith(f"{__package__}.")
        previous = (_classes if is_ours else Optimizer.opt_registry).get(name)
        if previous is not None and previous is not klass:
            warnings.warn(
                f"optimizer {name!r} was {previous.__module__}.{previous.__name__}, "
                f"is now {klass.__module__}.{klass.__name__}",
                UserWarning,
                stacklevel=2,
            )
        _classes[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """Returns an optimizer by the case-insensitive name of its class, and its arguments. Raises
        ValueError for a name that is not registered, or not a str."""
        if not isinstance(name, str):
            raise RegistryError("optimizer: create", f"{name!r}, expected the name of an optimizer")
        klass = _classes.get(name.lower()) or Optimizer.opt_registry.get(name.lower())
        if klass is None:
            registry = Optimizer.opt_registry
            similar = difflib.get_close_matches(name.lower(), registry, 3, 0.5)
            hint = " or ".join(map(repr, similar or sorted(registry)))
            raise RegistryError("optimizer: create", f"{name!r} is not registered", hint=hint)
        return klass(**kwargs)

    # Rates, decay and their multipliers

    @property
    def learning_rate(self) -> float:
        """The current rate, without multipliers."""
        if self.lr_scheduler is not None:
            return self.lr_scheduler(self.num_update)
        return self.lr  # type: ignore[return-value]

    def set_learning_rate(self, lr: float) -> None:
        """Sets the rate; raises RefusedCallError (a UserWarning) if a scheduler computes it."""
        if self.lr_scheduler is not None:
            problem = "lr_scheduler decides on the learning rate"
            hint = "optimizer.lr_scheduler.base_lr = ..."
            raise RefusedCallError("set_learning_rate", problem, hint=hint)
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Any) -> None:
        """Raises a DeprecationWarning, as in MXNet."""
        raise RefusedCallError("set_lr_scale", "it is gone", hint="set_lr_mult(...)")

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Sets multipliers of the rate by name or index, which override the symbol's."""
        self.lr_mult = {**self._symbol_multipliers("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Sets multipliers of the weight decay by name or index. They override the symbol's, and 0
        for named parameters that are neither weights nor gammas."""
        unnamed = {n: 0.0 for n in self.idx2name.values() if not self._decays(n)}
        self.wd_mult = {**unnamed, **self._symbol_multipliers("__wd_mult__"), **args_wd_mult}

    def _decays(self, name: str) -> bool:
        return name.endswith(("_weight", "_gamma"))

    def _symbol_multipliers(self, attribute: str) -> dict[Index, float]:
        if not self.sym_info:
            return {}
        attrs, arguments = self.sym_info
        return {n: float(attrs[n][attribute]) for n in arguments if attribute in attrs.get(n, ())}

    def _multiplier(self, index: Index, kind: str) -> float:
        return self._multipliers([index], kind)[0]

    def _multipliers(self, indices: Sequence[Index], kind: str) -> list[float]:
        params, multipliers, names = self.param_dict, getattr(self, kind), self.idx2name
        if not (params or multipliers):
            return [1.0] * len(indices)
        try:
            return list(map(attrgetter(kind), map(params.__getitem__, indices)))
        except KeyError:
            return [
                getattr(params[i], kind)
                if i in params
                else multipliers.get(i, multipliers.get(names.get(i), 1.0))
                for i in indices
            ]

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        lr = self.learning_rate
        return [lr * multiplier for multiplier in self._multipliers(indices, "lr_mult")]

    def _get_lr(self, index: Index) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        wd = self.wd
        return [wd * multiplier for multiplier in self._multipliers(indices, "wd_mult")]

    def _get_wd(self, index: Index) -> float:
        return self._get_wds([index])[0]

    # Counting

    def _set_current_context(self, device_id: int) -> None:
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _restore_counts(self, counts: dict[int, dict[Index, int]], device_id: int) -> None:
        self._all_index_update_counts = counts
        self._set_current_context(device_id)

    def _update_count(self, index: Index) -> None:
        counts, begin, largest = self._index_update_count, self.begin_num_update, self.num_update
        for i in index if isinstance(index, list | tuple) else (index,):
            counts[i] = count = counts.get(i, begin) + 1
            if count > largest:
                self.num_update = largest = count

    def _count_undo(self, indices: Sequence[Index]) -> Callable[[], None]:
        counts = self._index_update_count
        before = list(map(counts.get, indices))
        num_update, shared_state = self.num_update, self.shared_state
        scheduler: Attrs = getattr(self.lr_scheduler, "__dict__", {}).copy()

        def undo() -> None:
            for index, count in zip(indices, before, strict=True):
                if count is None:
                    counts.pop(index, None)
                else:
                    counts[index] = count
            self.num_update, self.shared_state = num_update, shared_state
            if scheduler:
                vars(self.lr_scheduler).update(scheduler)

        return undo

    # States

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Returns the state of a parameter: None, an NDArray, or a tuple of states."""
        return None

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> State:
        """Returns the state of a parameter; for a half precision weight with its float32 master."""
        if is_half(weight.dtype):
            if self.multi_precision:
                master = weight.astype(np.float32)
                state = self.create_state(index, master)
                return (state, master) if self._master_last else (master, state)
            warnings.warn(
                "updates of half precision weights are rounded away when they are small; "
                "multi_precision=True keeps a float32 copy",
                UserWarning,
                stacklevel=2,
            )
        return self.create_state(index, weight)

    # Rules and their hyperparameters: defined by the classes of this package

    def _base_rule(self, index: Index, weight: NDArray) -> Rule | None:
        return None

    def _update_rule(self, index: Index, weight: NDArray) -> Rule | None:
        rule = self._base_rule(index, weight)
        if rule is None or not is_half(weight.dtype):
            return rule
        from ._mixed_precision import Float32Rule

        return Float32Rule(rule)

    def _master_weight_rule(self, index: Index, weight: NDArray) -> Rule | None:
        from ._mixed_precision import MasterWeightRule

        rule = self._base_rule(index, weight)
        return None if rule is None else MasterWeightRule(rule, self._master_last)

    def _pure_rule(self, index: Index, weight: NDArray) -> Rule | None:
        return self._select_rule(index, weight) if self._is_pure else None

    def _pure_rules(
        self, indices: Sequence[Index], weights: Sequence[NDArray]
    ) -> list[Rule] | None:
        if not self._is_pure:
            return None
        dtypes = list(map(_DTYPE, weights))
        if dtypes.count(dtypes[0]) == len(dtypes) and not (self._rules_by_index or self.row_sparse):
            rule = self._select_rule(indices[0], weights[0])
            return None if rule is None else [rule] * len(dtypes)
        rules = [self._select_rule(i, w) for i, w in zip(indices, weights, strict=True)]
        defined = [rule for rule in rules if rule is not None]
        return defined if len(defined) == len(rules) else None

    def _select_rule(self, index: Index, weight: NDArray) -> Rule | None:
        if self.multi_precision and is_half(weight.dtype):
            return self._master_weight_rule(index, weight)
        return self._update_rule(index, weight)

    @property
    def _is_pure(self) -> bool:
        names = ("update_multi_precision", "update")[: 1 if self._skips_update else 2]
        for name in names:
            if getattr(getattr(self, name), "__func__", None) is not getattr(Optimizer, name):
                return False
        return True

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: State
    ) -> NumbersAndState:
        return (lr, wd, self.rescale_grad), shared_state

    def _begin_step(self, rate: Number, shared_state: State) -> State:
        return shared_state

    @property
    def shared_state(self) -> State:
        """Numbers kept from step to step for all parameters together; None by default."""
        return None

    @shared_state.setter
    def shared_state(self, shared_state: State) -> None:
        pass

    def _counted_lrs(self, indices: Sequence[Index]) -> list[float]:
        if type(self)._get_lr is not Optimizer._get_lr:
            return [self._get_lr(i) for i in indices]
        return self._get_lrs(indices)

    def _counted_wds(self, indices: Sequence[Index]) -> list[float]:
        if type(self)._get_wd is not Optimizer._get_wd:
            return [self._get_wd(i) for i in indices]
        return self._get_wds(indices)

    def _schedule_count(self, position: int, count: Number) -> Number:
        return count

    def _count_step(self, indices: Sequence[Index], together: int = 1) -> list[Hyperparams]:
        """Counts an update of each parameter; returns hyperparameters for their rules. ``together``
        are counted before their rates are computed, or all, where only own counts matter."""
        hyperparams: list[Hyperparams] = []
        if self._counts_matter_alone and len({*indices}) == len(indices):
            together = max(len(indices), 1)
        for start in range(0, len(indices), together):
            group = indices[start : start + together]
            self._update_count(group)
            shared = self.shared_state
            if isinstance(shared, tuple):
                shared = self._begin_step(self.learning_rate, shared)
            counts = list(map(self._index_update_count.__getitem__, group))
            lrs, wds = self._counted_lrs(group), self._counted_wds(group)
            columns, n = (lrs, wds, counts), len(group)
            equal = lrs.count(lrs[0]) == wds.count(wds[0]) == counts.count(counts[0]) == n
            if equal and shared is None:
                numbers, _ = self._hyperparams(lrs[0], wds[0], counts[0], None)
                hyperparams += [numbers] * n
                continue
            for lr, wd, count in zip(*columns, strict=True):
                numbers, shared = self._hyperparams(lr, wd, count, shared)
                hyperparams.append(numbers)
            self.shared_state = shared
        return hyperparams

    @property
    def _counts_matter_alone(self) -> bool:
        if self.lr_scheduler is not None:
            return False
        return _rate_methods(type(self)) == _rate_methods(Optimizer)

    # Updates

    def update(self, index: Any, weight: Any, grad: Any, state: State) -> None:
        """Updates a weight and its state in place; or several, given as lists."""
        self._apply(_as_lists(index, weight, grad, state), self._update_rule)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: State) -> None:
        """Updates like :meth:`update`, with states from :meth:`create_state_multi_precision`."""
        items = _as_lists(index, weight, grad, state)
        if self._is_pure:
            self._apply(items, self._pure_rule)  # type: ignore[arg-type]
            return
        for i, w, g, s in zip(*items, strict=True):
            if not (self.multi_precision and is_half(w.dtype)):
                self.update(i, w, g, s)
                continue
            inner, master = s if self._master_last else (s[1], s[0])
            self.update(i, master, g.astype(master.dtype), inner)
            w[:] = master

    def _apply(self, items: tuple[Sequence[Any], ...], rule_of: Any) -> None:
        indices, weights, grads, states = items
        for i, w, g in zip(indices, weights, grads, strict=True):
            check_arrays(f"{type(self).__name__}: parameter {self.idx2name.get(i, i)!r}", w, g)
        rules = [rule_of(i, w) for i, w in zip(indices, weights, strict=True)]
        if None in rules:
            problem = "it defines no update(index, weight, grad, state)"
            raise NotSupportedError(type(self).__name__, problem)
        count = partial(self._count_step, indices, len(indices) if self.aggregate_num else 1)
        apply_rules(rules, weights, grads, states, count=count, undo=self._count_undo(indices))

    def to_optax(
        self, names: Sequence[str] | None = None, *, key: Array | None = None
    ) -> optax.GradientTransformationExtraArgs:
        """Returns an equal optax transformation of a dictionary of parameters.

        Its updates are the differences of the weights that an :class:`Updater` would make, and can
        be compiled. ``tx.update(..., learning_rate=x)`` overrides the rate and its scheduler.

        names
            The parameters in the order of updates, sorted by default. The index of a name selects
            its multipliers, and its ending decides on decay, as for a Module. Names of nested
            dictionaries are joined by underscores.
        key
            The source of random numbers, ``mx.random`` by default.

        NotImplementedError if the class overrides ``update``, or the scheduler cannot be traced.
        """
        from ._optax import transformation

        return transformation(self, names, key)

    # Pickling

    def __getstate__(self) -> Attrs:
        return {k: v for k, v in vars(self).items() if k not in ("param_dict", "row_sparse")}

    def __setstate__(self, state: Attrs) -> None:
        self.__dict__.update(state)
        self.param_dict = {}


def _as_lists(*items: Any) -> tuple[Sequence[Any], ...]:
    if isinstance(items[0], list | tuple):
        return items
    return tuple([x] for x in items)


def zeros_like(weight: NDArray) -> NDArray:
    return zeros(weight.shape, weight.context, dtype=weight.dtype)


def zero_states(count: int) -> Any:
    def create_state(self: Any, index: Index, weight: NDArray) -> State:
        return zeros_like(weight) if count == 1 else tuple(zeros_like(weight) for _ in range(count))

    create_state.__doc__ = Optimizer.create_state.__doc__
    return create_state


def momentum_state(self: Any, index: Index, weight: NDArray) -> State:
    """Returns the momentum of a parameter as zeros, or None if ``momentum`` is 0."""
    return zeros_like(weight) if self.momentum != 0.0 else None


register = Optimizer.register
create = Optimizer.create_optimizer
