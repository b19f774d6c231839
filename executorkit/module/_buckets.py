"""The modules of a bucketing module: made, bound and switched between."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..display import Fold, Part, Table
from ..errors import ModuleUsageError, explain
from ..name import NameManager
from ..symbol import Symbol
from ._usage import require
from .base_module import BaseModule
from .module import Module

SymGen = Callable[[Any], tuple[Symbol, Any, Any]]


class Buckets(BaseModule):
    """The modules of all buckets; one is the current one."""

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
                explain("BucketingModule", "default_bucket_key is missing", hint="the largest key")
            )
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
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
        self._params_dirty = False
        self._monitor: Any = None
        self._grad_req: Any = None

    def _call_sym_gen(self, key: Any) -> tuple[Symbol, Any, Any]:
        """What ``sym_gen`` says; automatic names are the same for all buckets."""
        with NameManager():
            return self._sym_gen(key)

    def _make_bucket(self, key: Any) -> Module:
        return Module(*self._call_sym_gen(key), **self._options)

    # Descriptions

    @property
    def data_names(self) -> Any:
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
    def data_shapes(self) -> Any:
        """DataDescs of the current bucket's inputs."""
        require(self, "data_shapes", "binded")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        """DataDescs of the current bucket's labels."""
        require(self, "label_shapes", "binded")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        """(name, shape) of the current bucket's outputs."""
        require(self, "output_shapes", "binded")
        return self._curr_module.output_shapes

    def _parts(self) -> list[Part]:
        rows = [
            [
                str(key) + (" (current)" if module is self._curr_module else ""),
                ", ".join(f"{d.name} {tuple(d.shape)}" for d in module.data_shapes),
                str(module._exec_group._group.traces),
            ]
            for key, module in self._buckets.items()
        ]
        table = Table(["bucket", "inputs", "compilations"], rows, {2})
        if not self.binded:
            return super()._parts()
        key = self._curr_bucket_key
        return [*super()._parts(), table, Fold(f"bucket {key}", self._curr_module._parts(), True)]

    # Buckets

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
        """Binds the default bucket, as :meth:`Module.bind` does; ``shared_module`` is refused."""
        if self.binded and not force_rebind:
            self.logger.warning("bind: the module is bound already; nothing is done")
            return
        if shared_module is not None:
            raise ModuleUsageError(explain("bind", "buckets take no shared_module"))
        key = self._default_bucket_key
        params = self.get_params() if self.params_initialized else None
        kept = {} if self.binded else self._buckets
        module = kept.get(key) or self._make_bucket(key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        if params is not None:
            module.init_params(None, *params, force_init=True)
        if self.optimizer_initialized:
            module.borrow_optimizer(self._curr_module)
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        self._buckets = {**kept, key: module}
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
                raise ModuleUsageError(explain("switch_bucket", problem))
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

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Binds the bucket of a batch that comes next, if it is new."""
        require(self, "prepare", "binded", "params_initialized")
        current = self._curr_bucket_key
        self._switch_to(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(current, None)

    def _switch_to(self, batch: Any) -> None:
        self.switch_bucket(batch.bucket_key, batch.provide_data, batch.provide_label)
