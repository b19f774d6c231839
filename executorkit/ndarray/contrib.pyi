# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.ndarray._ndarray import NDArray
__all__ = ['adamw_update', 'cond', 'foreach', 'isfinite', 'isinf', 'isnan', 'mp_adamw_update', 'multi_adamw_update', 'multi_lamb_update', 'multi_mp_adamw_update', 'multi_mp_lamb_update', 'rand_zipfian', 'while_loop']
from collections.abc import Callable, Sequence
from typing import Any
from .._support.annotations import Function
from ..calls.ways import call
from ..context import Context, current_context
from ..symbol.nesting import flatten, nest_like
from ._array_operators import array_module
from ._contrib_updates import adamw_update as adamw_update, mp_adamw_update as mp_adamw_update, multi_adamw_update as multi_adamw_update, multi_lamb_update as multi_lamb_update, multi_mp_adamw_update as multi_mp_adamw_update, multi_mp_lamb_update as multi_mp_lamb_update
from ._creation import zeros
from ._ndarray import NDArray
from .random import uniform
def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any) -> Any:
    ...
def while_loop(cond: Function, func: Callable[..., tuple[Any, Any]], loop_vars: Any, max_iterations: int | None=None) -> Any:
    ...
def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    ...
def isnan(data: NDArray) -> NDArray:
    ...
def isinf(data: NDArray) -> NDArray:
    ...
def isfinite(data: NDArray) -> NDArray:
    ...
def rand_zipfian(true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None=None) -> tuple[NDArray, NDArray, NDArray]:
    ...

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None

