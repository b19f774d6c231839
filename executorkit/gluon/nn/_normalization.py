"""Normalizations by statistics of a batch, an instance, groups of channels, or a layer."""

from typing import Any, Unpack

import numpy as np

from ..._support.annotations import Attrs
from .._block import BlockOptions
from .._hybrid_block import HybridBlock
from .._parameter_dict import ParameterDict
from .._types import DType, Init, Ops, Tensor


class _BatchNorm(HybridBlock):
    fuse_relu = False

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        running_mean_initializer: Init = "zeros",
        running_variance_initializer: Init = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        if in_channels:
            self.in_channels = in_channels
        get, shape = self.params.get, (in_channels,)
        with self.name_scope():
            self.gamma: Any = get("gamma", **_statistic(shape, gamma_initializer, scale))
            self.beta = get("beta", **_statistic(shape, beta_initializer, center))
            self.running_mean = get(
                "running_mean", **_statistic(shape, running_mean_initializer, False)
            )
            self.running_var = get(
                "running_var", **_statistic(shape, running_variance_initializer, False)
            )

    def cast(self, dtype: DType) -> None:
        """Changes the dtype of the parameters; for float16 and bfloat16 they are float32."""
        super().cast("float32" if np.dtype(dtype).name in ("float16", "bfloat16") else dtype)

    def hybrid_forward(
        self,
        F: Ops,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
    ) -> Tensor:
        operator = F.contrib.BatchNormWithReLU if self.fuse_relu else F.BatchNorm
        return operator(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return _text_of(self, self._kwargs, self.gamma.shape[0] or None)


def _statistic(shape: tuple[int, ...], init: Init, trained: bool) -> Attrs:
    return {**_parameter(shape, init, trained), "differentiable": trained}


def _parameter(shape: tuple[int, ...], init: Init, trained: bool) -> Attrs:
    return {
        "grad_req": "write" if trained else "null",
        "shape": shape,
        "init": init,
        "allow_deferred_init": True,
    }


def _text_of(layer: Any, attributes: Attrs, *channels: int | None) -> str:
    parts = [f"{name}={value!r}" for name, value in attributes.items()]
    parts += [f"in_channels={number}" for number in channels]
    return f"{type(layer).__name__}({', '.join(parts)})"


class BatchNorm(_BatchNorm):
    """Batch normalization, ``gamma * (x - mean) / sqrt(var + epsilon) + beta``, with mean and
    variance over all axes but ``axis``: of the batch in training, otherwise running ones.

    axis
        The axis of the channels.
    momentum
        The momentum of the running statistics, ``running * momentum + batch's * (1 - momentum)``,
        which are written when a recorded call is differentiated.
    epsilon
        A number added to the variance.
    center
        Whether beta is trained.
    scale
        Whether gamma is trained; otherwise gamma is 1.
    use_global_stats
        Whether to use running statistics in training, too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
        The initializers of the parameters.
    in_channels
        The number of channels. 0: taken from the first input.

    Parameters: ``gamma``, ``beta``, ``running_mean``, ``running_var``, (in_channels,) each; float32
    for inputs of float16 or bfloat16, also after ``cast``. Output: as the input. Ioffe and Szegedy,
    arXiv:1502.03167.
    """


class BatchNormReLU(_BatchNorm):
    """:class:`BatchNorm` followed by ReLU; the arguments are the same."""

    fuse_relu = True


class InstanceNorm(HybridBlock):
    """Instance normalization: :class:`BatchNorm` with mean and variance by channel of each sample.

    axis
        The axis of the channels.
    epsilon
        A number added to the variance.
    center, scale
        Whether beta and gamma are trained; otherwise they keep their initial values.
    beta_initializer, gamma_initializer
        The initializers of beta and gamma.
    in_channels
        The number of channels. 0: taken from the first input.

    Parameters: ``gamma``, ``beta``, (in_channels,) each. Ulyanov et al., arXiv:1607.08022.
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        get, shape = self.params.get, (in_channels,)
        with self.name_scope():
            self.gamma: Any = get("gamma", **_parameter(shape, gamma_initializer, scale))
            self.beta = get("beta", **_parameter(shape, beta_initializer, center))

    def hybrid_forward(self, F: Ops, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, eps=self._epsilon, name="fwd")
        x = F.swapaxes(x, dim1=1, dim2=self._axis)
        out = F.InstanceNorm(x, gamma, beta, eps=self._epsilon, name="fwd")
        return F.swapaxes(out, dim1=1, dim2=self._axis)

    def __repr__(self) -> str:
        return _text_of(self, self._kwargs, self.gamma.shape[0])


class LayerNorm(HybridBlock):
    """Layer normalization: :class:`BatchNorm` with mean and variance along one axis, whose length
    is ``in_channels``.

    axis
        The axis that is normalized.
    epsilon
        A number added to the variance.
    center, scale
        Whether beta and gamma are trained; otherwise they keep their initial values.
    beta_initializer, gamma_initializer
        The initializers of beta and gamma.

    Parameters: ``gamma``, ``beta``, (in_channels,) each. Ba et al., arXiv:1607.06450.

    >>> import executorkit as mx
    >>> layer = mx.gluon.nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[1, 3]])).asnumpy().round(3).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        get, shape = self.params.get, (in_channels,)
        with self.name_scope():
            self.gamma: Any = get("gamma", **_parameter(shape, gamma_initializer, scale))
            self.beta = get("beta", **_parameter(shape, beta_initializer, center))

    def hybrid_forward(self, F: Ops, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return F.LayerNorm(data, gamma, beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return _text_of(self, self._kwargs, self.gamma.shape[0])


class GroupNorm(HybridBlock):
    """Group normalization: :class:`BatchNorm` with mean and variance of each of ``num_groups``
    groups of channels (axis 1) of each sample.

    epsilon
        A number added to the variance.
    center, scale
        Whether beta and gamma are trained; otherwise they keep their initial values.
    beta_initializer, gamma_initializer
        The initializers of beta and gamma.

    Parameters: ``gamma``, ``beta``, (num_groups,) each. Input: (N, C, ...). Wu and He,
    arXiv:1803.08494.
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {
            "eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale,
        }  # fmt: skip
        self._num_groups = num_groups
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        get, shape = self.params.get, (num_groups,)
        with self.name_scope():
            self.gamma: Any = get("gamma", **_parameter(shape, gamma_initializer, scale))
            self.beta = get("beta", **_parameter(shape, beta_initializer, center))

    def hybrid_forward(self, F: Ops, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return F.GroupNorm(data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return _text_of(self, self._kwargs)
