"""SVRGModule: a module whose gradients have a smaller variance.

Every ``update_freq`` epochs a second module takes a copy of the parameters and computes the mean
gradient of the whole data with them, as in R. Johnson and T. Zhang, "Accelerating stochastic
gradient descent using predictive variance reduction" (2013). The gradient of a batch is then
corrected by the difference of that mean and the second module's gradient of the same batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...base import _as_list
from ...context import cpu
from ...errors import ArgumentValueError, InputTypeError
from ...initializer import Uniform
from ...metric import EvalMetric, create as create_metric
from ...model import BatchEndParam
from ...module import Module
from ...ndarray import NDArray

__all__ = ["SVRGModule"]


class _GradientModule(Module):
    """A module that shows its gradients by name."""

    def named_gradients(self) -> dict[str, list[NDArray]]:
        """The gradients of each parameter that has some, by device."""
        group = self._exec_group
        pairs = zip(group.param_names, group.grad_arrays or [], strict=True)
        return {name: grads for name, grads in pairs if grads and grads[0] is not None}


class SVRGModule(_GradientModule):
    """A :class:`~executorkit.module.Module` that trains with SVRG.

    update_freq
        number of epochs after which the full gradients are computed again. TypeError
        (InputTypeError) unless it is an integer, ValueError (ArgumentValueError) unless positive.

    Other arguments are Module's. In a loop of one's own, ``update_full_grads(train_data)`` is
    called at the start of every ``update_freq``-th epoch; ``fit`` does so itself. Unlike in MXNet,
    full gradients stay on the devices, whatever the key-value store.
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        update_freq: Any = None,
    ) -> None:
        if not isinstance(update_freq, int):
            raise InputTypeError(
                "SVRGModule", f"update_freq is {update_freq!r}, expected an integer"
            )
        if update_freq <= 0:
            raise ArgumentValueError(
                "SVRGModule", f"update_freq is {update_freq}, expected at least 1"
            )
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
        self._param_dict: list[dict[str, NDArray]] | None = None
        self._ctx_len = len(contexts)

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Binds both modules; arguments as of Module."""
        options = (for_training, inputs_need_grad, force_rebind, shared_module, grad_req)
        super().bind(data_shapes, label_shapes, *options)
        if for_training:
            self._mod_aux.bind(data_shapes, label_shapes, *options)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Gives both modules other shapes of data."""
        super().reshape(data_shapes, label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Runs the batch forward, in training with the second module's parameters too."""
        super().forward(data_batch, is_train)
        if is_train or (is_train is None and self.for_training):
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes the corrected gradients. Before the first full gradients they are Module's."""
        super().backward(out_grads)
        if self._param_dict is None:
            return
        self._mod_aux.backward(out_grads)
        auxiliary = self._mod_aux.named_gradients()
        for name, grads in self.named_gradients().items():
            full_grads = [device[name] for device in self._param_dict]
            for grad, aux_grad, full in zip(grads, auxiliary[name], full_grads, strict=True):
                grad[:] = grad - aux_grad + full

    def update_full_grads(self, train_data: Any) -> None:
        """Copies the parameters to the second module, and computes the full gradients with them.

        They are the sum of the gradients of all batches, and of the full gradients before (so in
        MXNet), divided by the number of batches; the mean over several devices. Examples that fill
        up the last batch do not count towards the number.
        """
        self._mod_aux.set_params(*self.get_params(), allow_missing=False, force_init=True)
        train_data.reset()
        batches = 0.0
        # MXNet adds to what it had before, so that a part of it stays; scripts get its numbers.
        sums = self._param_dict or [{} for _ in range(self._ctx_len)]
        sums = [dict(device) for device in sums]
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1 - (batch.pad or 0) / train_data.batch_size
            for name, grads in self._mod_aux.named_gradients().items():
                for device, grad in zip(sums, grads, strict=True):
                    device[name] = device[name] + grad if name in device else grad.copy()
        means = [{n: total / batches for n, total in device.items()} for device in sums]
        self._param_dict = [_mean_over_devices(means, device) for device in means]

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Trains as Module's ``fit``, with full gradients every ``update_freq`` epochs."""
        if num_epoch is None:
            raise ArgumentValueError("SVRGModule.fit", "num_epoch is not given")
        self.bind(
            train_data.provide_data, train_data.provide_label, True, force_rebind=force_rebind
        )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer or Uniform(0.01), arg_params, aux_params, allow_missing, force_init
        )
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        metric = create_metric(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            if epoch % self.update_freq == 0:
                self.update_full_grads(train_data)
            self._train_epoch(train_data, metric, epoch, batch_end_callback, monitor)
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            for callback in _as_list(epoch_end_callback or []):
                callback(epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                self.score(
                    eval_data,
                    validation_metric or metric,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                )

    def _train_epoch(
        self,
        train_data: Any,
        metric: EvalMetric,
        epoch: int,
        batch_end_callback: Callable[..., Any] | list[Any] | None,
        monitor: Any,
    ) -> None:
        """Trains on all batches once; logs the metric."""
        metric.reset()
        train_data.reset()
        for number, batch in enumerate(train_data):
            if monitor is not None:
                monitor.tic()
            self._train_batch(batch)
            self.update_metric(metric, batch.label)
            if monitor is not None:
                monitor.toc_print()
            for callback in _as_list(batch_end_callback or []):
                callback(BatchEndParam(epoch, number, metric, None))
        for name, value in metric.get_name_value():
            self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)


def _mean_over_devices(
    devices: list[dict[str, NDArray]], home: dict[str, NDArray]
) -> dict[str, NDArray]:
    """The mean of the arrays of all devices, on the device of ``home``."""
    if len(devices) == 1:
        return home
    means = {}
    for name, own in home.items():
        arrays = [device[name].as_in_context(own.context) for device in devices]
        means[name] = sum(arrays[1:], arrays[0]) / len(arrays)
    return means