def AdaptiveAvgPooling2D(data: NDArray | None = None, output_size: _Shape = (), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Averages images (N, C, height, width), floating, over a grid of ``output_size`` cells."""
def allclose(a: NDArray | None = None, b: NDArray | None = None, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns 1 if |a - b| <= atol + rtol |b| for all elements, else 0: uint8 of shape ()."""
def arange_like(data: NDArray | None = None, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: _Any = '', axis: int | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Counts start, start + step, ..., each ``repeat`` times, as many as data needs, in its dtype."""
def BatchNormWithReLU(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, moving_mean: NDArray | None = None, moving_var: NDArray | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Computes max(0, x) of :func:`batch_norm`, as one operator."""
def BilinearResize2D(data: NDArray | None = None, like: NDArray | None = None, height: int = 1, width: int = 1, scale_height: float | None = None, scale_width: float | None = None, mode: _Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size', align_corners: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Interpolates images (N, C, height, width), floating, bilinearly to another size."""
def bipartite_matching(data: NDArray | None = None, is_ascend: bool = False, threshold: float = ..., topk: int = -1, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Pairs rows and columns, best score first, each row and each column at most once."""
def boolean_mask(data: NDArray | None = None, index: NDArray | None = None, axis: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the entries of ``axis`` of data at which index is not 0."""
def box_decode(data: NDArray | None = None, anchors: NDArray | None = None, std0: float = 1.0, std1: float = 1.0, std2: float = 1.0, std3: float = 1.0, clip: float = -1.0, format: _Literal['corner', 'center'] = 'center', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns corner boxes from offsets to anchors, the inverse of ``box_encode``."""
def box_encode(samples: NDArray | None = None, matches: NDArray | None = None, anchors: NDArray | None = None, refs: NDArray | None = None, means: NDArray | None = None, stds: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes offsets from anchors to their matched boxes: targets of a regression."""
def box_iou(lhs: NDArray | None = None, rhs: NDArray | None = None, format: _Literal['corner', 'center'] = 'corner', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes intersection over union of every box of one array with every box of another."""
def box_nms(data: NDArray | None = None, overlap_thresh: float = 0.5, valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False, in_format: _Literal['corner', 'center'] = 'corner', out_format: _Literal['corner', 'center'] = 'corner', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Applies non-maximum suppression: of overlapping boxes, only the one with the best score stays."""
box_non_maximum_suppression = box_nms
def calibrate_entropy(hist: NDArray | None = None, hist_edges: NDArray | None = None, num_quantized_bins: int = 255, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Finds the threshold with the least loss of information, by the Kullback-Leibler divergence."""
def count_sketch(data: NDArray | None = None, h: NDArray | None = None, s: NDArray | None = None, out_dim: int = ..., processing_batch_size: int = 32, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the count sketch of data's rows: out[n, h[i]] is the sum of s[i] data[n, i]."""
def DeformableConvolution(data: NDArray | None = None, offset: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes a deformable convolution: kernel taps sample at offsets, by bilinear interpolation."""
def DeformablePSROIPooling(data: NDArray | None = None, rois: NDArray | None = None, trans: NDArray | None = None, spatial_scale: float = ..., output_dim: int = ..., group_size: int = ..., pooled_size: int = ..., part_size: int = 0, sample_per_part: int = 1, trans_std: float = 0.0, no_trans: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Averages bilinear samples in each bin of a region, as PSROIPooling with moved bins."""
def dequantize(data: NDArray | None = None, min_range: NDArray | None = None, max_range: NDArray | None = None, out_type: _Literal['float32'] = 'float32', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns floating numbers from 8-bit integers and their range."""
def div_sqrt_dim(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Divides data by sqrt(size of its last axis), for any shape and dtype, which stay."""
def fft(data: NDArray | None = None, compute_size: int = 128, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the Fourier transform along the last axis of real data."""
def getnnz(data: NDArray | None = None, axis: int | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Refuses to count the stored elements of a CSR matrix, because arrays here are dense."""
def gradientmultiplier(data: NDArray | None = None, scalar: float = 1.0, is_int: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns data, of any shape and dtype; its gradient is multiplied by ``scalar``."""
def group_adagrad_update(weight: NDArray | None = None, grad: NDArray | None = None, history: NDArray | None = None, lr: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Applies AdaGrad per row: history + mean(g^2) of each row; weight - lr g / sqrt(history + epsilon)."""
def hawkesll(lda: NDArray | None = None, alpha: NDArray | None = None, beta: NDArray | None = None, state: NDArray | None = None, lags: NDArray | None = None, marks: NDArray | None = None, valid_length: NDArray | None = None, max_time: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes the log-likelihood of a marked Hawkes process with exponential decay, and its last state."""
def ifft(data: NDArray | None = None, compute_size: int = 128, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the real part of the inverse Fourier transform along the last axis, undivided."""
def index_array(data: NDArray | None = None, axes: _Shape | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the coordinates of every element of data."""
def index_copy(old_tensor: NDArray | None = None, index_vector: NDArray | None = None, new_tensor: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Replaces the entries of the first axis of old_tensor named by index_vector."""
def interleaved_matmul_encdec_qk(queries: NDArray | None = None, keys_values: NDArray | None = None, heads: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes attention scores of each query with every key: q k^T / sqrt(size) per head."""
def interleaved_matmul_encdec_valatt(keys_values: NDArray | None = None, attention: NDArray | None = None, heads: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums the values weighted by attention, head by head."""
def interleaved_matmul_selfatt_qk(queries_keys_values: NDArray | None = None, heads: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes attention scores of every position with every other: q k^T / sqrt(size) per head."""
def interleaved_matmul_selfatt_valatt(queries_keys_values: NDArray | None = None, attention: NDArray | None = None, heads: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums the values weighted by attention, head by head."""
def ModulatedDeformableConvolution(data: NDArray | None = None, offset: NDArray | None = None, mask: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, im2col_step: int = 64, layout: _Literal['NCW', 'NCHW', 'NCDHW'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes DeformableConvolution with a factor for each sampled tap."""
def MultiBoxDetection(cls_prob: NDArray | None = None, loc_pred: NDArray | None = None, anchor: NDArray | None = None, clip: bool = True, threshold: float = 0.01, background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False, variances: _Floats = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Detects objects from class probabilities and regressed boxes, with suppression."""
def MultiBoxPrior(data: NDArray | None = None, sizes: _Floats = (1.0,), ratios: _Floats = (1.0,), clip: bool = False, steps: _Floats = (-1.0, -1.0), offsets: _Floats = (0.5, 0.5), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Generates anchor boxes around every position of a feature map, relative to the image."""
def MultiBoxTarget(anchor: NDArray | None = None, label: NDArray | None = None, cls_pred: NDArray | None = None, overlap_threshold: float = 0.5, ignore_label: float = -1.0, negative_mining_ratio: float = -1.0, negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0, variances: _Floats = (0.1, 0.1, 0.2, 0.2), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes training targets of every anchor: offsets to regress, their mask, and the class."""
def MultiProposal(cls_prob: NDArray | None = None, bbox_pred: NDArray | None = None, im_info: NDArray | None = None, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: _Floats = (4.0, 8.0, 16.0, 32.0), ratios: _Floats = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Proposes regions of interest from a region proposal network's scores and offsets."""
def Proposal(cls_prob: NDArray | None = None, bbox_pred: NDArray | None = None, im_info: NDArray | None = None, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: _Floats = (4.0, 8.0, 16.0, 32.0), ratios: _Floats = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Proposes regions of interest from a region proposal network's scores and offsets."""
def PSROIPooling(data: NDArray | None = None, rois: NDArray | None = None, spatial_scale: float = ..., output_dim: int = ..., pooled_size: int = ..., group_size: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Averages each of a grid of bins of a region, every bin of other channels."""
def quadratic(data: NDArray | None = None, a: float = 0.0, b: float = 0.0, c: float = 0.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes a x^2 + b x + c, for every element x of data."""
def quantize(data: NDArray | None = None, min_range: NDArray | None = None, max_range: NDArray | None = None, out_type: _Literal['int8', 'uint8'] = 'uint8', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Quantises floating numbers to 8-bit integers over a given range."""
def quantize_v2(data: NDArray | None = None, out_type: _Literal['int8', 'uint8', 'auto'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Quantises floating numbers to 8-bit integers over a calibrated range or their own."""
def quantized_act(data: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, act_type: _Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Sets bytes (...) below 0 to 0 (``relu``, the only activation); the range, (1,) each, stays."""
def quantized_batch_norm(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, moving_mean: NDArray | None = None, moving_var: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, eps: float = 0.0010000000474974513, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Normalises bytes with the moving statistics, over a calibrated range."""
def quantized_concat(*data: NDArray, num_args: int = ..., dim: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None, **kwargs: NDArray) -> list[NDArray]:
    r"""Concatenates bytes along axis ``dim``, brought to the widest of their ranges."""
def quantized_conv(data: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, min_weight: NDArray | None = None, max_weight: NDArray | None = None, min_bias: NDArray | None = None, max_bias: NDArray | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Convolves bytes, shapes as of Convolution; int32."""
def quantized_elemwise_add(lhs: NDArray | None = None, rhs: NDArray | None = None, lhs_min: NDArray | None = None, lhs_max: NDArray | None = None, rhs_min: NDArray | None = None, rhs_max: NDArray | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Adds two arrays of bytes of one shape, each with its range, (1,) each."""
def quantized_elemwise_mul(lhs: NDArray | None = None, rhs: NDArray | None = None, lhs_min: NDArray | None = None, lhs_max: NDArray | None = None, rhs_min: NDArray | None = None, rhs_max: NDArray | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, enable_float_output: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Multiplies two int8 arrays of one shape, each with its range, (1,) each."""
def quantized_embedding(data: NDArray | None = None, weight: NDArray | None = None, min_weight: NDArray | None = None, max_weight: NDArray | None = None, input_dim: int = ..., output_dim: int = ..., dtype: _DType = 'float32', sparse_grad: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Looks up rows of a table of bytes: data (...), indices; weight (input_dim, output_dim), int8."""
def quantized_flatten(data: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Reshapes bytes (N, ...) to (N, K); the range, (1,) each, stays."""
def quantized_fully_connected(data: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, min_weight: NDArray | None = None, max_weight: NDArray | None = None, min_bias: NDArray | None = None, max_bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Applies an affine map to bytes, shapes as of FullyConnected; int32."""
def quantized_pooling(data: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, kernel: _Shape = (), pool_type: _Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: _Literal['full', 'same', 'valid'] = 'valid', stride: _Shape = (), pad: _Shape = (), p_value: _Literal[1, 2, 3] | None = None, count_include_pad: bool | None = None, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Pools bytes, shapes as of Pooling; means are rounded, halves to even."""
def requantize(data: NDArray | None = None, min_range: NDArray | None = None, max_range: NDArray | None = None, out_type: _Literal['int8', 'uint8', 'auto'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Returns 8-bit integers from int32, the type of sums of products."""
def ROIAlign(data: NDArray | None = None, rois: NDArray | None = None, pooled_size: _Shape = ..., spatial_scale: float = ..., sample_ratio: int = -1, position_sensitive: bool = False, aligned: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Averages bilinear samples in each of a grid of bins, for each region of interest."""
def round_ste(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Rounds every element of data, halves away from zero; the gradient passes unchanged."""
def RROIAlign(data: NDArray | None = None, rois: NDArray | None = None, pooled_size: _Shape = ..., spatial_scale: float = ..., sampling_ratio: int = -1, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Averages bilinear samples in each of a grid of bins, for each rotated region of interest."""
def sign_ste(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Returns the sign of every element of data: 1, 0 or -1; the gradient passes unchanged."""
def SparseEmbedding(data: NDArray | None = None, weight: NDArray | None = None, input_dim: int = ..., output_dim: int = ..., dtype: _DType = 'float32', sparse_grad: bool = False, deterministic: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Looks up rows of weight by data."""
def SyncBatchNorm(data: NDArray | None = None, gamma: NDArray | None = None, beta: NDArray | None = None, moving_mean: NDArray | None = None, moving_var: NDArray | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> _Any:
    r"""Applies batch normalisation with the statistics of the whole batch of a group of devices."""
def CTCLoss(data: NDArray | None = None, label: NDArray | None = None, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: _Literal['first', 'last'] = 'first', out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the CTC loss of each sample, ``-log P(label | softmax(data))`` over all alignments."""
ctc_loss = CTCLoss
def __getattr__(name: str) -> _Callable[..., _Any]: ...
