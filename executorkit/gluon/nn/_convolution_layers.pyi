# Written by `python -m tests.make_stubs`.
from typing import Any
from .._hybrid_block import HybridBlock
from .._layer_windows import PerAxis
class _Conv(HybridBlock):
    weight: Any
    bias: Any
    act: Any
class Conv1D(_Conv):
    def __init__(self, channels: int, kernel_size: PerAxis, strides: PerAxis = 1, padding: PerAxis = 0, dilation: PerAxis = 1, groups: int = 1, layout: str = 'NCW', activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = 'zeros', in_channels: int = 0, prefix: str | None = None, params: Any = None) -> None: ...
class Conv2D(_Conv):
    def __init__(self, channels: int, kernel_size: PerAxis, strides: PerAxis = (1, 1), padding: PerAxis = (0, 0), dilation: PerAxis = (1, 1), groups: int = 1, layout: str = 'NCHW', activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = 'zeros', in_channels: int = 0, prefix: str | None = None, params: Any = None) -> None: ...
class Conv3D(_Conv):
    def __init__(self, channels: int, kernel_size: PerAxis, strides: PerAxis = (1, 1, 1), padding: PerAxis = (0, 0, 0), dilation: PerAxis = (1, 1, 1), groups: int = 1, layout: str = 'NCDHW', activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = 'zeros', in_channels: int = 0, prefix: str | None = None, params: Any = None) -> None: ...
class Conv1DTranspose(_Conv):
    def __init__(self, channels: int, kernel_size: PerAxis, strides: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, dilation: PerAxis = 1, groups: int = 1, layout: str = 'NCW', activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = 'zeros', in_channels: int = 0, prefix: str | None = None, params: Any = None) -> None: ...
class Conv2DTranspose(_Conv):
    def __init__(self, channels: int, kernel_size: PerAxis, strides: PerAxis = (1, 1), padding: PerAxis = (0, 0), output_padding: PerAxis = (0, 0), dilation: PerAxis = (1, 1), groups: int = 1, layout: str = 'NCHW', activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = 'zeros', in_channels: int = 0, prefix: str | None = None, params: Any = None) -> None: ...
class Conv3DTranspose(_Conv):
    def __init__(self, channels: int, kernel_size: PerAxis, strides: PerAxis = (1, 1, 1), padding: PerAxis = (0, 0, 0), output_padding: PerAxis = (0, 0, 0), dilation: PerAxis = (1, 1, 1), groups: int = 1, layout: str = 'NCDHW', activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = 'zeros', in_channels: int = 0, prefix: str | None = None, params: Any = None) -> None: ...
