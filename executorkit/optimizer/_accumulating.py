"""Optimizers that divide by accumulated past gradients: AdaGrad, RMSProp, AdaDelta, Ftrl."""

from dataclasses import dataclass
from typing import Any

from .._support.annotations import Raw
from ..ndarray import NDArray
from ..ops.optimizer_updates import adaptive_updates as adaptive
from ._descent import attribute_rule, or_negative
from ._optimizer import Optimizer, register, zero_states, zeros_like
from ._rule import Index, Rule, State, StepRule, clipped


@dataclass(frozen=True)
class _AdaGradRule(StepRule):
    epsilon: float
    limit: float | None

    def step(self, weight, grad, state, lr, wd, rescale_grad):
        import optax

        scaled: Raw
        new: Any
        scaled, new = optax.scale_by_rss(0.0, self.epsilon).update(
            clipped(grad * rescale_grad, self.limit), optax.ScaleByRssState(sum_of_squares=state)
        )
        return weight - lr * (scaled + wd * weight), new.sum_of_squares


@register
class AdaGrad(Optimizer):
    """AdaGrad: the gradient divided by the root of the sum of its squares so far.

    ``history = history + g^2; weight - lr (g / sqrt(history + eps) + wd weight)``. Source: Duchi et
    al., 2011.
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    create_state = zero_states(1)

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _AdaGradRule(self.float_stable_eps, self.clip_gradient)


@register
class RMSProp(Optimizer):
    """RMSProp: the gradient divided by the root of the moving average of its squares.

    ``n = gamma1 n + (1 - gamma1) h^2; weight - lr h / sqrt(n + epsilon)``. Centred: also ``g =
    gamma1 g + (1 - gamma1) h; delta = gamma2 delta - lr h / sqrt(n - g^2 + epsilon); weight +
    delta``. Sources: Tieleman and Hinton, 2012; Graves, 2013.

    gamma1, gamma2
        The decay of the moving averages, and the momentum of the centred form.
    epsilon
        Added under the root.
    centered
        Whether the mean of the gradients is subtracted.
    clip_weights
        The limit of the magnitude of new weights; None for none.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Index, weight: NDArray) -> State:
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        update = adaptive.RMSPROP_ALEX if self.centered else adaptive.RMSPROP
        names = ("gamma1", "gamma2", "epsilon") if self.centered else ("gamma1", "epsilon")
        return attribute_rule(self, update, *names, clip_weights=or_negative(self.clip_weights))


@dataclass(frozen=True)
class _AdaDeltaRule(StepRule):
    rho: float
    epsilon: float
    limit: float | None

    def step(self, weight, grad, state, lr, wd, rescale_grad):
        import optax

        delta: Any
        new: Any
        delta, new = optax.scale_by_adadelta(self.rho, self.epsilon).update(
            clipped(grad * rescale_grad, self.limit), optax.ScaleByAdaDeltaState(*state)
        )
        return weight - (delta + wd * weight), (new.e_g, new.e_x)


@register
class AdaDelta(Optimizer):
    """AdaDelta: steps in the proportion of past steps to past gradients, without a rate.

    ``a = rho a + (1 - rho) g^2; step = sqrt(b + epsilon) / sqrt(a + epsilon) g; b = rho b + (1 -
    rho) step^2; weight - (step + wd weight)``. MXNet also overwrites the gradient with the rescaled
    one. Source: Zeiler, 2012.
    """

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    create_state = zero_states(2)

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _AdaDeltaRule(self.rho, self.epsilon, self.clip_gradient)


@register
class Ftrl(Optimizer):
    """Follow the regularised leader.

    ``z = z + g - (sqrt(n + g^2) - sqrt(n)) weight / lr; n = n + g^2; weight = (sign(z) lamda1 - z)
    / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, else 0. ``lamda1`` is the weight of the
    L1 norm; ``beta`` lowers the rate of each element. Source: McMahan et al., 2013.
    """

    def __init__(
        self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    create_state = zero_states(2)

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return attribute_rule(self, adaptive.FTRL, "lamda1", "beta")
