"""``SequentialModule``: a chain of modules, each taking the outputs of the one before."""

import logging
from collections.abc import Sequence
from typing import Any, Self

from .._support.annotations import Attrs, Logger
from ..calls.rollback import all_or_none
from ..debugging import FiniteReport
from ..errors import ModuleUsageError
from ..executor import PendingStep
from ..io import DataBatch, DataDesc
from ._arguments import BindSpec, OptimizerSpec, ParameterSpec
from ._delegation import delegates, require
from .base_module import BaseModule
from .python_module import PythonModule

__all__ = ["SequentialModule"]


@delegates("_{}", BaseModule, "label_shapes", states=["binded"])
@delegates("_first.{}", BaseModule, "data_shapes", states=["binded"])
@delegates("_last.{}", BaseModule, "output_shapes", states=["binded"])
@delegates("_first.{}", BaseModule, "get_input_grads", states=["binded", "params_initialized"])
@delegates("_last.{}", BaseModule, "get_outputs", states=["binded", "params_initialized"])
class SequentialModule(BaseModule):
    """A chain of modules, built by :meth:`add`.

    ::

        chain = SequentialModule()
        chain.add(features).add(loss, take_labels=True, auto_wiring=True)

    It has the first module's inputs and their gradients, the last module's outputs, and the
    parameters of all modules, each with its optimizer. Metrics see modules that take labels.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: Any, **kwargs: Any) -> Self:
        """Adds a module; the chain has to be bound and initialised (again). Returns the chain.

        take_labels
            True if it gets the labels, and metrics look at its outputs.
        auto_wiring
            True if its inputs are the outputs of the module before in order, not by name.

        Raises AssertionError for another keyword.
        """
        keywords = (self.META_TAKE_LABELS, self.META_AUTO_WIRING)
        unknown = [key for key in kwargs if key not in keywords]
        if unknown:
            raise ModuleUsageError("add", f"{unknown[0]!r} is unknown", hint=" or ".join(keywords))
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = False
        self.params_initialized = False
        self.optimizer_initialized = False
        return self

    @property
    def _data_shapes(self) -> Any:
        return self._modules[0]._data_shapes if self._modules and self.binded else None

    @property
    def modules(self) -> list[Any]:
        """The modules of the chain, in order."""
        return self._modules

    _first = property(lambda self: self._modules[0])
    _last = property(lambda self: self._modules[-1])

    # Descriptions

    @property
    def data_names(self) -> Any:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        return self._modules[-1].output_names if self._modules else []

    # Setting up

    def _bind(self, spec: BindSpec) -> None:
        for refused, problem in (
            (spec.inputs_need_grad and not spec.for_training, "inputs_need_grad is for training"),
            (spec.shared_module is not None, "a chain takes no shared_module"),
            (not self._modules, "the chain has no module"),
        ):
            if refused:
                raise ModuleUsageError("bind", problem)
        shapes = spec.data_shapes
        for number, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING):
                shapes = _renamed(shapes, module.data_names, number)
            changes = {
                "data_shapes": shapes,
                "label_shapes": spec.label_shapes if meta.get(self.META_TAKE_LABELS) else None,
                "inputs_need_grad": bool(spec.inputs_need_grad or (spec.for_training and number)),
            }
            module.bind(**spec.keywords(**changes))
            shapes = module.output_shapes
        takes_labels = any(meta.get(self.META_TAKE_LABELS) for meta in self._metas)
        self._label_shapes = spec.label_shapes if takes_labels else None
        self.for_training = spec.for_training
        self.inputs_need_grad = spec.inputs_need_grad
        self.binded = True

    def _init_params(self, spec: ParameterSpec) -> None:
        if self.params_initialized and not spec.force_init:
            return
        require(self, "init_params", "binded")
        for module in self._modules:
            module.init_params(**spec.keywords())
        self._check_names()
        self.params_initialized = True

    def _check_names(self) -> None:
        for position, kind in enumerate(("parameter", "auxiliary state")):
            owners: dict[str, int] = {}
            for number, module in enumerate(self._modules):
                for name in module.get_params()[position]:
                    if name in owners:
                        problem = f"modules {owners[name]} and {number} of the chain both have it"
                        hint = "give operators names of their own (name=...)"
                        raise ModuleUsageError(f"init_params: {kind} {name!r}", problem, hint=hint)
                    owners[name] = number

    def _init_optimizer(self, spec: OptimizerSpec) -> None:
        if self._keeps_optimizer(spec):
            return
        for module in self._modules:
            module.init_optimizer(**spec.keywords())
        self.optimizer_initialized = True

    def install_monitor(self, mon: Any) -> None:
        require(self, "install_monitor", "binded")
        for module in self._modules:
            module.install_monitor(mon)

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        require(self, "get_params", "binded", "params_initialized")
        arg_params: Attrs = {}
        aux_params: Attrs = {}
        for module in self._modules:
            args, aux = module.get_params()
            arg_params |= args
            aux_params |= aux
        return arg_params, aux_params

    # Running

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        require(self, "forward", "binded", "params_initialized")
        batch = data_batch
        for number, module in enumerate(self._modules):
            if number:
                outputs = self._modules[number - 1].get_outputs()
                shapes = [("", output.shape) for output in outputs]
                batch = DataBatch(
                    outputs,
                    getattr(data_batch, "label", None),
                    pad=getattr(data_batch, "pad", None),
                    index=getattr(data_batch, "index", None),
                    bucket_key=getattr(data_batch, "bucket_key", None),
                    provide_data=_renamed(shapes, module.data_names, number),
                    provide_label=getattr(data_batch, "provide_label", None),
                )
            module.forward(batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        require(self, "backward", "binded", "params_initialized")
        for number in reversed(range(len(self._modules))):
            module = self._modules[number]
            module.backward(out_grads=out_grads)
            if number:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        require(self, "update", "binded", "params_initialized", "optimizer_initialized")
        all_or_none([(m.update, lambda m=m: m.n_updates) for m in self._modules])

    def set_keep_gradients(self, keep: bool) -> None:
        for module in self._modules:
            module.set_keep_gradients(keep)

    @property
    def n_updates(self) -> int:
        return sum(module.n_updates for module in self._modules)

    def last_steps(self) -> list[PendingStep]:
        return [step for module in self._modules for step in module.last_steps()]

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Returns the report of the first module that made a NaN or an infinity, else of the last
        with a symbol, for the last ``backward``'s head gradients; ``out_grads`` is refused."""
        require(self, "check_finite", "binded", "params_initialized")
        if out_grads is not None:
            problem = "a chain takes no out_grads"
            raise ModuleUsageError("check_finite", problem, hint="run backward first")
        report = FiniteReport((), 0, (), (), ())
        for module in self._modules:
            if not isinstance(module, PythonModule):
                report = module.check_finite(raise_error=raise_error)
                if not report:
                    break
        return report

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        require(self, "update_metric", "binded", "params_initialized")
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)


def _renamed(shapes: Sequence[Any], names: Sequence[str], number: int) -> list[DataDesc]:
    if len(shapes) != len(names):
        problem = f"{len(shapes)} outputs come for its {len(names)} inputs ({', '.join(names)})"
        raise ModuleUsageError(f"module {number} of the chain", problem)
    return [DataDesc(name, shape) for name, (_, shape) in zip(names, shapes, strict=True)]
