"""``BucketingModule``: networks for inputs of different lengths that share their parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from .. import ndarray as nd
from ..debugging import FiniteReport
from ..errors import FileFormatError, ModuleUsageError
from ..executor import PendingStep
from ..io import DataDesc
from ..metric import EvalMetric
from ..model import load_params
from ..monitor import Monitor
from ..name import NameManager
from ..ndarray import NDArray
from ..parallel import DataParallel, DataParallelCore
from ..symbol import Symbol, load as load_symbol
from ._argument_types import Batch, HeadGradients
from ._specs import BindSpec, OptimizerSpec, ParameterSpec
from .base_module import BaseModule, require
from .module import Module

__all__ = ["BucketingModule"]

SymGen = Callable[[Any], tuple[Symbol, Any, Any]]


class BucketingModule(BaseModule, DataParallel):
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

    def __init__(
        self,
        sym_gen: SymGen,
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        compute_dtype: str | None = None,
        remat: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise ModuleUsageError(
                "BucketingModule", "default_bucket_key is missing", hint="the largest key"
            )
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        self._context = context
        self._work_load_list = work_load_list
        self._fixed_param_names = list(fixed_param_names or ())
        self._state_names = list(state_names or ())
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._options = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
            "compute_dtype": compute_dtype,
            "remat": remat,
        }
        self._make_bucket(default_bucket_key)  # which checks the names
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None
        self._monitor: Any = None
        self._grad_req: Any = None

    @property
    def _params_dirty(self) -> bool:
        return self._curr_module is not None and self._curr_module._params_dirty

    def _call_sym_gen(self, key: Any) -> tuple[Symbol, Any, Any]:
        """The symbol and names of a bucket; automatic names are the same for all buckets."""
        with NameManager():
            return self._sym_gen(key)

    def _make_bucket(self, key: Any) -> Module:
        return Module(*self._call_sym_gen(key), **self._options)

    # Files

    @classmethod
    def load(
        cls,
        prefix: str,
        epoch: int,
        sym_gen: SymGen | None = None,
        default_bucket_key: Any = None,
        **kwargs: Any,
    ) -> Self:
        """A module with the buckets and parameters of a checkpoint, to be bound.

        AssertionError without ``sym_gen`` (for the names of the inputs) or ``default_bucket_key``.
        """
        _require_arguments("load", sym_gen=sym_gen, default_bucket_key=default_bucket_key)
        keys = _read_bucket_keys(f"{prefix}.buckets")
        symbols = {key: load_symbol(f"{prefix}-{key}-symbol.json") for key in keys}
        params = load_params(prefix, epoch)
        return cls.load_dict(symbols, sym_gen, default_bucket_key, *params, **kwargs)

    @classmethod
    def load_dict(
        cls,
        sym_dict: Mapping[Any, Symbol] | None = None,
        sym_gen: SymGen | None = None,
        default_bucket_key: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> Self:
        """A module with the given symbols as buckets, and parameters, to be bound.

        AssertionError if one of the first five arguments is missing.
        """
        _require_arguments(
            "load_dict",
            sym_dict=sym_dict,
            sym_gen=sym_gen,
            default_bucket_key=default_bucket_key,
            arg_params=arg_params,
            aux_params=aux_params,
        )
        assert sym_gen is not None
        module = cls(sym_gen, default_bucket_key, **kwargs)
        module._preset(sym_dict or {}, arg_params, aux_params)
        return module

    def _preset(self, symbols: Mapping[Any, Symbol], arg_params: Any, aux_params: Any) -> None:
        """Makes the buckets of some symbols, and initialises the parameters before binding."""
        for key, symbol in symbols.items():
            _, data_names, label_names = self._call_sym_gen(key)
            self._buckets[key] = Module(symbol, data_names, label_names, **self._options)
        default = self._default_bucket_key
        if default not in self._buckets:
            self._buckets[default] = self._make_bucket(default)
        self._curr_module = self._buckets[default]
        self._curr_module.preset_params(dict(arg_params), dict(aux_params))
        self.params_initialized = True

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes ``<prefix>-<epoch, four digits>.params``, ``<prefix>-<key>-symbol.json`` for each
        bucket so far, and their keys, which are numbers or tuples of them, to ``<prefix>.buckets``.

        Each file appears whole or not at all.
        """
        if not self._buckets:
            raise ModuleUsageError(
                "save_checkpoint", "there is no bucket yet", hint="bind(...) first"
            )
        self.save_params(f"{prefix}-{int(epoch):04d}.params")
        for key in self._buckets:
            symbol = self._call_sym_gen(key)[0]
            symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype=np.int32))

    # Descriptions

    @property
    def data_names(self) -> list[str]:
        """Names of the current bucket's inputs, of the default one's before binding."""
        if self.binded:
            return self._curr_module.data_names
        return self._call_sym_gen(self._default_bucket_key)[1]

    @property
    def output_names(self) -> list[str]:
        """Names of the current bucket's outputs, of the default one's before binding."""
        if self.binded:
            return self._curr_module.output_names
        return self._call_sym_gen(self._default_bucket_key)[0].list_outputs()

    @property
    def symbol(self) -> Symbol:
        """The current bucket's symbol. AssertionError unless bound, here and below."""
        require(self, "symbol", "binded")
        return self._curr_module.symbol

    @property
    def data_shapes(self) -> list[DataDesc]:
        """DataDescs of the current bucket's inputs."""
        require(self, "data_shapes", "binded")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """DataDescs of the current bucket's labels."""
        require(self, "label_shapes", "binded")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of the current bucket's outputs."""
        require(self, "output_shapes", "binded")
        return self._curr_module.output_shapes

    @property
    def core(self) -> DataParallelCore:
        """The current bucket's arrays and programs of all devices."""
        require(self, "core", "binded")
        return self._curr_module.core

    @property
    def output_layouts(self) -> list[int]:
        """The batch axis of each of the current bucket's outputs, -1 without one."""
        require(self, "output_layouts", "binded")
        return self._curr_module.output_layouts

    # Buckets

    @property
    def buckets(self) -> dict[Any, Module]:
        """The modules so far, by bucket key."""
        return self._buckets

    @property
    def current_key(self) -> Any:
        """The key of the bucket that ran last."""
        return self._curr_bucket_key

    @property
    def current_module(self) -> Module:
        """The module of the bucket that ran last."""
        return self._curr_module

    def _bind(self, spec: BindSpec) -> None:
        """Binds the default bucket; ``shared_module`` is refused."""
        if spec.shared_module is not None:
            raise ModuleUsageError("bind", "buckets take no shared_module")
        key = self._default_bucket_key
        params = self.get_params() if self.params_initialized else None
        buckets = {} if self.binded else self._buckets
        module = buckets.get(key) or self._make_bucket(key)
        module.bind(
            spec.data_shapes,
            spec.label_shapes,
            spec.for_training,
            spec.inputs_need_grad,
            grad_req=spec.grad_req,
        )
        if params is not None:
            module.init_params(None, *params, force_init=True)
        if self.optimizer_initialized:
            module.borrow_optimizer(self._curr_module)
        self.for_training = spec.for_training
        self.inputs_need_grad = spec.inputs_need_grad
        self._grad_req = spec.grad_req
        self._buckets = {**buckets, key: module}
        self._curr_module = module
        self._curr_bucket_key = key
        self.binded = True

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Makes a bucket the current one, binding it for these shapes if it is new."""
        require(self, "switch_bucket", "binded")
        module = self._buckets.get(bucket_key)
        if module is None or not module.binded:
            if data_shapes is None:
                problem = f"bucket {bucket_key!r} is new, and its batch has no provide_data"
                raise ModuleUsageError("switch_bucket", problem)
            module = module or self._make_bucket(bucket_key)
            module.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=self._buckets[self._default_bucket_key],
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module = module
        self._curr_bucket_key = bucket_key

    def prepare(
        self, data_batch: Batch, sparse_row_id_fn: Callable[..., Any] | None = None
    ) -> None:
        """Binds the bucket of the batch that comes next, if it is new."""
        require(self, "prepare", "binded", "params_initialized")
        current = self._curr_bucket_key
        self._switch_to(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(current, None)

    def _switch_to(self, batch: Any) -> None:
        self.switch_bucket(batch.bucket_key, batch.provide_data, batch.provide_label)

    # Parameters and states

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states by name, with their present values."""
        require(self, "get_params", "params_initialized")
        return self._curr_module.get_params()

    def _init_params(self, spec: ParameterSpec) -> None:
        """Initialises the parameters of all buckets; without ``force_init`` a second time does
        nothing."""
        if self.params_initialized and not spec.force_init:
            return
        require(self, "init_params", "binded")
        self._curr_module.init_params(
            spec.initializer,
            spec.arg_params,
            spec.aux_params,
            spec.allow_missing,
            spec.force_init,
            spec.allow_extra,
        )
        self.params_initialized = True

    def _set_params(self, spec: ParameterSpec) -> None:
        if not spec.allow_missing:
            super()._set_params(spec)
            return
        require(self, "set_params", "binded")
        self._curr_module.set_params(
            spec.arg_params, spec.aux_params, True, spec.force_init, spec.allow_extra
        )
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The current bucket's states, as :meth:`Module.get_states` gives them."""
        require(self, "get_states", "binded", "params_initialized")
        return self._curr_module.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the current bucket's states, as :meth:`Module.set_states` does."""
        require(self, "set_states", "binded", "params_initialized")
        self._curr_module.set_states(states, value)

    # Optimizer

    def _init_optimizer(self, spec: OptimizerSpec) -> None:
        if self._keeps_optimizer(spec):
            return
        current = self._curr_module
        current.init_optimizer(
            spec.kvstore, spec.optimizer, spec.optimizer_params, force_init=spec.force_init
        )
        for module in self._buckets.values():
            if module is not current:
                module.borrow_optimizer(current)
        self.optimizer_initialized = True

    def save_optimizer_states(self, fname: str) -> None:
        """As :meth:`Module.save_optimizer_states`; MXNet's buckets do not have it."""
        require(self, "save_optimizer_states", "optimizer_initialized")
        self._curr_module.save_optimizer_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """As :meth:`Module.load_optimizer_states`; MXNet's buckets do not have it."""
        require(self, "load_optimizer_states", "optimizer_initialized")
        self._curr_module.load_optimizer_states(fname)

    # Running

    def forward(self, data_batch: Batch | Sequence[Batch], is_train: bool | None = None) -> None:
        """Runs the bucket of the batch, which becomes the current one."""
        require(self, "forward", "binded", "params_initialized")
        self._switch_to(data_batch)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: HeadGradients = None) -> None:
        """Computes the gradients of the current bucket."""
        require(self, "backward", "binded", "params_initialized")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        """Changes the parameters by the gradients of the current bucket."""
        require(self, "update", "binded", "params_initialized", "optimizer_initialized")
        self._curr_module.update()

    @property
    def n_updates(self) -> int:
        """A number that changes with every ``update``. Not in MXNet."""
        return self._curr_module.n_updates

    def last_steps(self) -> list[PendingStep]:
        """As :meth:`Module.last_steps`, of all buckets."""
        return [step for bucket in self._buckets.values() for step in bucket.last_steps()]

    def check_finite(
        self, out_grads: HeadGradients = None, *, raise_error: bool = False
    ) -> FiniteReport:
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

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Updates a metric with the current bucket's outputs."""
        require(self, "update_metric", "binded", "params_initialized")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Installs a monitor on all buckets, those to come included."""
        require(self, "install_monitor", "binded")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)


def _read_bucket_keys(path: str) -> list[Any]:
    """The keys in a file of :meth:`BucketingModule.save_checkpoint`: integers, or tuples."""
    arrays = nd.load(path)
    keys = arrays[0].asnumpy() if isinstance(arrays, list) and len(arrays) == 1 else None
    if keys is None or keys.dtype.kind not in "iu" or keys.ndim not in (1, 2):
        problem = "it holds no keys of buckets, expected one array of integers"
        raise FileFormatError(path, problem)
    return [tuple(k) if isinstance(k, list) else k for k in keys.tolist()]


def _require_arguments(method: str, **values: Any) -> None:
    """AssertionError for the first argument that is None."""
    for name, value in values.items():
        if value is None:
            raise ModuleUsageError(f"BucketingModule.{method}", f"{name} is missing")
