"""``BucketingModule``: networks for inputs of different lengths that share their parameters."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import ndarray as nd
from .._support.annotations import Function, Logger
from ..errors import FileFormatError, ModuleUsageError
from ..executor import PendingStep
from ..model import load_params
from ..monitor import Monitor
from ..name import NameManager
from ..parallel import DataParallel
from ..symbol import Symbol, load as load_symbol
from ._arguments import Batch, BindSpec, OptimizerSpec, ParameterSpec
from ._delegation import delegates, require
from .base_module import BaseModule
from .module import Module

__all__ = ["BucketingModule"]

#: Methods and properties of the current bucket, which checks what has been done.
_OF_CURRENT_BUCKET = (
    "data_names", "output_names", "data_shapes", "label_shapes", "output_shapes", "core",
    "output_layouts", "get_params", "get_states", "set_states", "backward", "check_finite",
    "get_outputs", "get_input_grads", "update_metric", "update", "n_updates",
    "set_keep_gradients",
    "save_optimizer_states", "load_optimizer_states",
)  # fmt: skip

SymGen = Callable[[Any], tuple[Symbol, Any, Any]]


@delegates("_curr_module.{}", Module, *_OF_CURRENT_BUCKET)
class BucketingModule(BaseModule, DataParallel):
    """A module for each ``bucket_key``, created at the first batch that has it.

    sym_gen
        a function from a bucket's key to (symbol, data_names, label_names).
    default_bucket_key
        the bucket that is bound first and has all parameters. Other buckets may be larger: they
        share parameters, not memory.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params,
    compute_dtype, remat
        as for :class:`Module`.

    Parameters, gradients, auxiliary states and the optimizer are one for all buckets; each bucket
    is compiled once. Descriptions and results belong to the current bucket, which ran the last
    batch; before binding, names to the default bucket. ``bind`` takes no ``shared_module``. Unlike
    MXNet's, the class saves and loads the optimizer's states.
    """

    if TYPE_CHECKING:

        def save_optimizer_states(self, fname: str) -> None: ...
        def load_optimizer_states(self, fname: str) -> None: ...

    def __init__(
        self,
        sym_gen: SymGen,
        default_bucket_key: Any = None,
        logger: Logger = logging,
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
            problem = "default_bucket_key is missing"
            raise ModuleUsageError("BucketingModule", problem, hint="the largest key")
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
        self._buckets: dict[Hashable, Module] = {}
        #: Before binding, a module of the default bucket, which checks the names.
        self._curr_module = self._make_bucket(default_bucket_key)
        self._curr_bucket_key: Any = None
        self._monitor: Any = None
        self._grad_req: Any = None

    _params_dirty = property(attrgetter("_curr_module._params_dirty"))

    def _call_sym_gen(self, key: Any) -> tuple[Symbol, Any, Any]:
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
        """Returns an unbound module with a checkpoint's buckets and parameters. AssertionError
        without ``sym_gen`` (for the names of the inputs) or ``default_bucket_key``."""
        _require_arguments("load", sym_gen=sym_gen, default_bucket_key=default_bucket_key)
        path = f"{prefix}.buckets"
        arrays = nd.load(path)
        keys = arrays[0].asnumpy() if isinstance(arrays, list) and len(arrays) == 1 else None
        if keys is None or keys.dtype.kind not in "iu" or keys.ndim not in (1, 2):
            problem = "it holds no keys of buckets, expected one array of integers"
            raise FileFormatError(path, problem)
        keys = [tuple(k) if isinstance(k, list) else k for k in keys.tolist()]
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
        """Returns a module of symbols as buckets, and parameters, to be bound. AssertionError if
        one of the first five arguments is missing."""
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
        """Writes ``<prefix>-<epoch, four digits>.params``, ``<prefix>-<key>-symbol.json`` of each
        bucket and the keys (integers or tuples) ``<prefix>.buckets``; each whole or not at all."""
        if not self._buckets:
            problem = "it has not run a bucket yet"
            raise ModuleUsageError("save_checkpoint", problem, hint="bind(...) first")
        self.save_params(f"{prefix}-{int(epoch):04d}.params")
        for key in self._buckets:
            symbol = self._call_sym_gen(key)[0]
            symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype=np.int32))

    # Descriptions

    @property
    def symbol(self) -> Symbol:
        require(self, "symbol", "binded")
        return self._curr_module._symbol

    # Buckets

    @property
    def buckets(self) -> dict[Hashable, Module]:
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
        if spec.shared_module is not None:
            raise ModuleUsageError("bind", "buckets take no shared_module")
        key = self._default_bucket_key
        params = self.get_params() if self.params_initialized else None
        buckets = {} if self.binded else self._buckets
        module = buckets.get(key) or self._make_bucket(key)
        module.bind(**spec.keywords(force_rebind=False))
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

    def prepare(self, data_batch: Batch, sparse_row_id_fn: Function | None = None) -> None:
        require(self, "prepare", "binded", "params_initialized")
        current = self._curr_bucket_key
        self._switch_to(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(current, None)

    def _switch_to(self, batch: Any) -> None:
        self.switch_bucket(batch.bucket_key, batch.provide_data, batch.provide_label)

    # Parameters and states

    def _init_params(self, spec: ParameterSpec) -> None:
        if self.params_initialized and not spec.force_init:
            return
        require(self, "init_params", "binded")
        self._curr_module._init_params(spec)
        self.params_initialized = True

    def _set_params(self, spec: ParameterSpec) -> None:
        if not spec.allow_missing:
            super()._set_params(spec)
            return
        require(self, "set_params", "binded")
        self._curr_module._set_params(spec)
        self.params_initialized = True

    def _init_optimizer(self, spec: OptimizerSpec) -> None:
        if self._keeps_optimizer(spec):
            return
        current = self._curr_module
        current._init_optimizer(spec)
        for module in self._buckets.values():
            if module is not current:
                module.borrow_optimizer(current)
        self.optimizer_initialized = True

    # Running

    def forward(self, data_batch: Batch | Sequence[Batch], is_train: bool | None = None) -> None:
        require(self, "forward", "binded", "params_initialized")
        self._switch_to(data_batch)
        self._curr_module.forward(data_batch, is_train=is_train)

    def last_steps(self) -> list[PendingStep]:
        return [step for bucket in self._buckets.values() for step in bucket.last_steps()]

    def install_monitor(self, mon: Monitor) -> None:
        require(self, "install_monitor", "binded")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)


def _require_arguments(method: str, **values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ModuleUsageError(f"BucketingModule.{method}", f"{name} is missing")
