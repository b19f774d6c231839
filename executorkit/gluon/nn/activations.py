"""Activations: elementwise functions, some with a parameter, of an input of any shape."""

from typing import Any, Unpack

from ... import initializer
from ...errors import ArgumentValueError
from .._block import BlockOptions
from .._hybrid_block import HybridBlock
from .._types import Init, Ops, Tensor


class Activation(HybridBlock):
    """Activation by name: 'relu', 'sigmoid', 'softrelu', 'softsign' or 'tanh'."""

    def __init__(self, activation: str, **kwargs: Unpack[BlockOptions]) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


def activation_of(name: str | None) -> Activation | None:
    """Returns a layer's activation, whose prefix is its name, for the name or None."""
    return None if name is None else Activation(name, prefix=name + "_")


class LeakyReLU(HybridBlock):
    """Leaky ReLU: x if positive, else ``alpha * x``. ArgumentValueError for a negative alpha."""

    def __init__(self, alpha: float, **kwargs: Unpack[BlockOptions]) -> None:
        if alpha < 0:
            raise ArgumentValueError("LeakyReLU", f"alpha is {alpha}, it may not be negative")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """Parametric ReLU: x if positive, otherwise ``alpha * x`` with a trained ``alpha``. It has 1
    element for all channels, or ``in_channels`` for axis 1."""

    def __init__(
        self,
        alpha_initializer: Init = initializer.Constant(0.25),  # noqa: B008 - MXNet's default
        in_channels: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Ops, x: Tensor, alpha: Tensor) -> Tensor:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """Exponential linear unit: x if positive, otherwise ``alpha * (exp(x) - 1)``. Clevert et al.,
    arXiv:1511.07289."""

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """Scaled ELU, which keeps mean 0 and variance 1 through dense layers. Klambauer et al.,
    arXiv:1706.02515."""

    def __init__(self, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """Gaussian error linear unit: x times the normal distribution function of x. Hendrycks and
    Gimpel, arXiv:1606.08415."""

    def __init__(self, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)``. Ramachandran et al., arXiv:1710.05941."""

    def __init__(self, beta: float = 1.0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return x * F.sigmoid(self._beta * x, name="fwd")
