"""The optimizer that MXNet's SVRG gives to key-value stores; SVRGModule does without it."""

from typing import Any

from ...errors import ArgumentValueError
from ...ndarray import NDArray
from ...optimizer import Optimizer, create, register


@register
class _AssignmentOptimizer(Optimizer):
    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        weight[:] = grad


@register
class _SVRGOptimizer(Optimizer):
    """Updates parameters by ``default_optimizer``, a name or an object, and replaces full
    gradients: arrays whose name ends in ``_full``."""

    def __init__(self, default_optimizer: str | Optimizer, **kwargs: Any) -> None:
        if not isinstance(default_optimizer, str | Optimizer):
            raise ArgumentValueError("_SVRGOptimizer", f"{default_optimizer!r} is not an optimizer")
        base = {k: v for k, v in kwargs.items() if k in Optimizer.__init__.__annotations__}
        super().__init__(**base)
        if isinstance(default_optimizer, str):
            self.default_opt = create(default_optimizer, **kwargs)
        else:
            self.default_opt = default_optimizer
        self.aux_opt = create("_assignmentoptimizer")

    def _is_full_gradient(self, index: object) -> bool:
        return str(self.idx2name.get(index, index)).endswith("_full")

    def create_state(self, index: object, weight: NDArray) -> Any:
        full = self._is_full_gradient(index)
        return None if full else self.default_opt.create_state(index, weight)

    def update(self, index: object, weight: object, grad: object, state: object) -> None:
        chosen = self.aux_opt if self._is_full_gradient(index) else self.default_opt
        chosen.update(index, weight, grad, state)
