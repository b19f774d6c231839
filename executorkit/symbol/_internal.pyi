# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, TypedDict as _TypedDict, Unpack as _Unpack
import numpy as _np
from executorkit.symbol._symbol import Symbol
from typing import Any, NoReturn
from ._symbol_functions import symbol_module

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None
_NodeAttributes = _TypedDict('_NodeAttributes', {'lr_mult': float | str, '__lr_mult__': float | str, 'wd_mult': float | str, '__wd_mult__': float | str, 'ctx_group': str, '__ctx_group__': str, 'mirror_stage': str | int, '__mirror_stage__': str | int, 'force_mirroring': str | bool, '__force_mirroring__': str | bool}, total=False)

def _adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, eta: float = ..., clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Adam with decoupled weight decay: weight - eta (lr mean / (sqrt(var) + epsilon) + wd weight), where mean (beta1) and var (beta2) are moving averages of g and g^2. rescale_grad is an array of one element; where it is 0 or not finite, nothing changes. Source: Loshchilov and Hutter, 2019."""
def _arange(start: float = ..., stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False, ctx: _Any = '', dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Counts start, start + step, ... before stop, each ``repeat`` times; (count * repeat,)."""
def _backward_gather_nd(data: Symbol | None = None, indices: Symbol | None = None, shape: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes out[indices[0, j], ..., indices[M - 1, j], ...] as the sum of all data[j, ...] with these indices: the gradient of ``gather_nd``."""
def _cond(*data: Symbol, num_args: int = ..., num_outputs: int = ..., cond_input_locs: _Shape = ..., then_input_locs: _Shape = ..., else_input_locs: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Runs one of two bodies, chosen by a condition."""
def _copy(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data, of any shape and dtype."""
def _copyto(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Copies data, of any shape and dtype, to ``out``. For arrays only."""
def _div_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x / scalar, for every element x of data."""
_DivScalar = _div_scalar
def _Plus(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs + rhs, element by element."""
_plus = _Plus
_add = _Plus
def _Div(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs / rhs, element by element."""
_div = _Div
def _Mul(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs * rhs, element by element."""
_mul = _Mul
def _Minus(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs - rhs, element by element."""
_minus = _Minus
_sub = _Minus
def _equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs == rhs, element by element."""
_Equal = _equal
def _equal_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x == scalar, for every element x of data."""
_EqualScalar = _equal_scalar
def _eye(N: int = ..., M: int = 0, k: int = 0, ctx: _Any = '', dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Creates a matrix (N, M) with ones on diagonal ``k`` (above the main one if positive)."""
def _foreach(*data: Symbol, num_args: int = ..., num_outputs: int = ..., num_out_data: int = ..., in_state_locs: _Shape = ..., in_data_locs: _Shape = ..., remain_locs: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Applies a body to every slice along the first axis of its data, carrying states."""
def _full(shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = 'float32', value: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Creates an array of ``shape`` and ``dtype`` filled with ``value``, converted to dtype."""
def _grad_add(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs + rhs, element by element."""
def _greater(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs > rhs, element by element."""
_Greater = _greater
def _greater_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs >= rhs, element by element."""
_Greater_Equal = _greater_equal
def _greater_equal_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x >= scalar, for every element x of data."""
_GreaterEqualScalar = _greater_equal_scalar
def _greater_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x > scalar, for every element x of data."""
_GreaterScalar = _greater_scalar
def _histogram(data: Symbol | None = None, bins: Symbol | None = None, bin_cnt: int | None = None, range: _Floats | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Counts the elements of data in each bin; returns the counts and the edges of the bins."""
def _hypot(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""sqrt(lhs^2 + rhs^2), element by element."""
_Hypot = _hypot
def _hypot_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""sqrt(x^2 + scalar^2), for every element x of data."""
_HypotScalar = _hypot_scalar
def _identity_with_attr_like_rhs(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns lhs; rhs, of the same shape and dtype, informs inference and gets zero gradient."""
def _lesser(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs < rhs, element by element."""
_Lesser = _lesser
def _lesser_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs <= rhs, element by element."""
_Lesser_Equal = _lesser_equal
def _lesser_equal_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x <= scalar, for every element x of data."""
_LesserEqualScalar = _lesser_equal_scalar
def _lesser_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x < scalar, for every element x of data."""
_LesserScalar = _lesser_scalar
def _linspace(start: float = ..., stop: float = ..., num: int = ..., endpoint: bool = True, ctx: _Any = '', dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns ``num`` equally spaced numbers from start to stop, of shape (num,)."""
def _logical_and(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs != 0 and rhs != 0, element by element."""
_Logical_And = _logical_and
def _logical_and_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x != 0 and scalar != 0, for every element x of data."""
_LogicalAndScalar = _logical_and_scalar
def _logical_or(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs != 0 or rhs != 0, element by element."""
_Logical_Or = _logical_or
def _logical_or_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x != 0 or scalar != 0, for every element x of data."""
_LogicalOrScalar = _logical_or_scalar
def _logical_xor(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""(lhs != 0) != (rhs != 0), element by element."""
_Logical_Xor = _logical_xor
def _logical_xor_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""(x != 0) != (scalar != 0), for every element x of data."""
_LogicalXorScalar = _logical_xor_scalar
def _maximum(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""max(lhs, rhs), element by element."""
_Maximum = _maximum
def _maximum_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""max(x, scalar), for every element x of data."""
_MaximumScalar = _maximum_scalar
def _minimum(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""min(lhs, rhs), element by element."""
_Minimum = _minimum
def _minimum_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""min(x, scalar), for every element x of data."""
_MinimumScalar = _minimum_scalar
def _minus_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x - scalar, for every element x of data."""
_MinusScalar = _minus_scalar
def _mod(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs mod rhs, element by element."""
_Mod = _mod
def _mod_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x mod scalar, for every element x of data."""
_ModScalar = _mod_scalar
def _mp_adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, eta: float = ..., clip_gradient: float = -1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Adam with decoupled weight decay: weight - eta (lr mean / (sqrt(var) + epsilon) + wd weight), where mean (beta1) and var (beta2) are moving averages of g and g^2. rescale_grad is an array of one element; where it is 0 or not finite, nothing changes. Source: Loshchilov and Hutter, 2019."""
def _mul_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x * scalar, for every element x of data."""
_MulScalar = _mul_scalar
def _multi_adamw_update(*data: Symbol, lrs: _Floats = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wds: _Floats = ..., etas: _Floats = ..., clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Adam with decoupled weight decay: weight - eta (lr mean / (sqrt(var) + epsilon) + wd weight), where mean (beta1) and var (beta2) are moving averages of g and g^2. rescale_grad is an array of one element; where it is 0 or not finite, nothing changes. Source: Loshchilov and Hutter, 2019."""
def _multi_lamb_update(*data: Symbol, learning_rates: _Floats = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, wds: _Floats = ..., rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, step_count: _Shape = ..., num_tensors: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""LAMB: mean (beta1) and var (beta2) are moving averages of g and g^2, divided by 1 - beta^t with bias_correction; h = mean / (sqrt(var) + epsilon) + wd weight; weight - lr |weight| / |h| h, where |weight| is kept within lower_bound and upper_bound unless they are negative and a ratio with a zero norm is 1. Source: You et al., 2020."""
def _multi_mp_adamw_update(*data: Symbol, lrs: _Floats = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wds: _Floats = ..., etas: _Floats = ..., clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Adam with decoupled weight decay: weight - eta (lr mean / (sqrt(var) + epsilon) + wd weight), where mean (beta1) and var (beta2) are moving averages of g and g^2. rescale_grad is an array of one element; where it is 0 or not finite, nothing changes. Source: Loshchilov and Hutter, 2019."""
def _multi_mp_lamb_update(*data: Symbol, learning_rates: _Floats = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, wds: _Floats = ..., rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, step_count: _Shape = ..., num_tensors: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""LAMB: mean (beta1) and var (beta2) are moving averages of g and g^2, divided by 1 - beta^t with bias_correction; h = mean / (sqrt(var) + epsilon) + wd weight; weight - lr |weight| / |h| h, where |weight| is kept within lower_bound and upper_bound unless they are negative and a ratio with a zero norm is 1. Source: You et al., 2020."""
def _not_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs != rhs, element by element."""
_Not_Equal = _not_equal
def _not_equal_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x != scalar, for every element x of data."""
_NotEqualScalar = _not_equal_scalar
def _np_cumsum(a: Symbol | None = None, axis: int | None = None, dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes running sums along ``axis``: out[i] = a[0] + ... + a[i]."""
def _onehot_encode(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns rows with 1 at the index in lhs and 0 elsewhere."""
def _ones(shape: _Shape = (), ctx: _Any = '', dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""An array of ``shape`` and ``dtype`` filled with 1."""
def _plus_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x + scalar, for every element x of data."""
_PlusScalar = _plus_scalar
def _power(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs ^ rhs, element by element."""
_Power = _power
def _power_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x ^ scalar, for every element x of data."""
_PowerScalar = _power_scalar
def _random_exponential(lam: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def _random_exponential_like(data: Symbol | None = None, lam: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def _random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def _random_gamma_like(data: Symbol | None = None, alpha: float = 1.0, beta: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def _random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def _random_generalized_negative_binomial_like(data: Symbol | None = None, mu: float = 1.0, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def _random_negative_binomial(k: int = 1, p: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def _random_negative_binomial_like(data: Symbol | None = None, k: int = 1, p: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def _random_normal(loc: float = 0.0, scale: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normally distributed numbers with mean loc and standard deviation scale."""
def _random_normal_like(data: Symbol | None = None, loc: float = 0.0, scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normally distributed numbers with mean loc and standard deviation scale."""
def _random_pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: gamma(sum of alpha) / product of gamma(alpha) times the product of x^(alpha - 1), over the last axis, which the result does not have."""
def _random_pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: lam exp(-lam x)."""
def _random_pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: beta^alpha x^(alpha - 1) exp(-beta x) / gamma(alpha): beta is a rate here, where the sampler's beta is a scale."""
def _random_pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: the density of the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1). sample holds integers, as floating numbers, and gets zero gradient."""
def _random_pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: gamma(x + k) / (x! gamma(k)) p^k (1 - p)^x. sample holds integers, as floating numbers, and gets zero gradient."""
def _random_pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: exp(-((x - mu) / sigma)^2 / 2) / (sqrt(2 pi) sigma)."""
def _random_pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: lam^x exp(-lam) / x!. sample holds integers, as floating numbers, and gets zero gradient."""
def _random_pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: 1 / (high - low), wherever x lies."""
def _random_poisson(lam: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Poisson distributed numbers with mean lam."""
def _random_poisson_like(data: Symbol | None = None, lam: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Poisson distributed numbers with mean lam."""
def _random_randint(low: int = ..., high: int = ..., shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Draws uniformly distributed integers in [low, high)."""
def _random_uniform(low: float = 0.0, high: float = 1.0, shape: _Shape | None = None, ctx: _Any = '', dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Uniformly distributed numbers in [low, high)."""
def _random_uniform_like(data: Symbol | None = None, low: float = 0.0, high: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Uniformly distributed numbers in [low, high)."""
def _ravel_multi_index(data: Symbol | None = None, shape: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the position of each coordinate tuple in an array of ``shape``, last axis fastest."""
def _rdiv_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""scalar / x, for every element x of data."""
_RDivScalar = _rdiv_scalar
def _rminus_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""scalar - x, for every element x of data."""
_RMinusScalar = _rminus_scalar
def _rmod_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""scalar mod x, for every element x of data."""
_RModScalar = _rmod_scalar
def _rnn_param_concat(*data: Symbol, num_args: int = ..., dim: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Concatenates the inputs along axis ``dim``."""
def _rpower_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""scalar ^ x, for every element x of data."""
_RPowerScalar = _rpower_scalar
def _sample_exponential(lam: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def _sample_gamma(alpha: Symbol | None = None, beta: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def _sample_generalized_negative_binomial(mu: Symbol | None = None, alpha: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def _sample_multinomial(data: Symbol | None = None, shape: _Shape = (), get_prob: bool = False, dtype: _DType = 'int32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Draws indices with the probabilities in data's last axis."""
def _sample_negative_binomial(k: Symbol | None = None, p: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def _sample_normal(mu: Symbol | None = None, sigma: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normally distributed numbers with mean mu and standard deviation sigma."""
def _sample_poisson(lam: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Poisson distributed numbers with mean lam."""
def _sample_uniform(low: Symbol | None = None, high: Symbol | None = None, shape: _Shape = (), dtype: _DType = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Uniformly distributed numbers in [low, high)."""
def _sample_unique_zipfian(range_max: int = ..., shape: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Draws rows of different integers in [0, range_max), small ones more likely; counts the draws."""
def _scatter_elemwise_div(lhs: Symbol | None = None, rhs: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""lhs / rhs, element by element."""
def _scatter_minus_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x - scalar, for every element x of data."""
def _scatter_plus_scalar(data: Symbol | None = None, scalar: float = 1.0, is_int: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""x + scalar, for every element x of data."""
def _scatter_set_nd(lhs: Symbol | None = None, rhs: Symbol | None = None, indices: Symbol | None = None, shape: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sets lhs[indices[0, j], ..., indices[M - 1, j], ...] = rhs[j, ...], in place."""
def _sg_mkldnn_conv(*data: Symbol, with_bn: bool = False, with_act: bool = False, with_relu: bool = False, with_sum: bool = False, with_postsum_act: bool = False, with_postsum_relu: bool = False, quantized: bool = False, enable_float_output: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, weight_channelwise_scale: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Computes a convolution with normalisation, a sum and activations, as the node's subgraph says."""
def _sg_mkldnn_fully_connected(*data: Symbol, with_eltwise: bool = False, with_relu: bool = False, quantized: bool = False, enable_float_output: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, channel_wise_quantize: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Computes an affine map with element-wise operators after it, as the node's subgraph says."""
def _sg_mkldnn_selfatt_qk(queries_keys_values: Symbol | None = None, min_qkv: Symbol | None = None, max_qkv: Symbol | None = None, heads: int = ..., quantized: bool = False, enable_float_output: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes attention scores of every position with every other: q k^T / sqrt(size) per head."""
def _sg_mkldnn_selfatt_valatt(queries_keys_values: Symbol | None = None, attention: Symbol | None = None, min_qkv: Symbol | None = None, max_qkv: Symbol | None = None, min_attention: Symbol | None = None, max_attention: Symbol | None = None, heads: int = ..., quantized: bool = False, enable_float_output: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sums the values weighted by attention, head by head."""
def _shuffle(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns data (N, ...) with its N rows in random order."""
def _slice_assign(lhs: Symbol | None = None, rhs: Symbol | None = None, begin: _OptShape = ..., end: _OptShape = ..., step: _OptShape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Replaces the box that ``slice`` would cut out of lhs by rhs."""
_crop_assign = _slice_assign
def _slice_assign_scalar(data: Symbol | None = None, scalar: float = 0.0, begin: _OptShape = ..., end: _OptShape = ..., step: _OptShape = (), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sets every element of the box that ``slice`` would cut out of data, of any shape, to a number."""
_crop_assign_scalar = _slice_assign_scalar
def _split_v2(data: Symbol | None = None, indices: _Shape = ..., axis: int = 1, squeeze_axis: bool = False, sections: int = 0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Cuts data, of any shape, along ``axis`` at ``indices``, or into ``sections`` parts."""
def _square_sum(data: Symbol | None = None, axis: _Shape | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Sum of squares over ``axis``."""
def _unravel_index(data: Symbol | None = None, shape: _Shape | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Returns the coordinates of each position in an array of ``shape``, last axis fastest."""
def _while_loop(*data: Symbol, num_args: int = ..., num_outputs: int = ..., num_out_data: int = ..., max_iterations: int = ..., cond_input_locs: _Shape = ..., func_input_locs: _Shape = ..., func_var_locs: _Shape = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: Symbol) -> Symbol:
    r"""Applies a body to loop variables while a condition holds, at most ``max_iterations`` times."""
def _zeros(shape: _Shape = (), ctx: _Any = '', dtype: _DType = 'float32', name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""An array of ``shape`` and ``dtype`` filled with 0."""
def __getattr__(name: str) -> _Callable[..., Symbol]: ...
