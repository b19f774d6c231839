"""What every module has: the methods that kinds of modules fill in, and what is built on them."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from ..display import Line, Part, View, Viewed
from ..errors import ModuleUsageError, NotSupportedError, explain
from ..executor._report import FiniteReport
from ..initializer import Uniform
from ._usage import require


class Interface(Viewed):
    """The methods that a kind of module provides; NotImplementedError where it does not.

    binded, params_initialized, optimizer_initialized
        what has been done already.
    for_training, inputs_need_grad
        what it was bound for.
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None

    def _not_provided(self, what: str) -> NotSupportedError:
        return NotSupportedError(
            explain(what, f"{type(self).__name__} does not have it", hint="define it in a subclass")
        )

    def _as_view(self) -> View:
        return View(type(self).__name__, self._parts())

    def _parts(self) -> list[Part]:
        """What views of this module consist of."""
        purpose = "training" if self.for_training else "inference"
        words = [f"bound for {purpose}" if self.binded else "not bound"]
        words.append("parameters are there" if self.params_initialized else "no parameters yet")
        words.append("with an optimizer" if self.optimizer_initialized else "no optimizer")
        return [Line(", ".join(words))]

    # Descriptions

    @property
    def symbol(self) -> Any:
        """The network; that of the current bucket with bucketing, None for modules in Python."""
        return self._symbol

    @property
    def data_names(self) -> Any:
        """Names of the inputs."""
        raise self._not_provided("data_names")

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        raise self._not_provided("output_names")

    @property
    def data_shapes(self) -> Any:
        """(name, shape) of the inputs, once bound."""
        raise self._not_provided("data_shapes")

    @property
    def label_shapes(self) -> Any:
        """(name, shape) of the labels, once bound; None without labels."""
        raise self._not_provided("label_shapes")

    @property
    def output_shapes(self) -> Any:
        """(name, shape) of the outputs for the whole batch, once bound."""
        raise self._not_provided("output_shapes")

    # Setting up

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
        """Allocates the arrays for batches of these shapes."""
        raise self._not_provided("bind")

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default; it has no state
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Gives the parameters their first values."""
        raise self._not_provided("init_params")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Makes the optimizer that ``update`` uses."""
        raise self._not_provided("init_optimizer")

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at all executors."""
        raise self._not_provided("install_monitor")

    # Running

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Gets ready for a batch that comes next."""
        if sparse_row_id_fn is not None:
            warnings.warn(
                f"sparse_row_id_fn is not called by {type(self).__name__}",
                UserWarning,
                stacklevel=2,
            )

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs; ``is_train`` None means as the module is bound."""
        raise self._not_provided("forward")

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients; outputs of no loss need head gradients."""
        raise self._not_provided("backward")

    def forward_backward(self, data_batch: Any) -> None:
        """A training ``forward`` and a ``backward``. Nothing is looked at in between, so that they
        and a following ``update`` can be one program."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def update(self) -> None:
        """Changes the parameters as the optimizer says, by the gradients of the last backward."""
        raise self._not_provided("update")

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity in the last batch.

        out_grads
            head gradients, as ``backward`` takes them; by default those that were used last.
        raise_error
            raises NotFiniteError (a FloatingPointError) if something is not finite.

        See :meth:`Executor.check_finite`; with several devices findings say whose rows they are of.
        """
        raise self._not_provided("check_finite")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward: whole batches, or a list per output with all devices'."""
        raise self._not_provided("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the inputs, merged or not as in :meth:`get_outputs`."""
        raise self._not_provided("get_input_grads")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric take the last outputs into account."""
        raise self._not_provided("update_metric")

    # Contents

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name, as they are now."""
        raise self._not_provided("get_params")

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters and auxiliary states by name; all of them unless ``allow_missing``."""
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that are carried from batch to batch; none here."""
        require(self, "get_states", "binded", "params_initialized")
        if merge_multi_context:
            problem = "states are not merged"
            raise ModuleUsageError(
                explain("get_states", problem, hint="get_states(merge_multi_context=False)")
            )
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states; AssertionError for a module that has none."""
        require(self, "set_states", "binded", "params_initialized")
        if states or value:
            raise ModuleUsageError(explain("set_states", f"{type(self).__name__} has no states"))
