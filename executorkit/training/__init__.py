"""Training with optax: one compiled, donated program per step.

    step = mx.training.Step(executor, optax.adam(1e-3))
    (out,) = step(data=x, softmax_label=y)

``executor.params()`` and ``executor.grads()`` are pytrees for loops of your own.
"""

from ..errors import StepError
from ..errors import StepError as TargetError
from ..errors import UnknownArgumentError as InputError
from ._optax_updates import LossScale
from ._step import Step
from ._step_view import step_view as _step_view

__all__ = ["InputError", "LossScale", "Step", "StepError", "TargetError"]
