"""Layers of ``mx.gluon.contrib.nn``.

>>> import executorkit as mx
>>> mx.gluon.contrib.nn.PixelShuffle1D(2)(mx.nd.array([[[1, 2], [3, 4]]])).asnumpy().tolist()
[[[1.0, 3.0, 2.0, 4.0]]]
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from .... import ndarray as nd
from ....context import num_gpus
from ....errors import ArgumentValueError
from ..._block import Block, BlockOptions
from ..._hybrid_block import HybridBlock
from ..._parameter_dict import ParameterDict
from ..._types import DType, Init, Ops, Tensor
from ...nn import BatchNorm, Embedding, HybridSequential, Sequential


class Concurrent(Sequential):
    """Blocks that run on the same input; their outputs are concatenated along ``axis``."""

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return nd.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """:class:`HybridBlock` blocks of one input; their outputs are concatenated along ``axis``."""

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """The input itself, for a shortcut in a :class:`HybridConcurrent`."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return x


class SparseEmbedding(Block):
    """:class:`~executorkit.gluon.nn.Embedding` whose table and gradient are row_sparse in MXNet.
    Here they are dense, which a UserWarning says once."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DType = "float32",
        weight_initializer: Init = None,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            dtype=dtype,
            init=weight_initializer,
            stype="row_sparse",
            grad_stype="row_sparse",
        )

    def forward(self, x: Tensor) -> Tensor:
        return nd.Embedding(x, self.weight.data(x.context), name="fwd", **self._kwargs)

    __repr__ = Embedding.__repr__


class SyncBatchNorm(BatchNorm):
    """:class:`~executorkit.gluon.nn.BatchNorm` over the batches of all devices that run one
    program: the devices of a Module, or the contexts of a recorded loop. ``num_devices`` is by
    default the number of GPUs, with a UserWarning; the other arguments are BatchNorm's.

    Unlike in MXNet, a training step on several contexts must be one program: MXNetError if a value
    is read before ``Trainer.step``, or if the parts of the batch differ in length.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        running_mean_initializer: Init = "zeros",
        running_variance_initializer: Init = "ones",
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            axis=1, momentum=momentum, epsilon=epsilon, center=center, scale=scale,
            use_global_stats=use_global_stats, beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer, running_mean_initializer=running_mean_initializer,
            running_variance_initializer=running_variance_initializer, in_channels=in_channels,
            **kwargs,
        )  # fmt: skip
        if num_devices is None:
            text = "SyncBatchNorm: set num_devices unless all GPUs are used"
            warnings.warn(text, UserWarning, stacklevel=2)
            num_devices = max(num_gpus(), 1)
        self._kwargs = {
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
            "ndev": num_devices,
            "key": self.prefix,
        }

    def hybrid_forward(
        self,
        F: Ops,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
    ) -> Tensor:
        statistics = running_mean, running_var
        return F.contrib.SyncBatchNorm(x, gamma, beta, *statistics, name="fwd", **self._kwargs)


class _PixelShuffle(HybridBlock):
    def __init__(self, factors: tuple[int, ...]) -> None:
        super().__init__()
        self._factors = factors

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        factors = self._factors
        x = F.reshape(x, shape=(0, -4, -1, math.prod(factors), *[0] * len(factors)))
        for i, factor in enumerate(factors):
            before, after = [0] * (i + 2), [0] * (len(factors) - i - 1)
            x = F.swapaxes(x, dim1=i + 2, dim2=i + 3)
            if after:
                others = math.prod(factors[i + 1 :])
                x = F.reshape(x, shape=(*before, 0, -4, factor, others, *after))
                after.append(0)
            x = F.reshape(x, shape=(*before, -3, *after))
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


def _factors(where: str, factor: Any, axes: int) -> tuple[int, ...]:
    if np.ndim(factor) == 0:
        return (int(factor),) * axes
    if len(factor) != axes:
        raise ArgumentValueError(where, f"factor has {len(factor)} numbers, not {axes}")
    return tuple(map(int, factor))


class PixelShuffle1D(_PixelShuffle):
    """Pixel shuffle over one axis. Input: (N, C * factor, W). Output: (N, C, W * factor)."""

    def __init__(self, factor: int) -> None:
        super().__init__((int(factor),))

    def __repr__(self) -> str:
        return f"PixelShuffle1D({self._factors[0]})"


class PixelShuffle2D(_PixelShuffle):
    """Pixel shuffle over two axes, with one factor or one for each axis. Input: (N, C * f1 * f2, H,
    W). Output: (N, C, H * f1, W * f2). Shi et al., arXiv:1609.05158."""

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__(_factors("PixelShuffle2D", factor, 2))


class PixelShuffle3D(_PixelShuffle):
    """Pixel shuffle over three axes, with one factor or one for each axis. Input: (N, C * f1 * f2 *
    f3, D, H, W). Output: (N, C, D * f1, H * f2, W * f3)."""

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__(_factors("PixelShuffle3D", factor, 3))
