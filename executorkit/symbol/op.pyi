# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, TypedDict as _TypedDict, Unpack as _Unpack
import numpy as _np
from executorkit.symbol._symbol import Symbol
from ._symbol_functions import symbol_module

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None
_NodeAttributes = _TypedDict('_NodeAttributes', {'lr_mult': float | str, '__lr_mult__': float | str, 'wd_mult': float | str, '__wd_mult__': float | str, 'ctx_group': str, '__ctx_group__': str, 'mirror_stage': str | int, '__mirror_stage__': str | int, 'force_mirroring': str | bool, '__force_mirroring__': str | bool}, total=False)

def abs(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""|x|, for every element x of data."""
def Activation(data: Symbol | None = None, act_type: _Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies an activation function to every element x of data; shape and (floating) dtype stay."""
def adam_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Adam without bias correction: mean (beta1) and var (beta2) are moving averages of h and h^2, where h is rescale_grad grad + wd weight, clipped like g; weight - lr mean / (sqrt(var) + epsilon). Source: Kingma and Ba, 2015."""
def add_n(*args: Symbol, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Adds ``num_args`` arrays of one shape and dtype, element by element."""
ElementWiseSum = add_n
def all_finite(data: Symbol | None = None, init_output: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns 1 if every element of data is finite, else 0: float32 of shape (1,)."""
def amp_cast(data: Symbol | None = None, dtype: _DType = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Converts data, of any shape, to ``dtype`` if it is floating; otherwise returns it unchanged."""
def amp_multicast(*data: Symbol, num_outputs: int = ..., cast_narrow: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Converts the float16 and float32 ones of ``num_outputs`` arrays of any shapes to one dtype."""
def arccos(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Arccos x, for every element x of data."""
def arccosh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Arcosh x, for every element x of data."""
def arcsin(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Arcsin x, for every element x of data."""
def arcsinh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Arsinh x, for every element x of data."""
def arctan(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Arctan x, for every element x of data."""
def arctanh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Artanh x, for every element x of data."""
def argmax(data: Symbol | None = None, axis: int | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Position of the largest element along ``axis``, in data's dtype."""
def argmax_channel(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the position of the largest element along axis 1, in data's dtype."""
def argmin(data: Symbol | None = None, axis: int | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Position of the smallest element along ``axis``, in data's dtype."""
def argsort(data: Symbol | None = None, axis: int | None = -1, is_ascend: bool = True, dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the indices that sort data along ``axis``, as numbers of type ``dtype``."""
def batch_dot(lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: _Literal['csr', 'default', 'row_sparse'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Multiplies the matrices at each position of the leading axes."""
def batch_take(a: Symbol | None = None, indices: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes out[i] = a[i, indices[i]]."""
def BatchNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normalises each channel of ``axis`` over the batch (Ioffe and Szegedy, arXiv:1502.03167)."""
def BatchNorm_v1(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies the batch normalisation of MXNet before 1.0: :func:`batch_norm` along axis 1."""
def BilinearSampler(data: Symbol | None = None, grid: Symbol | None = None, cudnn_off: bool | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Samples images bilinearly at the positions of a grid."""
def BlockGrad(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, of any shape and dtype; its gradient is zero."""
stop_gradient = BlockGrad
def broadcast_add(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs + rhs, with broadcasting."""
broadcast_plus = broadcast_add
def broadcast_axis(data: Symbol | None = None, axis: _Shape = (), size: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Broadcasts each axis in ``axis``, of size 1, to the matching entry of ``size``."""
broadcast_axes = broadcast_axis
def broadcast_div(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs / rhs, with broadcasting."""
def broadcast_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs == rhs, with broadcasting."""
def broadcast_greater(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs > rhs, with broadcasting."""
def broadcast_greater_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs >= rhs, with broadcasting."""
def broadcast_hypot(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""sqrt(lhs^2 + rhs^2), with broadcasting."""
def broadcast_lesser(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs < rhs, with broadcasting."""
def broadcast_lesser_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs <= rhs, with broadcasting."""
def broadcast_like(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_axes: _Shape | None = None, rhs_axes: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Broadcasts lhs to the shape of rhs, or each axis in ``lhs_axes`` to the one in ``rhs_axes``."""
def broadcast_logical_and(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs != 0 and rhs != 0, with broadcasting."""
def broadcast_logical_or(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs != 0 or rhs != 0, with broadcasting."""
def broadcast_logical_xor(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""(lhs != 0) != (rhs != 0), with broadcasting."""
def broadcast_maximum(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""max(lhs, rhs), with broadcasting."""
def broadcast_minimum(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""min(lhs, rhs), with broadcasting."""
def broadcast_mod(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs mod rhs, with broadcasting."""
def broadcast_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs * rhs, with broadcasting."""
def broadcast_not_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs != rhs, with broadcasting."""
def broadcast_power(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs ^ rhs, with broadcasting."""
def broadcast_sub(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs - rhs, with broadcasting."""
broadcast_minus = broadcast_sub
def broadcast_to(data: Symbol | None = None, shape: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Broadcasts data to ``shape``."""
def Cast(data: Symbol | None = None, dtype: _DType = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Converts data, of any shape and dtype, to ``dtype``."""
cast = Cast
def cast_storage(data: Symbol | None = None, stype: _Literal['csr', 'default', 'row_sparse'] = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, of any shape and dtype. Arrays are dense: a sparse ``stype`` is an error."""
def cbrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The cube root of x, for every element x of data."""
def ceil(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The smallest integer >= x, for every element x of data."""
def clip(data: Symbol | None = None, a_min: float = ..., a_max: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes min(max(x, a_min), a_max), for every element x of data."""
def col2im(data: Symbol | None = None, output_size: _Shape = ..., kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Adds up images from columns of patches."""
def Concat(*data: Symbol, num_args: int = ..., dim: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Concatenates the inputs along axis ``dim``."""
concat = Concat
def Convolution(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Convolves (cross-correlates) data over one, two or three spatial axes."""
def Convolution_v1(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Convolves (cross-correlates) data over one, two or three spatial axes."""
def identity(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, of any shape and dtype."""
def Correlation(data1: Symbol | None = None, data2: Symbol | None = None, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, pad_size: int = 0, is_multiply: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the mean product of the patches of two images, for every position and displacement."""
def cos(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Cos x, for every element x of data."""
def cosh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Cosh x, for every element x of data."""
def Crop(*data: Symbol, num_args: int = ..., offset: _Shape = (0, 0), h_w: _Shape = (0, 0), center_crop: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Crops a window out of the images data (N, C, H, W)."""
def CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: _Literal['first', 'last'] = 'first', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the CTC loss of each sample, ``-log P(label | softmax(data))`` over all alignments."""
ctc_loss = CTCLoss
def Custom(*data: Symbol, op_type: str = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Any) -> Symbol:
    r"""Runs the operator that ``mx.operator.register(op_type)`` registered, in Python."""
def Deconvolution(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), adj: _Shape = (), target_shape: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 512, no_bias: bool = True, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes a transposed convolution: the input gradient of a convolution."""
def degrees(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""180 x / pi, for every element x of data."""
def depth_to_space(data: Symbol | None = None, block_size: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Moves channels into blocks of pixels."""
def diag(data: Symbol | None = None, k: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Extracts diagonal ``k`` of matrices, or makes a matrix with that diagonal."""
def dot(lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: _Literal['csr', 'default', 'row_sparse'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums products over the last axis of lhs and the first axis of rhs."""
def Dropout(data: Symbol | None = None, p: float = 0.5, mode: _Literal['always', 'training'] = 'training', axes: _Shape = (), cudnn_off: bool | None = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sets elements of data to 0 with probability p and multiplies the others by 1 / (1 - p)."""
def elemwise_add(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs + rhs, element by element."""
def elemwise_div(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs / rhs, element by element."""
def elemwise_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs * rhs, element by element."""
def elemwise_sub(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs - rhs, element by element."""
def Embedding(data: Symbol | None = None, weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: _DType = 'float32', sparse_grad: bool = False, deterministic: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Looks up rows of weight by data."""
def erf(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x, for every element x of data."""
def erfinv(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The y with erf(y) = x, for every element x of data."""
def exp(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""E^x, for every element x of data."""
def expand_dims(data: Symbol | None = None, axis: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Inserts an axis of size 1 into data, of any shape, at position ``axis`` of the result."""
def expm1(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""E^x - 1, for every element x of data."""
def fill_element_0index(lhs: Symbol | None = None, mhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sets lhs[i, rhs[i]] = mhs[i] for every row i."""
def fix(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""X rounded towards zero, for every element x of data."""
def Flatten(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Reshapes data (N, ...) to a matrix (N, K); a vector (N,) becomes (N, 1)."""
flatten = Flatten
def floor(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The largest integer <= x, for every element x of data."""
def ftml_update(weight: Symbol | None = None, grad: Symbol | None = None, d: Symbol | None = None, v: Symbol | None = None, z: Symbol | None = None, lr: float = ..., beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Follow the moving leader, at step t: g = rescale_grad grad + wd weight, clipped by clip_grad; v = beta2 v + (1 - beta2) g^2; d' = (1 - beta1^t) / lr (sqrt(v / (1 - beta2^t)) + epsilon); z = beta1 z + (1 - beta1) g - (d' - beta1 d) weight; -z / d'. Source: Zheng and Kwok, 2017."""
def ftrl_update(weight: Symbol | None = None, grad: Symbol | None = None, z: Symbol | None = None, n: Symbol | None = None, lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Follow the regularised leader: z = z + g - (sqrt(n + g^2) - sqrt(n)) weight / lr; n = n + g^2; (sign(z) lamda1 - z) / ((beta + sqrt(n)) / lr + wd) where |z| > lamda1, else 0. Source: McMahan et al., 2013."""
def FullyConnected(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the affine map ``y = x W^T + b``."""
def gamma(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The gamma function of x, for every element x of data."""
def gammaln(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Ln |gamma(x)|, for every element x of data."""
def gather_nd(data: Symbol | None = None, indices: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes out[j, ...] = data[indices[0, j], ..., indices[M - 1, j], ...]."""
def GridGenerator(data: Symbol | None = None, transform_type: _Literal['affine', 'warp'] = ..., target_shape: _Shape = (0, 0), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Generates source coordinates for ``BilinearSampler``: (N, 2, H, W), x before y, -1 to 1."""
def GroupNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes gamma (data - mean) / sqrt(var + eps) + beta, with the moments of groups of channels."""
def hard_sigmoid(data: Symbol | None = None, alpha: float = 0.2, beta: float = 0.5, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes min(max(alpha x + beta, 0), 1), for every element x of data."""
def IdentityAttachKLSparseReg(data: Symbol | None = None, moving_avg: Symbol | None = None, sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, adding the gradient of a sparseness penalty to the head gradient."""
def im2col(data: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Extracts the patches of images that a convolution multiplies with its weight, as columns."""
def InstanceNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, eps: float = 0.001, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes gamma (data - mean) / sqrt(var + eps) + beta, with the moments of each channel."""
def khatri_rao(*args: Symbol, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Computes the Kronecker product of each column: kron(args[0][:, k], args[1][:, k], ...)."""
def L2Normalization(data: Symbol | None = None, eps: float = 1e-10, mode: _Literal['channel', 'instance', 'spatial'] = 'instance', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes data / sqrt(sum data^2 + eps)."""
def lamb_update_phase1(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the first half of LAMB at step t: h = mean / (sqrt(var) + epsilon) + wd weight."""
def lamb_update_phase2(weight: Symbol | None = None, g: Symbol | None = None, r1: Symbol | None = None, r2: Symbol | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the second half of LAMB: weight - lr r1 / r2 g."""
def LayerNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, axis: int = -1, eps: float = 1e-05, output_mean_var: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes gamma (data - mean) / sqrt(var + eps) + beta, with moments along ``axis``."""
def LeakyReLU(data: Symbol | None = None, gamma: Symbol | None = None, act_type: _Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies a rectifier with a slope below 0 to every element x of data."""
def linalg_det(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the determinant of each matrix of A (..., n, n): (...), or (1,) for a single matrix."""
def linalg_extractdiag(A: Symbol | None = None, offset: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Extracts diagonal ``offset`` of each matrix of A (..., n, n), as (..., n - abs(offset))."""
def linalg_extracttrian(A: Symbol | None = None, offset: int = 0, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Extracts a triangle of each matrix of A (..., n, n) as a vector (..., k (k + 1) / 2)."""
def linalg_gelqf(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Factorises A = L Q with lower triangular L and orthonormal rows of Q."""
def linalg_gemm(A: Symbol | None = None, B: Symbol | None = None, C: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes alpha op(A) op(B) + beta C, for the matrices at each position of the other axes."""
def linalg_gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes alpha op(A) op(B), for the matrices at each position of the other axes."""
def linalg_inverse(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Inverts the matrices A (..., n, n)."""
def linalg_makediag(A: Symbol | None = None, offset: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Makes matrices (..., m, m), m = n + abs(offset), with A (..., n) on diagonal ``offset``."""
def linalg_maketrian(A: Symbol | None = None, offset: int = 0, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Makes matrices with A (..., k (k + 1) / 2) as a triangle, zeros elsewhere."""
def linalg_potrf(A: Symbol | None = None, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the Cholesky factor: lower triangular L with L L^T = A, or without ``lower`` L^T."""
def linalg_potri(A: Symbol | None = None, lower: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the inverse of L L^T, given its Cholesky factor L, or without ``lower`` L^T."""
def linalg_slogdet(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes sign and log(abs(determinant)) of each matrix of A (..., n, n)."""
def linalg_sumlogdiag(A: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums the logarithms of each diagonal of A (..., n, n): (...), for one matrix (1,)."""
def linalg_syrk(A: Symbol | None = None, transpose: bool = False, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes alpha A A^T (..., n, n) of A (..., n, m), or with ``transpose`` alpha A^T A (..., m, m)."""
def linalg_trmm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes alpha op(A) B, or with ``rightside`` alpha B op(A), A triangular."""
def linalg_trsm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Solves op(A) X = alpha B, or with ``rightside`` X op(A) = alpha B, A triangular."""
def LinearRegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""data itself, with the gradient of half the squared error: ``out - label``, scaled."""
def log(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Ln x, for every element x of data."""
def log10(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Log10 x, for every element x of data."""
def log1p(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Ln(1 + x), for every element x of data."""
def log2(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Log2 x, for every element x of data."""
def log_softmax(data: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: _DType = None, use_length: bool | None = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the logarithm of :func:`softmax` along ``axis``, without its rounding to 0."""
def logical_not(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""X == 0, for every element x of data."""
def LogisticRegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""``sigmoid(data)``, with the gradient of the binary cross entropy: ``out - label``, scaled."""
def LRN(data: Symbol | None = None, alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes local response normalisation: data (knorm + alpha / nsize sum data^2) ^ -beta."""
def MAERegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""data itself, with the gradient of the absolute error: ``sign(out - label)``, scaled."""
def make_loss(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data as a loss to be minimised: its gradient is one. data (...), floating."""
def MakeLoss(data: Symbol | None = None, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: _Literal['null', 'batch', 'valid'] = 'null', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data as a loss to be minimised: its gradient is a constant."""
def max(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Maximum over ``axis``."""
max_axis = max
def mean(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Arithmetic mean over ``axis``."""
def min(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Minimum over ``axis``."""
min_axis = min
def moments(data: Symbol | None = None, axes: _Shape | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the mean of data over ``axes``, and the variance (divided by the count)."""
def mp_lamb_update_phase1(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes ``lamb_update_phase1`` for a half precision weight: from weight32, in float32."""
def mp_lamb_update_phase2(weight: Symbol | None = None, g: Symbol | None = None, r1: Symbol | None = None, r2: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes ``lamb_update_phase2`` for a half precision weight with a float32 copy, weight32."""
def mp_nag_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Nesterov's accelerated gradient: s = lr (g + wd weight), mom = momentum mom - s, weight + momentum mom - s. The stored momentum includes the decay of the new weight."""
def mp_sgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def mp_sgd_update(weight: Symbol | None = None, grad: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def multi_all_finite(*data: Symbol, num_arrays: int = 1, init_output: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Returns 1 if every element of all ``num_arrays`` arrays is finite, else 0: float32 (1,)."""
def multi_lars(lrs: Symbol | None = None, weights_sum_sq: Symbol | None = None, grads_sum_sq: Symbol | None = None, wds: Symbol | None = None, eta: float = ..., eps: float = ..., rescale_grad: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes learning rates of LARS: lr eta |w| / (rescale_grad |g| + wd |w| + eps) per layer."""
def multi_mp_sgd_mom_update(*data: Symbol, lrs: _Floats = ..., wds: _Floats = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def multi_mp_sgd_update(*data: Symbol, lrs: _Floats = ..., wds: _Floats = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def multi_sgd_mom_update(*data: Symbol, lrs: _Floats = ..., wds: _Floats = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def multi_sgd_update(*data: Symbol, lrs: _Floats = ..., wds: _Floats = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def multi_sum_sq(*data: Symbol, num_arrays: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Returns the sum of squares of each of ``num_arrays`` arrays: float32 of shape (num_arrays,)."""
def nag_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Nesterov's accelerated gradient: s = lr (g + wd weight), mom = momentum mom - s, weight + momentum mom - s. With the weight as ``out``, the stored momentum includes the decay of the new weight."""
def nanprod(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Product of all that is not NaN over ``axis``."""
def nansum(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sum of all that is not NaN over ``axis``."""
def negative(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""-x, for every element x of data."""
def norm(data: Symbol | None = None, ord: _Literal[1, 2] = 2, axis: _Shape | None = None, out_dtype: _Literal['float16', 'float32', 'float64', 'int32', 'int64', 'int8'] | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums magnitudes (``ord=1``) or takes the root of the sum of squares (``ord=2``) over ``axis``."""
def cumsum(a: Symbol | None = None, axis: int | None = None, dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes running sums along ``axis``: out[i] = a[0] + ... + a[i]."""
def one_hot(indices: Symbol | None = None, depth: int = ..., on_value: float = 1.0, off_value: float = 0.0, dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Puts ``on_value`` at each index of a new last axis of size ``depth``, else ``off_value``."""
def ones_like(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns ones in the shape and dtype of data, which gets zero gradient."""
def Pad(data: Symbol | None = None, mode: _Literal['constant', 'edge', 'reflect'] = ..., pad_width: _Shape = ..., constant_value: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Pads data before and after the entries of each axis."""
pad = Pad
def pick(data: Symbol | None = None, index: Symbol | None = None, axis: int | None = -1, keepdims: bool = False, mode: _Literal['clip', 'wrap'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Takes one entry of ``axis`` of data for each index."""
choose_element_0index = pick
def Pooling(data: Symbol | None = None, kernel: _Shape = (), pool_type: _Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: _Literal['full', 'same', 'valid'] = 'valid', stride: _Shape = (), pad: _Shape = (), p_value: _Literal[1, 2, 3] | None = None, count_include_pad: bool | None = None, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the maximum, average, sum or p-norm over windows of the spatial axes."""
def Pooling_v1(data: Symbol | None = None, kernel: _Shape = (), pool_type: _Literal['avg', 'max', 'sum'] = 'max', global_pool: bool = False, pooling_convention: _Literal['full', 'valid'] = 'valid', stride: _Shape = (), pad: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Pools as MXNet before 1.0 did, channels-first data of two or three spatial axes."""
def preloaded_multi_mp_sgd_mom_update(*data: Symbol, momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def preloaded_multi_mp_sgd_update(*data: Symbol, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def preloaded_multi_sgd_mom_update(*data: Symbol, momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def preloaded_multi_sgd_update(*data: Symbol, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def prod(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Product over ``axis``."""
def radians(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Pi x / 180, for every element x of data."""
def random_exponential(lam: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def random_negative_binomial(k: int = 1, p: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def random_normal(loc: float = 0.0, scale: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normally distributed numbers with mean loc and standard deviation scale."""
normal = random_normal
def random_pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: gamma(sum of alpha) / product of gamma(alpha) times the product of x^(alpha - 1), over the last axis, which the result does not have."""
def random_pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: lam exp(-lam x)."""
def random_pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: beta^alpha x^(alpha - 1) exp(-beta x) / gamma(alpha): beta is a rate here, where the sampler's beta is a scale."""
def random_pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: the density of the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1). sample holds integers, as floating numbers, and gets zero gradient."""
def random_pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: gamma(x + k) / (x! gamma(k)) p^k (1 - p)^x. sample holds integers, as floating numbers, and gets zero gradient."""
def random_pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: exp(-((x - mu) / sigma)^2 / 2) / (sqrt(2 pi) sigma)."""
def random_pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: lam^x exp(-lam) / x!. sample holds integers, as floating numbers, and gets zero gradient."""
def random_pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: 1 / (high - low), wherever x lies."""
def random_poisson(lam: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Poisson distributed numbers with mean lam."""
def random_randint(low: int = ..., high: int = ..., shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Draws uniformly distributed integers in [low, high)."""
def random_uniform(low: float = 0.0, high: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Uniformly distributed numbers in [low, high)."""
uniform = random_uniform
def ravel_multi_index(data: Symbol | None = None, shape: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the position of each coordinate tuple in an array of ``shape``, last axis fastest."""
def rcbrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""1 / cbrt(x), for every element x of data."""
def reciprocal(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""1 / x, for every element x of data."""
def relu(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Max(x, 0), for every element x of data."""
def repeat(data: Symbol | None = None, repeats: int = ..., axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Repeats every entry of ``axis`` of data, of any shape, ``repeats`` times in place."""
def reset_arrays(*data: Symbol, num_arrays: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Fills ``num_arrays`` arrays of any shapes and dtypes with zeros, in place."""
def Reshape(data: Symbol | None = None, shape: _Shape = (), reverse: bool = False, target_shape: _Shape = (), keep_highest: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Reshapes data, of any shape; elements keep their order."""
reshape = Reshape
def reshape_like(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Reshapes the axes ``lhs_begin`` to ``lhs_end`` of lhs as axes of rhs."""
def reverse(data: Symbol | None = None, axis: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Reverses data, of any shape, along every axis named."""
flip = reverse
def rint(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The nearest integer, for every element x of data."""
def rmsprop_update(weight: Symbol | None = None, grad: Symbol | None = None, n: Symbol | None = None, lr: float = ..., gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""RMSProp: h = rescale_grad grad + wd weight, clipped like g; n = gamma1 n + (1 - gamma1) h^2; weight - lr h / sqrt(n + epsilon), clipped to clip_weights unless that is negative. Source: Tieleman and Hinton, 2012."""
def rmspropalex_update(weight: Symbol | None = None, grad: Symbol | None = None, n: Symbol | None = None, g: Symbol | None = None, delta: Symbol | None = None, lr: float = ..., gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""RMSProp, centred and with momentum: h = rescale_grad grad + wd weight, clipped; n and the state g are moving averages (gamma1) of h^2 and h; delta = gamma2 delta - lr h / sqrt(n - g^2 + epsilon); weight + delta, clipped to clip_weights unless that is negative. Source: Graves, 2013."""
def RNN(data: Symbol | None = None, parameters: Symbol | None = None, state: Symbol | None = None, state_cell: Symbol | None = None, sequence_length: Symbol | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: _Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Runs recurrent layers over a sequence: ``h' = cell(x W^T + b + h R^T + c, h)``."""
def ROIPooling(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: _Shape = ..., spatial_scale: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the largest value in each of a grid of bins, for each region of interest."""
def round(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The nearest integer, for every element x of data."""
def rsqrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""1 / sqrt(x), for every element x of data."""
def sample_exponential(lam: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def sample_gamma(alpha: Symbol | None = None, beta: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def sample_generalized_negative_binomial(mu: Symbol | None = None, alpha: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def sample_multinomial(data: Symbol | None = None, shape: _Shape = (), get_prob: bool = False, dtype: _DType = 'int32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Draws indices with the probabilities in data's last axis."""
def sample_negative_binomial(k: Symbol | None = None, p: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def sample_normal(mu: Symbol | None = None, sigma: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normally distributed numbers with mean mu and standard deviation sigma."""
def sample_poisson(lam: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Poisson distributed numbers with mean lam."""
def sample_uniform(low: Symbol | None = None, high: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Uniformly distributed numbers in [low, high)."""
def scatter_nd(data: Symbol | None = None, indices: Symbol | None = None, shape: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes out[indices[0, j], ..., indices[M - 1, j], ...] = data[j, ...], zeros elsewhere."""
def SequenceLast(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the last entry of every sequence."""
def SequenceMask(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Replaces every entry past the end of its sequence by ``value``."""
def SequenceReverse(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Reverses every sequence; entries past its end do not move."""
def sgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def sgd_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def shape_array(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the shape of data as int64 of shape (number of axes,); data gets zero gradient."""
def shuffle(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data (N, ...) with its N rows in random order."""
def sigmoid(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""1 / (1 + e^-x), for every element x of data."""
def sign(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""1, 0 or -1, for every element x of data."""
def signsgd_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Descent by the sign of the gradient: (1 - lr wd) weight - lr sign(grad). Source: Bernstein et al., signSGD, 2018."""
def signum_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Descent by the sign of the momentum: mom = momentum mom - (1 - momentum) (g + wd weight), (1 - lr wd_lh) weight + lr sign(mom). Source: Bernstein et al., signSGD, 2018."""
def sin(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sin x, for every element x of data."""
def sinh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sinh x, for every element x of data."""
def size_array(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the number of elements of data as int64 of shape (1,); data gets zero gradient."""
def slice(data: Symbol | None = None, begin: _OptShape = ..., end: _OptShape = ..., step: _OptShape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]."""
crop = slice
def slice_axis(data: Symbol | None = None, axis: int = ..., begin: int = ..., end: int | None = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns entries ``begin`` to ``end`` of one axis of data, which may have any shape."""
def slice_like(data: Symbol | None = None, shape_like: Symbol | None = None, axes: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the leading entries of data, as many along each axis as shape_like has."""
def SliceChannel(data: Symbol | None = None, num_outputs: int = ..., axis: int = 1, squeeze_axis: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Cuts data, of any shape, into ``num_outputs`` equal parts along ``axis``."""
split = SliceChannel
def smooth_l1(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes a Huber-like loss of every element x of data, with s = ``scalar``."""
def softmax(data: Symbol | None = None, length: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: _DType = None, use_length: bool | None = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes exp(x / temperature) / sum exp(x / temperature) along ``axis``."""
def softmax_cross_entropy(data: Symbol | None = None, label: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums ``-log(softmax(data)[label])`` over the batch, each probability at least 1e-8."""
def SoftmaxActivation(data: Symbol | None = None, mode: _Literal['channel', 'instance'] = 'instance', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes softmax along the last axis ("instance") or along axis 1 ("channel")."""
def SoftmaxOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: _Literal['null', 'batch', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes softmax, with the gradient of the cross entropy: ``(p - onehot(label)) * scale``."""
Softmax = SoftmaxOutput
def softmin(data: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: _DType = None, use_length: bool | None = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes :func:`softmax` of -data along ``axis``."""
def softsign(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""X / (1 + |x|), for every element x of data."""
def sort(data: Symbol | None = None, axis: int | None = -1, is_ascend: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sorts data along ``axis``, ascending or descending."""
def space_to_depth(data: Symbol | None = None, block_size: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Stacks blocks of pixels as channels, the inverse of ``depth_to_space``."""
def SpatialTransformer(data: Symbol | None = None, loc: Symbol | None = None, target_shape: _Shape = (0, 0), transform_type: _Literal['affine'] = ..., sampler_type: _Literal['bilinear'] = ..., cudnn_off: bool | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Transforms images by an affine map: ``BilinearSampler(data, GridGenerator(loc))``."""
def sqrt(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sqrt(x), for every element x of data."""
def square(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""X^2, for every element x of data."""
def squeeze(data: Symbol | None = None, axis: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Drops the axes named, of size 1, from data of any shape (None: all axes of size 1)."""
def stack(*data: Symbol, axis: int = 0, num_args: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Stacks the inputs, all of one shape (d0, d1, ...), along a new axis at position ``axis``."""
def sum(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sum over ``axis``."""
sum_axis = sum
def SVMOutput(data: Symbol | None = None, label: Symbol | None = None, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, with the gradient of a one-against-all hinge loss."""
def SwapAxis(data: Symbol | None = None, dim1: int = 0, dim2: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exchanges axes ``dim1`` and ``dim2`` of data, of any shape."""
swapaxes = SwapAxis
def take(a: Symbol | None = None, indices: Symbol | None = None, axis: int = 0, mode: _Literal['clip', 'raise', 'wrap'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Takes entries of ``axis`` of a, chosen by indices."""
def tan(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Tan x, for every element x of data."""
def tanh(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Tanh x, for every element x of data."""
def tile(data: Symbol | None = None, reps: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Repeats data, of any shape, ``reps[i]`` times along axis i."""
def topk(data: Symbol | None = None, axis: int | None = -1, k: int = 1, ret_typ: _Literal['both', 'indices', 'mask', 'value'] = 'indices', is_ascend: bool = False, dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the ``k`` largest (``is_ascend``: smallest) entries along ``axis``, in order."""
def transpose(data: Symbol | None = None, axes: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Permutes the axes of data, of any shape, into the order ``axes`` (none given: reversed)."""
def trunc(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""X without its fraction, for every element x of data."""
def unravel_index(data: Symbol | None = None, shape: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the coordinates of each position in an array of ``shape``, last axis fastest."""
def UpSampling(*data: Symbol, scale: int = ..., num_filter: int = 0, sample_type: _Literal['bilinear', 'nearest'] = ..., multi_input_mode: _Literal['concat', 'sum'] = 'concat', num_args: int = ..., workspace: int = 512, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Enlarges images (N, C, height, width) ``scale`` times."""
def WarpCTC(data: Symbol | None = None, label: Symbol | None = None, label_length: int = 0, input_length: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes ``softmax(data)``, with the gradient of the CTC loss: the head of MXNet's Warp-CTC plugin."""
def where(condition: Symbol | None = None, x: Symbol | None = None, y: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Selects x where condition is not 0 (NaN counts as not 0), else y."""
def zeros_like(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns zeros in the shape and dtype of data, which gets zero gradient."""
def __getattr__(name: str) -> _Callable[..., Symbol]: ...
