"""``PythonModule`` and ``PythonLossModule``: modules without symbol, implemented in Python."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from .. import ndarray as nd
from .._support.annotations import Logger
from ..errors import ModuleUsageError
from ..ndarray import NDArray
from ._arguments import BindSpec, OptimizerSpec, ParameterSpec
from ._delegation import delegates
from .base_module import BaseModule

__all__ = ["PythonLossModule", "PythonModule"]


@delegates(
    "_{}", BaseModule, "data_names", "output_names", "data_shapes", "label_shapes", "output_shapes"
)
class PythonModule(BaseModule):
    """A module without parameters: a subclass provides ``_compute_output_shapes()``, ``forward``,
    ``backward``, ``get_outputs`` and ``get_input_grads``.

    It takes no other ``grad_req`` than 'write'. Metrics look at it if it is bound with labels.
    ``label_names`` may be None, and shapes are before binding.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Logger = logging,
    ) -> None:
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = output_names
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    def _bind(self, spec: BindSpec) -> None:
        if spec.grad_req != "write":
            raise ModuleUsageError("bind", f"grad_req is {spec.grad_req!r}, expected 'write'")
        for kind, names, shapes in (
            ("data", self._data_names, spec.data_shapes),
            ("label", self._label_names, spec.label_shapes),
        ):
            shape_names = None if shapes is None else [s[0] for s in shapes]
            if shape_names is not None and shape_names != names:
                problem = f"they are of {shape_names}, expected {names}"
                raise ModuleUsageError(f"bind: {kind}_shapes", problem)
        self.for_training = spec.for_training
        self.inputs_need_grad = spec.inputs_need_grad
        self._data_shapes = spec.data_shapes
        self._label_shapes = spec.label_shapes
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> Any:
        raise self._not_provided("_compute_output_shapes")

    # No parameters, nothing to update

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def _init_params(self, spec: ParameterSpec) -> None: ...

    def _init_optimizer(self, spec: OptimizerSpec) -> None: ...

    def update(self) -> None:
        """Does nothing."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ModuleUsageError("update_metric", "the labels come in slices")
        eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss: its output is its input, and ``grad_func`` gives the gradient.

    name
        its output is called ``<name>_output``.
    data_names, label_names
        one name each, else AssertionError.
    grad_func
        from (scores, labels), both NDArrays, to the gradient of the scores: an NDArray, or a NumPy
        array. Without it a subclass provides ``_backward_impl``, which sets ``_scores_grad``.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Logger = logging,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        self._name = name
        for kind, names in (("data", data_names), ("label", label_names)):
            if len(names) != 1:
                problem = f"{len(names)} names, expected one"
                raise ModuleUsageError(f"PythonLossModule: {kind}_names", problem)
        if grad_func is not None and not callable(grad_func):
            problem = f"{grad_func!r}, expected a function of scores and labels"
            raise ModuleUsageError("PythonLossModule: grad_func", problem)
        self._grad_func = grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, Any]]:
        return [(f"{self._name}_output", self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def backward(self, out_grads: Any = None) -> None:
        if out_grads is not None:
            raise ModuleUsageError("backward", "a loss takes no head gradients")
        if not self.for_training:
            problem = "bound for inference"
            raise ModuleUsageError("backward", problem, hint="bind with for_training=True")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise self._not_provided("_backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else nd.array(grad)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        _check_merged("get_outputs", merge_multi_context)
        return [self._scores]

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        _check_merged("get_input_grads", merge_multi_context)
        return [self._scores_grad]


def _check_merged(method: str, merge_multi_context: bool) -> None:
    if not merge_multi_context:
        problem = "a module in Python has whole batches only"
        raise ModuleUsageError(method, problem, hint="merge_multi_context=True")
