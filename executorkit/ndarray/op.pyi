# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.ndarray._ndarray import NDArray
from ._array_operators import array_module
from ._ndarray import NDArray

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None

def abs(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""|x|, for every element x of data."""
def Activation(data: NDArray | None = None, act_type: _Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Applies an activation function to every element x of data; shape and (floating) dtype stay."""
def adam_update(weight: NDArray | None = None, grad: NDArray | None = None, mean: NDArray | None = None, var: NDArray | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Adam without bias correction: mean (beta1) and var (beta2) are moving averages of h and h^2, where h is rescale_grad grad + wd weight, clipped like g; weight - lr mean / (sqrt(var) + epsilon). Source: Kingma and Ba, 2015."""
def add_n(*args: NDArray, num_args: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Adds ``num_args`` arrays of one shape and dtype, element by element."""
ElementWiseSum = add_n
def all_finite(data: NDArray | None = None, init_output: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns 1 if every element of data is finite, else 0: float32 of shape (1,)."""
def amp_cast(data: NDArray | None = None, dtype: _DType = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Converts data, of any shape, to ``dtype`` if it is floating; otherwise returns it unchanged."""
def amp_multicast(*data: NDArray, num_outputs: int = ..., cast_narrow: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Converts the float16 and float32 ones of ``num_outputs`` arrays of any shapes to one dtype."""
def arccos(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Arccos x, for every element x of data."""
def arccosh(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Arcosh x, for every element x of data."""
def arcsin(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Arcsin x, for every element x of data."""
def arcsinh(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Arsinh x, for every element x of data."""
def arctan(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Arctan x, for every element x of data."""
def arctanh(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Artanh x, for every element x of data."""
def argmax(data: NDArray | None = None, axis: int | None = None, keepdims: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Position of the largest element along ``axis``, in data's dtype."""
def argmax_channel(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the position of the largest element along axis 1, in data's dtype."""
def argmin(data: NDArray | None = None, axis: int | None = None, keepdims: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Position of the smallest element along ``axis``, in data's dtype."""
def argsort(data: NDArray | None = None, axis: int | None = -1, is_ascend: bool = True, dtype: _DType = 'float32', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the indices that sort data along ``axis``, as numbers of type ``dtype``."""
def batch_dot(lhs: NDArray | None = None, rhs: NDArray | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: _Literal['csr', 'default', 'row_sparse'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Multiplies the matrices at each position of the leading axes."""
def batch_take(a: NDArray | None = None, indices: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes out[i] = a[i, indices[i]]."""
def BatchNorm(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, moving_mean: NDArray | None = None, moving_var: NDArray | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Normalises each channel of ``axis`` over the batch (Ioffe and Szegedy, arXiv:1502.03167)."""
def BatchNorm_v1(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, moving_mean: NDArray | None = None, moving_var: NDArray | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Applies the batch normalisation of MXNet before 1.0: :func:`batch_norm` along axis 1."""
def BilinearSampler(data: NDArray | None = None, grid: NDArray | None = None, cudnn_off: bool | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Samples images bilinearly at the positions of a grid."""
def BlockGrad(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data, of any shape and dtype; its gradient is zero."""
stop_gradient = BlockGrad
def broadcast_add(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs + rhs, with broadcasting."""
broadcast_plus = broadcast_add
def broadcast_axis(data: NDArray | None = None, axis: _Shape = (), size: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Broadcasts each axis in ``axis``, of size 1, to the matching entry of ``size``."""
broadcast_axes = broadcast_axis
def broadcast_div(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs / rhs, with broadcasting."""
def broadcast_equal(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs == rhs, with broadcasting."""
def broadcast_greater(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs > rhs, with broadcasting."""
def broadcast_greater_equal(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs >= rhs, with broadcasting."""
def broadcast_hypot(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""sqrt(lhs^2 + rhs^2), with broadcasting."""
def broadcast_lesser(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs < rhs, with broadcasting."""
def broadcast_lesser_equal(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs <= rhs, with broadcasting."""
def broadcast_like(lhs: NDArray | None = None, rhs: NDArray | None = None, lhs_axes: _Shape | None = None, rhs_axes: _Shape | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Broadcasts lhs to the shape of rhs, or each axis in ``lhs_axes`` to the one in ``rhs_axes``."""
def broadcast_logical_and(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs != 0 and rhs != 0, with broadcasting."""
def broadcast_logical_or(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs != 0 or rhs != 0, with broadcasting."""
def broadcast_logical_xor(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""(lhs != 0) != (rhs != 0), with broadcasting."""
def broadcast_maximum(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""max(lhs, rhs), with broadcasting."""
def broadcast_minimum(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""min(lhs, rhs), with broadcasting."""
def broadcast_mod(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs mod rhs, with broadcasting."""
def broadcast_mul(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs * rhs, with broadcasting."""
def broadcast_not_equal(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs != rhs, with broadcasting."""
def broadcast_power(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs ^ rhs, with broadcasting."""
def broadcast_sub(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs - rhs, with broadcasting."""
broadcast_minus = broadcast_sub
def broadcast_to(data: NDArray | None = None, shape: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Broadcasts data to ``shape``."""
def Cast(data: NDArray | None = None, dtype: _DType = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Converts data, of any shape and dtype, to ``dtype``."""
cast = Cast
def cast_storage(data: NDArray | None = None, stype: _Literal['csr', 'default', 'row_sparse'] = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data, of any shape and dtype. Arrays are dense: a sparse ``stype`` is an error."""
def cbrt(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The cube root of x, for every element x of data."""
def ceil(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The smallest integer >= x, for every element x of data."""
def clip(data: NDArray | None = None, a_min: float = ..., a_max: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes min(max(x, a_min), a_max), for every element x of data."""
def col2im(data: NDArray | None = None, output_size: _Shape = ..., kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Adds up images from columns of patches."""
def Concat(*data: NDArray, num_args: int = ..., dim: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Concatenates the inputs along axis ``dim``."""
concat = Concat
def Convolution(data: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Convolves (cross-correlates) data over one, two or three spatial axes."""
def Convolution_v1(data: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Convolves (cross-correlates) data over one, two or three spatial axes."""
def identity(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data, of any shape and dtype."""
def Correlation(data1: NDArray | None = None, data2: NDArray | None = None, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, pad_size: int = 0, is_multiply: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the mean product of the patches of two images, for every position and displacement."""
def cos(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Cos x, for every element x of data."""
def cosh(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Cosh x, for every element x of data."""
def Crop(*data: NDArray, num_args: int = ..., offset: _Shape = (0, 0), h_w: _Shape = (0, 0), center_crop: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Crops a window out of the images data (N, C, H, W)."""
def CTCLoss(data: NDArray | None = None, label: NDArray | None = None, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: _Literal['first', 'last'] = 'first', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the CTC loss of each sample, ``-log P(label | softmax(data))`` over all alignments."""
ctc_loss = CTCLoss
def Custom(*data: NDArray, op_type: str = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: _Any) -> _Any:
    r"""Runs the operator that ``mx.operator.register(op_type)`` registered, in Python."""
def Deconvolution(data: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), adj: _Shape = (), target_shape: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 512, no_bias: bool = True, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes a transposed convolution: the input gradient of a convolution."""
def degrees(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""180 x / pi, for every element x of data."""
def depth_to_space(data: NDArray | None = None, block_size: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Moves channels into blocks of pixels."""
def diag(data: NDArray | None = None, k: int = 0, axis1: int = 0, axis2: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Extracts diagonal ``k`` of matrices, or makes a matrix with that diagonal."""
def dot(lhs: NDArray | None = None, rhs: NDArray | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: _Literal['csr', 'default', 'row_sparse'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums products over the last axis of lhs and the first axis of rhs."""
def Dropout(data: NDArray | None = None, p: float = 0.5, mode: _Literal['always', 'training'] = 'training', axes: _Shape = (), cudnn_off: bool | None = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sets elements of data to 0 with probability p and multiplies the others by 1 / (1 - p)."""
def elemwise_add(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs + rhs, element by element."""
def elemwise_div(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs / rhs, element by element."""
def elemwise_mul(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs * rhs, element by element."""
def elemwise_sub(lhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""lhs - rhs, element by element."""
def Embedding(data: NDArray | None = None, weight: NDArray | None = None, input_dim: int = ..., output_dim: int = ..., dtype: _DType = 'float32', sparse_grad: bool = False, deterministic: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Looks up rows of weight by data."""
def erf(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x, for every element x of data."""
def erfinv(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The y with erf(y) = x, for every element x of data."""
def exp(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""E^x, for every element x of data."""
def expand_dims(data: NDArray | None = None, axis: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Inserts an axis of size 1 into data, of any shape, at position ``axis`` of the result."""
def expm1(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""E^x - 1, for every element x of data."""
def fill_element_0index(lhs: NDArray | None = None, mhs: NDArray | None = None, rhs: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sets lhs[i, rhs[i]] = mhs[i] for every row i."""
def fix(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""X rounded towards zero, for every element x of data."""
def Flatten(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Reshapes data (N, ...) to a matrix (N, K); a vector (N,) becomes (N, 1)."""
flatten = Flatten
def floor(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The largest integer <= x, for every element x of data."""
def ftml_update(weight: NDArray | None = None, grad: NDArray | None = None, d: NDArray | None = None, v: NDArray | None = None, z: NDArray | None = None, lr: float = ..., beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Follow the moving leader, at step t: g = rescale_grad grad + wd weight, clipped by clip_grad; v = beta2 v + (1 - beta2) g^2; d' = (1 - beta1^t) / lr (sqrt(v / (1 - beta2^t)) + epsilon); z = beta1 z + (1 - beta1) g - (d' - beta1 d) weight; -z / d'. Source: Zheng and Kwok, 2017."""
def ftrl_update(weight: NDArray | None = None, grad: NDArray | None = None, z: NDArray | None = None, n: NDArray | None = None, lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Follow the regularised leader: z = z + g - (sqrt(n + g^2) - sqrt(n)) weight / lr; n = n + g^2; (sign(z) lamda1 - z) / ((beta + sqrt(n)) / lr + wd) where |z| > lamda1, else 0. Source: McMahan et al., 2013."""
def FullyConnected(data: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the affine map ``y = x W^T + b``."""
def gamma(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The gamma function of x, for every element x of data."""
def gammaln(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Ln |gamma(x)|, for every element x of data."""
def gather_nd(data: NDArray | None = None, indices: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes out[j, ...] = data[indices[0, j], ..., indices[M - 1, j], ...]."""
def GridGenerator(data: NDArray | None = None, transform_type: _Literal['affine', 'warp'] = ..., target_shape: _Shape = (0, 0), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Generates source coordinates for ``BilinearSampler``: (N, 2, H, W), x before y, -1 to 1."""
def GroupNorm(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Computes gamma (data - mean) / sqrt(var + eps) + beta, with the moments of groups of channels."""
def hard_sigmoid(data: NDArray | None = None, alpha: float = 0.2, beta: float = 0.5, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes min(max(alpha x + beta, 0), 1), for every element x of data."""
def IdentityAttachKLSparseReg(data: NDArray | None = None, moving_avg: NDArray | None = None, sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data, adding the gradient of a sparseness penalty to the head gradient."""
def im2col(data: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Extracts the patches of images that a convolution multiplies with its weight, as columns."""
def InstanceNorm(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, eps: float = 0.001, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes gamma (data - mean) / sqrt(var + eps) + beta, with the moments of each channel."""
def khatri_rao(*args: NDArray, num_args: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Computes the Kronecker product of each column: kron(args[0][:, k], args[1][:, k], ...)."""
def L2Normalization(data: NDArray | None = None, eps: float = 1e-10, mode: _Literal['channel', 'instance', 'spatial'] = 'instance', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes data / sqrt(sum data^2 + eps)."""
def lamb_update_phase1(weight: NDArray | None = None, grad: NDArray | None = None, mean: NDArray | None = None, var: NDArray | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the first half of LAMB at step t: h = mean / (sqrt(var) + epsilon) + wd weight."""
def lamb_update_phase2(weight: NDArray | None = None, g: NDArray | None = None, r1: NDArray | None = None, r2: NDArray | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the second half of LAMB: weight - lr r1 / r2 g."""
def LayerNorm(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, axis: int = -1, eps: float = 1e-05, output_mean_var: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Computes gamma (data - mean) / sqrt(var + eps) + beta, with moments along ``axis``."""
def LeakyReLU(data: NDArray | None = None, gamma: NDArray | None = None, act_type: _Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Applies a rectifier with a slope below 0 to every element x of data."""
def linalg_det(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the determinant of each matrix of A (..., n, n): (...), or (1,) for a single matrix."""
def linalg_extractdiag(A: NDArray | None = None, offset: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Extracts diagonal ``offset`` of each matrix of A (..., n, n), as (..., n - abs(offset))."""
def linalg_extracttrian(A: NDArray | None = None, offset: int = 0, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Extracts a triangle of each matrix of A (..., n, n) as a vector (..., k (k + 1) / 2)."""
def linalg_gelqf(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Factorises A = L Q with lower triangular L and orthonormal rows of Q."""
def linalg_gemm(A: NDArray | None = None, B: NDArray | None = None, C: NDArray | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha op(A) op(B) + beta C, for the matrices at each position of the other axes."""
def linalg_gemm2(A: NDArray | None = None, B: NDArray | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha op(A) op(B), for the matrices at each position of the other axes."""
def linalg_inverse(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Inverts the matrices A (..., n, n)."""
def linalg_makediag(A: NDArray | None = None, offset: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Makes matrices (..., m, m), m = n + abs(offset), with A (..., n) on diagonal ``offset``."""
def linalg_maketrian(A: NDArray | None = None, offset: int = 0, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Makes matrices with A (..., k (k + 1) / 2) as a triangle, zeros elsewhere."""
def linalg_potrf(A: NDArray | None = None, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the Cholesky factor: lower triangular L with L L^T = A, or without ``lower`` L^T."""
def linalg_potri(A: NDArray | None = None, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the inverse of L L^T, given its Cholesky factor L, or without ``lower`` L^T."""
def linalg_slogdet(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes sign and log(abs(determinant)) of each matrix of A (..., n, n)."""
def linalg_sumlogdiag(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums the logarithms of each diagonal of A (..., n, n): (...), for one matrix (1,)."""
def linalg_syrk(A: NDArray | None = None, transpose: bool = False, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha A A^T (..., n, n) of A (..., n, m), or with ``transpose`` alpha A^T A (..., m, m)."""
def linalg_trmm(A: NDArray | None = None, B: NDArray | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha op(A) B, or with ``rightside`` alpha B op(A), A triangular."""
def linalg_trsm(A: NDArray | None = None, B: NDArray | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Solves op(A) X = alpha B, or with ``rightside`` X op(A) = alpha B, A triangular."""
def LinearRegressionOutput(data: NDArray | None = None, label: NDArray | None = None, grad_scale: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""data itself, with the gradient of half the squared error: ``out - label``, scaled."""
def log(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Ln x, for every element x of data."""
def log10(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Log10 x, for every element x of data."""
def log1p(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Ln(1 + x), for every element x of data."""
def log2(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Log2 x, for every element x of data."""
def log_softmax(data: NDArray | None = None, axis: int = -1, temperature: float | None = None, dtype: _DType = None, use_length: bool | None = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the logarithm of :func:`softmax` along ``axis``, without its rounding to 0."""
def logical_not(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""X == 0, for every element x of data."""
def LogisticRegressionOutput(data: NDArray | None = None, label: NDArray | None = None, grad_scale: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""``sigmoid(data)``, with the gradient of the binary cross entropy: ``out - label``, scaled."""
def LRN(data: NDArray | None = None, alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes local response normalisation: data (knorm + alpha / nsize sum data^2) ^ -beta."""
def MAERegressionOutput(data: NDArray | None = None, label: NDArray | None = None, grad_scale: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""data itself, with the gradient of the absolute error: ``sign(out - label)``, scaled."""
def make_loss(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data as a loss to be minimised: its gradient is one. data (...), floating."""
def MakeLoss(data: NDArray | None = None, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: _Literal['null', 'batch', 'valid'] = 'null', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data as a loss to be minimised: its gradient is a constant."""
def max(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Maximum over ``axis``."""
max_axis = max
def mean(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Arithmetic mean over ``axis``."""
def min(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Minimum over ``axis``."""
min_axis = min
def moments(data: NDArray | None = None, axes: _Shape | None = None, keepdims: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes the mean of data over ``axes``, and the variance (divided by the count)."""
def mp_lamb_update_phase1(weight: NDArray | None = None, grad: NDArray | None = None, mean: NDArray | None = None, var: NDArray | None = None, weight32: NDArray | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes ``lamb_update_phase1`` for a half precision weight: from weight32, in float32."""
def mp_lamb_update_phase2(weight: NDArray | None = None, g: NDArray | None = None, r1: NDArray | None = None, r2: NDArray | None = None, weight32: NDArray | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes ``lamb_update_phase2`` for a half precision weight with a float32 copy, weight32."""
def mp_nag_mom_update(weight: NDArray | None = None, grad: NDArray | None = None, mom: NDArray | None = None, weight32: NDArray | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Nesterov's accelerated gradient: s = lr (g + wd weight), mom = momentum mom - s, weight + momentum mom - s. The stored momentum includes the decay of the new weight."""
def mp_sgd_mom_update(weight: NDArray | None = None, grad: NDArray | None = None, mom: NDArray | None = None, weight32: NDArray | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def mp_sgd_update(weight: NDArray | None = None, grad: NDArray | None = None, weight32: NDArray | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def multi_all_finite(*data: NDArray, num_arrays: int = 1, init_output: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Returns 1 if every element of all ``num_arrays`` arrays is finite, else 0: float32 (1,)."""
def multi_lars(lrs: NDArray | None = None, weights_sum_sq: NDArray | None = None, grads_sum_sq: NDArray | None = None, wds: NDArray | None = None, eta: float = ..., eps: float = ..., rescale_grad: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes learning rates of LARS: lr eta |w| / (rescale_grad |g| + wd |w| + eps) per layer."""
def multi_mp_sgd_mom_update(*data: NDArray, lrs: _Floats = ..., wds: _Floats = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def multi_mp_sgd_update(*data: NDArray, lrs: _Floats = ..., wds: _Floats = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def multi_sgd_mom_update(*data: NDArray, lrs: _Floats = ..., wds: _Floats = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def multi_sgd_update(*data: NDArray, lrs: _Floats = ..., wds: _Floats = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def multi_sum_sq(*data: NDArray, num_arrays: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Returns the sum of squares of each of ``num_arrays`` arrays: float32 of shape (num_arrays,)."""
def nag_mom_update(weight: NDArray | None = None, grad: NDArray | None = None, mom: NDArray | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Nesterov's accelerated gradient: s = lr (g + wd weight), mom = momentum mom - s, weight + momentum mom - s. With the weight as ``out``, the stored momentum includes the decay of the new weight."""
def nanprod(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Product of all that is not NaN over ``axis``."""
def nansum(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sum of all that is not NaN over ``axis``."""
def negative(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""-x, for every element x of data."""
def norm(data: NDArray | None = None, ord: _Literal[1, 2] = 2, axis: _Shape | None = None, out_dtype: _Literal['float16', 'float32', 'float64', 'int32', 'int64', 'int8'] | None = None, keepdims: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums magnitudes (``ord=1``) or takes the root of the sum of squares (``ord=2``) over ``axis``."""
def cumsum(a: NDArray | None = None, axis: int | None = None, dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes running sums along ``axis``: out[i] = a[0] + ... + a[i]."""
def one_hot(indices: NDArray | None = None, depth: int = ..., on_value: float = 1.0, off_value: float = 0.0, dtype: _DType = 'float32', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Puts ``on_value`` at each index of a new last axis of size ``depth``, else ``off_value``."""
def ones_like(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns ones in the shape and dtype of data, which gets zero gradient."""
def Pad(data: NDArray | None = None, mode: _Literal['constant', 'edge', 'reflect'] = ..., pad_width: _Shape = ..., constant_value: float = 0.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Pads data before and after the entries of each axis."""
pad = Pad
def pick(data: NDArray | None = None, index: NDArray | None = None, axis: int | None = -1, keepdims: bool = False, mode: _Literal['clip', 'wrap'] = 'clip', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Takes one entry of ``axis`` of data for each index."""
choose_element_0index = pick
def Pooling(data: NDArray | None = None, kernel: _Shape = (), pool_type: _Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: _Literal['full', 'same', 'valid'] = 'valid', stride: _Shape = (), pad: _Shape = (), p_value: _Literal[1, 2, 3] | None = None, count_include_pad: bool | None = None, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the maximum, average, sum or p-norm over windows of the spatial axes."""
def Pooling_v1(data: NDArray | None = None, kernel: _Shape = (), pool_type: _Literal['avg', 'max', 'sum'] = 'max', global_pool: bool = False, pooling_convention: _Literal['full', 'valid'] = 'valid', stride: _Shape = (), pad: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Pools as MXNet before 1.0 did, channels-first data of two or three spatial axes."""
def preloaded_multi_mp_sgd_mom_update(*data: NDArray, momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def preloaded_multi_mp_sgd_update(*data: NDArray, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def preloaded_multi_sgd_mom_update(*data: NDArray, momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def preloaded_multi_sgd_update(*data: NDArray, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> _Any:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def prod(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Product over ``axis``."""
def radians(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Pi x / 180, for every element x of data."""
def random_exponential(lam: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def random_negative_binomial(k: int = 1, p: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def random_normal(loc: float = 0.0, scale: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Normally distributed numbers with mean loc and standard deviation scale."""
normal = random_normal
def random_pdf_dirichlet(sample: NDArray | None = None, alpha: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: gamma(sum of alpha) / product of gamma(alpha) times the product of x^(alpha - 1), over the last axis, which the result does not have."""
def random_pdf_exponential(sample: NDArray | None = None, lam: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: lam exp(-lam x)."""
def random_pdf_gamma(sample: NDArray | None = None, alpha: NDArray | None = None, beta: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: beta^alpha x^(alpha - 1) exp(-beta x) / gamma(alpha): beta is a rate here, where the sampler's beta is a scale."""
def random_pdf_generalized_negative_binomial(sample: NDArray | None = None, mu: NDArray | None = None, alpha: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: the density of the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1). sample holds integers, as floating numbers, and gets zero gradient."""
def random_pdf_negative_binomial(sample: NDArray | None = None, k: NDArray | None = None, p: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: gamma(x + k) / (x! gamma(k)) p^k (1 - p)^x. sample holds integers, as floating numbers, and gets zero gradient."""
def random_pdf_normal(sample: NDArray | None = None, mu: NDArray | None = None, sigma: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: exp(-((x - mu) / sigma)^2 / 2) / (sqrt(2 pi) sigma)."""
def random_pdf_poisson(sample: NDArray | None = None, lam: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: lam^x exp(-lam) / x!. sample holds integers, as floating numbers, and gets zero gradient."""
def random_pdf_uniform(sample: NDArray | None = None, low: NDArray | None = None, high: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: 1 / (high - low), wherever x lies."""
def random_poisson(lam: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Poisson distributed numbers with mean lam."""
def random_randint(low: int = ..., high: int = ..., shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Draws uniformly distributed integers in [low, high)."""
def random_uniform(low: float = 0.0, high: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Uniformly distributed numbers in [low, high)."""
uniform = random_uniform
def ravel_multi_index(data: NDArray | None = None, shape: _Shape | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the position of each coordinate tuple in an array of ``shape``, last axis fastest."""
def rcbrt(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""1 / cbrt(x), for every element x of data."""
def reciprocal(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""1 / x, for every element x of data."""
def relu(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Max(x, 0), for every element x of data."""
def repeat(data: NDArray | None = None, repeats: int = ..., axis: int | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Repeats every entry of ``axis`` of data, of any shape, ``repeats`` times in place."""
def reset_arrays(*data: NDArray, num_arrays: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> list[NDArray]:
    r"""Fills ``num_arrays`` arrays of any shapes and dtypes with zeros, in place."""
def Reshape(data: NDArray | None = None, shape: _Shape = (), reverse: bool = False, target_shape: _Shape = (), keep_highest: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Reshapes data, of any shape; elements keep their order."""
reshape = Reshape
def reshape_like(lhs: NDArray | None = None, rhs: NDArray | None = None, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Reshapes the axes ``lhs_begin`` to ``lhs_end`` of lhs as axes of rhs."""
def reverse(data: NDArray | None = None, axis: _Shape = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Reverses data, of any shape, along every axis named."""
flip = reverse
def rint(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The nearest integer, for every element x of data."""
def rmsprop_update(weight: NDArray | None = None, grad: NDArray | None = None, n: NDArray | None = None, lr: float = ..., gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""RMSProp: h = rescale_grad grad + wd weight, clipped like g; n = gamma1 n + (1 - gamma1) h^2; weight - lr h / sqrt(n + epsilon), clipped to clip_weights unless that is negative. Source: Tieleman and Hinton, 2012."""
def rmspropalex_update(weight: NDArray | None = None, grad: NDArray | None = None, n: NDArray | None = None, g: NDArray | None = None, delta: NDArray | None = None, lr: float = ..., gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""RMSProp, centred and with momentum: h = rescale_grad grad + wd weight, clipped; n and the state g are moving averages (gamma1) of h^2 and h; delta = gamma2 delta - lr h / sqrt(n - g^2 + epsilon); weight + delta, clipped to clip_weights unless that is negative. Source: Graves, 2013."""
def RNN(data: NDArray | None = None, parameters: NDArray | None = None, state: NDArray | None = None, state_cell: NDArray | None = None, sequence_length: NDArray | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: _Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Runs recurrent layers over a sequence: ``h' = cell(x W^T + b + h R^T + c, h)``."""
def ROIPooling(data: NDArray | None = None, rois: NDArray | None = None, pooled_size: _Shape = ..., spatial_scale: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the largest value in each of a grid of bins, for each region of interest."""
def round(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The nearest integer, for every element x of data."""
def rsqrt(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""1 / sqrt(x), for every element x of data."""
def sample_exponential(lam: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def sample_gamma(alpha: NDArray | None = None, beta: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def sample_generalized_negative_binomial(mu: NDArray | None = None, alpha: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def sample_multinomial(data: NDArray | None = None, shape: _Shape = (), get_prob: bool = False, dtype: _DType = 'int32', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Draws indices with the probabilities in data's last axis."""
def sample_negative_binomial(k: NDArray | None = None, p: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def sample_normal(mu: NDArray | None = None, sigma: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Normally distributed numbers with mean mu and standard deviation sigma."""
def sample_poisson(lam: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Poisson distributed numbers with mean lam."""
def sample_uniform(low: NDArray | None = None, high: NDArray | None = None, shape: _Shape = (), dtype: _DType = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Uniformly distributed numbers in [low, high)."""
def scatter_nd(data: NDArray | None = None, indices: NDArray | None = None, shape: _Shape = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes out[indices[0, j], ..., indices[M - 1, j], ...] = data[j, ...], zeros elsewhere."""
def SequenceLast(data: NDArray | None = None, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the last entry of every sequence."""
def SequenceMask(data: NDArray | None = None, sequence_length: NDArray | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Replaces every entry past the end of its sequence by ``value``."""
def SequenceReverse(data: NDArray | None = None, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Reverses every sequence; entries past its end do not move."""
def sgd_mom_update(weight: NDArray | None = None, grad: NDArray | None = None, mom: NDArray | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), weight + mom."""
def sgd_update(weight: NDArray | None = None, grad: NDArray | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Stochastic gradient descent: weight - lr (g + wd weight)."""
def shape_array(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the shape of data as int64 of shape (number of axes,); data gets zero gradient."""
def shuffle(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data (N, ...) with its N rows in random order."""
def sigmoid(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""1 / (1 + e^-x), for every element x of data."""
def sign(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""1, 0 or -1, for every element x of data."""
def signsgd_update(weight: NDArray | None = None, grad: NDArray | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Descent by the sign of the gradient: (1 - lr wd) weight - lr sign(grad). Source: Bernstein et al., signSGD, 2018."""
def signum_update(weight: NDArray | None = None, grad: NDArray | None = None, mom: NDArray | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Descent by the sign of the momentum: mom = momentum mom - (1 - momentum) (g + wd weight), (1 - lr wd_lh) weight + lr sign(mom). Source: Bernstein et al., signSGD, 2018."""
def sin(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sin x, for every element x of data."""
def sinh(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sinh x, for every element x of data."""
def size_array(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the number of elements of data as int64 of shape (1,); data gets zero gradient."""
def slice(data: NDArray | None = None, begin: _OptShape = ..., end: _OptShape = ..., step: _OptShape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]."""
crop = slice
def slice_axis(data: NDArray | None = None, axis: int = ..., begin: int = ..., end: int | None = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns entries ``begin`` to ``end`` of one axis of data, which may have any shape."""
def slice_like(data: NDArray | None = None, shape_like: NDArray | None = None, axes: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the leading entries of data, as many along each axis as shape_like has."""
def SliceChannel(data: NDArray | None = None, num_outputs: int = ..., axis: int = 1, squeeze_axis: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Cuts data, of any shape, into ``num_outputs`` equal parts along ``axis``."""
split = SliceChannel
def smooth_l1(data: NDArray | None = None, scalar: float = 1.0, is_int: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes a Huber-like loss of every element x of data, with s = ``scalar``."""
def softmax(data: NDArray | None = None, length: NDArray | None = None, axis: int = -1, temperature: float | None = None, dtype: _DType = None, use_length: bool | None = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes exp(x / temperature) / sum exp(x / temperature) along ``axis``."""
def softmax_cross_entropy(data: NDArray | None = None, label: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums ``-log(softmax(data)[label])`` over the batch, each probability at least 1e-8."""
def SoftmaxActivation(data: NDArray | None = None, mode: _Literal['channel', 'instance'] = 'instance', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes softmax along the last axis ("instance") or along axis 1 ("channel")."""
def SoftmaxOutput(data: NDArray | None = None, label: NDArray | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: _Literal['null', 'batch', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes softmax, with the gradient of the cross entropy: ``(p - onehot(label)) * scale``."""
Softmax = SoftmaxOutput
def softmin(data: NDArray | None = None, axis: int = -1, temperature: float | None = None, dtype: _DType = None, use_length: bool | None = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes :func:`softmax` of -data along ``axis``."""
def softsign(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""X / (1 + |x|), for every element x of data."""
def sort(data: NDArray | None = None, axis: int | None = -1, is_ascend: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sorts data along ``axis``, ascending or descending."""
def space_to_depth(data: NDArray | None = None, block_size: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Stacks blocks of pixels as channels, the inverse of ``depth_to_space``."""
def SpatialTransformer(data: NDArray | None = None, loc: NDArray | None = None, target_shape: _Shape = (0, 0), transform_type: _Literal['affine'] = ..., sampler_type: _Literal['bilinear'] = ..., cudnn_off: bool | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Transforms images by an affine map: ``BilinearSampler(data, GridGenerator(loc))``."""
def sqrt(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sqrt(x), for every element x of data."""
def square(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""X^2, for every element x of data."""
def squeeze(data: NDArray | None = None, axis: _Shape | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Drops the axes named, of size 1, from data of any shape (None: all axes of size 1)."""
def stack(*data: NDArray, axis: int = 0, num_args: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Stacks the inputs, all of one shape (d0, d1, ...), along a new axis at position ``axis``."""
def sum(data: NDArray | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sum over ``axis``."""
sum_axis = sum
def SVMOutput(data: NDArray | None = None, label: NDArray | None = None, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data, with the gradient of a one-against-all hinge loss."""
def SwapAxis(data: NDArray | None = None, dim1: int = 0, dim2: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Exchanges axes ``dim1`` and ``dim2`` of data, of any shape."""
swapaxes = SwapAxis
def take(a: NDArray | None = None, indices: NDArray | None = None, axis: int = 0, mode: _Literal['clip', 'raise', 'wrap'] = 'clip', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Takes entries of ``axis`` of a, chosen by indices."""
def tan(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Tan x, for every element x of data."""
def tanh(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Tanh x, for every element x of data."""
def tile(data: NDArray | None = None, reps: _Shape = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Repeats data, of any shape, ``reps[i]`` times along axis i."""
def topk(data: NDArray | None = None, axis: int | None = -1, k: int = 1, ret_typ: _Literal['both', 'indices', 'mask', 'value'] = 'indices', is_ascend: bool = False, dtype: _DType = 'float32', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Returns the ``k`` largest (``is_ascend``: smallest) entries along ``axis``, in order."""
def transpose(data: NDArray | None = None, axes: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Permutes the axes of data, of any shape, into the order ``axes`` (none given: reversed)."""
def trunc(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""X without its fraction, for every element x of data."""
def unravel_index(data: NDArray | None = None, shape: _Shape | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the coordinates of each position in an array of ``shape``, last axis fastest."""
def UpSampling(*data: NDArray, scale: int = ..., num_filter: int = 0, sample_type: _Literal['bilinear', 'nearest'] = ..., multi_input_mode: _Literal['concat', 'sum'] = 'concat', num_args: int = ..., workspace: int = 512, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> NDArray:
    r"""Enlarges images (N, C, height, width) ``scale`` times."""
def WarpCTC(data: NDArray | None = None, label: NDArray | None = None, label_length: int = 0, input_length: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes ``softmax(data)``, with the gradient of the CTC loss: the head of MXNet's Warp-CTC plugin."""
def where(condition: NDArray | None = None, x: NDArray | None = None, y: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Selects x where condition is not 0 (NaN counts as not 0), else y."""
def zeros_like(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns zeros in the shape and dtype of data, which gets zero gradient."""
def __getattr__(name: str) -> _Callable[..., _Any]: ...
