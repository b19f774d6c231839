"""Initializers that write fixed numbers: Zero, One, Constant, Bilinear, LSTMBias."""

from typing import Any

import numpy as np

from ..errors import InitializerError
from ..ndarray import NDArray
from ._host_numbers import bilinear
from ._initializer import Initializer, alias, register


@register
@alias("zeros")
class Zero(Initializer):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """Ones."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """A fixed value: a number, or an NDArray, NumPy array or list that broadcasts to the parameter,
    else raises ValueError. Unlike in MXNet, lists and NumPy's numbers can be dumped, and array
    constants can be compared."""

    def __init__(self, value: Any) -> None:
        constant = value.asnumpy() if isinstance(value, NDArray) else value
        constant = constant.tolist() if isinstance(constant, np.ndarray | np.generic) else constant
        super().__init__(value=constant)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value


@register
class Bilinear(Initializer):
    """The kernel (channels, channels, rows, columns) of a bilinearly upsampling deconvolution.
    Every channel gets the same kernel; the number of columns determines the spacing. Raises
    IndexError for fewer than four axes."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if len(arr.shape) < 4:
            problem = f"shape {arr.shape}, expected four axes: (out, in, rows, columns)"
            raise InitializerError(f"Bilinear: parameter {name!r}", problem)
        arr[:] = bilinear(arr.shape)


@register
class LSTMBias(Initializer):
    """The bias of an LSTM, gates i, f, c, o in blocks of rows: ``forget_bias`` for f, else 0. An
    open forget gate preserves gradients over many steps (Jozefowicz et al. 2015). Use it as the
    ``init`` of a variable; otherwise names that end in 'bias' get 0."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        host = np.zeros(arr.shape, np.float32)
        hidden = arr.shape[0] // 4
        host[hidden : 2 * hidden] = self.forget_bias
        arr[:] = host
