# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, TypedDict as _TypedDict, Unpack as _Unpack
import numpy as _np
from executorkit.symbol._symbol import Symbol
__all__ = ['adamw_update', 'cond', 'foreach', 'mp_adamw_update', 'rand_zipfian', 'while_loop']
from typing import Any, NoReturn
from . import op
from ._compose import compose_call, require_operator
from ._control_flow import cond as cond, foreach as foreach, while_loop as while_loop
from ._symbol import Symbol
from ._symbol_functions import symbol_module
from .random import uniform
def adamw_update(*args: Any, name: str | None=None, **kwargs: Any) -> NoReturn:
    ...
def mp_adamw_update(*args: Any, name: str | None=None, **kwargs: Any) -> NoReturn:
    ...
def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    ...

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None
_NodeAttributes = _TypedDict('_NodeAttributes', {'lr_mult': float | str, '__lr_mult__': float | str, 'wd_mult': float | str, '__wd_mult__': float | str, 'ctx_group': str, '__ctx_group__': str, 'mirror_stage': str | int, '__mirror_stage__': str | int, 'force_mirroring': str | bool, '__force_mirroring__': str | bool}, total=False)

def AdaptiveAvgPooling2D(data: Symbol | None = None, output_size: _Shape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Averages images (N, C, height, width), floating, over a grid of ``output_size`` cells."""
def allclose(a: Symbol | None = None, b: Symbol | None = None, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns 1 if |a - b| <= atol + rtol |b| for all elements, else 0: uint8 of shape ()."""
def arange_like(data: Symbol | None = None, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: _Any = '', axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Counts start, start + step, ..., each ``repeat`` times, as many as data needs, in its dtype."""
def BatchNormWithReLU(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes max(0, x) of :func:`batch_norm`, as one operator."""
def BilinearResize2D(data: Symbol | None = None, like: Symbol | None = None, height: int = 1, width: int = 1, scale_height: float | None = None, scale_width: float | None = None, mode: _Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size', align_corners: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Interpolates images (N, C, height, width), floating, bilinearly to another size."""
def bipartite_matching(data: Symbol | None = None, is_ascend: bool = False, threshold: float = ..., topk: int = -1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Pairs rows and columns, best score first, each row and each column at most once."""
def boolean_mask(data: Symbol | None = None, index: Symbol | None = None, axis: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the entries of ``axis`` of data at which index is not 0."""
def box_decode(data: Symbol | None = None, anchors: Symbol | None = None, std0: float = 1.0, std1: float = 1.0, std2: float = 1.0, std3: float = 1.0, clip: float = -1.0, format: _Literal['corner', 'center'] = 'center', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns corner boxes from offsets to anchors, the inverse of ``box_encode``."""
def box_encode(samples: Symbol | None = None, matches: Symbol | None = None, anchors: Symbol | None = None, refs: Symbol | None = None, means: Symbol | None = None, stds: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes offsets from anchors to their matched boxes: targets of a regression."""
def box_iou(lhs: Symbol | None = None, rhs: Symbol | None = None, format: _Literal['corner', 'center'] = 'corner', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes intersection over union of every box of one array with every box of another."""
def box_nms(data: Symbol | None = None, overlap_thresh: float = 0.5, valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False, in_format: _Literal['corner', 'center'] = 'corner', out_format: _Literal['corner', 'center'] = 'corner', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies non-maximum suppression: of overlapping boxes, only the one with the best score stays."""
box_non_maximum_suppression = box_nms
def calibrate_entropy(hist: Symbol | None = None, hist_edges: Symbol | None = None, num_quantized_bins: int = 255, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Finds the threshold with the least loss of information, by the Kullback-Leibler divergence."""
def count_sketch(data: Symbol | None = None, h: Symbol | None = None, s: Symbol | None = None, out_dim: int = ..., processing_batch_size: int = 32, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the count sketch of data's rows: out[n, h[i]] is the sum of s[i] data[n, i]."""
def DeformableConvolution(data: Symbol | None = None, offset: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes a deformable convolution: kernel taps sample at offsets, by bilinear interpolation."""
def DeformablePSROIPooling(data: Symbol | None = None, rois: Symbol | None = None, trans: Symbol | None = None, spatial_scale: float = ..., output_dim: int = ..., group_size: int = ..., pooled_size: int = ..., part_size: int = 0, sample_per_part: int = 1, trans_std: float = 0.0, no_trans: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Averages bilinear samples in each bin of a region, as PSROIPooling with moved bins."""
def dequantize(data: Symbol | None = None, min_range: Symbol | None = None, max_range: Symbol | None = None, out_type: _Literal['float32'] = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns floating numbers from 8-bit integers and their range."""
def div_sqrt_dim(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Divides data by sqrt(size of its last axis), for any shape and dtype, which stay."""
def fft(data: Symbol | None = None, compute_size: int = 128, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the Fourier transform along the last axis of real data."""
def getnnz(data: Symbol | None = None, axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Refuses to count the stored elements of a CSR matrix, because arrays here are dense."""
def gradientmultiplier(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, of any shape and dtype; its gradient is multiplied by ``scalar``."""
def group_adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies AdaGrad per row: history + mean(g^2) of each row; weight - lr g / sqrt(history + epsilon)."""
def hawkesll(lda: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, state: Symbol | None = None, lags: Symbol | None = None, marks: Symbol | None = None, valid_length: Symbol | None = None, max_time: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the log-likelihood of a marked Hawkes process with exponential decay, and its last state."""
def ifft(data: Symbol | None = None, compute_size: int = 128, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the real part of the inverse Fourier transform along the last axis, undivided."""
def index_array(data: Symbol | None = None, axes: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the coordinates of every element of data."""
def index_copy(old_tensor: Symbol | None = None, index_vector: Symbol | None = None, new_tensor: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Replaces the entries of the first axis of old_tensor named by index_vector."""
def interleaved_matmul_encdec_qk(queries: Symbol | None = None, keys_values: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes attention scores of each query with every key: q k^T / sqrt(size) per head."""
def interleaved_matmul_encdec_valatt(keys_values: Symbol | None = None, attention: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums the values weighted by attention, head by head."""
def interleaved_matmul_selfatt_qk(queries_keys_values: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes attention scores of every position with every other: q k^T / sqrt(size) per head."""
def interleaved_matmul_selfatt_valatt(queries_keys_values: Symbol | None = None, attention: Symbol | None = None, heads: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums the values weighted by attention, head by head."""
def ModulatedDeformableConvolution(data: Symbol | None = None, offset: Symbol | None = None, mask: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, im2col_step: int = 64, layout: _Literal['NCW', 'NCHW', 'NCDHW'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes DeformableConvolution with a factor for each sampled tap."""
def MultiBoxDetection(cls_prob: Symbol | None = None, loc_pred: Symbol | None = None, anchor: Symbol | None = None, clip: bool = True, threshold: float = 0.01, background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False, variances: _Floats = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Detects objects from class probabilities and regressed boxes, with suppression."""
def MultiBoxPrior(data: Symbol | None = None, sizes: _Floats = (1.0,), ratios: _Floats = (1.0,), clip: bool = False, steps: _Floats = (-1.0, -1.0), offsets: _Floats = (0.5, 0.5), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Generates anchor boxes around every position of a feature map, relative to the image."""
def MultiBoxTarget(anchor: Symbol | None = None, label: Symbol | None = None, cls_pred: Symbol | None = None, overlap_threshold: float = 0.5, ignore_label: float = -1.0, negative_mining_ratio: float = -1.0, negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0, variances: _Floats = (0.1, 0.1, 0.2, 0.2), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes training targets of every anchor: offsets to regress, their mask, and the class."""
def MultiProposal(cls_prob: Symbol | None = None, bbox_pred: Symbol | None = None, im_info: Symbol | None = None, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: _Floats = (4.0, 8.0, 16.0, 32.0), ratios: _Floats = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Proposes regions of interest from a region proposal network's scores and offsets."""
def Proposal(cls_prob: Symbol | None = None, bbox_pred: Symbol | None = None, im_info: Symbol | None = None, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: _Floats = (4.0, 8.0, 16.0, 32.0), ratios: _Floats = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Proposes regions of interest from a region proposal network's scores and offsets."""
def PSROIPooling(data: Symbol | None = None, rois: Symbol | None = None, spatial_scale: float = ..., output_dim: int = ..., pooled_size: int = ..., group_size: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Averages each of a grid of bins of a region, every bin of other channels."""
def quadratic(data: Symbol | None = None, a: float = 0.0, b: float = 0.0, c: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes a x^2 + b x + c, for every element x of data."""
def quantize(data: Symbol | None = None, min_range: Symbol | None = None, max_range: Symbol | None = None, out_type: _Literal['int8', 'uint8'] = 'uint8', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Quantises floating numbers to 8-bit integers over a given range."""
def quantize_v2(data: Symbol | None = None, out_type: _Literal['int8', 'uint8', 'auto'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Quantises floating numbers to 8-bit integers over a calibrated range or their own."""
def quantized_act(data: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, act_type: _Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sets bytes (...) below 0 to 0 (``relu``, the only activation); the range, (1,) each, stays."""
def quantized_batch_norm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, eps: float = 0.0010000000474974513, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normalises bytes with the moving statistics, over a calibrated range."""
def quantized_concat(*data: Symbol, num_args: int = ..., dim: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Concatenates bytes along axis ``dim``, brought to the widest of their ranges."""
def quantized_conv(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, min_weight: Symbol | None = None, max_weight: Symbol | None = None, min_bias: Symbol | None = None, max_bias: Symbol | None = None, kernel: _Shape = ..., stride: _Shape = (), dilate: _Shape = (), pad: _Shape = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: _Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Convolves bytes, shapes as of Convolution; int32."""
def quantized_elemwise_add(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_min: Symbol | None = None, lhs_max: Symbol | None = None, rhs_min: Symbol | None = None, rhs_max: Symbol | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Adds two arrays of bytes of one shape, each with its range, (1,) each."""
def quantized_elemwise_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_min: Symbol | None = None, lhs_max: Symbol | None = None, rhs_min: Symbol | None = None, rhs_max: Symbol | None = None, min_calib_range: float | None = None, max_calib_range: float | None = None, enable_float_output: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Multiplies two int8 arrays of one shape, each with its range, (1,) each."""
def quantized_embedding(data: Symbol | None = None, weight: Symbol | None = None, min_weight: Symbol | None = None, max_weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: _DType = 'float32', sparse_grad: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Looks up rows of a table of bytes: data (...), indices; weight (input_dim, output_dim), int8."""
def quantized_flatten(data: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Reshapes bytes (N, ...) to (N, K); the range, (1,) each, stays."""
def quantized_fully_connected(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, min_weight: Symbol | None = None, max_weight: Symbol | None = None, min_bias: Symbol | None = None, max_bias: Symbol | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies an affine map to bytes, shapes as of FullyConnected; int32."""
def quantized_pooling(data: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None, kernel: _Shape = (), pool_type: _Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: _Literal['full', 'same', 'valid'] = 'valid', stride: _Shape = (), pad: _Shape = (), p_value: _Literal[1, 2, 3] | None = None, count_include_pad: bool | None = None, layout: _Literal['NCW', 'NCHW', 'NCDHW', 'NWC', 'NHWC', 'NDHWC'] | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Pools bytes, shapes as of Pooling; means are rounded, halves to even."""
def requantize(data: Symbol | None = None, min_range: Symbol | None = None, max_range: Symbol | None = None, out_type: _Literal['int8', 'uint8', 'auto'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns 8-bit integers from int32, the type of sums of products."""
def ROIAlign(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: _Shape = ..., spatial_scale: float = ..., sample_ratio: int = -1, position_sensitive: bool = False, aligned: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Averages bilinear samples in each of a grid of bins, for each region of interest."""
def round_ste(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Rounds every element of data, halves away from zero; the gradient passes unchanged."""
def RROIAlign(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: _Shape = ..., spatial_scale: float = ..., sampling_ratio: int = -1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Averages bilinear samples in each of a grid of bins, for each rotated region of interest."""
def sign_ste(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the sign of every element of data: 1, 0 or -1; the gradient passes unchanged."""
def SparseEmbedding(data: Symbol | None = None, weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: _DType = 'float32', sparse_grad: bool = False, deterministic: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Looks up rows of weight by data."""
def SyncBatchNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies batch normalisation with the statistics of the whole batch of a group of devices."""
def CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: _Literal['first', 'last'] = 'first', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes the CTC loss of each sample, ``-log P(label | softmax(data))`` over all alignments."""
ctc_loss = CTCLoss
def __getattr__(name: str) -> _Callable[..., Symbol]: ...
