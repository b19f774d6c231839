"""``BucketingModule``: networks for inputs of different lengths that share their parameters."""

from __future__ import annotations

from typing import Any

from ..executor._report import FiniteReport
from ..initializer import Uniform
from ._bucket_files import BucketFiles
from ._usage import require

__all__ = ["BucketingModule"]


class BucketingModule(BucketFiles):
    """A module for each ``bucket_key`` that batches have, made when the first such batch comes.

    sym_gen
        a function from a bucket's key to (symbol, data_names, label_names).
    default_bucket_key
        the bucket that is bound first and has all parameters. (Other buckets may be larger: they
        share parameters, not memory.)
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs,
    compression_params, compute_dtype, remat
        as for :class:`Module`.

    Parameters, gradients, auxiliary states and the optimizer are one for all buckets; each bucket
    is compiled once.
    """

    # Parameters

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name, as they are now."""
        require(self, "get_params", "params_initialized")
        self._curr_module._params_dirty |= self._params_dirty
        params = self._curr_module.get_params()
        self._params_dirty = False
        return params

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default; it has no state
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """As :meth:`Module.init_params`, for all buckets; without ``force_init`` a second time does
        nothing."""
        if self.params_initialized and not force_init:
            return
        require(self, "init_params", "binded")
        self._curr_module._params_dirty |= self._params_dirty
        self._curr_module.init_params(
            initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self._params_dirty = False
        self.params_initialized = True

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """As :meth:`Module.set_params`, for all buckets."""
        if not allow_missing:
            super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        require(self, "set_params", "binded")
        self._curr_module.set_params(arg_params, aux_params, True, force_init, allow_extra)
        self._params_dirty = self._curr_module._params_dirty
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The current bucket's states, as :meth:`Module.get_states` gives them."""
        require(self, "get_states", "binded", "params_initialized")
        return self._curr_module.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the current bucket's states, as :meth:`Module.set_states` does."""
        require(self, "set_states", "binded", "params_initialized")
        self._curr_module.set_states(states, value)

    # Training

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Makes the optimizer of all buckets, as :meth:`Module.init_optimizer` does."""
        require(self, "init_optimizer", "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("init_optimizer: there is an optimizer already; nothing is done")
            return
        current = self._curr_module
        current.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._buckets.values():
            if module is not current:
                module.borrow_optimizer(current)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Runs the bucket of the batch, which becomes the current one."""
        require(self, "forward", "binded", "params_initialized")
        self._switch_to(data_batch)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients of the current bucket."""
        require(self, "backward", "binded", "params_initialized")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        """Changes the parameters by the gradients of the current bucket."""
        require(self, "update", "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        self._curr_module.update()

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node of the current bucket that made a NaN or an infinity."""
        require(self, "check_finite", "binded", "params_initialized")
        return self._curr_module.check_finite(out_grads, raise_error=raise_error)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the current bucket."""
        require(self, "get_outputs", "binded", "params_initialized")
        return self._curr_module.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the current bucket's inputs."""
        require(self, "get_input_grads", "binded", "params_initialized")
        return self._curr_module.get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric take the current bucket's outputs into account."""
        require(self, "update_metric", "binded", "params_initialized")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at all buckets, those to come included."""
        require(self, "install_monitor", "binded")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)
