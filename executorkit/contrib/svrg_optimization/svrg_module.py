"""SVRGModule: a module whose gradients have a smaller variance.

Every ``update_freq`` epochs a second module takes a copy of the parameters and computes the mean
gradient of the whole data with them, as in R. Johnson and T. Zhang, "Accelerating stochastic
gradient descent using predictive variance reduction" (2013). The difference of that mean and the
second module's gradient of a batch corrects the batch's gradient.
"""

import logging
from typing import Any

from ...base import _as_list
from ...context import cpu
from ...errors import ArgumentValueError, InputTypeError, ModuleUsageError
from ...kvstore import create as create_kvstore
from ...model import FitSpec
from ...module import BindSpec, Module, OptimizerSpec
from ...ndarray import NDArray


class _GradientModule(Module):
    def named_gradients(self) -> dict[str, list[NDArray]]:
        """Returns the gradients of each parameter that has some, by device."""
        group = self._exec_group
        pairs = zip(group.param_names, group.grad_arrays or [], strict=True)
        return {name: grads for name, grads in pairs if grads and grads[0] is not None}


class SVRGModule(_GradientModule):
    """A :class:`~executorkit.module.Module` that trains with SVRG.

    Every ``update_freq`` epochs (an integer, else TypeError; positive, else ValueError) ``fit``
    calls ``update_full_grads(train_data)``; a custom loop calls it itself. ``update`` corrects the
    gradients. Unlike in MXNet, the optimizer never sees the full gradients. Other arguments are
    Module's.
    """

    def __init__(
        self,
        symbol: Any,
        data_names: object = ("data",),
        label_names: object = ("softmax_label",),
        logger: object = logging,
        context: object = None,
        work_load_list: object = None,
        fixed_param_names: object = None,
        state_names: object = None,
        group2ctxs: object = None,
        compression_params: object = None,
        update_freq: Any = None,
    ) -> None:
        if not isinstance(update_freq, int):
            problem = f"update_freq is {update_freq!r}, expected an integer"
            raise InputTypeError("SVRGModule", problem)
        if update_freq <= 0:
            problem = f"update_freq is {update_freq}, expected at least 1"
            raise ArgumentValueError("SVRGModule", problem)
        contexts = _as_list(cpu() if context is None else context)
        options: dict[str, Any] = {
            "data_names": data_names, "label_names": label_names, "logger": logger,
            "context": list(contexts), "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names, "state_names": state_names,
            "group2ctxs": group2ctxs, "compression_params": compression_params,
        }  # fmt: skip
        super().__init__(symbol, **options)
        self.update_freq = update_freq
        self._mod_aux = _GradientModule(symbol, **options)
        #: The full gradients by name, for each device.
        self._param_dict: list[dict[str, NDArray]] = [{} for _ in contexts]
        self._ctx_len = len(contexts)

    def _bind(self, spec: BindSpec) -> None:
        super()._bind(spec)
        if spec.for_training:
            self._mod_aux.bind(**spec.keywords())

    def _init_optimizer(self, spec: OptimizerSpec) -> None:
        super()._init_optimizer(spec)
        zeros = [(n, a.zeros_like()) for n, a in self.get_params()[0].items()]
        self._param_dict = [{n: a.copyto(c) for n, a in zeros} for c in self._context]

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        super().forward(data_batch, is_train)
        if is_train or (is_train is None and self.for_training):
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        super().backward(out_grads)
        self._mod_aux.backward(out_grads)

    def update(self) -> None:
        self._update_svrg_gradients()
        super().update()

    def _update_svrg_gradients(self) -> None:
        auxiliary = self._mod_aux.named_gradients()
        for name, grads in self.named_gradients().items():
            full_grads = [device[name] for device in self._param_dict]
            self._svrg_grads_update_rule(grads, auxiliary[name], full_grads)

    def _svrg_grads_update_rule(
        self, gradients: Any, auxiliary_gradients: Any, full_gradients: Any
    ) -> Any:
        # gradient - auxiliary gradient + full gradient.
        arrays = zip(gradients, auxiliary_gradients, full_gradients, strict=True)
        for grad, auxiliary, full in arrays:
            grad[:] = grad - auxiliary + full
        return gradients

    def update_full_grads(self, train_data: Any) -> None:
        """Copies the parameters to the second module, and computes the full gradients: the sum over
        batches and the full gradients before (as in MXNet), divided by the number of batches."""
        self._mod_aux.set_params(*self.get_params(), allow_missing=False, force_init=True)
        train_data.reset()
        batches = 0.0
        # MXNet adds to the earlier ones, so that a part of it stays; scripts get its numbers.
        sums = [dict(device) for device in self._param_dict]
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1 - (batch.pad or 0) / train_data.batch_size
            for name, grads in self._mod_aux.named_gradients().items():
                for device, grad in zip(sums, grads, strict=True):
                    device[name] = device[name] + grad
        self._param_dict = [{n: total / batches for n, total in device.items()} for device in sums]
        if self._kvstore is not None:
            for name in self._mod_aux.named_gradients():
                self._accumulate_kvstore(name, [device[name] for device in self._param_dict])

    def _accumulate_kvstore(self, key: str, value: list[NDArray]) -> None:
        if self._kvstore is None:
            raise ModuleUsageError("_accumulate_kvstore", "the module has no store")
        # The module's own store may update pushed arrays.
        store = create_kvstore("dist" if "dist" in self._kvstore.type else "device")
        store.init(key, value[0].zeros_like())
        store.pushpull(key, value)
        self._allocate_gradients(key, [array / store.num_workers for array in value])

    def _allocate_gradients(self, key: str, value: list[NDArray]) -> None:
        for device, array in zip(self._param_dict, value, strict=False):
            device[key] = array / self._ctx_len

    def _begin_epoch(self, spec: FitSpec, epoch: int) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(spec.train_data)
        spec.train_data.reset()

    def _end_epoch(self, spec: FitSpec) -> None:
        # The next epoch begins with a reset: shuffles depend on their number.
        pass
