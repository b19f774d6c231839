"""Training with optax: one compiled, donated program per step.

    step = mx.training.Step(executor, optax.adam(1e-3)) (out,) = step(data=x, softmax_label=y)

``executor.params()`` and ``executor.grads()`` are pytrees for custom loops.
"""

from ..errors import StepError as StepError
from ._optax_updates import LossScale as LossScale
from ._step import Step as Step
