"""``gluon.Trainer``: an optimizer for the parameters of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import optimizer as opt
from .._files import AnyPath
from .._support.annotations import Attrs
from ..calls.rollback import Rollback
from ..context import Context
from ..display import brief, many
from ..errors import ArgumentValueError, InputTypeError, RefusedCallError
from ._parameter import Parameter
from ._parameter_dict import ParameterDict
from ._update_modes import (
    DeviceUpdates,
    GradientChecks,
    ParameterArrays,
    StoreUpdates,
    UpdateMode,
    decide,
    restoring,
)


class Trainer:
    """Updates parameters by an optimizer, after each backward.

    Record, backward and step are one program if no value is read in between. After an exception in
    ``step``, such as a KeyboardInterrupt, parameters, states and counts are as before the step, or
    as after it.

    params
        a ``ParameterDict`` or dict, whose parameters are numbered in the order of their keys as
        text (``dense10_weight`` before ``dense2_weight``), or a list. States in files have these
        numbers.
    optimizer
        the name of an optimizer, an :class:`executorkit.optimizer.Optimizer`, or (an extension) any
        optax transformation, which sees a dict of arrays by the parameters' names. It updates all
        of its parameters at every step, and ``lr_mult`` and ``wd_mult`` do not matter for it.
    optimizer_params
        arguments for an optimizer given by name; ``rescale_grad`` is a factor besides 1 / batch
        size.
    kvstore
        the store that sums gradients over contexts: its name, an object, or None, where each
        context follows its own gradients. One context uses a store only if it is a 'dist' one, or
        an object of a class of its own.
    compression_params
        ``{"type": "2bit", "threshold": 0.5}`` compresses what goes to the store.
    update_on_kvstore
        True: the store takes the step, and ``allreduce_grads`` and ``update`` are refused. False:
        each context takes the step by the sums. None: True where the store is able to.

    Parameters may be of unknown shape until the first step. Raises ValueError or TypeError
    (ArgumentValueError, InputTypeError) for other arguments, RuntimeError (MXNetError) for
    parameters that are not initialized, AssertionError (ArgumentValueError) if they are on
    different contexts.

    >>> import executorkit as mx
    >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
    >>> weight.initialize()
    >>> trainer = Trainer([weight], "sgd", {"learning_rate": 0.5})
    >>> with mx.autograd.record():
    ...     loss = (weight.data() * mx.nd.array([2, 4])).sum()
    >>> loss.backward()
    >>> trainer.step(batch_size=2)
    >>> weight.data().asnumpy().tolist()
    [0.5, 0.0]
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: Any,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        self._params = _listed(params)
        self._param2idx = {p.name: i for i, p in enumerate(self._params)}
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, dict(optimizer_params or {}))
        self._scale: float = (optimizer_params or {}).get("rescale_grad", 1.0)
        self._compression_params = compression_params
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._mode: UpdateMode | None = None
        self._arrays: ParameterArrays | None = None
        self._amp_loss_scaler: GradientChecks | None = None
        self._amp_original_scale = self._scale
        self._reset_kvstore()
        for parameter in self._params:
            parameter._set_trainer(self)

    def __repr__(self) -> str:
        optimizer = "optax" if opt.is_transformation(self._optimizer) else repr(self._optimizer)
        counts = [many(len(self._params), "parameter"), many(len(self._contexts), "context")]
        return brief(self, None, [optimizer, *counts])

    def __getstate__(self) -> Attrs:
        return {**vars(self), "_arrays": None}

    def _check_contexts(self) -> list[Context]:
        if not self._params:
            raise InputTypeError("Trainer: params", "there are none")
        first = self._params[0]
        contexts = first.list_ctx()
        for parameter in self._params:
            if parameter.list_ctx() != contexts:
                problem = (
                    f"{parameter.name!r} is on {parameter.list_ctx()}, {first.name!r} on {contexts}"
                )
                raise ArgumentValueError("Trainer: params", problem, hint="initialize(ctx=...)")
        return contexts

    def _init_optimizer(self, optimizer: Any, optimizer_params: Attrs) -> None:
        indexed = dict(enumerate(self._params))
        self._updaters: list[Any] = []
        if not isinstance(optimizer, str):
            expected = isinstance(optimizer, opt.Optimizer) or opt.is_transformation(optimizer)
            if not expected:
                problem = f"a {type(optimizer).__name__}, expected a name or an Optimizer"
                raise InputTypeError("Trainer: optimizer", problem, hint="'sgd', optax.adam(1e-3)")
            if optimizer_params:
                problem = "only an optimizer that is given by its name takes them"
                raise ArgumentValueError("Trainer: optimizer_params", problem)
        self._optimizer = optimizer
        if isinstance(optimizer, str):
            self._optimizer = opt.create(optimizer, param_dict=indexed, **optimizer_params)
        if isinstance(self._optimizer, opt.Optimizer):
            self._describe_params(self._optimizer)
            self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    def _describe_params(self, optimizer: opt.Optimizer) -> None:
        indexed = dict(enumerate(self._params))
        optimizer.param_dict = indexed
        optimizer.row_sparse = {i for i, p in indexed.items() if p._grad_stype == "row_sparse"}

    # Stores

    def _init_kvstore(self) -> None:
        if len(self._contexts) > 1:
            self._current_arrays().combine_steps()  # the store reads what may be pending
        sizes = [p.data(self._contexts[0]).size for p in self._params]
        if not self._updaters:
            from ._transformation_updater import TransformationUpdater

            columns = self._current_arrays().columns
            self._updaters = [
                TransformationUpdater(self._optimizer, self._params, column) for column in columns
            ]
        self._mode, self._kvstore, self._update_on_kvstore = decide(
            self._optimizer, self._updaters, self._params, sizes,
            **self._kvstore_params, compression_params=self._compression_params,
        )  # fmt: skip
        self._distributed = self._kvstore is not None and "dist" in self._kvstore.type
        self._params_to_init = []
        self._kv_initialized = True

    def _init_params(self) -> None:
        """Does nothing: the store is given all parameters at once."""

    def _reset_kvstore(self) -> None:
        self._kv_initialized = False
        self._kvstore: Any = None
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)
        self._mode = None

    def parameter_is_set(self) -> None:
        """Notes new contents by ``set_data``: the store begins again with them, without the states
        of the optimizer."""
        if isinstance(self._mode, StoreUpdates):
            self._reset_kvstore()

    def _ready_mode(self) -> UpdateMode:
        if not self._kv_initialized:
            self._init_kvstore()
        assert self._mode is not None
        return self._mode

    def _current_arrays(self) -> ParameterArrays:
        arrays = self._arrays
        if arrays is None or not arrays.is_current():
            self._arrays = arrays = ParameterArrays(self._params, len(self._contexts))
        return arrays

    # The optimizer

    @property
    def optimizer(self) -> Any:
        """The optimizer, or the optax transformation."""
        self._settle()
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The current rate, without multipliers; a scheduler's rate of the last step. Raises
        UserWarning (RefusedCallError) for a transformation without ``optax.inject_hyperparams``."""
        self._settle()
        if isinstance(self._optimizer, opt.Optimizer):
            return self._optimizer.learning_rate
        return float(self._injected_rates()[0].asscalar())

    def set_learning_rate(self, lr: float) -> None:
        """Sets the rate; RefusedCallError (a UserWarning) if a scheduler computes it, or for an
        optax transformation without ``optax.inject_hyperparams``."""
        self._settle()
        if isinstance(self._optimizer, opt.Optimizer):
            self._optimizer.set_learning_rate(lr)
            return
        for rate in self._injected_rates():
            rate[:] = lr

    def _injected_rates(self) -> list[Any]:
        self._ready_mode()
        rates = [updater.learning_rate for updater in self._updaters]
        if any(rate is None for rate in rates):
            problem = "the optax transformation keeps no learning rate"
            hint = "optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)"
            raise RefusedCallError("Trainer: learning_rate", problem, hint=hint)
        return rates

    def _check_and_rescale_grad(self, scale: float) -> None:
        if isinstance(self._optimizer, opt.Optimizer):
            self._optimizer.rescale_grad = scale
        else:
            for updater in self._updaters:
                updater.hyperparams = (scale,)

    # Steps

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Updates the parameters by the sums of the gradients over contexts.

        batch_size
            gradients are divided by it; 1 for losses that are means.
        ignore_stale_grad
            whether parameters whose gradients are older than the last step stay as they are;
            otherwise RefusedCallError, a UserWarning. (Updates on the store do not ask.)
        """
        scale = self._scale / batch_size
        mode = self._ready_mode()
        self._check_and_rescale_grad(scale)
        if isinstance(mode, StoreUpdates) or mode.store is None:
            self._allreduce_grads()
            self._update(ignore_stale_grad)
            return
        arrays = self._current_arrays()
        # A scaler has to see the sums before the step is taken.
        unchecked = self._amp_loss_scaler is None
        if unchecked and mode.update_together(arrays, ignore_stale_grad):
            return
        before = mode.n_updates
        with Rollback(lambda: mode.n_updates != before) as rollback:
            rollback.add(restoring(arrays))
            self._allreduce_grads()
            self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Writes the sums over the contexts to all gradients, for a loop that changes them before
        ``update``. AssertionError (ArgumentValueError) if the store takes the steps."""
        self._ready_mode()
        self._refuse_on_store("allreduce_grads")
        self._allreduce_grads()

    def _allreduce_grads(self) -> None:
        mode = self._mode
        if isinstance(mode, DeviceUpdates) and mode.store is not None:
            mode.reduce(self._current_arrays())

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Does ``step`` without the sums: each context follows its own gradients. AssertionError
        (ArgumentValueError) if the store takes the steps."""
        scale = self._scale / batch_size
        self._ready_mode()
        self._refuse_on_store("update")
        self._check_and_rescale_grad(scale)
        self._update(ignore_stale_grad)

    def _update(self, ignore_stale_grad: bool = False) -> None:
        mode, arrays, scaler = self._ready_mode(), self._current_arrays(), self._amp_loss_scaler
        if scaler is not None:
            scaler.settle()
            if isinstance(mode, DeviceUpdates) and mode.update_if_finite(arrays, scaler):
                return
            if scaler.has_overflow(self._params):
                return
        mode.update(arrays, ignore_stale_grad)

    # Losses in half precision

    def use_loss_scaler(self, scaler: GradientChecks) -> None:
        """Skips steps whose gradients are not finite, and tells a scaler of losses about them, as
        ``contrib.amp.init_trainer`` does."""
        self._settle()
        self._amp_loss_scaler = scaler
        self._amp_original_scale = self._scale

    def begin_scaled_loss(self) -> float:
        """Returns the factor of the next loss; the next step divides by it. AssertionError
        (ArgumentValueError) without a scaler."""
        if self._amp_loss_scaler is None:
            problem = "the trainer has no loss scaler"
            raise ArgumentValueError("amp.scale_loss", problem, hint="amp.init_trainer(trainer)")
        scale = self._amp_loss_scaler.loss_scale
        self._scale = self._amp_original_scale / scale
        return scale

    def unscale_gradients(self) -> None:
        """Multiplies all gradients by the trainer's factor at once instead of in the next step."""
        for parameter in self._params:
            for grad in parameter.list_grad() if parameter.grad_req != "null" else ():
                grad *= self._scale
        self._scale = 1.0

    def _settle(self) -> None:
        if self._amp_loss_scaler is not None:
            self._amp_loss_scaler.settle()

    def _refuse_on_store(self, where: str) -> None:
        if self._update_on_kvstore:
            problem = "the store takes the steps"
            hint = "Trainer(..., update_on_kvstore=False)"
            raise ArgumentValueError(f"Trainer.{where}", problem, hint=hint)

    # Files

    def save_states(self, fname: AnyPath) -> None:
        """Writes the optimizer and its states of the first context to a file that MXNet reads (for
        optax the state alone, which MXNet does not read)."""
        self._settle()
        self._ready_mode().save(fname)

    def load_states(self, fname: AnyPath) -> None:
        """Reads a file of :meth:`save_states`, written here or by MXNet, with its optimizer.
        FileFormatError for other files: nothing is imported or run that they may name."""
        self._settle()
        self._optimizer = self._ready_mode().load(fname)
        if isinstance(self._optimizer, opt.Optimizer):
            self._describe_params(self._optimizer)


def _listed(params: Any) -> list[Parameter]:
    if isinstance(params, dict | ParameterDict):
        params = [params[name] for name in sorted(params.keys())]
    if not isinstance(params, list | tuple):
        problem = f"a {type(params).__name__}, expected a list or dict of Parameters"
        raise ArgumentValueError("Trainer: params", problem, hint="net.collect_params()")
    for parameter in params:
        if not isinstance(parameter, Parameter):
            problem = f"a {type(parameter).__name__} among them, expected Parameters"
            raise ArgumentValueError("Trainer: params", problem, hint="net.collect_params()")
    return list(params)
